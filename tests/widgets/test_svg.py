import math
import re
import time
import xml.etree.ElementTree as ET

import pytest

from colab_tpu_magic.training.run import STATUSES
from colab_tpu_magic.training.series import Series
from colab_tpu_magic.widgets.chart_options import ChartOptions
from colab_tpu_magic.widgets.chart_panel import TRAIN_COLOUR, VALIDATION_COLOUR
from colab_tpu_magic.widgets.plot import PANEL_HEIGHT
from colab_tpu_magic.widgets.svg import chart_height, chart_svg

from .runs import empty_run, finished_run, series

NS = "{http://www.w3.org/2000/svg}"


def parse(run, **options):
    return ET.fromstring(chart_svg(run, **options))


def texts(root):
    return [element.text for element in root.iter(f"{NS}text")]


def epoch_row(root):
    return [element.text for element in root.iter(f"{NS}text") if element.get("y") == f"{PANEL_HEIGHT - 12}"]


def paths(root, colour):
    """Return the curves of a colour, one a panel: lines of more than one point in tenths of a pixel."""
    return [path for path in root.iter(f"{NS}path") if path.get("stroke") == colour and path.get("d").startswith("m")]


def places(path):
    """Return the points of a curve in pixels, from its moves."""
    numbers = [int(number) for number in re.findall(r"-?\d+", path.get("d"))]
    x = y = 0
    points = []
    for right, down in zip(numbers[::2], numbers[1::2]):
        x, y = x + right, y + down
        points.append((x / 10, y / 10))
    return points


def lines(root, colour):
    return [places(path) for path in paths(root, colour)]


def dots(root, colour):
    """Return the number of dots of a colour."""
    groups = [group for group in root.iter(f"{NS}g") if group.get("stroke") == colour]
    return sum(path.get("d").count("h0") for group in groups for path in group)


def test_there_is_a_panel_for_each_metric_and_loss_is_the_first():
    root = parse(finished_run())
    panels = root.findall(f"{NS}g")
    assert [texts(panel)[0] for panel in panels] == ["loss", "accuracy"]
    assert [panel.get("transform") for panel in panels] == ["translate(0 0)", "translate(430 0)"]


def test_training_is_solid_and_validation_is_dashed_with_markers():
    root = parse(finished_run())
    assert [path.get("stroke-dasharray") for path in paths(root, TRAIN_COLOUR)] == [None, None]
    assert [path.get("stroke-dasharray") for path in paths(root, VALIDATION_COLOUR)] == ["60 40", "60 40"]
    assert dots(root, VALIDATION_COLOUR) == 4
    assert [title.text for title in root.iter(f"{NS}title") if "step" in title.text][:2] == [
        "step 10: validation 1.25",
        "step 20: validation 0.625",
    ]


def test_all_lines_share_one_axis_of_steps():
    train, validation = (lines(parse(finished_run()), colour) for colour in (TRAIN_COLOUR, VALIDATION_COLOUR))
    for panel in range(2):
        assert train[panel][1][0] == validation[panel][0][0]
        assert train[panel][3][0] == validation[panel][1][0] == 416.0


def test_higher_values_are_drawn_higher():
    train = lines(parse(finished_run()), TRAIN_COLOUR)
    loss, accuracy = ([y for _, y in points] for points in train)
    assert loss == sorted(loss)
    assert accuracy == sorted(accuracy, reverse=True)


def test_the_legend_holds_the_last_values_that_are_drawn():
    found = texts(parse(finished_run(history={"loss": [1.0, 0.5125]})))
    assert "train, last steps 0.5" in found
    assert "validation 0.625" in found
    assert "train, last steps 0.875" in found


def test_without_samples_the_legend_holds_what_keras_reported():
    run = finished_run(train={}, validation={}, history={"loss": [1.0, 0.5125], "val_loss": [0.75]})
    run.train["loss"] = Series("loss")
    found = texts(parse(run))
    assert "train, last steps 0.5125" in found
    assert "validation 0.75" in found


