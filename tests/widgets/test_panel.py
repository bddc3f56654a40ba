"""The training panel with real widgets: what the form shows, what a click does, and what is said of it."""

from __future__ import annotations

import pytest

pytest.importorskip("ipywidgets")

import ipywidgets
import keras

from colab_tpu_magic.errors import DataError, OptionError
from colab_tpu_magic.training.trials import TrialSettings
from colab_tpu_magic.widgets.panel import NO_RUN
from colab_tpu_magic.widgets.panel_form import MOST_SEED, PanelForm

from .panels import ROWS, data, panel_of, small_model

pytestmark = pytest.mark.usefixtures("one_device")
QUICK = {"epochs": 1, "batch_size": 100, "learning_rate": 0.01}


class Handle:
    """Stands for a display that can be updated."""

    def __init__(self):
        self.shown = []

    def update(self, bundle, raw):
        assert raw
        self.shown.append(bundle["text/plain"])


def with_picture(panel):
    panel._handles.append(Handle())
    return panel, panel._handles[-1].shown


def fails(error):
    def fail(epoch, logs):
        raise error

    return [keras.callbacks.LambdaCallback(on_epoch_begin=fail)]


# The form


def test_global_batch_and_rows_per_replica_follow_each_other():
    form = panel_of(small_model(), on_eight=True, batch_size=64).form
    assert (form.batch.value, form.per_replica.value) == (64, 8)
    form.per_replica.value = 16
    assert form.batch.value == 128
    form.batch.value = 256
    assert form.per_replica.value == 32
    assert form.settings.batch_size == 256
    assert "2 steps an epoch" in form.hint.value
    assert "128 rows per replica: 1,024" in form.hint.value


def test_one_device_has_no_rows_per_replica():
    form = panel_of(small_model()).form
    alone, shared = (PanelForm(TrialSettings(), replicas, lambda: None).box.children[0].children for replicas in (1, 8))
    assert form.per_replica not in form.box.children[0].children
    assert len(shared) == len(alone) + 1


def test_auto_shows_what_the_rules_choose_and_locks_the_field():
    panel = panel_of(small_model(), on_eight=True)
    form = panel.form
    prepared = panel.trials.preview(form.settings)
    assert form.settings.batch_size == form.settings.learning_rate == "auto"
    assert (form.batch.value, form.batch.disabled, form.per_replica.disabled) == (prepared.batch_size, True, True)
    assert (form.rate.value, form.rate.disabled) == (0.001, True)
    form.auto_batch.value = False
    assert (form.batch.disabled, form.settings.batch_size) == (False, prepared.batch_size)
    form.batch.value = 128
    assert form.rate.value == 0.002
    form.auto_rate.value = False
    assert (form.rate.disabled, form.settings.learning_rate) == (False, 0.002)
    form.batch.value = 32
    assert form.rate.value == 0.002


def test_a_rate_is_trained_with_as_it_was_typed():
    form = panel_of(small_model(), learning_rate=0.00123456).form
    assert form.settings.learning_rate == 0.00123456
    form.epochs.value = 3
    assert form.settings.learning_rate == 0.00123456


@pytest.mark.parametrize(
    ("rows", "message"), [(50, "does not divide over 8 replicas"), (4000, "larger than the data, which has 400 rows")]
)
def test_a_batch_that_cannot_be_is_told_and_train_waits_until_it_is_mended(rows, message):
    panel = panel_of(small_model(), on_eight=True, batch_size=64)
    panel.form.batch.value = rows
    assert message in panel.message.value
    assert panel.train_button.disabled
    assert panel.changes.value == ""
    assert "an epoch" not in panel.form.hint.value
    panel.form.batch.value = 80
    assert panel.message.value == ""
    assert not panel.train_button.disabled
    assert "5 steps an epoch" in panel.form.hint.value


def test_a_learning_rate_of_zero_is_told():
    panel = panel_of(small_model(), learning_rate=0.1)
    panel.form.rate.value = 0.0
    assert "learning rate &#x27;0.0&#x27; cannot be used" in panel.message.value
    assert panel.train_button.disabled


def test_the_changes_follow_the_form():
    panel = panel_of(small_model(), on_eight=True)
    before = panel.changes.value
    assert "Precision" not in before
    panel.form.precision.value = "bfloat16"
    assert "bfloat16 arithmetic" in panel.changes.value
    panel.form.precision.value = "keep"
    assert panel.changes.value == before


