"""Start our dashboard around a fit of fixed steps: the one place of the benchmarks that knows how that is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import jax

from colab_tpu_magic.backends.jax import JaxEngine
from colab_tpu_magic.training.callback import Monitor
from colab_tpu_magic.training.control import Control
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.widgets.live import WIDGET, LiveView

from .fixed_fit import ROWS, FixedFit


@contextmanager
def dashboard(fit: FixedFit) -> Iterator[Any]:
    """Yield the list of callbacks of a fit that is watched live, as `training.loop.run_fit` sets it up."""
    run = Run(
        device="this machine's CPU, JAX backend",
        global_batch_size=ROWS,
        epochs=fit.epochs,
        steps_per_epoch=fit.steps,
    )
    # The engine is the real one, so reading the metrics costs here what it costs in a fit.
    engine = JaxEngine(jax.devices("cpu")[:1])
    feed: Any = SimpleNamespace(error=None, once=False, rows_given=0, batch_size=ROWS)
    view = LiveView(run, WIDGET)
    monitor = Monitor(run, engine, view, Control(), feed)
    view.show()
    try:
        yield fit.callback_list([monitor])
        run.status = "completed"
    finally:
        run.phase = "done"
        run.duration_seconds = time.perf_counter() - run.started
        run.history = dict(fit.model.history.history)
        view.finish()
