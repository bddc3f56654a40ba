import base64
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from colab_tpu_magic.training.run import STATUSES
from colab_tpu_magic.widgets import static
from colab_tpu_magic.widgets.chart_options import ChartOptions
from colab_tpu_magic.widgets.chart_panel import TRAIN_COLOUR, VALIDATION_COLOUR
from colab_tpu_magic.widgets.picture import MID_GREY
from colab_tpu_magic.widgets.static import STATUS_COLOURS, run_bundle, run_figure, run_html
from colab_tpu_magic.widgets.svg import chart_svg

from .runs import change, empty_run, finished_run, series


def test_the_bundle_holds_html_svg_png_and_text():
    run = finished_run(changes=(change(),))
    bundle = run_bundle(run)
    assert list(bundle) == ["text/html", "image/svg+xml", "image/png", "text/plain"]
    assert bundle["image/svg+xml"] == chart_svg(run, ink=MID_GREY)
    assert chart_svg(run) in bundle["text/html"]
    assert bundle["text/plain"] == run.summary()
    assert base64.b64decode(bundle["image/png"], validate=True).startswith(b"\x89PNG\r\n\x1a\n")


def test_the_html_shows_ending_device_numbers_and_changes():
    text = " ".join(ET.fromstring(run_html(finished_run(changes=(change(),)))).itertext())
    for part in (
        "Training completed",
        "8 simulated replicas (v2-8) on CPU, JAX backend",
        "epoch 2 of 2, 20 steps",
        "22 s",
        "3.0 s",
        "1,024",
        "1,024 rows = 8 replicas × 128",
        "1 change for the TPU",
        "--batch-size keep",
    ):
        assert part in text


def test_the_html_needs_no_script_and_no_style_sheet():
    html = run_html(finished_run(changes=(change(),) * 5))
    assert "<script" not in html
    assert "<style" not in html


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_its_picture_and_its_colour(status):
    bundle = run_bundle(finished_run(status=status, error="ValueError: <b>" if status == "failed" else ""))
    assert STATUS_COLOURS.get(status, TRAIN_COLOUR) in bundle["text/html"]
    assert status in bundle["text/plain"]
    ET.fromstring(bundle["text/html"])


def test_an_error_with_markup_is_shown_as_text():
    html = run_html(finished_run(status="failed", error="ValueError: <script>x</script>"))
    assert "<script" not in html
    assert "Training failed: ValueError: &lt;script&gt;" in html


class Cleaned(HTMLParser):
    """What a page keeps that throws away inline SVG, styles and scripts, but not the text in SVG."""

    def __init__(self):
        super().__init__()
        self.hidden, self.shown, self.pictures = 0, [], []

    def handle_starttag(self, tag, attributes):
        if tag == "style" or (tag == "div" and (self.hidden or "hidden" in dict(attributes))):
            self.hidden += 1
        if tag == "img":
            self.pictures.append(dict(attributes))

    def handle_endtag(self, tag):
        if self.hidden and tag in ("div", "style"):
            self.hidden -= 1

    def handle_data(self, data):
        if not self.hidden:
            self.shown.append(data)


def test_a_page_that_removes_svg_and_styles_shows_the_png_and_no_loose_labels():
    bundle = run_bundle(finished_run())
    page = Cleaned()
    page.feed(bundle["text/html"])
    (picture,) = page.pictures
    assert picture["src"] == f"data:image/png;base64,{bundle['image/png']}"
    assert picture["alt"].startswith("Training completed. loss train 0.5, validation 0.625;")
    assert "Training completed" in page.shown
    assert "validation 0.625" not in page.shown


def test_the_style_shows_the_svg_and_hides_the_png():
    html = run_bundle(finished_run())["text/html"]
    assert ".tpu-magic-chart[hidden]{display:block!important}" in html
    assert ".tpu-magic-picture{display:none!important}" in html
    assert html.count("<svg") == 1
    assert '<div class="tpu-magic-chart" hidden="hidden"><svg' in html


def test_the_bundle_does_without_a_png_when_matplotlib_cannot_draw(monkeypatch):
    monkeypatch.setattr(static, "run_figure", lambda *_: 1 / 0)
    bundle = run_bundle(finished_run())
    assert list(bundle) == ["text/html", "image/svg+xml", "text/plain"]
    assert "<img" not in bundle["text/html"]
    assert "hidden" not in bundle["text/html"]


def test_the_figure_shows_itself_in_a_notebook_without_pyplot():
    assert run_figure(finished_run())._repr_png_().startswith(b"\x89PNG\r\n\x1a\n")


def test_an_empty_run_has_a_picture_too():
    bundle = run_bundle(empty_run(global_batch_size=0))
    assert "no values yet" in bundle["text/html"]
    assert "Examples a second" not in bundle["text/html"]
    assert len(bundle["image/png"]) > 1000


