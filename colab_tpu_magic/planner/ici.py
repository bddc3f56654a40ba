"""How the chips of each generation are wired to each other: one table, with sources."""

from __future__ import annotations

from dataclasses import dataclass

GB = 10**9


@dataclass(frozen=True)
class Ici:
    """The inter-chip interconnect of one TPU generation.

    Attributes:
        chip: The generation: ``"v5e"``.
        axes: Axes of its torus: 2 or 3.
        link_bytes_per_second: What one link carries in one direction.
        ring_from: Chips on an axis from which its two ends are wired to each other.
        source: Where the figures were read.
        as_of: Year and month of the reading.
    """

    chip: str
    axes: int
    link_bytes_per_second: float
    ring_from: int
    source: str
    as_of: str = "2026-11"


_DOCS = "docs.cloud.google.com/tpu/docs/"
_HALF = ": bidirectional bandwidth per chip, halved and divided by its links"

_TABLE = (
    Ici(
        "v2", 2, 62 * GB, 16, "Jouppi et al., A domain-specific supercomputer, CACM 63(7), 2020: 4 links of 496 Gbit/s"
    ),
    Ici("v3", 2, 70 * GB, 32, "Jouppi et al., TPU v4, ISCA 2023, arxiv.org/abs/2304.01433: 4 links of 70 GB/s"),
    Ici("v4", 3, 50 * GB, 4, "Jouppi et al., TPU v4, ISCA 2023, arxiv.org/abs/2304.01433: 6 links of 50 GB/s"),
    Ici("v5e", 2, 50 * GB, 16, _DOCS + "v5e" + _HALF),
    Ici("v5p", 3, 100 * GB, 4, _DOCS + "v5p" + _HALF),
    Ici("v6e", 2, 100 * GB, 16, _DOCS + "v6e" + _HALF),
    Ici("7x", 3, 100 * GB, 4, _DOCS + "tpu7x" + _HALF),
)

ICI: dict[str, Ici] = {row.chip: row for row in _TABLE}
"""Every generation's interconnect by the chip's name."""
