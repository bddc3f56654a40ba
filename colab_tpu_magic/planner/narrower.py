"""Make copies of a model with layers a little narrower, so that their width ends at the edge of a tile.

The copies are made with ``keras.models.clone_model`` from the layers' own configurations. Where that is not possible, of
a subclassed model or a layer that does not tell its configuration, there is no copy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..files.memory import available_bytes
from ..training.settings import last_layers

TILE = 128
"""Columns of a tile: the width of a TPU's vector registers, and of its matrix units up to v5."""
MOST_OVER = 16
"""Values over a tile's edge from which on a narrower layer is another model rather than a tidier one."""
MOST_OF_MEMORY = 0.25
"""Part of the free memory that a copy's values may take while it is lowered."""
WIDTHS = ("units", "filters", "output_dim", "projection_dim")
"""What layers call their width."""


@dataclass(frozen=True)
class Narrower:
    """A width that ends just over a tile, and what is at its edge.

    Attributes:
        width: As it is: 130.
        better: At the tile's edge: 128.
        layers: Names of the layers that have it.
    """

    width: int
    better: int
    layers: tuple[str, ...]

    @property
    def text(self) -> str:
        """It in a few words: ``"128 instead of 130 wide: dense, dense_1"``."""
        named = ", ".join(self.layers[:3]) + (f" and {len(self.layers) - 3} more" if len(self.layers) > 3 else "")
        return f"{self.better} instead of {self.width} wide: {named}"


def just_over(width: int) -> int | None:
    """Return the tile's edge that a width lies a little over, None where it does not.

    Example:
        >>> just_over(130), just_over(128), just_over(100), just_over(250)
        (128, None, None, None)
    """
    over = width % TILE
    return width - over if width > TILE and 0 < over <= MOST_OVER else None


def narrower_widths(model: Any) -> tuple[Narrower, ...]:
    """Return the widths of a model's layers that end just over a tile; the layers that make its outputs are left out.

    All layers of one width change together, for they are often added to each other.
    """
    if not _can_be_cloned(model):
        return ()
    last = last_layers(model)
    found: dict[int, list[str]] = {}
    for layer in model.layers:
        width = _width(layer)
        if width is not None and just_over(width) and not any(layer is one for one in last):
            found.setdefault(width, []).append(layer.name)
    return tuple(
        Narrower(width, just_over(width) or width, tuple(names))
        for width, names in sorted(found.items(), key=lambda item: -len(item[1]))
    )


def narrowed(model: Any, change: Narrower) -> Any | None:
    """Return a compiled copy of a model with a width changed; None where it cannot be made."""
    import keras

    if not _has_room(model):
        return None

    def changed(layer: Any) -> Any:
        config = layer.get_config()
        if layer.name in change.layers:
            for name in WIDTHS:
                if config.get(name) == change.width:
                    config[name] = change.better
        return type(layer).from_config(config)

    try:
        copy = keras.models.clone_model(model, clone_function=changed)
        optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
        copy.compile(optimizer=optimizer, loss=model.loss, jit_compile=model.jit_compile)
    except Exception:  # whatever a layer of the user's raises for another width: then there is no such model
        return None
    return copy


def _has_room(model: Any) -> bool:
    """Return whether this machine has the memory for a copy's values, with some to spare."""
    free = available_bytes()
    values = sum(math.prod(variable.shape) * 4 for variable in model.variables)
    return free is None or values < MOST_OF_MEMORY * free


def _can_be_cloned(model: Any) -> bool:
    import keras

    return isinstance(model, keras.Sequential) or type(model).__name__ == "Functional"


def _width(layer: Any) -> int | None:
    widths = (getattr(layer, name, None) for name in WIDTHS)
    return next((width for width in widths if isinstance(width, int) and not isinstance(width, bool)), None)


def shorter_rows(parts: tuple[Any, ...], model: Any) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    """Yield lengths of rows that end just over a tile, the edge, and the batch cut to it.

    Only where the model takes rows of any length; targets of the same length are cut with them.

    Args:
        parts: ``(x, y, sample_weight)`` as KerasTensors.
        model: The model.
    """
    import keras

    inputs = keras.tree.flatten(getattr(model, "inputs", None) or [])
    x = keras.tree.flatten(parts[0])
    if len(inputs) != len(x):
        return
    free = {
        int(leaf.shape[1])
        for leaf, given in zip(x, inputs)
        if leaf.shape[1:2] and given.shape[1:2] == (None,) and just_over(int(leaf.shape[1]))
    }
    for length in sorted(free):
        edge = just_over(length) or length
        cut = [
            leaf
            if leaf is None or tuple(leaf.shape[1:2]) != (length,)
            else keras.KerasTensor((None, edge, *leaf.shape[2:]), leaf.dtype)
            for leaf in keras.tree.flatten(parts)
        ]
        yield length, edge, keras.tree.pack_sequence_as(parts, cut)
