"""Every rule and every trap has words, most have a picture, and the pictures hold what they say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest

from colab_tpu_magic.checking.cell import CELL_TRAPS
from colab_tpu_magic.checking.data_traps import DATA_TRAPS as READ_TRAPS
from colab_tpu_magic.checking.environment_traps import ENVIRONMENT_TRAPS
from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.explanations import topic_of, topics
from colab_tpu_magic.explanations.topic import Topic
from colab_tpu_magic.rewrite.rules import RULES
from colab_tpu_magic.rewrite.tiles import padded
from colab_tpu_magic.rewrite.traps import TRAPS
from colab_tpu_magic.rewrite.traps.data import DATA_TRAPS
from colab_tpu_magic.widgets.explain import topic_bundle, topics_bundle
from colab_tpu_magic.widgets.explain.figures import Figures, figures_of
from colab_tpu_magic.widgets.explain.pictures import PICTURES, picture_of

from .runs import change

NS = "{http://www.w3.org/2000/svg}"
ON_ONE = Figures(1, 32, 128, 4, "the last run, run 2")
ODD = Figures(3, 43, 99, 1, "x")
HUGE = Figures(256, 32, 1_048_576, 32, "x")


def texts(svg):
    return ["".join(one.itertext()) for one in ET.fromstring(svg).iter(f"{NS}text")]


def test_every_rule_and_every_trap_is_a_topic_with_words_and_a_source():
    known = {topic.id: topic for topic in topics()}
    assert {rule.id for rule in RULES} <= set(known) and {trap.id for trap in TRAPS} <= set(known)
    for topic in known.values():
        assert topic.title and topic.source
        assert all(len(part) > 20 for part in topic.paragraphs)
        assert "``" not in "".join(topic.paragraphs)


def test_a_rule_is_told_with_its_reason_its_switch_and_more_than_stands_beside_a_change():
    topic = topic_of("batch-size")
    rule = next(rule for rule in RULES if rule.id == "batch-size")
    assert topic.paragraphs[0] == rule.why and len(topic.paragraphs) > 1
    assert (topic.kind, topic.switch, topic.source) == ("rule", "--batch-size keep", rule.source)


def test_the_nine_rules_each_have_a_picture():
    assert {rule.id for rule in RULES} >= {"scope", "batch-size"}
    nine = (
        "scope jit-compile dtypes batch-size static-shapes learning-rate precision input-pipeline steps-per-execution"
    )
    assert set(nine.split()) <= set(PICTURES)


@pytest.mark.parametrize("topic", PICTURES)
@pytest.mark.parametrize("figures", [Figures(), ON_ONE, ODD, HUGE], ids=["example", "one", "odd", "huge"])
def test_a_picture_is_sound_xml_stays_inside_its_frame_and_takes_the_colours_of_the_page(topic, figures):
    svg = picture_of(topic, figures)
    root = ET.fromstring(svg)
    width, height = map(float, root.get("viewBox").split()[2:])
    assert root.get("aria-label") and root.get("fill") == "currentColor"
    assert not re.search(r'(fill|stroke)="(black|white|#000|#fff)', svg)
    for rect in root.iter(f"{NS}rect"):
        x, y, wide, high = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        assert 0 <= x and x + wide <= width + 1 and 0 <= y and y + high <= height + 1 and wide >= 0 and high >= 0
    for text in root.iter(f"{NS}text"):
        assert 0 <= float(text.get("x")) <= width and 8 <= float(text.get("y")) <= height
    assert len(svg) < 20_000


def test_the_tiles_show_the_numbers_of_the_run():
    said = texts(picture_of("batch-size", Figures(8, 32, 1024, 8, "the last run, run 3")))
    assert "your batch: 32 rows = 8 × 4" in said and "on the TPU: 1,024 rows = 8 × 128" in said
    assert "one replica: 1 tile high, 50% of the rows are used" in said
    assert "one replica: 16 tiles high, no row is padding" in said
    assert "Numbers: the last run, run 3" in said


def test_a_share_that_fills_its_tile_and_not_the_matrix_unit_is_told_both():
    few = texts(picture_of("batch-size", Figures(8, 8, 64, 1, "x")))
    assert "one replica: 1 tile high, no row is padding" in few
    assert any("128 rows a replica fill the matrix unit: 120 of them are missing on the TPU." in word for word in few)
    assert any(word.endswith("fill the matrix unit.") for word in texts(picture_of("batch-size", Figures(8, 8, 1024))))
    assert "128 rows per replica fill its matrix unit" in topic_of("batch-size").paragraphs[0]


def test_traps_are_told_as_what_happens_and_not_as_orders():
    orders = re.compile(r"(Name|Compare|Look|Check|Find|Warn|Tell|Say|Count)\b")
    assert [topic.id for topic in topics() if topic.kind == "trap" and orders.match(topic.paragraphs[0])] == []


def test_the_replicas_are_drawn_with_their_shares():
    said = texts(picture_of("scope", Figures(4, 32, 512)))
    assert [word for word in said if re.fullmatch(r"R\d+", word)] == ["R0", "R1", "R2", "R3"]
    assert said.count("128") == 4
    assert any("248 more replicas" in word for word in texts(picture_of("scope", HUGE)))


def test_the_timelines_show_more_steps_in_the_same_time():
    said = texts(picture_of("input-pipeline", Figures()))
    assert [word for word in said if word.startswith("step ")] == [
        *(f"step {number}" for number in (1, 2, 3)),
        *(f"step {number}" for number in (1, 2, 3, 4, 5, 6)),
    ]
    one, several = (int(word.split()[0]) for word in texts(picture_of("host-loop", Figures())) if "in the same" in word)
    assert several > one


def test_the_bits_are_counted():
    root = ET.fromstring(picture_of("precision", Figures()))
    by_row = {}
    for rect in root.iter(f"{NS}rect"):
        by_row.setdefault(rect.get("y"), []).append(rect.get("stroke"))
    float32, bfloat16, float16 = (by_row[y] for y in ("8", "60", "112"))
    assert (len(float32), len(bfloat16), len(float16)) == (32, 16, 16)
    assert [float32.count("#009E73"), bfloat16.count("#009E73"), float16.count("#009E73")] == [8, 8, 5]


def test_the_learning_rate_tells_growth_and_the_caps():
    said = " ".join(texts(picture_of("learning-rate", Figures(8, 32, 1024))))
    assert "32 times fewer steps" in said and "4 times as long (Adam), 8 times (SGD)" in said


def test_widths_are_padded_to_tiles():
    assert [padded(width) for width in (1, 128, 130, 256)] == [128, 128, 256, 256]
    assert "130 units: 256 are computed, 49% padding" in texts(picture_of("tile-padding", Figures()))


def test_numbers_come_from_the_last_run_then_the_runtime_then_an_example():
    changes = (
        change("batch-size", before="32", after="1,024 (8 × 128)"),
        change("steps-per-execution", before="1", after="4"),
    )
    run = SimpleNamespace(global_batch_size=1024, replicas=8, changes=changes, title="run 3")
    runtime = SimpleNamespace(replicas=2, device="2 simulated replicas on CPU")
    assert figures_of(run, runtime) == Figures(8, 32, 1024, 4, "the last run, run 3")
    assert figures_of(SimpleNamespace(global_batch_size=64, replicas=1, changes=(), title="run 1"), None).before == 64
    assert figures_of(None, runtime) == Figures(2, 32, 256, 8, "2 simulated replicas on CPU")
    assert figures_of(None, None).origin == "an example"


def test_a_topic_is_html_with_its_picture_and_text_without():
    bundle = topic_bundle(topic_of("batch-size"), Figures())
    ET.fromstring(bundle["text/html"])
    assert "<svg" in bundle["text/html"] and "%%tpu_fit --batch-size keep" in bundle["text/html"]
    assert bundle["text/plain"].startswith("Global batch size (rule batch-size)\n")
    assert "<" not in bundle["text/plain"]


def test_a_topic_without_a_picture_is_words_only_and_is_escaped():
    evil = Topic("evil", "trap", "<b>", ("a <script>alert(1)</script> & more",), "<i>")
    html = topic_bundle(evil, Figures())["text/html"]
    assert "<svg" not in html and "<script" not in html and "<b>" not in html
    ET.fromstring(html)


def test_the_list_names_every_topic_once_in_html_and_text():
    bundle = topics_bundle(topics())
    ET.fromstring(bundle["text/html"])
    for topic in topics():
        assert len(re.findall(rf"^{topic.id}\s", bundle["text/plain"], re.MULTILINE)) == 1


def test_every_trap_of_a_check_stands_in_the_docs(root):
    told = (root / "docs" / "traps.md").read_text(encoding="utf-8")
    for trap in (*CELL_TRAPS, *ENVIRONMENT_TRAPS, *READ_TRAPS, *DATA_TRAPS):
        assert f"`{trap.id}`" in told, trap.id


def test_a_misspelt_topic_gets_the_nearest_one():
    with pytest.raises(OptionError, match="%tpu_explain batch-size"):
        topic_of("batch_size")
