"""Fixtures for the widgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Connect to this machine's CPU for one test, on the backend that Keras has in this process."""
    import keras

    from colab_tpu_magic.session import Session, connect, session

    monkeypatch.setenv("KERAS_BACKEND", keras.config.backend())
    before = vars(session).copy()
    vars(session).update(vars(Session()))
    yield connect(backend=keras.config.backend(), simulate=1)
    vars(session).update(before)