def test_keep_and_a_seed_to_be_drawn_become_numbers_in_the_form():
    panel = panel_of(small_model(keras.optimizers.Adam(0.003)), batch_size="keep", learning_rate="keep", seed=None)
    settings = panel.form.settings
    assert (settings.batch_size, settings.learning_rate) == (32, pytest.approx(0.003))
    assert 0 <= settings.seed <= MOST_SEED


def test_a_schedule_stays_with_auto():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    panel = panel_of(small_model(keras.optimizers.Adam(schedule)), learning_rate="keep")
    assert panel.form.settings.learning_rate == "auto"
    assert panel.trials.rate_of(panel.form.settings, panel.trials.preview(panel.form.settings)) is None


def test_data_that_cannot_be_used_is_refused_when_the_panel_is_made():
    with pytest.raises(DataError):
        panel_of(small_model(), x=data()[0], y=data()[1][:-1])


# A run


def test_a_click_trains_with_the_form_and_says_how_it_ended():
    panel, shown = with_picture(panel_of(small_model(), **QUICK))
    panel.train_button.click()
    (run,) = panel.runs
    assert (run.status, run.epochs, run.global_batch_size) == ("completed", 1, 100)
    assert "batch 100, rate 0.01: Training completed." in panel.message.value
    assert "batch 100, rate 0.01" in shown[-1]
    assert panel.compare_row.layout.display is None


def test_fields_and_train_are_locked_while_a_run_lasts():
    seen = []

    def look(epoch, logs):
        form = panel.form
        seen.append((panel.train_button.disabled, {one.disabled for one in form.fields}))
        form.precision.value = "bfloat16"  # a click that was on its way
        seen.append((panel.train_button.disabled, {one.disabled for one in form.fields}))

    panel = panel_of(small_model(), **QUICK, callbacks=[keras.callbacks.LambdaCallback(on_epoch_begin=look)])
    panel.train_button.click()
    assert seen == [(True, {True})] * 2
    assert panel.runs[0].status == "completed"
    assert not panel.train_button.disabled
    assert not panel.form.batch.disabled
    assert "bfloat16 arithmetic" in panel.changes.value


def test_train_in_a_cell_fills_the_form_and_returns_the_run():
    panel = panel_of(small_model())
    run = panel.train(**QUICK, optimizer="sgd", name="mine")
    assert panel.runs == [run]
    assert run.title == "mine"
    assert (panel.form.batch.value, panel.form.optimizer.value, panel.form.name.value) == (100, "sgd", "")
    assert "mine: Training completed." in panel.message.value


def test_a_wrong_setting_in_a_cell_names_those_that_exist():
    panel = panel_of(small_model())
    with pytest.raises(TypeError, match=r"unexpected setting 'batchsize'. Expected: epochs, batch_size,"):
        panel.train(batchsize=64)


def test_a_refused_setting_in_a_cell_is_raised_and_told_and_nothing_of_an_older_run():
    panel = panel_of(small_model(), **QUICK)
    panel.train()
    with pytest.raises(OptionError, match="larger than the data"):
        panel.train(batch_size=5000)
    assert len(panel.runs) == 1
    assert "larger than the data" in panel.message.value
    assert "completed" not in panel.message.value
    assert panel.train_button.disabled
    panel.train(batch_size=50)
    assert not panel.train_button.disabled


def test_hidden_runs_leave_the_comparison_and_keep_their_looks():
    panel, shown = with_picture(panel_of(small_model(), **QUICK))
    for size in (100, 50, 200):
        panel.train(batch_size=size)
    boxes = panel.shown.children
    assert [one.description for one in boxes] == [run.title for run in panel.runs]
    colours = colours_in(panel._comparison()["text/html"])
    boxes[1].value = False
    assert "batch 50," not in shown[-1] and "batch 200," in shown[-1]
    assert colours_in(panel._comparison()["text/html"]) == [colours[0], colours[2]]
    boxes[0].value = boxes[2].value = False
    assert shown[-1] == "Every run is hidden: tick one above."
    boxes[1].value = True
    assert "batch 50," in shown[-1] and "batch 100," not in shown[-1]
    panel.train(batch_size=40)
    assert panel.shown.children[:3] == boxes
    assert "batch 40," in shown[-1]


