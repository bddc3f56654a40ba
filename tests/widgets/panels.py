"""A panel with a small real model on this machine's one device, for tests of the form, the clicks and the cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from colab_tpu_magic.session import current_runtime, intercepting
from colab_tpu_magic.training.trials import Trials, TrialSettings
from colab_tpu_magic.widgets.panel import Panel

ROWS = 400


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return float32 inputs (400, 4) and int32 labels (400,)."""
    x = np.random.default_rng(0).normal(size=(ROWS, 4)).astype("float32")
    return x, (x[:, 0] > 0).astype("int32")


def small_model(optimizer: Any = "adam", loss: Any = "sparse_categorical_crossentropy", **compiled: Any) -> Any:
    """Return a compiled model whose every training is the same."""
    import keras

    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="softmax")])
    model.compile(optimizer, loss, **{"metrics": ["accuracy"]} | compiled)
    return model


class AsIfEight:
    """The connected runtime, but with eight replicas: enough to look ahead at a fit, not to train."""

    replicas = 8

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)


def panel_of(
    model: Any, *, on_eight: bool = False, x: Any = None, y: Any = None, shell: Any = None, **arguments: Any
) -> Panel:
    """Return a panel as `session.panel` makes it."""
    settings = {name: arguments.pop(name) for name in list(arguments) if name in TrialSettings.__dataclass_fields__}
    runtime = AsIfEight(current_runtime()) if on_eight else current_runtime()
    if x is None:
        x, y = data()

    def make_trials(made: Panel) -> Trials:
        def train(options: Any, on_run: Any) -> Any:
            return intercepting(options, shell, made.stage, on_run)

        return Trials(model, x, y, arguments, runtime, train)  # type: ignore[arg-type]

    return Panel(TrialSettings(**settings), shell).open(make_trials)
