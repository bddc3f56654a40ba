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
        ring_from: Chips on an axis from which its two ends are wired to each other; on 3 axes only where all have
            as many, for the wires are those between whole cubes.
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
_BOOK = "jax-ml.github.io/scaling-book/tpus"
_HALF = ": bidirectional bandwidth per chip, halved and divided by its links"

# The all-reduce bandwidth of a pod that Google's pages print, divided by its chips and their links, gives what the page
# of v5e prints itself (51.2 TB/s ÷ 256 ÷ 4 = 50 GB/s) and what the scaling book has for v4 (1.1 PB/s ÷ 4096 ÷ 6 = 45).
# For v3 the sources differ: that way it is 83 GB/s; by the pod's bisection, and in the scaling book, it is 100. A step's
# all-reduce is what it is wanted for. From how many chips on the ends of an axis meet: the scaling book says it of v4 to
# v6e; for v2 and v3 it is taken that only a whole pod's axis does (the page of v3: a 2D torus of 1,024 chips).
_TABLE = (
    Ici("v2", 2, 62 * GB, 16, "not sourced: 4 links of 496 Gbit/s, as it is told of Jouppi et al., CACM 63(7), 2020"),
    Ici("v3", 2, 83 * GB, 32, _DOCS + "v3: all-reduce bandwidth of a pod, 340 TB/s, divided by 1,024 chips of 4 links"),
    Ici(
        "v4", 3, 45 * GB, 4, _BOOK + "; so too " + _DOCS + "v4: 1.1 PB/s all-reduce, divided by 4,096 chips of 6 links"
    ),
    Ici("v5e", 2, 50 * GB, 16, _DOCS + "v5e" + _HALF),
    Ici("v5p", 3, 100 * GB, 4, _DOCS + "v5p" + _HALF),
    Ici("v6e", 2, 100 * GB, 16, _DOCS + "v6e" + _HALF),
    Ici("7x", 3, 100 * GB, 4, _DOCS + "tpu7x" + _HALF + "; that its cubes of 64 are wired as those of v5p is taken"),
)

ICI: dict[str, Ici] = {row.chip: row for row in _TABLE}
"""Every generation's interconnect by the chip's name."""
