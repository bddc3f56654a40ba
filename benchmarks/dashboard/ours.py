"""Start our dashboard around a fit of fixed steps: the one place of the benchmarks that knows how that is done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from IPython import get_ipython

from colab_tpu_magic.backends.jax import JaxEngine
from colab_tpu_magic.rewrite.feed import Feed
from colab_tpu_magic.training.callback import Monitor
from colab_tpu_magic.training.callback_list import WatchedCallbacks
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
    feed = Feed(lambda: iter(()), (), ROWS, ROWS, None)
    control = Control()
    view = LiveView(run, WIDGET, get_ipython())
    monitor = Monitor(run, engine, view, control, feed)
    view.show(control)
    try:
        yield WatchedCallbacks(monitor, [monitor], add_history=True, **fit.arguments())
        run.status = "completed"
    finally:
        run.phase = "done"
        run.duration_seconds = time.perf_counter() - run.started
        run.history = dict(fit.model.history.history)
        view.finish()