def test_the_mean_of_the_epoch_is_drawn_and_named_when_asked_for():
    running = {"loss": series("loss", {5: 4.0, 10: 3.0, 15: 2.0, 20: 1.75})}
    root = parse(finished_run(running=running), options=ChartOptions(epoch_mean=True))
    assert "train, epoch mean 1.75" in texts(root)
    # A metric that Keras reports no mean of keeps its own curve, and says so.
    assert "train, last steps 0.875" in texts(root)
    assert lines(root, TRAIN_COLOUR)[0] != lines(parse(finished_run(running=running)), TRAIN_COLOUR)[0]


def test_epochs_are_numbered_under_the_steps():
    root = parse(finished_run())
    assert texts(root).count("step") == 2
    assert epoch_row(root) == ["epoch", "1", "2", "epoch", "1", "2"]


def test_a_fit_that_began_at_a_later_epoch_shows_its_true_numbers():
    assert epoch_row(parse(finished_run(epoch=5, epochs=5, first_epoch=4))) == ["epoch", "4", "5", "epoch", "4", "5"]


def test_a_running_chart_has_room_to_the_end_of_its_epoch():
    run = empty_run(train={"loss": series("loss", {1: 1.0, 5: 0.5})})
    (points,) = lines(parse(run), TRAIN_COLOUR)
    assert points[-1][0] == pytest.approx(54 + (600 - 54 - 14) / 2, abs=0.1)


def test_a_name_with_markup_is_text_and_never_an_element():
    name = "<script>alert('x')</script>&\"quote\""
    run = finished_run(train={name: series(name, {1: 1.0, 2: 2.0})}, validation={})
    svg = chart_svg(run)
    assert "<script" not in svg
    root = ET.fromstring(svg)
    assert name in texts(root)
    assert name in root.get("aria-label")


def test_a_long_name_is_cut_but_told_in_full_to_a_screen_reader():
    name = "a_metric_" * 20
    root = parse(finished_run(train={name: series(name, {1: 1.0})}, validation={}))
    assert texts(root)[0].endswith("…")
    assert name in root.get("aria-label")


def test_values_that_are_not_finite_are_left_out_and_named_in_the_legend():
    points = {1: 1.0, 2: math.nan, 3: math.inf, 4: -math.inf, 5: 0.5, 6: math.nan}
    svg = chart_svg(finished_run(train={"loss": series("loss", points)}, validation={}))
    assert not re.search(r'(?:d|c[xy]|x|y)="[^"]*(nan|inf)', svg)
    root = ET.fromstring(svg)
    assert len(lines(root, TRAIN_COLOUR)[0]) == 2
    assert "train, last steps NaN" in texts(root)


def test_a_metric_that_was_never_finite_gives_a_panel_without_a_line():
    root = parse(finished_run(train={"loss": series("loss", {1: math.nan, 2: math.nan})}, validation={}))
    assert "no values yet" in texts(root)
    assert not lines(root, TRAIN_COLOUR)


def test_an_empty_run_gives_one_panel_that_says_so():
    root = parse(empty_run())
    assert texts(root)[0] == "loss"
    assert "no values yet" in texts(root)
    assert root.get("aria-label") == "Training is running. No values yet."


def test_a_single_point_is_drawn_as_a_dot():
    root = parse(empty_run(train={"loss": series("loss", {1: 0.5})}))
    assert dots(root, TRAIN_COLOUR) == 1
    assert not lines(root, TRAIN_COLOUR)
    assert "step 1: train 0.5" in [title.text for title in root.iter(f"{NS}title")]


@pytest.mark.parametrize("values", [(1.0, 1.0), (0.0, 0.0), (-3.0, 5.0), (1e-30, 2e-30), (1e99, -1e99), (1e300, 1.0)])
def test_any_range_of_values_gives_finite_places_inside_the_panel(values):
    root = parse(finished_run(train={"loss": series("loss", dict(enumerate(values, start=1)))}, validation={}))
    for points in lines(root, TRAIN_COLOUR):
        assert all(62 <= y <= 218 for _, y in points)


def test_a_long_series_is_drawn_with_at_most_266_points_and_keeps_its_spike():
    long = Series("loss", max_points=10**6)
    for step in range(1, 5001):
        long.add(step, 99.0 if step == 3333 else 1.0 / step)
    root = parse(finished_run(train={"loss": long}, validation={}, steps_per_epoch=2500))
    (points,) = lines(root, TRAIN_COLOUR)
    assert len(points) <= 266
    assert points[-1][0] == 586.0
    assert sum(y < 80 for _, y in points) == 1


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_is_in_the_label_for_screen_readers(status):
    root = parse(finished_run(status=status))
    assert root.get("role") == "img"
    assert root.get("aria-label").startswith("Training")
    assert status in root.get("aria-label")


