"""The training panel: a form, a Train button, the running dashboard, and all runs in one picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from ..errors import TpuMagicError
from ..explain import explain
from ..training.main_thread import OutputPlace, current_place, run_on_main
from ..training.trials import Trials, TrialSettings
from .cell_text import cell_text
from .changes import changes_html
from .chart_options import ChartOptions
from .compare import compare_bundle
from .controls import SMOOTHING
from .panel_form import PanelForm
from .stage import WIDGET_MIME, InsideWidget
from .text import ending_text

if TYPE_CHECKING:
    from ..training.run import Run

NO_RUN = "No run yet: press Train, or call panel.train()."


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
        self.stage_box = VBox([])
        self.stage = InsideWidget(self.stage_box)
        self._settings = settings
        self.train_button = Button(
            description="Train", icon="play", button_style="primary", layout=Layout(width="130px")
        )
        self.cell_button = ToggleButton(description="copy as cell", layout=Layout(width="130px"))
        self.cell_area = Textarea(layout=Layout(width="700px", height="84px", display="none"))
        self.message = HTML()
        self.changes = HTML()
        self.shown = HBox([], layout=Layout(flex_flow="row wrap"))
        self.log = ToggleButton(description="log axis", layout=Layout(width="86px"))
        self.smooth = ToggleButton(description="smooth", layout=Layout(width="86px"))
        self.compare_row = HBox([self.log, self.smooth, self.shown], layout=Layout(display="none"))
        self.heading = HTML()
        self.form: PanelForm | None = None
        self.box = VBox([], layout=Layout(max_width="1000px"))
        self._checks: dict[int, Any] = {}
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
        from ipywidgets import HBox

        self._trials = make_trials(self)
        runtime = self._trials.runtime
        self.form = PanelForm(self._settings, runtime.replicas, self._changed)
        self.heading.value = f"<b>{escape(runtime.device)}, {escape(runtime.backend_title)} backend</b>"
        buttons = HBox([self.train_button, self.cell_button])
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
        self.form.fill(replace(self.form.settings, **settings))
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

    def _run(self) -> Run:
        """Train with what the form says."""
        assert self.form is not None
        settings = self.form.settings
        self._say("")
        self._lock(True)
        before = len(self.runs)
        try:
            return self.trials.train(settings)
        finally:
            self._lock(False)
            if self.runs and len(self.runs) >= before:
                self._say(f"{self.runs[-1].title}: {ending_text(self.runs[-1])}.")
            self.form.name.value = ""
            self._list_runs()
            self._compare()

    def _ask_for_training(self) -> None:
        # The click may come on a thread of the kernel's, and a second one before the training has begun.
        if not self._asked:
            self._asked = True
            run_on_main(self.shell, self._train_clicked, self._place)

    def _train_clicked(self) -> None:
        try:
            self._run()
        except KeyboardInterrupt:
            self._say("Interrupted: the model keeps the weights so far.")
        except TpuMagicError as error:
            self._say(str(error))
        except Exception as error:
            ours = explain(error)
            if ours is None:
                raise
            self._say(str(ours))
        finally:
            self._asked = False

    def _lock(self, locked: bool) -> None:
        assert self.form is not None
        self.train_button.disabled = locked
        self.form.lock(locked)

    def _changed(self) -> None:
        """Show what the rules will change with these settings, or why they cannot be trained with."""
        assert self.form is not None
        try:
            settings = self.form.settings
            prepared = self.trials.preview(settings)
        except TpuMagicError as error:
            self.train_button.disabled = True
            self.form.lock(False)
            self._say(str(error))
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

    def _say(self, text: str) -> None:
        lines = "<br/>".join(escape(line) for line in text.splitlines())
        self.message.value = f'<div role="status">{lines}</div>' if text else ""

    def _show_cell(self) -> None:
        assert self.form is not None
        wanted = self.cell_button.value
        self.cell_area.layout.display = None if wanted else "none"
        if not wanted:
            return
        arguments = {"x": self.trials.x, "y": self.trials.y, **self.trials.fit_arguments}
        names = getattr(self.shell, "user_ns", {})
        try:
            self.cell_area.value = cell_text(self.form.settings, self.trials.model, arguments, names)
        except TpuMagicError as error:
            self._say(str(error))

    def _list_runs(self) -> None:
        from ipywidgets import Checkbox, Layout

        checks = {}
        for run in self.runs:
            check = self._checks.get(run.number)
            if check is None:
                check = Checkbox(
                    True, description=run.title, indent=False, layout=Layout(width="auto", margin="0 12px 0 0")
                )
                check.observe(lambda _: self._compare_later(), "value")
            checks[run.number] = check
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
        options = ChartOptions(log=self.log.value, smoothing=SMOOTHING if self.smooth.value else 0.0)
        return compare_bundle(runs, options=options)
