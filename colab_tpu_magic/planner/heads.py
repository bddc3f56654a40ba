"""Keep what is told of lowered steps, so that a plan that was made before lowers its model once and not for each row.

A model is known by one step of it, on one device with a small batch: where that is the same, the steps of other batch
sizes, precisions and targets are taken to be what they were. Two steps are the same whatever names Keras gives: a cell
that is run again makes ``dense_2`` of ``dense``, and nothing is to be compiled again for that.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .compiler.cache import Cache
from .compiler.environment import cache_folder
from .module import Argument, Lowered
from .row import LayerShare

FORMAT = 1
"""Goes up when a step is lowered in another way."""
MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class Head(Lowered):
    """A lowered step without its module.

    Attributes:
        known_digest: The digest of the step that it is the head of.
    """

    known_digest: str = ""

    def digest(self) -> str:
        """Return the digest of the whole step."""
        return self.known_digest

    def to_json(self) -> str:
        """Return it as JSON text, without the module."""
        return json.dumps({**asdict(self), "artifact": ""})


def known_by_content(lowered: Lowered) -> Head:
    """Return a step, module included, that is known by what it computes and by no name."""
    told = {name: getattr(lowered, name) for name in Lowered.__dataclass_fields__}
    return Head(**told, known_digest=digest_without_names(lowered))


def digest_without_names(lowered: Lowered) -> str:
    """Return the SHA-256 in hex of what the compiler sees of a step, names left out."""
    from jaxlib.mlir.dialects import stablehlo

    from .lower.portable import context

    with context() as made:
        module = stablehlo.deserialize_portable_artifact(made, lowered.artifact)
        text = module.operation.get_asm(enable_debug_info=False)
    arguments = [[one.role, one.shape, one.dtype, one.sharded, one.donated] for one in lowered.arguments]
    told = [FORMAT, lowered.devices, arguments, len(lowered.layers), lowered.flops]
    return hashlib.sha256(json.dumps(told).encode() + b"\n" + text.encode()).hexdigest()


def renamed(shares: tuple[LayerShare, ...], known: Lowered, now: Lowered) -> tuple[LayerShare, ...]:
    """Return layers' shares under the names that the layers have now.

    Args:
        shares: Under the names of the model that was compiled.
        known: That model's step.
        now: The same step of the model there is now.
    """
    names = dict(zip(known.layers, now.layers, strict=True))
    return tuple(replace(share, name=names.get(share.name, share.name)) for share in shares)


def head_from_json(text: str) -> Head:
    """Return the head that JSON text holds.

    Raises:
        ValueError: When it is none.
    """
    read = json.loads(text)
    try:
        arguments = tuple(Argument(**{**one, "shape": tuple(one["shape"])}) for one in read.pop("arguments"))
        layers, remarks = tuple(read.pop("layers")), tuple(read.pop("remarks"))
        return Head(**{**read, "artifact": b""}, arguments=arguments, layers=layers, remarks=remarks)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a lowered step: {error!r}") from None


class Heads(Cache):
    """A folder of heads.

    Args:
        folder: The folder; by default one in the user's cache.
    """

    read = staticmethod(head_from_json)

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(folder if folder is not None else cache_folder() / "steps", MAX_BYTES)


def name_key(digest: str, topology: str) -> str:
    """Return the name under which the head is kept whose names the answer for a slice has."""
    return hashlib.sha256(json.dumps([FORMAT, digest, topology]).encode()).hexdigest()[:40]


def head_key(witness: str, devices: int, batch_size: int, precision: str) -> str:
    """Return the name under which a head is kept.

    Args:
        witness: Digest of the model's step on one device with a small batch.
        devices: Devices of the step.
        batch_size: Rows in the global batch.
        precision: As in `Lowered`.

    Example:
        >>> len(head_key("ab", 8, 1024, ""))
        40
    """
    asked = json.dumps([FORMAT, witness, devices, batch_size, precision])
    return hashlib.sha256(asked.encode()).hexdigest()[:40]
