"""Keep what is told of lowered steps, so that a plan that was made before lowers its model once and not for each row.

A model is known by one step of it, on one device with a small batch: where that is the same to the last byte, the
steps of other batch sizes, precisions and targets are taken to be what they were.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from .compiler.cache import Cache
from .compiler.environment import cache_folder
from .module import Argument, Lowered

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
        """Return it as JSON text."""
        return json.dumps({**asdict(self), "artifact": ""})


def head_of(lowered: Lowered) -> Head:
    """Return what is kept of a step."""
    told = {name: getattr(lowered, name) for name in Lowered.__dataclass_fields__}
    return Head(**{**told, "artifact": b""}, known_digest=lowered.digest())


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
