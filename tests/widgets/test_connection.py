import json
import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest

from colab_tpu_magic.backends.base import Runtime
from colab_tpu_magic.backends.choice import choose
from colab_tpu_magic.hardware.environment import Environment
from colab_tpu_magic.hardware.slices import parse_slice
from colab_tpu_magic.options import ConnectOptions
from colab_tpu_magic.widgets.connection import bytes_text, card_rows, connection_card
from colab_tpu_magic.widgets.connection_drawing import MAX_DRAWN

from .. import machines

NS = "{http://www.w3.org/2000/svg}"
EVIL = '<img src=x onerror="alert(1)">&\'</td></svg><script>alert(2)</script>'


def engine(replicas, device_kind=""):
    return SimpleNamespace(name="jax", replicas=replicas, jit_compile=None, device_kind=device_kind)


def runtime(kind, name=None, replicas=None, backend="jax", device_kind="", warnings=(), packages=None):
    found = parse_slice(name) if name else None
    replicas = replicas or (found.replicas if found else 1)
    environment = Environment("jupyter", "3.13.15", packages or {"keras": "3.13.2", "jax": "0.7.2", "jaxlib": "0.7.2"})
    return Runtime(backend, kind, replicas, found, environment, engine(replicas, device_kind), warnings)


def on_machine(machine, root, **options):
    """Return the runtime that connecting on a recorded machine gives, without its devices."""
    environment = machine.detect(root)
    choice = choose(environment, ConnectOptions(**options))
    replicas = choice.replicas or len(environment.gpus)
    kind = environment.gpus[0] if environment.gpus else ""
    return Runtime(
        choice.backend, choice.kind, replicas, choice.slice, environment, engine(replicas, kind), choice.warnings
    )


def text(shown):
    return connection_card(shown)["text/plain"].splitlines()


def html(shown):
    return connection_card(shown)["text/html"]


def svg(shown):
    return ET.fromstring(re.search(r"<svg.*</svg>", html(shown), re.DOTALL)[0])


def replicas_drawn(shown):
    return [t.text for t in svg(shown).iter(f"{NS}text") if re.fullmatch(r"R\d+", t.text)]


def test_the_card_of_a_simulated_v2_8_has_these_lines():
    assert text(runtime("simulated", "v2-8", warnings=("Mind the gap.",))) == [
        "Training on: 8 simulated replicas (v2-8) on CPU, JAX backend. No TPU here.",
        "A rehearsal on this machine's CPU: the chip figures are those of a real v2-8; nothing here measures a TPU.",
        "  Chip                4 × TPU v2",
        "  TensorCores         8 (2 per chip)",
        "  Matrix units (MXU)  1 per core, 128 × 128",
        "  Memory (HBM)        16 GB per chip, 8 GB per replica",
        "  Memory bandwidth    716 GB/s per chip",
        "  Peak bfloat16       46 TFLOP/s per chip, 184 in all",
        "  Replicas            8 (2 per chip, one per TensorCore)",
        "  Recommended batch   128 per replica, 1,024 global",
        "  Versions            Python 3.13.15, keras 3.13.2, jax 0.7.2",
        "  Chip figures: jax 0.10.2, jax/_src/pallas/mosaic/tpu_info.py, read 2026-11.",
        "  Warning: Mind the gap.",
    ]


