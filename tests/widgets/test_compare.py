import base64
import re
import xml.etree.ElementTree as ET

import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.widgets import compare
from colab_tpu_magic.widgets.chart_options import ChartOptions
from colab_tpu_magic.widgets.compare import compare_bundle, compare_figure, compare_svg
from colab_tpu_magic.widgets.compare_data import COLOURS, compared, last_epoch_of, look_of
from colab_tpu_magic.widgets.picture import MID_GREY
from colab_tpu_magic.widgets.plot import LEFT

from .runs import finished_run, series
from .test_svg import NS, dots, lines, paths, texts


def runs(count):
    return [finished_run(number=number) for number in range(1, count + 1)]


def half_batch():
    """Return the epochs of `finished_run` with twice as many steps in each."""
    doubled = {"loss": series("loss", {10: 2.0, 20: 1.0, 30: 0.75, 40: 0.5})}
    checked = {"loss": series("val_loss", {20: 1.25, 40: 0.625})}
    return finished_run(number=2, steps_per_epoch=20, step=40, train=doubled, validation=checked)


def test_runs_with_different_batch_sizes_meet_at_the_same_epoch():
    panels = compared([finished_run(number=1), half_batch()], ["loss"], ChartOptions())
    assert [line.data.train.xs for line in panels["loss"]] == [[0.5, 1.0, 1.5, 2.0]] * 2
    assert [line.data.validation.xs for line in panels["loss"]] == [[1.0, 2.0]] * 2
    assert last_epoch_of(panels) == 2.0


def test_a_run_without_known_steps_is_placed_by_its_epochs():
    panels = compared([finished_run(steps_per_epoch=None)], ["loss"], ChartOptions())
    assert panels["loss"][0].data.validation.xs == [1.0, 2.0]


def test_a_run_that_began_later_stands_at_its_true_epochs():
    run = finished_run(first_epoch=4, epoch=5, epochs=5)
    assert compared([run], ["loss"], ChartOptions())["loss"][0].data.validation.xs == [4.0, 5.0]


def test_validation_is_strong_with_dots_and_training_thin():
    root = ET.fromstring(compare_svg([finished_run(number=1)]))
    widths = [path.get("stroke-width") for path in paths(root, COLOURS[0])]
    assert widths == ["9", "20", "9", "20"]
    assert dots(root, COLOURS[0]) == 4


def test_a_run_without_validation_has_a_strong_line_for_its_training():
    root = ET.fromstring(compare_svg([finished_run(number=1, validation={})]))
    assert [path.get("stroke-width") for path in paths(root, COLOURS[0])] == ["18", "18"]


def test_ten_runs_have_ten_looks():
    looks = [look_of(index) for index in range(10)]
    assert len(set(looks)) == 10
    assert [look.dash for look in looks] == [()] * 7 + [(7, 3)] * 3
    assert "#F0E442" not in COLOURS


def test_the_legend_has_a_row_a_run_with_its_last_values():
    found = texts(ET.fromstring(compare_svg([finished_run(name="small steps"), *runs(2)])))
    assert found.count("small steps") == 2
    row = found.index("small steps")
    assert found[row : row + 3] == ["small steps", "0.5", "0.625"]
    assert {"run 1", "run 2"} <= set(found)


def test_loss_comes_first_then_accuracy_and_three_panels_are_the_most():
    names = ("auc", "val_acc_like", "top_5_accuracy", "loss", "mae")
    run = finished_run(train={name: series(name, {1: 1.0, 2: 0.5}) for name in names}, validation={})
    root = ET.fromstring(compare_svg([run]))
    assert [texts(panel)[0] for panel in root.findall(f"{NS}g")] == ["loss", "val_acc_like", "top_5_accuracy"]


def test_asked_for_metrics_are_the_panels_in_that_order():
    root = ET.fromstring(compare_svg(runs(2), ["accuracy", "loss"]))
    assert [texts(panel)[0] for panel in root.findall(f"{NS}g")] == ["accuracy", "loss"]


def test_a_metric_that_no_run_has_is_named_with_those_that_are_known():
    with pytest.raises(OptionError, match=r"None of the runs has a metric 'acuracy'.\nExpected: .*\nType: accuracy"):
        compare_svg(runs(2), ["acuracy"])


def test_a_metric_that_one_run_lacks_has_only_the_others():
    other = finished_run(number=2, train={"loss": series("loss", {1: 1.0, 2: 0.5})}, validation={})
    panels = compared([finished_run(number=1), other], None, ChartOptions())
    assert [line.title for line in panels["accuracy"]] == ["run 1"]


