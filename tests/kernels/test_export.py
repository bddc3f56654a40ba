"""Exported scripts run in a fresh Python that cannot import this package, and give the run's history.

To 1e-5 of each figure in float32, and to 1e-2 in bfloat16.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from .kernel_rig import Kernel, running_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

CONNECT = "%load_ext colab_tpu_magic\n%tpu_connect --simulate {replicas} --backend {backend}"
IMPORTS = "import json\nimport keras\nimport numpy as np\nimport colab_tpu_magic as tpu\nunused = 1"
# Runs a script where this package is neither installed nor found, and says what its histories are.
GUARDED = """
import json, runpy, sys

class NotHere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "colab_tpu_magic":
            raise ImportError(name)

sys.meta_path.insert(0, NotHere())
names = runpy.run_path(sys.argv[1])
assert "colab_tpu_magic" not in sys.modules
try:
    import colab_tpu_magic
except ImportError:
    print("histories:", json.dumps([one.history for one in names["histories"]]))
"""

SPLIT = [
    """%%tpu_fit --seed 3 --quiet
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
histories = [model.fit(x, y, epochs=2, validation_split=0.2)]  # 802 rows, and 201
print(model.predict(x[:3], verbose=0).shape)""",
]
DATA = """rng = np.random.default_rng(0)
x = rng.normal(size=(1003, 6)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int64")"""
BFLOAT16 = [
    """keras.utils.set_random_seed(5)
net = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2, activation="softmax")])
net.compile(keras.optimizers.SGD(0.01), "sparse_categorical_crossentropy")""",
    """%%tpu_fit --precision bfloat16 --steps-per-execution 2 --batch-size 128 --quiet
histories = [net.fit(x[:240], y[:240], epochs=3, validation_data=(x[:40], y[:40]))]""",
]
STREAM = [
    """import tensorflow as tf
wide = x.astype("float64")
dataset = tf.data.Dataset.from_tensor_slices((wide[:101], wide[:101, :1])).batch(7)""",
    """%%tpu_fit --seed 5 --batch-size 16 --quiet
inputs = keras.Input((6,))
functional = keras.Model(inputs, keras.layers.Dense(1)(inputs))
functional.compile("adam", "mse", metrics=["mae"])
histories = [functional.fit(dataset, epochs=2, validation_data=dataset)]""",
]
# Batches of 31 rows, shuffled by Keras with what NumPy draws.
LOT = """class Lot(keras.utils.PyDataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return x[index * 31 : index * 31 + 31], y[index * 31 : index * 31 + 31]"""
FROZEN = [
    LOT,
    """def train(what, epochs):
    what.compile(keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
    return what.fit(x[:200], y[:200], batch_size=2, epochs=epochs, verbose=0)""",
    """%%tpu_fit --quiet
keras.utils.set_random_seed(7)
base = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu")])
tuned = keras.Sequential([base, keras.layers.Dense(2, activation="softmax")])
base.trainable = False
histories = [train(tuned, 1)]
base.trainable = True
tuned.compile("adam", "sparse_categorical_crossentropy")
histories.append(tuned.fit(x[:200], y[:200]))
histories.append(tuned.fit(x[:200], y[:200], sample_weight=np.random.rand(200)))
histories.append(tuned.fit(Lot(), epochs=2))""",
]
FILES = [
    """import os
import tensorflow as tf
rng = np.random.default_rng(0)
root = {folder!r}
for name in ("a", "b"):
    os.makedirs(f"{{root}}/{{name}}", exist_ok=True)
    for at in range(11):
        image = rng.integers(0, 255, (8 + at % 3, 10, 3)).astype("uint8")
        tf.io.write_file(f"{{root}}/{{name}}/{{at}}.jpg", tf.io.encode_jpeg(image))
for part in range(2):
    with tf.io.TFRecordWriter(f"{{root}}/{{part}}.tfrecord") as file:
        for at in range(part, 40, 2):
            words = tf.train.Int64List(value=rng.integers(1, 9, at % 11 + 1))
            label = tf.train.Int64List(value=[at % 2])
            feature = {{"words": tf.train.Feature(int64_list=words), "label": tf.train.Feature(int64_list=label)}}
            file.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())""",
    """pictures = tpu.images(root, (8, 8), 6, crop=True)
floats = pictures.map(lambda x, y: (tf.cast(x, "float32") / 255.0, y))
spec = {"words": ("int64", (None,)), "label": "int64"}
texts = tpu.tfrecords(f"{root}/*.tfrecord", spec, label="label", batch_size=8, seed=2)
single = tpu.tfrecords(f"{root}/*.tfrecord", spec, label="label", shuffle=False).unbatch()
for _ in texts.take(1):
    pass""",
    """%%tpu_fit --seed 3 --quiet --batch-size 12
def made(*layers):
    model = keras.Sequential([*layers, keras.layers.Dense(2, activation="softmax")])
    model.compile(keras.optimizers.SGD(0.01), "sparse_categorical_crossentropy")
    return model

words = keras.layers.Embedding(9, 2, mask_zero=True), keras.layers.GlobalAveragePooling1D()
reader = made(*words)
looker = made(keras.layers.Flatten())
histories = [looker.fit(floats, epochs=2, validation_data=tpu.images(root, (8, 8), 5, seed=0))]
histories.append(looker.fit(pictures))
histories.append(reader.fit(texts, epochs=2, validation_data=single))""",
]
MIRRORED = [
    LOT,
    """x = np.random.default_rng(0).normal(size=(203, 6)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")""",
    """%%tpu_fit --seed 1 --quiet
model = keras.Sequential(
    [keras.layers.Dense(4), keras.layers.BatchNormalization(), keras.layers.Dense(2, activation="softmax")]
)
model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
histories = [model.fit(x, y, epochs=2, batch_size=10, validation_data=(x[:51], y[:51]))]
histories.append(model.fit(Lot(), epochs=2, validation_data=Lot()))""",
]


@pytest.fixture(scope="module")
def jax_kernel() -> Iterator[Kernel]:
    """A kernel on JAX with eight simulated replicas."""
    with running_kernel() as kernel:
        kernel.run(CONNECT.format(replicas=8, backend="jax"))
        kernel.run(IMPORTS)
        kernel.run(DATA)
        yield kernel


def trained(kernel: Kernel, cells: list[str], path: Path) -> list[dict[str, list[float]]]:
    """Run cells, export the last run, and return the histories that its cell has made."""
    for cell in cells:
        kernel.run(cell)
    result = kernel.run(f"%tpu_export {path}")
    assert re.fullmatch(rf"Written: {re.escape(str(path))} \(run \d+\)\n", result.stdout), result.stdout
    return json.loads(kernel.run("print(json.dumps([one.history for one in histories]))").stdout)


def histories_of(path: Path) -> list[dict[str, list[float]]]:
    """Run a script in a fresh Python, in a folder of its own, and return the histories it makes."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "KERAS_BACKEND", "XLA_FLAGS")
    }
    ran = subprocess.run(
        [sys.executable, "-P", "-c", GUARDED, str(path)],
        cwd=path.parent,
        env=environment | {"PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    lines = [line for line in ran.stdout.splitlines() if line.startswith("histories:")]
    assert lines, f"{ran.stdout}\n{ran.stderr}"
    return json.loads(lines[0].removeprefix("histories:"))


def assert_same(made: list[dict[str, list[float]]], wanted: list[dict[str, list[float]]], tolerance: float) -> None:
    assert [sorted(one) for one in made] == [sorted(one) for one in wanted]
    for one, other in zip(made, wanted, strict=True):
        for name, values in other.items():
            assert one[name] == pytest.approx(values, rel=tolerance), name


@pytest.mark.parametrize(
    ("name", "cells", "replicas", "tolerance", "there"),
    [
        ("split", SPLIT, 8, 1e-5, ["full_batches(x[:802], y[:802]", "# 802 rows, and 201", "ValidateEveryRow("]),
        ("bfloat16", BFLOAT16, 2, 1e-2, ['compute_in("mixed_bfloat16", net, float32_layers=[1])']),
        ("stream", STREAM, 2, 1e-5, ["dataset.repeat().rebatch(16, drop_remainder=True).map("]),
        (
            "frozen",
            FROZEN,
            1,
            1e-5,
            ["def train(what, epochs):", "histories.append(tuned.fit(\n", "batch_size=32, seed="],
        ),
    ],
)
def test_run_on_jax_gives_the_same_history_as_a_plain_script(
    jax_kernel, tmp_path, name, cells, replicas, tolerance, there
):
    jax_kernel.run(f"%tpu_connect --simulate {replicas}")
    wanted = trained(jax_kernel, cells, tmp_path / f"{name}.py")
    text = (tmp_path / f"{name}.py").read_text()
    assert [one for one in (*there, "No --seed") if one not in text] == ["No --seed"]
    assert [one for one in ("colab_tpu_magic", "unused") if one in text] == []
    assert ("set_distribution" in text) == (replicas > 1)
    assert_same(histories_of(tmp_path / f"{name}.py"), wanted, tolerance)


def files_in(folder: Path) -> list[str]:
    """Return the cells that make files in a folder, read them and train."""
    return [FILES[0].format(folder=str(folder)), *FILES[1:]]


def test_files_and_rows_of_varying_length_give_the_same_history_as_a_plain_script(jax_kernel, tmp_path):
    jax_kernel.run("%tpu_connect --simulate 2")
    wanted = trained(jax_kernel, files_in(tmp_path), tmp_path / "files.py")
    text = (tmp_path / "files.py").read_text()
    assert [one for one in ("images_of_folder(root, (8, 8), 6, crop=True)", "Passes.begin(") if one not in text] == []
    assert "colab_tpu_magic" not in text
    assert_same(histories_of(tmp_path / "files.py"), wanted, 1e-5)


def test_export_puts_the_code_in_a_new_cell_or_a_notebook_and_writes_over_nothing(jax_kernel, tmp_path):
    if jax_kernel.value("len(tpu.runs)") == "0":
        for cell in SPLIT:
            jax_kernel.run(cell)
    path = tmp_path / "run.ipynb"
    jax_kernel.run(f"%tpu_export --run 1 {path}")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert [cell.cell_type for cell in notebook.cells[:3]] == ["markdown", "markdown", "code"]
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "full_batches(x[:802], y[:802]" in code
    again = jax_kernel.run(f"%tpu_export --run 1 {path}", check=False)
    assert f"%tpu_export {path} --force" in again.stderr + again.error
    jax_kernel.run(f"%tpu_export --run 1 {path} --force")
    result = jax_kernel.run("text = tpu.export(1)\nprint(text.splitlines()[0])")
    assert result.stdout == '"""Run 1 as plain Keras: 8 simulated replicas on CPU, JAX backend.\n'


def test_run_on_two_tensorflow_replicas_gives_the_same_history_as_a_plain_script(tmp_path):
    with running_kernel() as kernel:
        kernel.run(CONNECT.format(replicas=2, backend="tensorflow"))
        kernel.run(IMPORTS)
        wanted = trained(kernel, MIRRORED, tmp_path / "mirrored.py")
        of_files = trained(kernel, files_in(tmp_path), tmp_path / "files.py")
    text = (tmp_path / "mirrored.py").read_text()
    assert "AverageStatistics()" in text
    assert_same(histories_of(tmp_path / "mirrored.py"), wanted, 1e-5)
    assert_same(histories_of(tmp_path / "files.py"), of_files, 1e-5)