@pytest.mark.parametrize(
    ("name", "headline", "rows"),
    [
        (
            "colab v5e-1",
            "Training on: TPU (v5e-1), 1 replica, JAX backend.",
            {
                "Chip": "1 × TPU v5e",
                "TensorCores": "1 (1 per chip)",
                "Matrix units (MXU)": "4 per core, 128 × 128",
                "Memory (HBM)": "16 GiB per chip",
                "Peak bfloat16": "197 TFLOP/s per chip",
                "Recommended batch": "128 per replica, 128 global",
            },
        ),
        (
            "colab v6e-1",
            "Training on: TPU (v6e-1), 1 replica, JAX backend.",
            {"Matrix units (MXU)": "2 per core, 256 × 256", "Peak bfloat16": "918 TFLOP/s per chip"},
        ),
        (
            "kaggle v5e-8",
            "Training on: TPU (v5e-8), 8 replicas, JAX backend.",
            {"Replicas": "8 (one per chip)", "Recommended batch": "128 per replica, 1,024 global"},
        ),
        (
            "v2-8 TPU VM",
            "Training on: TPU (v2-8), 8 replicas, TensorFlow backend.",
            {"Chip": "4 × TPU v2", "Replicas": "8 (2 per chip, one per TensorCore)"},
        ),
        ("legacy node", "Training on: this machine's CPU, JAX backend. No TPU here.", {"Replicas": "1"}),
        ("gpu", "Training on: 1 GPU (Tesla T4), JAX backend. No TPU here.", {"Replicas": "1 (one per GPU)"}),
        ("nothing", "Training on: this machine's CPU, JAX backend. No TPU here.", {"Replicas": "1"}),
    ],
)
def test_each_recorded_machine_gets_its_card(tmp_path, name, headline, rows):
    shown = on_machine(machines.ALL[name], tmp_path)
    assert text(shown)[0] == headline
    assert dict(card_rows(shown)).items() >= rows.items()


def test_the_card_of_colab_names_its_versions(tmp_path):
    shown = on_machine(machines.COLAB_V5E1, tmp_path)
    versions = dict(card_rows(shown))["Versions"]
    assert versions.startswith("Python 3.")
    assert versions.endswith(", keras 3.13.2, jax 0.7.2, libtpu 0.0.21.1")


def test_the_card_of_a_legacy_node_carries_the_advice(tmp_path):
    shown = on_machine(machines.LEGACY_NODE, tmp_path)
    assert "points to a TPU node, which Google has retired" in text(shown)[-1]
    assert html(shown).count('role="note"') == 1


def test_a_v4_replica_is_a_chip_with_both_its_cores():
    rows = dict(card_rows(runtime("tpu", "v4-8")))
    assert rows["Replicas"] == "4 (one per chip, on both its TensorCores)"
    assert rows["Memory (HBM)"] == "32 GiB per chip"


def test_another_jaxlib_is_shown_beside_jax():
    rows = dict(card_rows(runtime("cpu", packages={"jax": "0.10.2", "jaxlib": "0.10.1"})))
    assert rows["Versions"] == "Python 3.13.15, jax 0.10.2, jaxlib 0.10.1"


def test_the_headline_comes_first_and_is_the_largest():
    shown = runtime("simulated", "v2-8")
    card = html(shown)
    sizes = [float(size) for size in re.findall(r"font-size:(\d+)px", card)]
    first = re.search(r'<div style="font-size:(\d+)px[^>]*>([^<]+)</div>', card)
    assert first[2] == shown.headline
    assert float(first[1]) == max(sizes)
    assert sizes.count(max(sizes)) == 1
    assert card.index(shown.headline) < card.index("<svg")


def test_a_simulation_says_so_directly_under_the_headline_and_a_tpu_does_not():
    for name in ("v2-8", None):
        lines = text(runtime("simulated", name, replicas=8))
        assert lines[1].startswith("A rehearsal on this machine's CPU")
        assert lines[1].endswith("nothing here measures a TPU.")
    for kind in ("tpu", "gpu", "cpu"):
        card = connection_card(runtime(kind, "v5e-8" if kind == "tpu" else None))
        assert "rehearsal" not in card["text/html"] + card["text/plain"]


def test_simulated_replicas_are_dashed_and_real_ones_are_not():
    assert "stroke-dasharray" in html(runtime("simulated", "v5e-4"))
    assert "stroke-dasharray" not in html(runtime("tpu", "v5e-4"))


@pytest.mark.parametrize(
    ("name", "chips", "replicas", "cores"),
    [("v2-8", 4, 8, 8), ("v4-8", 4, 4, 8), ("v5e-1", 1, 1, 1), ("v6e-8", 8, 8, 8)],
)
def test_the_drawing_has_every_chip_core_and_replica(name, chips, replicas, cores):
    shown = runtime("tpu", name)
    texts = [t.text for t in svg(shown).iter(f"{NS}text")]
    assert [t for t in texts if t.startswith("chip ")] == [f"chip {index}" for index in range(chips)]
    assert replicas_drawn(shown) == [f"R{index}" for index in range(replicas)]
    assert len(list(svg(shown).iter(f"{NS}rect"))) == chips + replicas + cores


