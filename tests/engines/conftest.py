"""Tests that train: each file runs once per engine, in a process of its own.

``TPU_MAGIC_ENGINE=jax-8 pytest tests/engines`` runs them on one engine, ``tools/run_tests.py`` on
all. Without the variable nothing here is collected: the number of virtual devices is fixed once
per process, so one process cannot serve two engines.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "TPU_MAGIC_ENGINE"
SLOW_ENGINE = "tensorflow-8"


@dataclass(frozen=True)
class EngineName:
    """A backend and a number of replicas: ``jax-8`` is eight simulated replicas on JAX."""

    backend: str
    replicas: int

    def __str__(self) -> str:
        return f"{self.backend}-{self.replicas}"


def engine_from_environment() -> EngineName | None:
    """Return the engine that the environment names, or None."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    backend, _, replicas = text.partition("-")
    if backend not in ("jax", "tensorflow") or not replicas.isdigit():
        raise pytest.UsageError(f"{VARIABLE}={text!r}; expected for example jax-8 or tensorflow-2")
    return EngineName(backend, int(replicas))


ENGINE = engine_from_environment()
if ENGINE is not None:
    # Before a test module imports Keras.
    os.environ["KERAS_BACKEND"] = ENGINE.backend


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave this folder out where no engine is named."""
    return True if ENGINE is None else None


def runs_on(item: pytest.Item, engine: EngineName) -> bool:
    """Say whether a test is meant for an engine.

    ``only("jax")`` keeps a test to one backend; ``eight`` keeps it to eight replicas, and the
    slow engine runs nothing else.
    """
    if not all(engine.backend in mark.args for mark in item.iter_markers("only")):
        return False
    if item.get_closest_marker("eight") is not None:
        return engine.replicas == 8
    return str(engine) != SLOW_ENGINE


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are not meant for this engine."""
    if ENGINE is None:
        return
    here = Path(__file__).parent
    dropped = [item for item in items if here in item.path.parents and not runs_on(item, ENGINE)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in dropped]


@pytest.fixture(scope="session")
def engine() -> EngineName:
    """Which engine this process tests."""
    assert ENGINE is not None
    return ENGINE


@pytest.fixture(scope="session")
def engine_name(engine: EngineName) -> str:
    """The engine's name, for example ``"jax-8"``."""
    return str(engine)


@pytest.fixture(scope="session")
def runtime(engine: EngineName) -> Any:
    """Connect once per process; the runtime that all tests here train on."""
    import colab_tpu_magic as tpu

    made = tpu.connect(backend=engine.backend, simulate=engine.replicas)
    # The frameworks stay for good: without them a collection after each test takes a tenth of the time.
    gc.collect()
    gc.freeze()
    return made


@pytest.fixture(autouse=True)
def seeded(runtime: Any) -> Iterator[None]:
    """Start every test on this runtime and from the same seeds, and leave no model of it in memory."""
    import keras

    from colab_tpu_magic.session import session

    session.runtime = runtime  # whatever the last test connected to
    keras.utils.set_random_seed(0)
    yield
    gc.collect()
