"""How much memory this process may still take, without psutil: the machine's, or the container's."""

from __future__ import annotations

from pathlib import Path

UNLIMITED = 1 << 60


def available_bytes(root: Path = Path("/")) -> int | None:
    """Return the bytes that can be taken before the machine or the container is full, None when nobody tells.

    Args:
        root: Where ``proc`` and ``sys`` are, for tests.
    """
    found = [_of_machine(root), _of_container_v2(root), _of_container_v1(root)]
    known = [one for one in found if one is not None]
    return max(0, min(known)) if known else None


def _of_machine(root: Path) -> int | None:
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_container_v2(root: Path) -> int | None:
    folder = root / "sys/fs/cgroup"
    return _left(folder / "memory.max", folder / "memory.current", folder / "memory.stat", "inactive_file")


def _of_container_v1(root: Path) -> int | None:
    folder = root / "sys/fs/cgroup/memory"
    limit, usage = folder / "memory.limit_in_bytes", folder / "memory.usage_in_bytes"
    return _left(limit, usage, folder / "memory.stat", "total_inactive_file")


def _left(limit_file: Path, usage_file: Path, stat_file: Path, reclaimable: str) -> int | None:
    """Return the limit less the use; pages of files that can be dropped do not count as use."""
    limit, usage = _text(limit_file).strip(), _text(usage_file).strip()
    if not limit.isdigit() or not usage.isdigit() or int(limit) >= UNLIMITED:
        return None
    stat = dict(line.split() for line in _text(stat_file).splitlines() if len(line.split()) == 2)
    return int(limit) - int(usage) + int(stat.get(reclaimable, 0))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
