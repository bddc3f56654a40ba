"""Watch what the compiler's workers leave behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def nothing_is_left(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No worker prints, and none leaves a file in the temp folder."""
    folders = [Path(tempfile.gettempdir()), Path("/tmp")]
    before = {path for folder in folders for path in folder.iterdir()}
    yield
    after = {path for folder in folders for path in folder.iterdir()} - before
    assert not [path for path in after if "tpu" in path.name.lower() and "tests" not in path.name]
    assert capfd.readouterr() == ("", "")
