"""Fixtures for tests that run cells in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .kernel_rig import Kernel, running_kernel


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    """A fresh kernel for one test."""
    with running_kernel() as one:
        yield one


@pytest.fixture(scope="module")
def shared_kernel() -> Iterator[Kernel]:
    """One kernel for the tests of a file that leave it as they found it."""
    with running_kernel() as one:
        yield one