def test_more_than_ten_runs_are_refused():
    with pytest.raises(OptionError, match=r"11 runs are too many.*\nExpected: At most 10 runs"):
        compare_svg(runs(11))


def test_a_logarithmic_picture_leaves_out_values_that_it_cannot_show():
    below = finished_run(number=2, train={"loss": series("loss", {1: -1.0, 2: -2.0})}, validation={})
    panels = compared([finished_run(number=1), below], ["loss"], ChartOptions(log=True))
    assert [line.data.log for line in panels["loss"]] == [True, True]
    assert panels["loss"][1].data.train.xs == []
    assert "log axis" in texts(ET.fromstring(compare_svg([finished_run()], options=ChartOptions(log=True))))


def test_smoothing_replaces_the_train_curve():
    raw, smooth = (
        ET.fromstring(compare_svg(runs(1), ["loss"], options=ChartOptions(smoothing=weight))) for weight in (0.0, 0.8)
    )
    assert len(lines(raw, COLOURS[0])) == len(lines(smooth, COLOURS[0])) == 2
    assert lines(raw, COLOURS[0])[0] != lines(smooth, COLOURS[0])[0]


def test_curves_stay_inside_the_panel():
    root = ET.fromstring(compare_svg(runs(10)))
    for colour in COLOURS:
        for points in lines(root, colour):
            assert all(LEFT <= x <= 416.1 and 62 <= y <= 218 for x, y in points)


def test_the_bundle_holds_chart_table_pictures_and_text():
    compared_runs = [finished_run(number=1, compile_seconds=2.0), half_batch()]
    compared_runs[0].learning_rate = series("learning rate", {1: 0.01, 20: 0.001})
    bundle = compare_bundle(compared_runs)
    assert list(bundle) == ["text/html", "image/svg+xml", "image/png", "text/plain"]
    assert compare_svg(compared_runs) in bundle["text/html"]
    assert bundle["image/svg+xml"] == compare_svg(compared_runs, ink=MID_GREY)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"].splitlines() == [
        "Run    Settings                                 loss (train / val)  accuracy (train / val)  Best            Time  Examples/s",
        "run 1  batch 1,024, learning rate 0.01 → 0.001  0.5 / 0.625         0.875 / 0.85            epoch 2, 0.625  22 s  973",
        "run 2  batch 1,024                              0.5 / 0.625         –                       epoch 2, 0.625  22 s  2,102",
    ]


def test_the_table_shows_the_line_of_each_run():
    html = compare_bundle(runs(9))["text/html"]
    table = html[html.index("<table") :]
    assert re.findall(r'stroke="([^"]+)" stroke-width="2.5"', table) == [*COLOURS, COLOURS[0], COLOURS[1]]
    assert table.count('stroke-dasharray="7 3"') == 2


def test_no_run_gives_a_sentence():
    assert compare_bundle([]) == {"text/html": "<div>No run yet.</div>", "text/plain": "No run yet."}


def test_the_bundle_does_without_a_png_when_matplotlib_cannot_draw(monkeypatch):
    monkeypatch.setattr(compare, "compare_figure", lambda *_: 1 / 0)
    assert list(compare_bundle(runs(2))) == ["text/html", "image/svg+xml", "text/plain"]


def test_titles_and_metrics_from_users_are_text():
    evil = '<script>alert("x")</script>&'
    run = finished_run(name=evil, train={evil: series(evil, {1: 1.0, 2: 0.5})}, validation={})
    bundle = compare_bundle([run])
    for mime in ("text/html", "image/svg+xml"):
        assert "<script" not in bundle[mime]
    ET.fromstring(bundle["image/svg+xml"])


def test_the_figure_has_the_curves_and_one_legend_for_runs_of_the_same_name():
    figure = compare_figure([finished_run(name="a $ run"), finished_run(name="a $ run")])
    loss, accuracy = figure.axes
    assert [axes.get_title(loc="left") for axes in (loss, accuracy)] == ["loss", "accuracy"]
    assert [list(line.get_xdata()) for line in loss.lines] == [[0.5, 1.0, 1.5, 2.0], [1.0, 2.0]] * 2
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [r"a \$ run", r"a \$ run"]


def test_a_run_without_values_has_a_picture_too():
    empty = finished_run(train={}, validation={}, step=0, epoch=0)
    bundle = compare_bundle([empty])
    assert "no values yet" in bundle["text/html"]
    assert len(bundle["image/png"]) > 1000
