"""Keep what the compiler answered on disk, so that the same question is answered at once."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..results import from_json
from .environment import cache_folder

FORMAT = 4
"""Goes up when what is kept changes its meaning, also when the compiled text is counted in another way."""
MAX_BYTES = 64 << 20
"""Bytes that all answers may have; those not used for longest go first."""
_PARTIAL = ".partial"


class Kept(Protocol):
    """What can be kept: `Compiled`, `Refused`, `heads.Head`."""

    def to_json(self) -> str:
        """Return it as JSON text."""


class Cache:
    """A folder of answers, one file each, named by what was asked.

    Args:
        folder: The folder, made when something is kept; by default one in the user's cache.
        max_bytes: Bytes that all files may have together.

    Attributes:
        read: Makes an answer of its JSON text; raises ValueError for what is none.
        failed: Why an answer could not be kept; None where all were.
    """

    read: Callable[[str], Any] = staticmethod(from_json)

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder if folder is not None else cache_folder() / "plans"
        self.max_bytes = max_bytes
        self.failed: OSError | None = None

    def get(self, key: str) -> Any:
        """Return what is kept under a key; None where nothing is, or nothing that can be read."""
        path = self._path(key)
        try:
            answer = self.read(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        try:
            os.utime(path)  # used just now
        except OSError:
            pass
        return answer

    def put(self, key: str, answer: Kept) -> None:
        """Keep an answer. A folder that cannot be written to is no error: nothing is kept then, and `remark` says so."""
        text = answer.to_json()
        if len(text) > self.max_bytes:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(suffix=_PARTIAL, dir=self.folder)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(name, self._path(key))
            except BaseException:
                os.unlink(name)
                raise
            self._make_room()
        except OSError as error:
            self.failed = error

    @property
    def remark(self) -> str:
        """Say that answers could not be kept; empty where all were."""
        if self.failed is None:
            return ""
        return (
            f"Nothing could be kept in {self.folder} ({self.failed.strerror or self.failed}), so the same plan takes as "
            "long again. XDG_CACHE_HOME may name another folder."
        )

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _make_room(self) -> None:
        kept = []
        for path in self.folder.glob("*.json"):
            try:
                stat = path.stat()
            except FileNotFoundError:  # another kernel makes room too
                continue
            kept.append((stat.st_mtime_ns, stat.st_size, path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= self.max_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size


def key_of(digest: str, topology: str, arguments: object, libtpu: str) -> str:
    """Return the name under which an answer is kept.

    Args:
        digest: Of the lowered module.
        topology: What the compiler calls the slice.
        arguments: The further arguments of the topology call.
        libtpu: Version of libtpu.

    Example:
        >>> len(key_of("ab", "v2:2x2", (), "0.0.42.1"))
        40
    """
    asked = json.dumps([FORMAT, digest, topology, arguments, libtpu])
    return hashlib.sha256(asked.encode()).hexdigest()[:40]
