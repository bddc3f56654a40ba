"""The form of the training panel: fields for one run's settings, and what "auto" comes to."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ..options import PRECISIONS
from ..rewrite.prepared import PreparedFit
from ..rewrite.rules.batch_size import ROWS_PER_REPLICA
from ..training.trials import OPTIMIZERS, TrialSettings

MOST_EPOCHS, MOST_ROWS, MOST_SEED = 100_000, 2**24, 2**32 - 1
LABEL = {"description_width": "110px"}


class PanelForm:
    """Fields that together are one `TrialSettings`.

    Args:
        settings: What the fields show at first.
        replicas: Devices that share a batch.
        on_change: Called after the user has changed a field.

    Attributes:
        box: The widget to show.
    """

    def __init__(self, settings: TrialSettings, replicas: int, on_change: Callable[[], None]) -> None:
        from ipywidgets import HTML, BoundedIntText, Checkbox, Dropdown, FloatText, GridBox, HBox, Layout, Text, VBox

        self.replicas = replicas
        self._on_change = on_change
        self._showing = False
        field, narrow, tick = Layout(width="230px"), Layout(width="116px"), Layout(width="76px")

        def number(text: str, most: int, least: int = 1) -> Any:
            return BoundedIntText(
                least, min=least, max=most, description=text, style=LABEL, layout=field, continuous_update=False
            )

        self.epochs = number("epochs", MOST_EPOCHS)
        self.seed = number("seed", MOST_SEED, 0)
        self.batch = number("batch size", MOST_ROWS)
        self.per_replica = BoundedIntText(1, min=1, max=MOST_ROWS, layout=narrow, continuous_update=False)
        self.auto_batch = Checkbox(description="auto", indent=False, layout=tick)
        self.rate = FloatText(description="learning rate", style=LABEL, layout=field, continuous_update=False)
        self.auto_rate = Checkbox(description="auto", indent=False, layout=tick)
        self.precision = Dropdown(options=PRECISIONS, description="precision", style=LABEL, layout=field)
        self.optimizer = Dropdown(options=list(OPTIMIZERS), description="optimizer", style=LABEL, layout=field)
        self.name = Text(
            description="name",
            placeholder="made from the settings",
            style=LABEL,
            layout=Layout(width="330px"),
            continuous_update=False,
        )
        self.proceed = Checkbox(description="continue from the last run's weights", indent=False)
        self.hint = HTML(layout=Layout(margin="0 0 4px 4px"))
        replicas_text = HTML(
            f'<div style="text-align:right">= {replicas} replica{"" if replicas == 1 else "s"} ×</div>',
            layout=Layout(width="110px"),
        )
        left = [
            HBox([self.batch, self.auto_batch]),
            HBox([replicas_text, self.per_replica], layout=Layout(margin="0")),
            self.hint,
            HBox([self.rate, self.auto_rate]),
        ]
        right = [self.epochs, self.optimizer, self.precision, self.seed, self.name, self.proceed]
        self.box = GridBox(
            [VBox(left), VBox(right)],
            layout=Layout(grid_template_columns="repeat(auto-fit, minmax(340px, 1fr))", max_width="900px"),
        )
        self.fields = (
            self.epochs, self.seed, self.batch, self.per_replica, self.auto_batch, self.rate, self.auto_rate,
            self.precision, self.optimizer, self.name, self.proceed,
        )  # fmt: skip
        self.fill(settings)
        for one in self.fields:
            one.observe(self._changed, "value")

    @property
    def settings(self) -> TrialSettings:
        """What the fields say.

        Raises:
            OptionError: A field holds what cannot be trained with.
        """
        return TrialSettings(
            epochs=self.epochs.value,
            batch_size="auto" if self.auto_batch.value else self.batch.value,
            learning_rate="auto" if self.auto_rate.value else self.rate.value,
            precision=self.precision.value,
            optimizer=self.optimizer.value,
            seed=self.seed.value,
            proceed=self.proceed.value,
            name=self.name.value.strip(),
        )

    def fill(self, settings: TrialSettings) -> None:
        """Show other settings, without a call of ``on_change``."""
        self._showing = True
        try:
            self.epochs.value, self.seed.value = settings.epochs, settings.seed or 0
            self.auto_batch.value = isinstance(settings.batch_size, str)
            if not self.auto_batch.value:
                self._show_batch(int(settings.batch_size))
            self.auto_rate.value = isinstance(settings.learning_rate, str)
            if not self.auto_rate.value:
                self.rate.value = float(settings.learning_rate)
            self.precision.value, self.optimizer.value = settings.precision, settings.optimizer
            self.name.value, self.proceed.value = settings.name, settings.proceed
        finally:
            self._showing = False

    def show(self, prepared: PreparedFit, rate: float | None) -> None:
        """Show what the settings come to: the values behind "auto", and the hint to the batch size.

        Args:
            prepared: The fit as the rules would prepare it.
            rate: The learning rate it would begin with, None for a schedule.
        """
        self._showing = True
        try:
            self._show_batch(prepared.batch_size)
            if rate is not None:
                self.rate.value = float(f"{rate:.4g}")
            steps = prepared.steps_per_epoch
            steps_text = f"{steps:,} step{'' if steps == 1 else 's'} an epoch. " if steps else ""
            suits = f"A TPU's matrix unit is filled by {ROWS_PER_REPLICA} rows per replica: {ROWS_PER_REPLICA * self.replicas:,}."
            self.hint.value = f'<span style="font-size:12px;opacity:.8">{escape(steps_text + suits)}</span>'
        finally:
            self._showing = False
        self.lock(False)

    def lock(self, locked: bool) -> None:
        """Grey the fields out while a run lasts; those that "auto" rules are grey anyway."""
        for one in self.fields:
            one.disabled = locked
        if not locked:
            self.batch.disabled = self.per_replica.disabled = self.auto_batch.value
            self.rate.disabled = self.auto_rate.value

    def _show_batch(self, rows: int) -> None:
        self.batch.value, self.per_replica.value = rows, max(1, rows // self.replicas)

    def _changed(self, change: Any) -> None:
        if self._showing:
            return
        self._showing = True
        try:
            if change["owner"] is self.per_replica:
                self.batch.value = self.per_replica.value * self.replicas
            elif change["owner"] is self.batch:
                self.per_replica.value = max(1, self.batch.value // self.replicas)
        finally:
            self._showing = False
        self._on_change()
