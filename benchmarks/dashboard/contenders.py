"""Those who watch a fit: each sets itself up the way its documentation shows, and clears up after itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fixed_fit import FixedFit


@contextmanager
def nobody(fit: FixedFit) -> Iterator[Any]:
    """Watch nothing; Keras' own history is there, as in every fit."""
    yield fit.callback_list([])


@contextmanager
def ours(fit: FixedFit) -> Iterator[Any]:
    """Show our dashboard."""
    from .ours import dashboard

    with dashboard(fit) as callbacks:
        yield callbacks


@contextmanager
def keras_bar(fit: FixedFit) -> Iterator[Any]:
    """Show the bar of ``verbose=1``."""
    yield fit.callback_list([], verbose=1)


@contextmanager
def tqdm(fit: FixedFit) -> Iterator[Any]:
    """Show tqdm's bars of epochs and batches, widgets in a notebook."""
    from tqdm.keras import TqdmCallback

    yield fit.callback_list([TqdmCallback()])


@contextmanager
def fastprogress(fit: FixedFit) -> Iterator[Any]:
    """Show fastprogress' master bar and its child."""
    from .fastprogress_bar import FastProgressBar

    yield fit.callback_list([FastProgressBar()])


@contextmanager
def livelossplot(fit: FixedFit) -> Iterator[Any]:
    """Show livelossplot's charts, drawn anew after each epoch."""
    from livelossplot import PlotLossesKeras

    yield fit.callback_list([PlotLossesKeras()])


@contextmanager
def tensorboard(fit: FixedFit) -> Iterator[Any]:
    """Log each epoch for TensorBoard."""
    import keras

    yield fit.callback_list([keras.callbacks.TensorBoard(str(fit.folder))])


@contextmanager
def tensorboard_batch(fit: FixedFit) -> Iterator[Any]:
    """Log each batch for TensorBoard."""
    import keras

    yield fit.callback_list([keras.callbacks.TensorBoard(str(fit.folder), update_freq="batch")])


@contextmanager
def wandb(fit: FixedFit) -> Iterator[Any]:
    """Log each batch for Weights & Biases, to disk only."""
    import wandb as weights_and_biases
    from wandb.integration.keras import WandbMetricsLogger

    settings = weights_and_biases.Settings(silent=True, console="off")
    with weights_and_biases.init(mode="offline", dir=str(fit.folder), settings=settings):
        yield fit.callback_list([WandbMetricsLogger(log_freq="batch")])


@dataclass(frozen=True)
class Contender:
    """One way to watch a fit.

    Attributes:
        title: What the table calls it.
        start: Given a fit, returns the context in which it is watched; yields the list of callbacks.
        packages: What has to be installed, as pip writes it.
    """

    title: str
    start: Callable[[FixedFit], AbstractContextManager[Any]]
    packages: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The packages that are not installed."""
        return [name for name in self.packages if find_spec(name) is None]


NONE = "none"
CONTENDERS = {
    NONE: Contender("no callback", nobody),
    "ours": Contender("our dashboard", ours),
    "keras": Contender("Keras' bar, verbose=1", keras_bar),
    "tqdm": Contender("tqdm.keras", tqdm, ("tqdm",)),
    "fastprogress": Contender("fastprogress", fastprogress, ("fastprogress",)),
    "livelossplot": Contender("livelossplot", livelossplot, ("livelossplot",)),
    "tensorboard": Contender("TensorBoard, each epoch", tensorboard, ("tensorboard", "tensorflow")),
    "tensorboard-batch": Contender("TensorBoard, each batch", tensorboard_batch, ("tensorboard", "tensorflow")),
    "wandb": Contender("wandb offline, each batch", wandb, ("wandb", "tensorflow")),
}
"""By the name that the command line takes; the first is what the others are compared with."""