def test_the_figure_has_a_panel_for_each_metric_with_the_series_values():
    loss, accuracy = run_figure(finished_run()).axes
    assert [axes.get_title(loc="left") for axes in (loss, accuracy)] == ["loss", "accuracy"]
    train, validation, *gridlines = loss.lines
    assert list(train.get_xdata()) == [5, 10, 15, 20]
    assert list(train.get_ydata()) == [2.0, 1.0, 0.75, 0.5]
    assert (train.get_color(), train.get_linestyle()) == (TRAIN_COLOUR, "-")
    assert list(validation.get_ydata()) == [1.25, 0.625]
    assert (validation.get_color(), validation.get_linestyle(), validation.get_marker()) == (
        VALIDATION_COLOUR,
        "--",
        "o",
    )
    assert [line.get_xdata()[0] for line in gridlines] == [20, 20, 10, 20]
    assert [text.get_text() for text in loss.get_legend().get_texts()] == [
        "train, last steps 0.5",
        "validation 0.625",
        "best: epoch 2, 0.625",
    ]


def test_a_single_point_is_visible_in_the_figure():
    (axes,) = run_figure(empty_run(train={"loss": series("loss", {1: 0.5})})).axes
    assert axes.lines[0].get_marker() == "o"


def test_names_with_dollars_and_values_that_are_not_finite_can_be_drawn():
    name = r"$\frac{<script>"
    run = finished_run(train={name: series(name, {1: math.nan, 2: math.inf, 3: 1.0})}, validation={})
    assert base64.b64decode(run_bundle(run)["image/png"]).startswith(b"\x89PNG")


def test_run_plot_is_the_figure_and_leaves_pyplot_alone():
    code = (
        "import sys\n"
        "from tests.widgets.runs import finished_run\n"
        "print(type(finished_run().plot()).__name__, 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Figure", "False"]


def test_the_html_shows_every_finding_above_the_numbers():
    html = run_html(finished_run(nan_step=3, compilations=3))
    notes = [element.text for element in ET.fromstring(html).iter("div") if element.get("role") == "note"]
    assert [note[:20] for note in notes] == ["The loss is not a nu", "The step was compile"]
    assert html.index("The step was compile") < html.index("Progress")
    assert 'role="note"' not in run_html(finished_run())


def test_the_numbers_hold_what_was_measured_and_leave_out_what_was_not():
    run = finished_run(train_seconds=1.0, timed_steps=10, data_wait_seconds=0.1, compilations=2, compiling_seconds=9.0)
    run.learning_rate = series("learning rate", {1: 0.01, 20: 0.001})
    text = " ".join(ET.fromstring(run_html(run)).itertext())
    for part in (
        "Time per step 100 ms = 10 waiting for data + 90 computing",
        "Compilations 2 in 9.0 s",
        "Learning rate at the end 0.001",
        "Best epoch 2, validation loss 0.625",
    ):
        assert part.replace(" ", "") in text.replace(" ", "")
    assert "Compilations" not in run_html(finished_run())


def test_all_pictures_are_drawn_with_the_same_options():
    run = finished_run()
    options = ChartOptions(log=True, smoothing=0.5)
    bundle = run_bundle(run, options)
    assert chart_svg(run, options=options) in bundle["text/html"]
    assert bundle["image/svg+xml"] == chart_svg(run, ink=MID_GREY, options=options)
    loss = run_figure(run, options).axes[0]
    assert loss.get_yscale() == "log"
    raw, smooth = loss.lines[:2]
    assert list(raw.get_ydata()) == [2.0, 1.0, 0.75, 0.5]
    assert list(smooth.get_ydata())[:2] == pytest.approx([2.0, 4 / 3])


def test_the_figure_has_the_learning_rate_on_a_scale_of_its_own():
    run = finished_run(learning_rate=series("learning rate", {1: 0.01, 20: 0.001}))
    loss, accuracy, rate = run_figure(run).axes[0], *run_figure(run).axes[1:]
    assert loss.get_title(loc="right") == "learning rate 0.01 → 0.001"
    assert [list(axes.lines[0].get_ydata()) for axes in (accuracy, rate) if len(axes.lines[0].get_ydata()) == 2] == [
        [0.01, 0.001]
    ]


def test_a_logarithmic_figure_of_negative_values_is_drawn_linear():
    run = finished_run(train={"loss": series("loss", {1: -1.0, 2: -2.0})}, validation={})
    (axes,) = run_figure(run, ChartOptions(log=True)).axes
    assert axes.get_yscale() == "linear"
    assert axes.get_title(loc="right") == "linear: no value > 0"
