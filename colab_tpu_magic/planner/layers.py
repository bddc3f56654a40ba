"""Share out a step's cycles: the Keras layers forward and backward, the optimizer, the loss, what has no name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .lower.names import BACKWARD, FORWARD, LOSS, OPTIMIZER, REST, named
from .results import Cost
from .row import LayerShare


@dataclass(frozen=True)
class Shares:
    """What each part takes of a step's estimated cycles; together they are 1, or 0 where nothing is estimated.

    Attributes:
        layers: The layers that take any, most expensive first.
        optimizer: The optimizer's update.
        loss: The loss, the metrics, and what Keras does around the layers.
        unnamed: What no name tells the layer of: arithmetic between layers, copies of the compiler's.
    """

    layers: tuple[LayerShare, ...] = ()
    optimizer: float = 0.0
    loss: float = 0.0
    unnamed: float = 0.0

    @property
    def named(self) -> float:
        """What is known to be of a layer, the optimizer or the loss."""
        return sum(layer.total for layer in self.layers) + self.optimizer + self.loss


def shares(costs: Iterable[Cost], layers: Sequence[str], optimizer: str = "") -> Shares:
    """Return what each part takes of a step.

    Args:
        costs: The compiled step's instructions with an estimate.
        layers: `Lowered.layers`.
        optimizer: `Lowered.optimizer`.

    Example:
        >>> forward = Cost("jit(train_step)/jvp(conv_a)/conv_general_dilated", "fusion", 30, 1, 0)
        >>> update = Cost("jit(train_step)/adam/mul", "fusion", 10, 1, 0)
        >>> shares([forward, update], ["conv_a"], "adam").layers[0].forward
        0.75
    """
    cycles: dict[tuple[str, str], float] = {}
    for cost in costs:
        found = named(cost.op_name, layers, optimizer)
        key = (found.layer, found.part)
        cycles[key] = cycles.get(key, 0.0) + cost.cycles * cost.trips
    total = sum(cycles.values())
    if not total:
        return Shares()
    part = {key: value / total for key, value in cycles.items()}
    names = dict.fromkeys(name for name, _ in part if name)
    found_layers = [LayerShare(name, part.get((name, FORWARD), 0.0), part.get((name, BACKWARD), 0.0)) for name in names]
    return Shares(
        layers=tuple(sorted(found_layers, key=lambda layer: -layer.total)),
        optimizer=part.get(("", OPTIMIZER), 0.0),
        loss=part.get(("", LOSS), 0.0) + part.get(("", REST), 0.0),
        unnamed=sum(part.get(("", name), 0.0) for name in ("", FORWARD, BACKWARD)),
    )


def blocks(layers: Iterable[LayerShare]) -> tuple[LayerShare, ...]:
    """Return the shares of the model's outermost layers, each with what is inside it, most expensive first.

    Example:
        >>> blocks([LayerShare("encoder/dense", 0.2, 0.3), LayerShare("encoder/norm", 0.1, 0.0)])[0].name
        'encoder'
    """
    sums: dict[str, tuple[float, float]] = {}
    for layer in layers:
        name = layer.name.partition("/")[0]
        forward, backward = sums.get(name, (0.0, 0.0))
        sums[name] = (forward + layer.forward, backward + layer.backward)
    return tuple(sorted((LayerShare(name, *both) for name, both in sums.items()), key=lambda layer: -layer.total))
