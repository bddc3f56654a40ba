import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest

from colab_tpu_magic.rewrite.change import Change
from colab_tpu_magic.widgets import live
from colab_tpu_magic.widgets.live import WIDGET_MIME, LiveView, choose_view_kind

from .runs import empty_run, finished_run, series


class Handle:
    def __init__(self):
        self.updates = []
        self.widgets_closed_at_update = None
        self.view = None

    def update(self, bundle, **options):
        self.updates.append((bundle, options))
        self.widgets_closed_at_update = not self.view._widgets


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that only the test moves."""
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(live.time, "perf_counter", lambda: now.seconds)
    return now


@pytest.fixture
def shown(monkeypatch):
    """Return a function that shows a widget view of a run: (view, handle, display calls)."""
    pytest.importorskip("ipywidgets")
    import IPython.display
    from ipywidgets import VBox

    # A comm needs a kernel; an id stands in for it here.
    monkeypatch.setattr(VBox, "model_id", "an-id", raising=False)

    def show(run):
        handle, calls = Handle(), []
        monkeypatch.setattr(IPython.display, "display", lambda *a, **k: calls.append((a, k)) or handle)
        view = handle.view = LiveView(run, "widget")
        view.show()
        return view, handle, calls

    return show


def test_a_shell_with_a_kernel_gets_widgets_and_any_other_gets_text():
    assert choose_view_kind(SimpleNamespace(kernel=object())) == "widget"
    assert choose_view_kind(SimpleNamespace()) == "text"
    assert choose_view_kind(None) == "text"


def test_an_unknown_kind_names_the_known_ones():
    with pytest.raises(ValueError, match=r"'picture' is not known.*'widget', 'text', 'changes' or 'none'"):
        LiveView(empty_run(), "picture")


def test_the_view_is_alive_before_the_first_step(shown):
    view, _, calls = shown(empty_run())
    (((bundle,), options),) = calls
    assert options == {"raw": True, "display_id": True}
    assert bundle[WIDGET_MIME] == {"version_major": 2, "version_minor": 0, "model_id": "an-id"}
    assert "8 simulated replicas" in bundle["text/plain"]
    header, chart, _ = view._widgets
    assert "compiling the training step…" in header.value
    assert "<animate" in header.value
    assert "<script" not in header.value + chart.value
    assert "no values yet" in chart.value


def test_the_header_shows_where_the_training_is(shown, clock):
    run = empty_run(started=clock.seconds)
    view, _, _ = shown(run)
    run.phase, run.epoch, run.compile_seconds = "training", 1, 2.0
    for step in (2, 4):
        clock.seconds += 1.0
        run.step = run.epoch_step = step
        view.update()
    words = " ".join(ET.fromstring(view._widgets[0].value).itertext())
    assert view.steps_per_second() == 2.0
    for part in (
        "1 / 2",
        "4 / 10",
        "2,048",
        "3.0 s",
        "8 simulated replicas (v2-8) on CPU, JAX backend",
        "1,024 rows = 8 replicas × 128",
        "compiled in 2.0 s",
    ):
        assert part in words
    assert "width:20.0%" in view._widgets[0].value


def test_the_view_draws_at_most_four_times_a_second(shown, clock):
    view, _, _ = shown(empty_run(phase="training", epoch=1))
    for _ in range(1000):
        clock.seconds += 0.001
        view.update()
    assert 3 <= view.draws <= 4


def test_a_caller_that_comes_every_quarter_of_a_second_is_drawn_almost_every_time(shown, clock):
    view, _, _ = shown(empty_run(phase="training", epoch=1))
    for i in range(100):
        clock.seconds += 0.2505 + (0.0004 if i % 2 else -0.0004)
        view.update()
    assert view.draws >= 95


def test_costly_drawings_become_rare_so_that_they_take_one_percent_of_the_time(shown, clock, monkeypatch):
    view, _, _ = shown(empty_run(phase="training", epoch=1))

    def slow_header(*_):
        clock.seconds += 0.02
        return ""

    monkeypatch.setattr(live, "header_html", slow_header)
    for _ in range(10_000):
        clock.seconds += 0.002
        view.update()
    assert 9 <= view.draws <= 11
    assert view.seconds_per_draw == pytest.approx(0.02)


def test_the_chart_moves_with_the_training_and_keeps_its_height(shown, clock):
    run = empty_run(phase="training", epoch=1, step=1, train={"loss": series("loss", {1: 1.0})})
    view, _, _ = shown(run)
    chart, pictures = view._widgets[1], []
    height = chart.layout.height
    for step in (2, 3):
        clock.seconds += 1.0
        run.step = run.epoch_step = step
        run.train["loss"].add(step, 1.0 / step)
        view.update()
        pictures.append(chart.value)
    assert pictures[0] != pictures[1]
    assert chart.layout.height == height == "262px"


def test_finishing_puts_the_static_picture_into_the_same_output_and_closes_the_widgets(shown):
    run = finished_run()
    view, handle, _ = shown(run)
    view.finish()
    ((bundle, options),) = handle.updates
    assert options == {"raw": True}
    assert set(bundle) == {"text/html", "image/svg+xml", "image/png", "text/plain"}
    assert handle.widgets_closed_at_update is False
    assert view._widgets == ()


def test_finishing_twice_changes_nothing_and_later_updates_are_ignored(shown):
    view, handle, _ = shown(finished_run())
    view.finish()
    view.finish()
    view.update(force=True)
    assert len(handle.updates) == 1
    assert view.draws == 0


def test_a_drawing_that_fails_warns_and_lets_the_training_go_on(shown, clock, monkeypatch):
    view, _, _ = shown(empty_run(phase="training", epoch=1))
    monkeypatch.setattr(live, "header_html", lambda *_: 1 / 0)
    with pytest.warns(UserWarning, match=r"The live view stopped: ZeroDivisionError.*The training goes on"):
        view.update()
    clock.seconds += 60
    view.update()


def test_a_static_picture_that_fails_leaves_the_summary(shown, monkeypatch):
    run = finished_run()
    view, handle, _ = shown(run)
    monkeypatch.setattr(live, "run_bundle", lambda _: 1 / 0)
    with pytest.warns(UserWarning, match="static picture could not be drawn"):
        view.finish()
    assert handle.updates == [({"text/plain": run.summary()}, {"raw": True})]


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
    assert lines[3:] == run.summary().splitlines()


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
    assert capsys.readouterr().out == f"{run.summary()}\n"


def test_quiet_prints_and_displays_nothing(capsys, monkeypatch):
    import IPython.display

    monkeypatch.setattr(IPython.display, "display", lambda *a, **k: pytest.fail("displayed"))
    run = empty_run()
    train_as_text(run, LiveView(run, "none"), epochs=2)
    assert capsys.readouterr() == ("", "")


def test_widget_modules_import_neither_matplotlib_nor_ipywidgets_nor_keras():
    code = (
        "import json, sys\n"
        "from colab_tpu_magic.widgets import changes, live, static, svg, text\n"
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
        "Batch size  32 → 64  (--batch-size keep)\n"
        "verbose in the call shows Keras' own bar; leave it out to see the live chart.\n"
    )