def colours_in(html):
    table = html[html.index("<table") :]
    return [piece.split('"')[0] for piece in table.split('stroke="')[1:]]


def test_the_switches_draw_the_comparison_anew():
    panel, shown = with_picture(panel_of(small_model(), **QUICK))
    assert panel._comparison()["text/plain"] == NO_RUN
    panel.train(epochs=2)
    plain = panel._comparison()["text/html"]
    panel.log.value = True
    assert len(shown) == 2
    assert panel._comparison()["text/html"] != plain


def test_the_panel_is_shown_as_a_widget_with_a_picture_below_it_that_stays(monkeypatch):
    import IPython.display

    calls = []
    monkeypatch.setattr(ipywidgets.VBox, "model_id", "an-id", raising=False)
    monkeypatch.setattr(IPython.display, "display", lambda bundle, **options: calls.append((bundle, options)))
    panel_of(small_model())._ipython_display_()
    (widget, _), (picture, options) = calls
    assert widget["application/vnd.jupyter.widget-view+json"]["model_id"] == "an-id"
    assert picture["text/plain"] == NO_RUN
    assert options == {"raw": True, "display_id": True}


# What goes wrong


def test_an_error_that_is_known_is_said_in_the_panel_and_not_thrown():
    panel = panel_of(small_model(), **QUICK, callbacks=fails(RuntimeError("RESOURCE_EXHAUSTED: out of memory")))
    panel.train_button.click()
    assert "does not fit in the device&#x27;s memory" in panel.message.value
    assert panel.runs[0].status == "failed"
    assert not panel.train_button.disabled
    panel.trials.fit_arguments.clear()
    panel.train_button.click()
    assert "Training completed" in panel.message.value


def test_an_error_of_the_users_own_code_is_said_and_its_traceback_shown():
    panel = panel_of(small_model(), **QUICK, callbacks=fails(OSError("disk full")))
    # In a kernel, what a click raises is shown as a traceback under the cell of the panel.
    with pytest.raises(OSError, match="disk full"):
        panel._train_clicked()
    assert "Training failed: OSError: disk full." in panel.message.value
    assert not panel.train_button.disabled


def test_an_interrupt_is_said_in_the_panel():
    panel = panel_of(small_model(), **QUICK, callbacks=fails(KeyboardInterrupt()))
    panel.train_button.click()
    assert "Interrupted: the model keeps the weights so far." in panel.message.value
    assert panel.runs[0].status == "interrupted"
    assert not panel.train_button.disabled


def test_a_second_click_before_the_first_has_begun_does_not_train_twice(monkeypatch):
    waiting = []
    monkeypatch.setattr(
        "colab_tpu_magic.widgets.panel.run_on_main", lambda shell, function, place: waiting.append(function)
    )
    panel = panel_of(small_model(), **QUICK)
    panel.train_button.click()
    panel.train_button.click()
    (train,) = waiting
    train()
    assert len(panel.runs) == 1
    panel.train_button.click()
    assert len(waiting) == 2


def test_names_and_errors_from_users_are_text():
    evil = '<img src=x onerror="alert(1)">&'
    panel, _ = with_picture(panel_of(small_model(), **QUICK, callbacks=fails(OSError(evil))))
    with pytest.raises(OSError):
        panel.train(name=evil)
    bundle = panel._comparison()
    assert "<img src=x" not in panel.message.value + panel.changes.value + bundle["text/html"] + bundle["image/svg+xml"]
    assert "&lt;img src=x" in panel.message.value
    # ipywidgets 7 puts a description into the page as HTML, 8 as text.
    description = panel.shown.children[0].description
    assert ("<img" in description) == (int(ipywidgets.__version__.split(".")[0]) >= 8)


def test_ten_runs_are_offered_and_the_oldest_goes(monkeypatch):
    monkeypatch.setattr("colab_tpu_magic.training.trials.MAX_TRIALS", 2)
    panel, shown = with_picture(panel_of(small_model(), **QUICK))
    for size in (100, 50, 200):
        panel.train(batch_size=size)
    assert [one.description for one in panel.shown.children] == ["batch 50, rate 0.01", "batch 200, rate 0.01"]
    assert "batch 100" not in shown[-1]


def test_rows_that_are_left_over_are_in_the_next_epoch():
    panel = panel_of(small_model(), batch_size=150)
    assert "every batch 150 rows" in panel.changes.value
    assert ROWS % 150
