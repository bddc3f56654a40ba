"""The training panel: a form, a Train button, the running dashboard, and all runs in one picture."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import escape
from secrets import randbelow
from threading import RLock
from typing import TYPE_CHECKING, Any

from ..errors import TpuMagicError
from ..explain import explain
from ..training.main_thread import OutputPlace, current_place, run_on_main
from ..training.message_pump import pump_for
from ..training.trials import Trials, TrialSettings
from .cell_text import cell_text
from .changes import changes_html
from .chart_options import ChartOptions
from .compare import compare_bundle
from .controls import SMOOTHING
from .panel_form import MOST_SEED, PanelForm
from .stage import WIDGET_MIME, InsideWidget
from .text import ending_text

if TYPE_CHECKING:
    from ..training.run import Run

NO_RUN = "No run yet: press Train."


class Panel:
    """Train a model by widgets, as often as wanted, and compare the runs.

    Shown by being the last expression of a cell. Each run starts from the weights that the model
    had when the panel was made, unless it is to continue; the model holds the last run's weights.

    Args:
        settings: What the form shows at first.
        shell: The IPython shell, None outside IPython.

    Example:
        >>> panel = tpu.panel(model, x, y, validation_data=(x_val, y_val))  # doctest: +SKIP
        >>> run = panel.train(batch_size=64)  # doctest: +SKIP
    """

    def __init__(self, settings: TrialSettings, shell: Any) -> None:
        from ipywidgets import HTML, Button, HBox, Layout, Textarea, ToggleButton, VBox

        self.shell = shell
        self._trials: Trials | None = None
        self._place: OutputPlace | None = None
        self._handles: list[Any] = []
        self._asked = False
        self._training = False
        # A field may change on another thread of the kernel's than the one that trains.
        self._looking = RLock()
        self.stage_box = VBox([])
        self.stage = InsideWidget(self.stage_box)
        self._settings = settings
        self.train_button = Button(
            description="Train", icon="play", button_style="primary", layout=Layout(width="130px")
        )
        self.cell_button = ToggleButton(
            description="copy as cell", tooltip="The %%tpu_fit cell that trains the same", layout=Layout(width="130px")
        )
        self.cell_area = Textarea(layout=Layout(width="auto", max_width="900px", display="none"))
        self.message = HTML(layout=Layout(margin="0 2px"))
        self.changes = HTML(layout=Layout(margin="0 2px 6px 2px"))
        wrapped = {"flex_flow": "row wrap", "align_items": "center", "margin": "0"}
        self.shown = HBox([], layout=Layout(flex="1 1 320px", overflow="hidden", **wrapped | {"margin": "0 0 0 10px"}))
        self.log = ToggleButton(
            description="log axis", tooltip="Draw the values on a logarithmic axis", layout=Layout(width="86px")
        )
        self.smooth = ToggleButton(
            description="smooth", tooltip="Draw a running mean in place of the curve", layout=Layout(width="86px")
        )
        self.compare_row = HBox([self.log, self.smooth, self.shown], layout=Layout(display="none", **wrapped))
        self.heading = HTML(layout=Layout(margin="0 2px 4px 2px"))
        self.form: PanelForm | None = None
        self.box = VBox([], layout=Layout(max_width="1000px"))
        self._checks: dict[int, Any] = {}
        self._looks: dict[int, int] = {}
        self.train_button.on_click(lambda _: self._ask_for_training())
        self.cell_button.observe(lambda _: self._show_cell(), "value")
        for switch in (self.log, self.smooth):
            switch.observe(lambda _: self._compare_later(), "value")

    def open(self, make_trials: Callable[[Panel], Trials]) -> Panel:
        """Read the model and the data, and fill the form.

        Args:
            make_trials: Makes the trials that this panel shows.

        Raises:
            TpuMagicError: The model or the data cannot be trained.
        """
        from ipywidgets import HBox, Layout

        self._trials = make_trials(self)
        runtime = self._trials.runtime
        self.form = PanelForm(self._in_numbers(self._settings), runtime.replicas, self._changed)
        self.heading.value = f"<b>{escape(runtime.device)}, {escape(runtime.backend_title)} backend</b>"
        buttons = HBox([self.train_button, self.cell_button], layout=Layout(margin="8px 0 2px 0"))
        self.box.children = (
            self.heading, self.form.box, buttons, self.cell_area, self.message, self.changes,
            self.stage_box, self.compare_row,
        )  # fmt: skip
        self._changed()
        return self

    @property
    def trials(self) -> Trials:
        """The model, the data and the runs."""
        assert self._trials is not None, "open() was not called"
        return self._trials

    @property
    def runs(self) -> list[Run]:
        """The last ten runs, oldest first."""
        return self.trials.runs

    def train(self, **settings: Any) -> Run:
        """Train once, as a click on Train does.

        Args:
            **settings: Fields of `TrialSettings` that differ from the form: ``epochs``, ``batch_size``,
                ``learning_rate``, ``precision``, ``optimizer``, ``seed``, ``proceed``, ``name``.

        Returns:
            The run.

        Raises:
            OptionError: A setting cannot be trained with.
        """
        assert self.form is not None
        unknown = sorted(set(settings) - set(TrialSettings.__dataclass_fields__))
        if unknown:
            known = ", ".join(TrialSettings.__dataclass_fields__)
            raise TypeError(f"train() got an unexpected setting {unknown[0]!r}. Expected: {known}.")
        self.form.fill(self._in_numbers(replace(self.form.settings, **settings)))
        self._changed()
        return self._run()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        self._place = current_place(self.shell)
        bundle = {
            "text/plain": "The training panel needs a notebook with widgets. Without: panel.train()",
            WIDGET_MIME: {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id},
        }
        display(bundle, raw=True)
        # The widget is gone when the notebook is opened again; this picture below it stays.
        self._handles.append(display(self._comparison(), raw=True, display_id=True))

    def _in_numbers(self, settings: TrialSettings) -> TrialSettings:
        """Return the same settings as fields can show them: "keep" and a seed to be drawn as numbers."""
        changed: dict[str, Any] = {}
        if settings.batch_size == "keep":
            changed["batch_size"] = self.trials.preview(settings).batch_size
        if settings.learning_rate == "keep":
            rate = self.trials.rate_of(settings, self.trials.preview(settings))
            changed["learning_rate"] = "auto" if rate is None else rate  # "auto" leaves a schedule alone
        if settings.seed is None:
            changed["seed"] = randbelow(MOST_SEED)
        return replace(settings, **changed)

    def _run(self) -> Run:
        """Train with what the form says."""
        assert self.form is not None
        settings = self.form.settings
        with self._looking:
            self._training = True
            self._say("")
            self.train_button.disabled = True
            self.form.lock(True)
        last = self.runs[-1] if self.runs else None
        try:
            return self.trials.train(settings)
        finally:
            self._list_runs()
            self._compare()
            # Clicks on Train that have waited while the run lasted are for that run, and are dropped here.
            pump_for(self.shell, [self.train_button]).poll_now()
            self._training = False
            self.form.forget_name()
            self._changed()
            if self.runs and self.runs[-1] is not last:
                run = self.runs[-1]
                self._say(f"{run.title}: {ending_text(run)}.", warn=run.status == "failed")

    def _ask_for_training(self) -> None:
        # The click may come on a thread of the kernel's, and a second one before the training has begun.
        if not self._asked and not self._training:
            self._asked = True
            self._say("The training begins…")
            run_on_main(self.shell, self._train_clicked, self._place)

    def _train_clicked(self) -> None:
        try:
            self._run()
        except KeyboardInterrupt:
            self._say("Interrupted: the model keeps the weights so far.")
        except TpuMagicError as error:
            self._say(in_form_words(error), warn=True)
        except Exception as error:
            ours = explain(error)
            if ours is None:
                raise
            self._say(in_form_words(ours), warn=True)
        finally:
            self._asked = False

    def _changed(self) -> None:
        """Show what the rules will change with these settings, or why they cannot be trained with."""
        assert self.form is not None
        with self._looking:
            if self._training:
                return
            try:
                settings = self.form.settings
                prepared = self.trials.preview(settings)
            except TpuMagicError as error:
                self.train_button.disabled = True
                self.form.lock(False)
                self.form.show_steps(None)
                self._say(in_form_words(error), warn=True)
                self.changes.value = ""
                return
            self.train_button.disabled = False
            self._say("")
            self.form.show(prepared, self.trials.rate_of(settings, prepared))
            count = len(prepared.changes)
            title = f"What the rules will change: {count if count else 'nothing'}"
            table = changes_html(prepared.changes)
            self.changes.value = f'<details><summary style="cursor:pointer">{title}</summary>{table}</details>'
            self._show_cell()

    def _say(self, text: str, warn: bool = False) -> None:
        lines = "<br/>".join(escape(line) for line in text.splitlines())
        style = "line-height:1.5;margin:4px 0;overflow-wrap:anywhere"
        style += ";border-left:3px solid #D55E00;padding-left:8px" if warn else ""
        self.message.value = f'<div role="status" style="{style}">{lines}</div>' if text else ""

    def _show_cell(self) -> None:
        assert self.form is not None
        wanted = self.cell_button.value
        self.cell_area.layout.display = None if wanted else "none"
        if not wanted:
            return
        arguments = {"x": self.trials.x, "y": self.trials.y, **self.trials.fit_arguments}
        names = getattr(self.shell, "user_ns", {})
        try:
            text = cell_text(self.form.settings, self.trials.model, arguments, names)
        except TpuMagicError as error:
            self._say(in_form_words(error), warn=True)
            return
        self.cell_area.value = text
        self.cell_area.rows = len(text.splitlines()) + 1

    def _list_runs(self) -> None:
        from ipywidgets import Checkbox, Layout

        checks = {}
        for run in self.runs:
            check = self._checks.get(run.number)
            if check is None:
                layout = Layout(width="auto", max_width="100%", margin="2px 14px 2px 0")
                check = Checkbox(True, description=_label(run.title), indent=False, layout=layout)
                check.observe(lambda _: self._compare_later(), "value")
            checks[run.number] = check
            self._looks.setdefault(run.number, len(self._looks))
        self._checks = checks
        self.shown.children = tuple(checks.values())
        self.compare_row.layout.display = None if checks else "none"

    def _compare_later(self) -> None:
        run_on_main(self.shell, self._compare, self._place)

    def _compare(self) -> None:
        for handle in self._handles:
            handle.update(self._comparison(), raw=True)

    def _comparison(self) -> dict[str, str]:
        runs = [run for run in self.runs if run.number not in self._checks or self._checks[run.number].value]
        if not runs:
            text = "Every run is hidden: tick one above." if self.runs else NO_RUN
            return {"text/html": f"<div>{escape(text)}</div>", "text/plain": text}
        # A run keeps its colour when another one is hidden or forgotten.
        looks = tuple(self._looks.get(run.number, 0) for run in runs)
        options = ChartOptions(self.log.value, SMOOTHING if self.smooth.value else 0.0, looks=looks)
        bundle = compare_bundle(runs, options=options)
        hidden = len(self.runs) - len(runs)
        notes = [f"{hidden} run{'' if hidden == 1 else 's'} hidden."] if hidden else []
        notes.append("The form above lives as long as its kernel: run the cell again for a new one.")
        bundle["text/html"] += f'<div style="font-size:12px;opacity:.7;margin-top:4px">{escape(" ".join(notes))}</div>'
        return bundle


def in_form_words(error: Exception) -> str:
    """Return a message without the line to type, and with the names of options as those of fields."""
    lines = [line for line in str(error).splitlines() if not line.startswith("Type:")]
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda found: found[1].replace("-", " "), "\n".join(lines))


def _label(text: str) -> str:
    """Return a text as the description of a widget: ipywidgets 7 puts it into the page as HTML, 8 as text."""
    from ipywidgets import __version__

    return escape(text) if int(__version__.split(".")[0]) < 8 else text
