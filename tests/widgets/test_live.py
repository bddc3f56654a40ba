import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from colab_tpu_magic.rewrite.change import Change
from colab_tpu_magic.training.control import Control
from colab_tpu_magic.widgets import dashboard
from colab_tpu_magic.widgets.live import LiveView, choose_view_kind
from colab_tpu_magic.widgets.text import run_summary

from .front import enter, open_widgets
from .runs import empty_run, finished_run, series


@pytest.fixture
def widget_view(output, pump, clock):
    """Return a function that shows a run as widgets."""

    def show(run, control=None):
        view = LiveView(run, "widget")
        view.show(control)
        return view

    return show


def test_a_shell_with_a_kernel_gets_widgets_and_any_other_gets_text():
    assert choose_view_kind(SimpleNamespace(kernel=object())) == "widget"
    assert choose_view_kind(SimpleNamespace()) == "text"
    assert choose_view_kind(None) == "text"


def test_a_shell_without_ipywidgets_gets_text(monkeypatch):
    monkeypatch.setattr("colab_tpu_magic.widgets.live.find_spec", lambda name: None)
    assert choose_view_kind(SimpleNamespace(kernel=object())) == "text"


def test_an_unknown_kind_names_the_known_ones():
    with pytest.raises(ValueError, match=r"'picture' is not known.*'widget', 'text', 'changes' or 'none'"):
        LiveView(empty_run(), "picture")


def test_there_are_controls_when_there_is_something_to_control(widget_view):
    control = Control()
    assert widget_view(empty_run(), control).dashboard.controls.control is control
    assert widget_view(empty_run()).dashboard.controls is None


def test_listening_lets_the_clicks_through(widget_view, pump):
    control = Control()
    view = widget_view(empty_run(), control)
    pump.messages = [lambda: enter(view.dashboard.controls.pause, True)]
    view.update()
    assert not control.pausing.is_set()
    view.listen()
    assert control.pausing.is_set()


def test_listening_without_controls_does_nothing(widget_view, output):
    widget_view(empty_run()).listen()
    LiveView(empty_run(), "text").listen()
    assert output.updates == []


def test_finishing_twice_changes_nothing_and_later_updates_are_ignored(widget_view, output):
    view = widget_view(finished_run(), Control())
    view.finish()
    view.finish()
    view.update(force=True)
    assert len(output.updates) == 1
    assert view.dashboard.draws == 0


def test_a_drawing_that_fails_warns_once_and_lets_the_training_go_on(widget_view, clock, monkeypatch):
    view = widget_view(empty_run(phase="training", epoch=1), Control())
    monkeypatch.setattr(dashboard, "header_html", lambda *_: 1 / 0)
    with pytest.warns(UserWarning, match=r"The live view stopped: ZeroDivisionError.*The training goes on") as caught:
        view.update()
        clock.seconds += 60
        view.update()
    assert len(caught) == 1


def test_a_live_view_that_failed_still_leaves_the_picture_and_no_widget(widget_view, output, monkeypatch):
    before = open_widgets()
    view = widget_view(finished_run(), Control())
    with monkeypatch.context() as broken, pytest.warns(UserWarning, match="The live view stopped"):
        broken.setattr(dashboard, "header_html", lambda *_: 1 / 0)
        view.update()
    view.finish()
    ((bundle, _),) = output.updates
    assert set(bundle) == {"text/html", "image/svg+xml", "image/png", "text/plain"}
    assert open_widgets() == before


def train_as_text(run, view, epochs, first_epoch=1):
    view.show()
    run.phase = "training"
    for epoch in range(first_epoch, first_epoch + epochs):
        run.epoch, run.epoch_step = epoch, 0
        start = run.step
        for step in (5, 10):
            run.epoch_step, run.step = step, start + step
            run.train.setdefault("loss", series("loss", {})).add(run.step, 1.0 / run.step)
            view.update()
    run.status, run.duration_seconds = "completed", 1.0
    view.finish()


def test_text_is_one_line_an_epoch_between_the_start_and_the_summary(capsys):
    run = empty_run()
    train_as_text(run, LiveView(run, "text"), epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "8 simulated replicas (v2-8) on CPU, JAX backend: compiling the training step…"
    assert lines[1].startswith("epoch 1/2 · loss 0.1 ")
    assert lines[2].startswith("epoch 2/2 · loss 0.05 ")
    assert lines[3:] == run_summary(run).splitlines()


@pytest.mark.parametrize("steps_per_epoch", [10, None])
def test_text_lines_are_right_from_a_later_epoch_on_and_without_known_steps(capsys, steps_per_epoch):
    run = empty_run(epochs=5, steps_per_epoch=steps_per_epoch)
    train_as_text(run, LiveView(run, "text"), epochs=2, first_epoch=4)
    lines = capsys.readouterr().out.splitlines()
    epochs = [line.split(" · ")[:2] for line in lines if line.startswith("epoch ")]
    assert epochs == [["epoch 4/5", "loss 0.1"], ["epoch 5/5", "loss 0.05"]]


def test_text_of_a_run_that_never_began_is_the_summary_alone(capsys):
    run = empty_run(status="failed", error="ValueError: no rows")
    LiveView(run, "text").finish()
    assert capsys.readouterr().out == f"{run_summary(run)}\n"


def test_quiet_prints_and_displays_nothing(capsys, monkeypatch):
    import IPython.display

    monkeypatch.setattr(IPython.display, "display", lambda *a, **k: pytest.fail("displayed"))
    run = empty_run()
    train_as_text(run, LiveView(run, "none"), epochs=2)
    assert capsys.readouterr() == ("", "")


def test_widget_modules_import_neither_matplotlib_nor_ipywidgets_nor_keras():
    code = (
        "import json, sys\n"
        "from colab_tpu_magic.widgets import changes, controls, dashboard, header, live, static, svg, text\n"
        "heavy = ('matplotlib', 'ipywidgets', 'IPython', 'keras', 'jax', 'tensorflow')\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_changes_are_told_beside_keras_own_bar(capsys):
    change = Change("batch-size", "Batch size", "32", "64", "", "", "--batch-size keep")
    run = finished_run(changes=(change,))
    view = LiveView(run, "changes")
    view.show()
    view.update()
    view.finish()
    assert capsys.readouterr().out == (
        "Batch size  32 → 64  (--batch-size keep)  [batch-size]\n"
        "verbose in the call shows Keras' own bar; leave it out to see the live chart.\n"
    )
