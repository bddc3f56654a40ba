"""The first lines fit the accelerator that the run had."""

from __future__ import annotations

import pytest

from .notebooks import FIT, SETUP, script

CELLS = [SETUP, FIT]


@pytest.mark.parametrize(
    ("backend", "kind", "replicas", "there", "not_there"),
    [
        ("jax", "cpu", 1, ['"JAX_PLATFORMS"] = "cpu"'], ["XLA_FLAGS", "NPROC", "set_distribution", "import jax"]),
        (
            "jax",
            "simulated",
            8,
            ["device_count=8", '"NPROC"] = "32"', "set_distribution(data_parallel)", "import jax\n"],
            ["strategy"],
        ),
        (
            "jax",
            "tpu",
            8,
            ["set_distribution(data_parallel)"],
            ["XLA_FLAGS", "NPROC", "JAX_PLATFORMS", "virtual", "import jax"],
        ),
        ("jax", "tpu", 1, [], ["XLA_FLAGS", "set_distribution", "JAX_PLATFORMS"]),
        ("jax", "gpu", 2, ["set_distribution(data_parallel)"], ["XLA_FLAGS", "JAX_PLATFORMS"]),
        ("tensorflow", "cpu", 1, [], ["strategy", "JAX_PLATFORMS", "set_distribution"]),
        (
            "tensorflow",
            "simulated",
            2,
            ['["CPU:0", "CPU:1"]', "LogicalDeviceConfiguration()] * 2", "experimental_set_strategy(strategy)"],
            ["XLA_FLAGS", "TPU:", "keras.distribution"],
        ),
        ("tensorflow", "gpu", 2, ["MirroredStrategy()\n"], ["Logical", "CPU:0"]),
        (
            "tensorflow",
            "tpu",
            8,
            ['TPUClusterResolver(tpu="local")', "initialize_tpu_system", "TPUStrategy(resolver)"],
            ["Logical", "Mirrored"],
        ),
    ],
)
def test_devices_are_made_as_the_run_had_them(backend, kind, replicas, there, not_there):
    text = script(CELLS, backend=backend, kind=kind, replicas=replicas)
    compile(text, "script", "exec")
    assert f'os.environ["KERAS_BACKEND"] = "{backend}"' in text
    assert [one for one in there if one not in text] == []
    assert [one for one in not_there if one in text] == []


def test_backend_and_devices_are_set_before_keras_is_imported_and_replicas_before_the_model_is_made():
    text = script(CELLS, kind="simulated", replicas=8)
    places = [
        text.index(one) for one in ("KERAS_BACKEND", "XLA_FLAGS", "import keras", "set_distribution(d", "Sequential(")
    ]
    assert places == sorted(places)


def test_imports_stand_together_and_unused_ones_go():
    cells = ["import os, json\nimport numpy as np\nfrom keras import layers\nimport keras", SETUP, FIT]
    text = script(cells)
    head = text[: text.index("class Endless")]
    assert "import keras\nimport numpy as np\n" in head
    assert "json" not in text
    assert "layers\n" not in text.replace("keras.layers", "")
    assert text.count("import numpy") == 1


def test_imports_that_the_script_needs_and_the_notebook_had_not_are_there():
    text = script(
        ["from keras import Sequential, layers\nx = [1]\nmodel = Sequential([layers.Dense(1)])", "model.fit(x, x)"]
    )
    assert "import keras\nimport numpy as np\nfrom keras import Sequential, layers\n" in text
