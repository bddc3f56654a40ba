"""The card of a plan: the verdict first, every figure an estimate, everything escaped; live and for good."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from colab_tpu_magic.options import FitOptions
from colab_tpu_magic.planner.plan import ESTIMATE, Advice, Curve, HostRate, Plan, Progress
from colab_tpu_magic.planner.row import LayerShare, Row
from colab_tpu_magic.widgets.plan_view import (
    PlanView,
    live,
    mark_shown,
    plan_bundle,
    plan_html,
    plan_text,
    show_plan,
    view_kind,
)
from colab_tpu_magic.widgets.plan_view.chosen import drawn_rows, main_row, shares
from colab_tpu_magic.widgets.plan_view.curve import curve_drawing, curve_names
from colab_tpu_magic.widgets.plan_view.facts import figures, left_out, refusals, typed
from colab_tpu_magic.widgets.plan_view.layers import layers_drawing
from colab_tpu_magic.widgets.plan_view.live import progress_html, progress_line
from colab_tpu_magic.widgets.plan_view.memory import memory_drawing
from colab_tpu_magic.widgets.plan_view.strokes import stacked, svg
from colab_tpu_magic.widgets.plan_view.words import labels, needed_text, rates_text, share_text, times_text

from .plans import GIB, plan, points, refused, row, too_large, wide_plan

EVIL = "<script>alert(1)</script>&'\"\x1b[31m"


def elements(text):
    """Return the card or picture as a tree: what does not parse would not be escaped."""
    return ET.fromstring(text)


def words(tree):
    return " ".join(" ".join(tree.itertext()).split())


def drawn(drawing):
    return elements(svg(drawing))


def bars(tree, colour):
    return [one for one in tree.iter() if one.tag.endswith("rect") and one.get("fill") == colour]


def test_card_says_the_verdict_first_and_that_nothing_was_measured():
    bundle = plan_bundle(plan(), with_png=False)
    card = words(elements(bundle["text/html"]))
    assert card.startswith("✓ Fits v5e-1 up to batch 3,072; best 1,024")
    assert card.index(ESTIMATE) < card.index("Does it fit?") < card.index("How fast") < card.index("Where does a step")
    first, second = bundle["text/plain"].splitlines()[:2]
    assert first.startswith("Fits v5e-1") and second == ESTIMATE
    assert set(bundle) == {"text/html", "text/plain", "image/svg+xml"}


def test_a_png_stands_in_where_a_page_removes_svg():
    bundle = plan_bundle(wide_plan())
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["image/png"] in bundle["text/html"]
    tree = elements(bundle["text/html"])
    (picture,) = [one for one in tree.iter() if one.tag == "img"]
    hidden = [one for one in tree.iter() if one.get("hidden")]
    inside = {id(svg) for one in hidden for svg in one.iter() if svg.tag.endswith("svg")}
    assert inside == {id(one) for one in tree.iter() if one.tag.endswith("svg")} and len(inside) == 4
    assert "v5e-1 · batch 4,096 · float32: does not fit, 19.20 of 15.75 GiB" in picture.get("alt")


def test_figures_have_no_more_digits_than_an_estimate_and_a_range_where_something_is_left_open():
    assert rates_text((40_961.0, 45_057.0)) == "41,000–45,100"
    assert rates_text((41_010.0, 41_020.0)) == "41,000"
    assert rates_text((0.0, 0.0)) == "–"
    assert times_text((0.02273, 0.02501)) == "22.7–25 ms"
    assert times_text((0.0009, 0.0011)) == "900 µs–1.1 ms"
    assert [share_text(share) for share in (0.0, 0.001, 0.714)] == ["0%", "< 1%", "71%"]
    assert times_text((0.001, 0.001)) == "1 ms"
    assert needed_text(row(1024)) == "4.31 of 15.75 GiB"
    assert needed_text(row(needed_bytes=12_300)) == "12 KiB of 15.75 GiB"
    assert needed_text(refused()) == ""


def test_rows_are_named_by_what_tells_them_apart():
    assert labels([row(128), row(512)]) == ["batch 128", "batch 512"]
    assert labels([row(128), row(128, "v2-8", "bfloat16")]) == [
        "v5e-1 · batch 128 · own precision",
        "v2-8 · batch 128 · bfloat16",
    ]


def test_memory_bar_is_as_long_as_its_part_of_the_memory():
    one = row(1024)
    tree = drawn(memory_drawing(plan(rows=(one,))))
    (track,) = [found for found in bars(tree, "currentColor")]
    (green,) = [found for found in bars(tree, "#009E73") if float(found.get("height")) > 10]
    assert float(green.get("width")) / float(track.get("width")) == pytest.approx(
        one.memory.activations / one.allowed_bytes, rel=0.01
    )
    assert green.find("{*}title").text == "activations and gradients: 4 GiB"


def test_what_does_not_fit_goes_beyond_the_line_and_says_both_sizes():
    tree = drawn(memory_drawing(plan()))
    said = words(tree)
    assert "✕" in said and "19.20 of 15.75 GiB" in said and "all of a device's memory" in said
    (red,) = [found for found in bars(tree, "#D55E00") if float(found.get("height")) > 10]
    (line,) = [found for found in tree.iter() if found.get("stroke-dasharray") == "4 3"]
    assert float(red.get("x")) + float(red.get("width")) > float(re.match(r"M([\d.]+)", line.get("d"))[1])


def test_very_large_need_is_cut_at_the_edge():
    far = replace(too_large(), needed_bytes=900 * GIB)
    tree = drawn(memory_drawing(plan(rows=(far,))))
    (red,) = [found for found in bars(tree, "#D55E00") if float(found.get("height")) > 10]
    assert float(red.get("x")) + float(red.get("width")) < 580 and "900.00 of 15.75 GiB" in words(tree)


def test_row_that_was_not_compiled_says_why_once_below_the_verdict():
    reason = "Not compiled within 120 s. A longer time is allowed by --seconds."
    some = plan(rows=(row(), refused(1024, "v2-8", reason), refused(2048, "v2-8", reason)))
    assert refusals(some) == [("v2-8 · batch 1,024 and 1 more", reason)]
    (note,) = [one for one in elements(plan_html(some)).iter() if one.get("role") == "note"]
    assert "".join(note.itertext()) == f"v2-8 · batch 1,024 and 1 more: {reason}"


def test_reason_that_the_verdict_says_is_not_said_again():
    reason = "Not compiled within 1 s. A longer time is allowed by --seconds."
    only = plan(rows=(refused(reason=reason),), verdict=f"Could not be planned: {reason}")
    assert refusals(only) == []


def test_plan_without_any_answer_shows_its_reason_and_no_empty_picture():
    none = plan(
        rows=(refused(reason="The TPU compiler is not installed.\nType: %tpu_plan --install"),),
        curves=(),
        advice=(),
        host=None,
        verdict="Nothing could be compiled.",
        recommended=FitOptions(),
        compiler="",
    )
    card = words(elements(plan_html(none)))
    assert card.startswith("✕ Nothing could be compiled.")
    assert "Type: %tpu_plan --install" in card
    assert "How fast" not in card and "Where does" not in card and "%%tpu_fit" not in card
    assert "Type: %tpu_plan --install" in plan_text(none)


def test_empty_plan_can_be_shown():
    assert plan_bundle(Plan("net")).keys() == {"text/html", "text/plain"}


def test_interpolated_part_is_dashed_and_only_compiled_sizes_have_dots():
    tree = drawn(curve_drawing(plan()))
    blue = [one for one in tree.iter() if one.get("stroke") == "#0072B2" and one.get("stroke-width") == "2"]
    assert [one.get("stroke-dasharray") for one in blue] == ["5 4", "5 4", None, "5 4"]
    tips = [one.find("{*}title").text for one in tree.iter() if one.tag.endswith("circle") and len(one)]
    assert tips == [
        "batch 128: 16,000–17,600 examples/s",
        "batch 512: 33,000–36,300 examples/s",
        "batch 1,024: 41,000–45,100 examples/s",
    ]
    assert "largest that fits: 3,072" in words(tree) and "batch 3,584 does not fit" in words(tree)


def test_curves_of_several_targets_are_named_and_axis_is_logarithmic_when_they_lie_far_apart():
    assert curve_names(wide_plan()) == [
        "v5e-1 · float32",
        "v5e-1 · bfloat16",
        "v2-8 · float32",
        "v2-8 · bfloat16",
    ]
    assert "120,000" in words(drawn(curve_drawing(wide_plan()))) or "100,000" in words(
        drawn(curve_drawing(wide_plan()))
    )
    far = Curve("v6e-256", "", points((128, 9e6, True), (1024, 2e7, True)))
    said = words(drawn(curve_drawing(plan(curves=(*plan().curves, far)))))
    assert "10 M" in said and "v6e-256" in said


def test_a_curve_of_one_size_is_not_drawn_alone_and_is_a_dot_beside_others():
    one = Curve("v5e-1", "bfloat16", points((1000, 41e3, True)))
    assert curve_drawing(plan(rows=(row(1000),), curves=(one,))) is None
    assert "1,024" in words(drawn(curve_drawing(plan(curves=(*plan().curves, one)))))
    assert curve_drawing(plan(curves=())) is None
    assert curve_drawing(plan(curves=(Curve("v5e-1", "", points((8, 0.0, True))),))) is None


def test_layer_bars_add_up_and_the_rest_of_many_layers_is_one_bar():
    assert sum(one.total for one in shares(row())) == pytest.approx(1.0)
    many = row(layers=tuple(LayerShare(f"block{n}/dense", 0.03, 0.05) for n in range(10)))
    names = [one.name for one in shares(many)]
    assert names[7:] == ["block7/dense", "2 other layers", "optimizer", "loss and metrics", "without a name"]
    assert shares(many)[8].total == pytest.approx(0.16)
    tree = drawn(layers_drawing(row()))
    assert [float(one.get("width")) for one in bars(tree, "#0072B2")[1:]] == sorted(
        (float(one.get("width")) for one in bars(tree, "#0072B2")[1:]), reverse=True
    )
    assert layers_drawing(row(layers=(), optimizer_share=0, loss_share=0, unnamed_share=0)) is None


def test_long_layer_path_keeps_its_end():
    long = "encoder/" + "stage/" * 20 + "attention_output"
    tree = drawn(layers_drawing(row(layers=(LayerShare(long, 0.5, 0.1),))))
    (shown,) = [one for one in tree.iter() if one.tag.endswith("text") and "attention_output" in words(one)]
    assert shown.find("{*}title").text == long and "…" in (shown.find("{*}title").tail or "")


def test_of_many_rows_the_picture_keeps_the_best_the_largest_and_the_first_that_fails():
    everything = wide_plan()
    kept = drawn_rows(everything)
    assert len(everything.rows) == 17
    assert "own precision" not in plan_text(plan()) and "own precision" in plan_text(everything)
    assert [(one.target, one.batch_size, one.status) for one in kept[:2]] == [
        ("v5e-1", 1024, "fits"),
        ("v5e-1", 4096, "out-of-memory"),
    ]
    assert kept[-1].status == "refused"
    assert drawn_rows(plan()) == list(plan().rows)
    table = words(elements(plan_html(everything)))
    assert "All 17 rows in a table" in table and "20,800–22,900" in table
    assert "Where a step's time goes on v2-8 · batch 1,024" in table


def test_main_row_is_the_best_of_the_first_target_that_has_one():
    assert main_row(wide_plan()).precision == "bfloat16"
    assert main_row(plan(rows=(too_large(), row(512, "v2-8")))).target == "v2-8"
    assert main_row(plan(rows=(too_large(),))) is None


def test_card_says_where_the_curve_flattens_beyond_the_best_batch():
    rows = (row(128, rate=16_000.0), row(1024, rate=41_000.0, probe=True))
    told = plan(rows=rows, most_rows=200)
    said = "The curve reaches nine tenths of its height at batch 1,024 (41,000 examples a second)"
    assert main_row(told).batch_size == 128
    assert f"{said}, which leaves fewer than 50 steps in an epoch of your rows" in words(elements(plan_html(told)))
    assert f"{said}. To choose among such batches: --batch-sizes 256,1024" in plan_text(plan(rows=rows))
    between = Curve("v5e-1", "", points((128, 16e3, True), (512, 40e3, False), (4096, 41e3, True)))
    assert "at about batch 512 (40,000 examples" in plan_text(plan(rows=rows, curves=(between,)))
    assert "The curve reaches" not in plan_text(plan())
    assert "The curve reaches" not in plan_text(plan(curves=())) + plan_text(plan(rows=(too_large(),)))


def test_line_to_type_is_what_the_plan_recommends():
    assert typed(plan()) == "%%tpu_fit --batch-size 1024"
    assert typed(wide_plan()) == "%%tpu_fit --batch-size 1024 --precision bfloat16"
    assert typed(plan(recommended=FitOptions())) == ""
    assert plan_text(plan()).splitlines()[-1] == "Type: %%tpu_fit --batch-size 1024"


def test_host_has_a_line_of_its_own_and_says_whether_it_is_enough():
    said = words(elements(plan_html(plan())))
    assert "This machine prepares 12,000 examples/s (the prepared pipeline, 8 batches)." in said
    assert "it would wait for data" in said
    assert "That is enough." in plan_text(plan(host=HostRate(9e6, "", True)))
    assert "This machine prepares" not in plan_text(plan(host=None))


def test_what_the_figures_leave_out_is_listed_with_the_models_and_versions():
    some = plan(rows=(row(collective_seconds=0.001, collective_model="2·(n−1)/n × payload", notes=("A note.",)),))
    assert left_out(some) == [
        "The compiler gives no time for 197 all-reduce (50.1 MiB).",
        "Collectives by a model: 2·(n−1)/n × payload.",
        "A note.",
        "Compiler: jax 0.10.2, libtpu 0.0.42.1, 7.3 s of compiling in all.",
    ]
    assert "Between devices 1 ms, by a model" in words(elements(plan_html(some)))


def test_rate_at_memorys_whole_rate_is_told_where_it_differs():
    streams = row(step_seconds=(0.025, 0.026), full_memory_rate_seconds=0.02)
    told = dict(figures(streams))
    assert told["At memory's whole rate"] == "up to 51,200 examples a second"  # 1,024 in 20 ms
    near = row(step_seconds=(0.025, 0.026), full_memory_rate_seconds=0.0235)
    assert "At memory's whole rate" not in dict(figures(near)) | dict(figures(row()))


def test_plan_that_is_not_complete_says_why_below_its_verdict():
    told = "Not all was compiled: the rest takes about 5 more minutes. Type: --yes"
    partial = plan(complete=False, problems=(told,))
    card = words(elements(plan_html(partial)))
    assert card.index(ESTIMATE) < card.index(told) < card.index("Does it fit?") and card.count(told) == 1
    assert plan_text(partial).splitlines()[2] == told
    folded = words(elements(plan_html(plan(problems=("Only the shapes were read.",)))))
    assert folded.index("Only the shapes were read.") > folded.index("what they leave out")


def test_every_string_of_the_users_is_escaped_in_html_and_in_both_pictures():
    evil_row = row(
        layers=(LayerShare(EVIL, 0.5, 0.2),),
        notes=(EVIL,),
        unestimated=(EVIL,),
        collective_model=EVIL,
        precision=EVIL,
        target=EVIL,
    )
    evil = plan(
        model_name=EVIL,
        rows=(evil_row, replace(refused(), reason=EVIL), replace(too_large(), reason=EVIL)),
        curves=(
            Curve(EVIL, EVIL, points((128, 1e3, True), (256, 2e3, True))),
            Curve("v2-8", "", points((128, 1e3, True))),
        ),
        advice=(Advice(EVIL, 1.3, 1.0, 1.3, EVIL),),
        host=HostRate(1.0, EVIL),
        verdict=EVIL,
        compiler=EVIL,
        problems=(EVIL,),
    )
    bundle = plan_bundle(evil)
    progress = Progress(EVIL, 1.0, 2.0, EVIL, evil.rows)
    for html in (bundle["text/html"], progress_html(progress), bundle["image/svg+xml"]):
        assert "<script" not in html and "alert(1)" in html
    elements(bundle["image/svg+xml"])
    elements(re.sub("\x1b", "", bundle["text/html"]))
    assert bundle["image/png"]


def test_picture_that_stands_alone_has_a_colour_that_reads_on_white_and_on_black():
    tree = elements(plan_bundle(plan(), with_png=False)["image/svg+xml"])
    assert tree.get("color") == "#767676" and tree.get("role") == "img"
    assert "Memory on each device" in tree.get("aria-label") and "Examples per second" in tree.get("aria-label")
    assert stacked([]).height == 1


class Handle:
    """Stand in for the output of a cell."""

    def __init__(self):
        self.bundles = []

    def display(self, bundle, **options):
        self.bundles.append(bundle)
        return self

    update = display


PROGRESS = Progress(
    "compiling v5e-1, batch 1,024", 12.0, 40.0, "batch 2,048", (row(512), Row("v5e-1", 1024, "", "pending"))
)


@pytest.fixture
def output(monkeypatch):
    handle = Handle()
    monkeypatch.setattr("IPython.display.display", handle.display)
    return handle


def test_live_card_shows_the_stage_the_time_what_comes_next_and_the_rows_so_far():
    assert progress_line(PROGRESS) == "compiling v5e-1, batch 1,024 · 12 s so far · about 40 s more · then batch 2,048"
    card = words(elements(plan_html(Plan("net", PROGRESS.rows), progress=progress_html(PROGRESS))))
    assert card.startswith("Compiling v5e-1, batch 1,024 … 12 s so far")
    assert f"Interrupt the kernel to keep what there is. {ESTIMATE}" in card
    assert "waiting" in card and "2.30 of 15.75 GiB" in card and "%%tpu_fit" not in card


def test_live_card_is_replaced_by_the_plan_in_the_same_output(output):
    with PlanView("net") as view:
        view(PROGRESS)
        view.finish(plan())
    assert "Compiling v5e-1" in output.bundles[0]["text/html"]
    assert output.bundles[-1]["text/html"].startswith("<div") and "Fits v5e-1" in output.bundles[-1]["text/html"]
    assert "image/png" in output.bundles[-1]


def test_card_is_drawn_again_for_what_is_new_and_for_the_time_once_a_second(output):
    now = [0.0]
    with PlanView("net", clock=lambda: now[0]) as view:
        view(PROGRESS)
        now[0] = 0.5
        view(replace(PROGRESS, elapsed=12.5))
        assert len(output.bundles) == 1
        now[0] = 1.0
        view(replace(PROGRESS, elapsed=17.0))
        view(replace(PROGRESS, rows=(row(512), row(1024))))
    assert [bundle["text/plain"].split(" · ")[1] for bundle in output.bundles] == [
        "12 s so far",
        "17 s so far",
        "12 s so far",
    ]
    assert [bundle["text/plain"].split(" · ")[2] for bundle in output.bundles] == [
        "about 40 s more",
        "about 35 s more",
        "about 40 s more",
    ]


def test_after_an_error_only_the_message_is_left(output):
    with pytest.raises(ValueError), PlanView("net") as view:
        view(PROGRESS)
        raise ValueError
    assert output.bundles[-1] == {"text/plain": "", "text/html": ""}


def test_a_picture_that_fails_does_not_end_the_plan(output, monkeypatch):
    monkeypatch.setattr(live, "plan_html", None)
    with PlanView("net") as view, pytest.warns(UserWarning, match="not shown while it is made"):
        view(PROGRESS)
    view.finish(plan())
    assert "Fits v5e-1" in output.bundles[-1]["text/html"]


def test_terminal_gets_a_line_a_stage_a_line_a_row_and_the_table(capsys):
    with PlanView("net", "text") as view:
        view(PROGRESS)
        view(PROGRESS)
        view(replace(PROGRESS, stage="compiling batch 4,096", rows=(*PROGRESS.rows[:1], row(1024), too_large())))
        view.finish(plan())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "v5e-1 · batch 512  fits  2.30 of 15.75 GiB  41,000–45,100 examples/s"
    assert lines[1].startswith("compiling v5e-1, batch 1,024")
    assert lines[3].startswith("v5e-1 · batch 4,096  does not fit  Does not fit: 19.20 GiB")
    assert sum(line.startswith("compiling") for line in lines) == 2
    assert "Type: %%tpu_fit --batch-size 1024" in lines


def test_view_is_an_output_where_there_is_a_kernel_and_text_elsewhere():
    class Kernel:
        kernel = object()

    assert [view_kind(Kernel()), view_kind(Kernel(), quiet=True), view_kind(None)] == ["output", "none", "text"]


def test_quiet_view_shows_nothing(capsys, output):
    with PlanView("net", "none") as view:
        view(PROGRESS)
        view.finish(plan())
    assert not output.bundles and capsys.readouterr().out == ""


def test_plan_that_its_cell_has_shown_is_not_shown_again_as_its_value(monkeypatch, capsys):
    class Shell:
        execution_count = 7

    shell, made = Shell(), plan()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    mark_shown(made, shell)
    show_plan(made)
    assert capsys.readouterr().out == ""
    shell.execution_count = 8
    show_plan(made)
    assert capsys.readouterr().out.startswith("Fits v5e-1")


@pytest.mark.parametrize(
    ("flops", "text"),
    [(0.0, ""), (1.5e7, "0.015 GFLOP"), (2.5e11, "250 GFLOP"), (7.36e12, "7.36 TFLOP"), (2.2e15, "2,200 TFLOP")],
)
def test_operations_are_told_in_a_unit_that_reads_well(flops: float, text: str) -> None:
    from colab_tpu_magic.widgets.plan_view.facts import _operations

    assert _operations(flops) == text


def test_what_stands_beside_a_bar_is_inside_the_picture_in_a_wide_font() -> None:
    picture = memory_drawing(plan(rows=(row(1024), row(128, needed_bytes=12_300), row(64, needed_bytes=900 * GIB))))
    tree = drawn(picture)
    beside = [one for one in tree.iter() if one.tag.endswith("text") and " of 15.75 GiB" in "".join(one.itertext())]
    assert len(beside) == 3
    assert all(float(one.get("x", "0")) + 7.6 * len("".join(one.itertext())) <= picture.width for one in beside)