def test_the_chart_takes_the_colours_of_the_page_and_has_no_background():
    root = parse(finished_run())
    assert root.get("fill") == "currentColor"
    assert not list(root.iter(f"{NS}rect"))
    assert {"color", "background"}.isdisjoint(re.findall(r"([a-z-]+):", root.get("style")))


def test_more_metrics_than_columns_go_to_a_second_row():
    run = finished_run(train={name: series(name, {1: 1.0, 2: 0.5}) for name in ("loss", "b", "c", "d")}, validation={})
    assert chart_height(run) == 2 * PANEL_HEIGHT
    assert parse(run).findall(f"{NS}g")[3].get("transform") == f"translate(0 {PANEL_HEIGHT})"
    assert chart_height(run, max_columns=4) == chart_height(empty_run()) == PANEL_HEIGHT


def full_run(**fields):
    """Return a run whose two metrics have all the points that a series can hold."""
    run = finished_run(step=1000, steps_per_epoch=100, epochs=10, epoch=10, **fields)
    for name in ("loss", "accuracy"):
        run.train[name] = series(name, {step: 1.0 / step + step % 7 / 10 for step in range(1, 1001)})
        run.validation[name] = series(name, {step: 1.0 / step for step in range(100, 1001, 100)})
    return run


@pytest.mark.parametrize("options", [ChartOptions(), ChartOptions(log=True, smoothing=0.9)])
def test_drawing_full_series_is_cheap_and_small(options):
    run = full_run(learning_rate=series("learning rate", {step: 0.001 / step for step in range(1, 1001)}))
    seconds = []
    for _ in range(5):
        start = time.process_time()
        chart = chart_svg(run, options=options)
        seconds.append(time.process_time() - start)
    # About 1 ms where it was measured; the bound leaves room for a slow machine.
    assert min(seconds) < 0.01
    assert len(chart.encode()) <= 9_000


def test_values_that_are_not_finite_are_counted_in_their_panel():
    values = {1: 1.0, 2: math.nan, 3: math.inf, 4: 0.5}
    found = texts(parse(empty_run(train={"loss": series("loss", values)})))
    assert "2 NaN or infinite not drawn" in found
    assert not any("not drawn" in text for text in texts(parse(finished_run())))


def test_the_label_of_the_last_step_is_not_cut_off():
    run = empty_run(step=2000, steps_per_epoch=400, train={"loss": series("loss", {1: 1.0, 2000: 0.5})})
    root = parse(run)
    width = float(root.get("viewBox").split()[2])
    (label,) = [text for text in root.iter(f"{NS}text") if text.text == "2,000"]
    assert label.get("text-anchor") == "end"
    assert float(label.get("x")) <= width


def test_a_picture_that_stands_alone_has_an_ink_of_its_own():
    assert parse(finished_run(), ink="#767676").get("color") == "#767676"
    assert parse(finished_run()).get("color") is None


LOG = ChartOptions(log=True)


def test_a_tenth_is_as_far_from_one_as_one_from_ten_on_a_logarithmic_axis():
    run = finished_run(train={"loss": series("loss", {1: 10.0, 2: 1.0, 3: 0.1})}, validation={})
    root = parse(run, options=LOG)
    ((_, high), (_, middle), (_, low)) = lines(root, TRAIN_COLOUR)[0]
    assert middle - high == pytest.approx(low - middle, abs=0.2)
    assert {"0.1", "1", "10"} <= set(texts(root))


def test_values_that_a_logarithmic_axis_cannot_show_are_left_out_and_counted():
    run = finished_run(train={"loss": series("loss", {1: 1.0, 2: 0.0, 3: -1.0, 4: 0.5})}, validation={})
    root = parse(run, options=LOG)
    assert "2 ≤ 0 not drawn" in texts(root)
    assert len(lines(root, TRAIN_COLOUR)[0]) == 2


