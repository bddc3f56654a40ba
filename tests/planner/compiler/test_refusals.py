"""What the compiler and the system say becomes one sentence with its figures."""

from __future__ import annotations

import pytest

from colab_tpu_magic.planner.compiler.process import TimeIsUp, TooMuchMemory, WorkerDied
from colab_tpu_magic.planner.compiler.refusals import (
    LONGEST,
    cannot_load,
    from_death,
    from_limit,
    from_words,
    out_of_memory,
    shortened,
)

GIB = 2**30


@pytest.mark.parametrize(
    ("words", "needed", "allowed"),
    [
        (
            "JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries"
            " (69.43G) exceeds available HBM (15.75G).",
            69.43,
            15.75,
        ),
        (
            "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: the total memory required for HLO temporaries (1.5T) exceeds"
            " available HBM (512.00M).",
            1536,
            0.5,
        ),
        (
            "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 30.99G of 15.75G hbm. Exceeded hbm capacity"
            " by 15.24G.",
            30.99,
            15.75,
        ),
    ],
)
def test_out_of_memory_is_read_with_its_figures(words: str, needed: float, allowed: float) -> None:
    refused = from_words(words)
    assert refused.kind == "out-of-memory"
    assert (refused.needed_bytes, refused.allowed_bytes) == (int(needed * GIB), int(allowed * GIB))
    assert f"{needed:,.2f} GiB needed" in refused.message and f"{allowed:,.2f} GiB there" in refused.message


def test_out_of_memory_in_words_not_seen_before_is_still_one() -> None:
    refused = from_words("RESOURCE_EXHAUSTED: something new about HBM")
    assert (refused.kind, refused.needed_bytes) == ("out-of-memory", 0)


def test_what_runs_out_elsewhere_is_not_the_devices_memory() -> None:
    words = "RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 18.00M of 16.00M vmem."
    assert out_of_memory(words) is None and from_words(words).kind == "unsupported"


def test_other_errors_keep_the_compilers_words() -> None:
    refused = from_words("JaxRuntimeError: UNIMPLEMENTED: no such\n   thing")
    assert refused.kind == "unsupported" and refused.message.endswith("UNIMPLEMENTED: no such thing")


def test_long_words_are_cut() -> None:
    assert len(shortened("word " * 1000)) == LONGEST and shortened("word " * 1000).endswith("…")


@pytest.mark.parametrize(
    ("code", "printed", "kind", "says"),
    [
        (-9, "", "killed", "killed from outside, twice"),
        (-11, "first\nlast line\n", "crash", "crashed on this step, twice (SIGSEGV). last line"),
        (-6, "", "crash", "(SIGABRT)."),
        (3, "why", "crash", "(exit code 3). why"),
        (-64, "", "crash", "(SIGRTMAX)."),
    ],
)
def test_a_death_is_told_by_its_signal(code: int, printed: str, kind: str, says: str) -> None:
    refused = from_death(WorkerDied(code, printed))
    assert refused.kind == kind and says in refused.message


def test_limits_are_told_with_what_they_were() -> None:
    assert from_limit(TimeIsUp(), 90, GIB).message.startswith("Not compiled within 90 s.")
    refused = from_limit(TooMuchMemory(2 * GIB), 90, GIB)
    assert (refused.kind, refused.needed_bytes, refused.allowed_bytes) == ("memory", 2 * GIB, GIB)
    assert "more than the 1 GiB of this machine's memory" in refused.message
    assert "within 0.2 s" in from_limit(TimeIsUp(), 0.2, GIB).message
    assert "the 0.05 GiB" in from_limit(TooMuchMemory(GIB), 9, GIB // 20).message


def test_a_compiler_that_does_not_load_names_both_ways() -> None:
    refused = cannot_load("ImportError: libtpu.so", "/some/python")
    assert (
        refused.kind == "no-compiler" and "%tpu_plan --install" in refused.message and "pip install" in refused.message
    )