def test_nothing_is_drawn_outside_the_picture():
    for name in ("v2-8", "v5e-1", "v5e-4", "v5e-8", "v5e-256"):
        drawing = svg(runtime("tpu", name))
        width, height = map(float, drawing.get("viewBox").split()[2:])
        for group in drawing.iter(f"{NS}g"):
            x, y = map(float, re.findall(r"[\d.]+", group.get("transform")))
            for box in group.iter(f"{NS}rect"):
                assert x + float(box.get("x", 0)) + float(box.get("width")) <= width
                assert y + float(box.get("y", 0)) + float(box.get("height")) <= height


def test_a_large_slice_is_drawn_in_part_and_the_rest_is_a_number():
    shown = runtime("simulated", "v5e-256")
    assert len(replicas_drawn(shown)) == MAX_DRAWN
    assert "and 240 more chips" in html(shown)
    assert len(html(shown)) < 16_000


def test_devices_without_a_slice_are_drawn_as_boxes():
    assert "GPU 1" in html(runtime("gpu", replicas=2))
    assert replicas_drawn(runtime("simulated", replicas=3)) == ["R0", "R1", "R2"]
    assert "TensorCore" not in html(runtime("gpu", replicas=2))


def test_a_tpu_of_unknown_kind_shows_replicas_and_no_chip_figures():
    shown = runtime("tpu", replicas=4, device_kind="TPU v9")
    assert text(shown)[0].endswith("TPU v9, 4 replicas, JAX backend.")
    assert [label for label, _ in card_rows(shown)] == ["Replicas", "Recommended batch", "Versions"]
    assert "Chip figures" not in html(shown)


def test_a_cpu_needs_no_drawing():
    assert "<svg" not in html(runtime("cpu"))


def test_the_drawing_has_a_label_for_screen_readers():
    drawing = svg(runtime("tpu", "v2-8"))
    assert drawing.get("role") == "img"
    assert drawing.get("aria-label") == ("4 chips, 8 replicas: Training on: TPU (v2-8), 8 replicas, JAX backend.")
    assert svg(runtime("tpu", "v5e-1")).get("aria-label").startswith("1 chip, 1 replica:")


def test_labels_are_row_headers():
    assert html(runtime("tpu", "v2-8")).count('<th scope="row"') == len(card_rows(runtime("tpu", "v2-8")))


def test_the_colours_follow_the_page():
    card = html(runtime("simulated", "v2-8", warnings=("a",)))
    assert "currentColor" in card
    assert not re.search(r"background(-color)?:(?!none)", card)
    assert not re.search(r"(?<![-\w])color:(?!inherit)", card)


def test_every_text_from_outside_is_escaped():
    packages = {"keras": EVIL, "jax": EVIL, "libtpu": EVIL}
    shown = runtime("gpu", replicas=1, device_kind=EVIL, warnings=(EVIL, EVIL), packages=packages)
    card = html(shown)
    assert "<script" not in card
    assert "<img" not in card
    assert 'onerror="' not in card
    assert "&lt;script&gt;alert(2)" in card
    assert ET.fromstring(card) is not None


def test_text_from_outside_cannot_leave_the_label_of_the_drawing():
    shown = runtime("gpu", replicas=1, device_kind='" onload="alert(1)')
    assert svg(shown).get("onload") is None
    assert 'onload="alert' not in html(shown)


@pytest.mark.parametrize("name", machines.ALL)
def test_the_card_is_well_formed_and_survives_json(tmp_path, name):
    bundle = connection_card(on_machine(machines.ALL[name], tmp_path))
    assert set(bundle) == {"text/html", "text/plain"}
    assert json.loads(json.dumps(bundle)) == bundle
    assert ET.fromstring(bundle["text/html"]).tag == "div"


def test_the_card_needs_no_script_and_no_network():
    card = html(runtime("simulated", "v2-8"))
    assert "<script" not in card
    assert re.findall(r"https?://[^\"<]+", card) == ["http://www.w3.org/2000/svg"]


def test_memory_is_written_in_the_unit_that_comes_out_even():
    assert bytes_text(16 * 2**30) == "16 GiB"
    assert bytes_text(8 * 10**9) == "8 GB"