def test_a_panel_without_a_positive_value_stays_linear_and_says_so():
    run = finished_run(train={"loss": series("loss", {1: -1.0, 2: -2.0, 3: 0.0})}, validation={})
    root = parse(run, options=LOG)
    assert "linear: no value > 0" in texts(root)
    assert len(lines(root, TRAIN_COLOUR)[0]) == 3


def test_control_characters_leave_valid_xml():
    run = finished_run(status="failed", error="\x1b[31mred\x0b")
    parse(run)


def test_smoothing_draws_a_mean_in_front_of_the_faint_raw_curve():
    run = finished_run(train={"loss": series("loss", {1: 1.0, 2: 0.0, 3: 1.0, 4: 0.0})}, validation={})
    raw, smooth = paths(parse(run, options=ChartOptions(smoothing=0.5)), TRAIN_COLOUR)
    assert (raw.get("opacity"), raw.get("stroke-width"), smooth.get("stroke-width")) == (".65", "10", "20")
    raw_heights, smooth_heights = ([y for _, y in places(path)] for path in (raw, smooth))
    assert smooth_heights[0] == raw_heights[0]
    assert max(raw_heights) > max(smooth_heights)


def test_the_best_epoch_is_ringed_on_the_loss_and_a_line_in_every_panel():
    run = finished_run()
    run.validation["loss"] = series("val_loss", {10: 0.4, 20: 0.625})
    root = parse(run)
    assert "best: epoch 1, 0.4" in texts(root)
    assert texts(root).count("best: epoch 1, 0.4") == 1
    assert [title.text for title in root.iter(f"{NS}title")].count("best epoch: 1") == 2
    (ring,) = [circle for circle in root.iter(f"{NS}circle") if circle.get("r") == "60"]
    (x, y) = lines(root, VALIDATION_COLOUR)[0][0]
    assert (int(ring.get("cx")) / 10, int(ring.get("cy")) / 10) == (x, y)
    assert "best: epoch 1, 0.4" in root.get("aria-label")


def test_a_single_validation_is_not_called_the_best():
    run = finished_run(validation={"loss": series("val_loss", {10: 0.4})})
    assert "best" not in chart_svg(run)


def rates(points):
    return finished_run(learning_rate=series("learning rate", points))


def test_a_learning_rate_that_falls_is_drawn_in_the_loss_panel_with_its_range():
    root = parse(rates({1: 0.001, 10: 0.001, 20: 0.0001}))
    loss, accuracy = root.findall(f"{NS}g")
    assert "learning rate 0.001 → 0.0001" in texts(loss)
    assert len(paths(loss, "currentColor")) == 1
    assert not paths(accuracy, "currentColor")
    assert "learning rate 0.001 → 0.0001" in root.get("aria-label")


def test_a_learning_rate_that_rises_and_falls_is_told_by_its_range():
    assert "learning rate from 0 to 0.01" in texts(parse(rates({1: 0.0, 10: 0.01, 20: 0.005})))


def test_a_steady_learning_rate_is_not_drawn():
    assert "learning rate" not in chart_svg(rates({1: 0.001, 20: 0.001}))


def test_many_validations_are_a_line_without_dots():
    run = full_run()
    run.validation["loss"] = series("val_loss", {step: 1.0 / step for step in range(10, 1001, 10)})
    root = parse(run)
    assert dots(root.findall(f"{NS}g")[0], VALIDATION_COLOUR) == 0
    assert dots(root.findall(f"{NS}g")[1], VALIDATION_COLOUR) == 10


def test_a_learning_rate_that_drops_is_drawn_as_a_step_however_many_readings_there_are():
    run = full_run(learning_rate=series("learning rate", {n: 0.1 if n <= 500 else 0.01 for n in range(1, 1001)}))
    ((*_, before, after, _),) = lines(parse(run).findall(f"{NS}g")[0], "currentColor")
    assert 0 <= after[0] - before[0] < 1
    assert after[1] - before[1] > 100


def test_a_note_and_a_learning_rate_do_not_share_a_line():
    run = rates({1: 0.01, 20: 0.001})
    run.train["loss"] = series("loss", {1: 1.0, 2: math.nan, 3: 0.5})
    heights = {text.text: text.get("y") for text in parse(run).iter(f"{NS}text")}
    assert heights["learning rate 0.01 → 0.001"] != heights["1 NaN or infinite not drawn"]
