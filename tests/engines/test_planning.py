"""Plans of small models, on both backends: what is read of a fit, and what the real compiler makes of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

import colab_tpu_magic as tpu
from colab_tpu_magic.backends.variables import live_variables
from colab_tpu_magic.errors import DataError, ModelError, OptionError
from colab_tpu_magic.planner import sweep as sweep_module
from colab_tpu_magic.planner.asked import Asked, read
from colab_tpu_magic.planner.compiler import CompilerError
from colab_tpu_magic.planner.host import MOST_BATCHES, host_rate
from colab_tpu_magic.planner.narrower import just_over, narrowed, narrower_widths, shorter_rows
from colab_tpu_magic.planner.plan import ESTIMATE, HostRate, Plan, Progress
from colab_tpu_magic.planner.planning import _arguments
from colab_tpu_magic.planner.row import PENDING, Row
from colab_tpu_magic.planner.steps import Case, Steps
from colab_tpu_magic.planner.targets import target

ROWS = 6400
V2 = target("v2-8")
WITH_COMPILER = [
    pytest.mark.compiler,
    pytest.mark.skipif(not os.environ.get("TPU_MAGIC_COMPILER_PYTHON"), reason="no compiler here"),
    pytest.mark.timeout(280),
]


def small(width: int = 130, name: str = "net") -> Any:
    model = keras.Sequential(
        [
            keras.Input((32,)),
            layers.Dense(width, activation="relu", name="wide"),
            layers.Dropout(0.5, name="drop"),
            layers.Dense(10, name="logits"),
        ],
        name=name,
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def data(rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, 32)).astype("float32"), rng.integers(0, 10, rows).astype("int64")


def asked(model: Any, x: Any, y: Any = None, **more: Any) -> Asked:
    return read(model, _arguments(model, x, y, more), V2)


def shapes(found: Asked) -> list[Any]:
    return [
        None if leaf is None else (tuple(leaf.shape), leaf.dtype)
        for part in found.parts
        for leaf in (keras.tree.flatten(part) if part is not None else [None])
    ]


# What is read of a fit.


def test_arrays_arrive_in_the_types_of_a_fit_and_the_batch_is_what_a_fit_would_take() -> None:
    found = asked(small(), *data())
    assert shapes(found) == [((None, 32), "float32"), ((None,), "int32"), None]
    assert (found.rows, found.batch_size, found.chosen(8), found.chosen(1)) == (ROWS, 32, 128, 128)
    x, y = data(640)
    wide = asked(small(), x.astype("float64"), y, batch_size=64, validation_split=0.25, class_weight={0: 2.0})
    assert shapes(wide) == [((None, 32), "float32"), ((None,), "int32"), ((None,), "float32")]
    assert (wide.rows, wide.batch_size) == (480, 64)


def test_shapes_alone_are_taken_as_they_are() -> None:
    x, y = keras.KerasTensor((None, 32), "float32"), keras.KerasTensor((None,), "int32")
    found = asked(small(), x, y, batch_size=96)
    assert found.parts[0] is x and found.rows is None and found.chosen(8) == 96 and found.request is None


def test_dicts_and_lists_of_inputs_keep_their_form() -> None:
    inputs = {"a": keras.Input((4,), name="a"), "b": keras.Input((3,), name="b")}
    model = keras.Model(inputs, layers.Dense(1)(layers.Concatenate()([inputs["a"], inputs["b"]])))
    model.compile("sgd", "mse")
    x = {"a": np.zeros((20, 4), "uint8"), "b": np.zeros((20, 3), "float32")}
    found = asked(model, x, np.zeros((20, 1)))
    assert {name: leaf.dtype for name, leaf in found.parts[0].items()} == {"a": "uint8", "b": "float32"}


def test_of_a_dataset_with_known_shapes_no_batch_is_read() -> None:
    import tensorflow as tf

    read_rows: list[int] = []

    def noted(number: Any) -> Any:
        tf.py_function(lambda: read_rows.append(1), [], [])
        return tf.zeros((32,)), number

    dataset = tf.data.Dataset.range(640).map(noted).batch(64, drop_remainder=True)
    found = asked(small(), dataset)
    assert shapes(found)[:2] == [((None, 32), "float32"), ((None,), "int32")]
    assert read_rows == [] and (found.rows, found.batch_size) == (640, 64)


def test_of_other_data_the_first_batch_is_read() -> None:
    class Batches(keras.utils.PyDataset):
        taken: list[int] = []

        def __len__(self) -> int:
            return 100

        def __getitem__(self, index: int) -> Any:
            self.taken.append(index)
            return np.zeros((16, 32), "float32"), np.zeros((16,), "int32")

    found = asked(small(), Batches())
    assert shapes(found)[0] == ((None, 32), "float32") and found.batch_size == 16
    assert Batches.taken == [0]


def test_a_generator_is_not_touched() -> None:
    taken = []

    def batches() -> Iterator[Any]:
        taken.append(1)
        yield data(8)

    with pytest.raises(DataError, match=r"generator can be read only once.*\n.*shapes alone"):
        asked(small(), batches())
    assert taken == []


def test_a_model_that_was_never_compiled_is_refused_before_anything_is_read() -> None:
    with pytest.raises(ModelError, match="never compiled"):
        tpu.plan(keras.Sequential([layers.Dense(1)]), np.zeros((8, 2)), np.zeros((8, 1)))
    with pytest.raises(ModelError, match="no Keras 3 model"):
        tpu.plan("model", np.zeros((8, 2)))


def test_wrong_questions_are_answered_with_what_to_type() -> None:
    x, y = data(64)
    with pytest.raises(OptionError, match=r"(?s)'v9-8' is not one.*v2-8"):
        tpu.plan(small(), x, y, target="v2-8,v9-8")
    with pytest.raises(OptionError, match="no precision 'float16'"):
        tpu.plan(small(), x, y, precision="float16")
    with pytest.raises(OptionError, match="whole numbers from 1 to 2,147,483,647"):
        tpu.plan(small(), x, y, batch_sizes=[128, 0])
    with pytest.raises(TypeError, match="batchsize.*did you mean batch_size"):
        tpu.plan(small(), x, y, batchsize=3)
    with pytest.raises(DataError):
        tpu.plan(small(), x[:10], y)
    with pytest.raises(DataError, match="text"):
        tpu.plan(small(), np.array([["a"] * 32] * 8), np.zeros(8))


def test_a_model_that_begins_with_text_is_planned_from_the_numbers_on() -> None:
    words = layers.TextVectorization(max_tokens=50, output_sequence_length=12)
    words.adapt(["a b c", "d e f"])
    model = keras.Sequential(
        [
            keras.Input((1,), dtype="string"),
            words,
            layers.Embedding(50, 8, name="embedded"),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    found = asked(model, np.array([["a b"], ["c"]] * 40), np.zeros((80, 1), "float32"))
    (leaf,) = keras.tree.flatten(found.parts[0])
    assert tuple(leaf.shape) == (None, 12) and "int" in leaf.dtype
    step = Steps(model, found.parts).lowered(Case(V2, 64))
    assert step.batch_size == 64 and "embedded" in step.layers
    assert [one.shape for one in step.arguments if one.role == "batch"][0] == (64, 12)
    assert [type(layer).__name__ for layer in model.layers][0] == "TextVectorization"


def test_a_model_of_a_fixed_batch_is_planned_for_that_batch() -> None:
    model = keras.Sequential([keras.Input(batch_shape=(16, 4, 3)), layers.LSTM(8, stateful=True), layers.Dense(1)])
    model.compile("adam", "mse")
    found = asked(model, np.zeros((64, 4, 3), "float32"), np.zeros((64, 1), "float32"), batch_size=16)
    assert found.fixed == 16 and found.chosen(8) == 16
    assert Steps(model, found.parts, fixed=found.fixed).lowered(Case(V2, 16)).flops > 0


def host(model: Any, x: Any, y: Any = None, speed: float = 1.0) -> HostRate | None:
    arguments = _arguments(model, x, y, {})
    rate = (speed, speed)
    return host_rate(read(model, arguments, V2), arguments, Row("v2-8", 64, "", "fits", examples_per_second=rate), V2)


def test_the_machines_own_rate_is_measured_and_judged() -> None:
    found = host(small(), *data(640))
    assert found is not None and found.examples_per_second > 1000 and found.enough is True
    assert "batches of 64 rows of arrays" in found.how
    assert int(found.how.split()[0].replace(",", "")) > MOST_BATCHES  # or it would be over before a clock shows it
    starved = host(small(), *data(640), speed=1e12)
    assert starved is not None and starved.enough is False


def test_a_dataset_is_measured_and_a_function_of_the_users_is_left_alone() -> None:
    import tensorflow as tf

    called = []

    def make() -> Any:
        called.append(1)
        return tf.data.Dataset.from_tensor_slices(data(640)).batch(32)

    found = host(small(), make())
    assert found is not None and "rows of the tf.data.Dataset" in found.how
    called.clear()
    asked_of_function = read(small(), _arguments(small(), make, None, {}), V2)
    taken = len(called)
    arguments = _arguments(small(), make, None, {})
    assert host_rate(asked_of_function, arguments, Row("v2-8", 64, "", "fits"), V2) is None
    assert len(called) == taken == 1


# Copies with other widths.


def test_only_a_little_over_a_tile_is_worth_a_copy() -> None:
    assert [just_over(width) for width in (100, 128, 129, 130, 144, 145, 260, 384)] == [
        None,
        None,
        128,
        128,
        128,
        None,
        256,
        None,
    ]


def test_a_copy_has_the_width_at_the_edge_and_the_model_has_its_own() -> None:
    model = small()
    before = {variable.path: keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)}
    (change,) = narrower_widths(model)
    assert (change.width, change.better, change.layers) == (130, 128, ("wide",))
    copy = narrowed(model, change)
    assert copy is not None
    assert [tuple(one.shape) for one in copy.trainable_variables] == [(32, 128), (128,), (128, 10), (10,)]
    assert copy.compiled and type(copy.optimizer) is type(model.optimizer)
    after = {variable.path: keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)}
    assert before.keys() == after.keys() and all(np.array_equal(before[path], after[path]) for path in before)


def test_widths_that_are_added_to_each_other_change_together() -> None:
    inputs = keras.Input((20,), dtype="int32")
    x = layers.Embedding(50, 260, name="tokens")(inputs)
    x = layers.LayerNormalization()(x + layers.Dense(260, name="ff")(x))
    model = keras.Model(inputs, layers.Dense(130, name="out")(x))
    model.compile("adam", "mse")
    (change,) = narrower_widths(model)  # the last layer's width is the task's
    assert (change.better, change.layers) == (256, ("tokens", "ff"))
    assert narrowed(model, change).output_shape == (None, 20, 130)


def test_a_model_of_its_own_class_or_a_width_that_data_fixes_has_no_copy() -> None:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.inner = layers.Dense(130)

        def call(self, x: Any) -> Any:
            return self.inner(x)

    assert narrower_widths(Own()) == ()
    inputs = keras.Input((130,))
    model = keras.Model(inputs, layers.Dense(1)(inputs + layers.Dense(130, name="same")(inputs)))
    model.compile("sgd", "mse")
    (change,) = narrower_widths(model)
    assert narrowed(model, change) is None


def test_rows_just_over_a_tile_are_cut_where_the_model_takes_any_length() -> None:
    x, y = keras.KerasTensor((None, 130), "int32"), keras.KerasTensor((None, 130), "int32")
    free, fixed = (
        keras.Sequential([keras.Input((length,), dtype="int32"), layers.Embedding(9, 4)]) for length in (None, 130)
    )
    ((length, edge, parts),) = list(shorter_rows((x, y, None), free))
    assert (length, edge) == (130, 128)
    assert [tuple(part.shape) for part in parts[:2]] == [(None, 128), (None, 128)] and parts[2] is None
    assert list(shorter_rows((x, y, None), fixed)) == []


# With the real compiler.


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for answers, for the tests of this file."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def seen() -> list[Progress]:
    """What the first plan told on its way."""
    return []


@pytest.fixture(scope="module")
def planned(cache: Path, seen: list[Progress]) -> Plan:
    """A small model at two batch sizes on v2-8."""
    return tpu.plan(small(), *data(50 * 512), target="v2-8", batch_sizes=[64, 512], progress=seen.append)


def marked(test: Any) -> Any:
    for mark in WITH_COMPILER:
        test = mark(test)
    return test


@marked
def test_a_plan_has_a_row_for_each_size_with_all_its_figures(planned: Plan) -> None:
    assert [(row.target, row.batch_size, row.status, row.cached) for row in planned.rows] == [
        ("v2-8", 64, "fits", False),
        ("v2-8", 512, "fits", False),
    ]
    model = small()
    model.build((None, 32))
    values = sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)
    for row in planned.rows:
        assert row.flops == pytest.approx(row.batch_size * 2 * (2 * 32 * 130 + 3 * 130 * 10))
        assert row.memory is not None
        assert 4 * values <= row.memory.parameters < 40 * 4 * values  # the compiler pads small weights to tiles
        assert row.memory.optimizer == pytest.approx(2 * row.memory.parameters, rel=0.01)
        assert row.needed_bytes == row.memory.needed < row.allowed_bytes
        assert 0 < row.step_seconds[0] < row.step_seconds[1] < 1e-3
        assert row.collective_seconds > 0 and "all-reduce" in row.collective_model
        assert any("all-reduce" in kind for kind in row.unestimated)
        assert 0 < row.mxu_utilisation < 0.5 and row.hbm_bytes_moved > 0
        total = sum(layer.total for layer in row.layers) + row.optimizer_share + row.loss_share + row.unnamed_share
        assert total == pytest.approx(1.0)
        assert {layer.name for layer in row.layers} <= {"wide", "drop", "logits"}
        assert row.unnamed_share < 0.15
    small_batch, large_batch = planned.rows
    assert large_batch.speed > 2 * small_batch.speed


@marked
def test_a_plan_recommends_and_tells_in_a_sentence(planned: Plan) -> None:
    assert planned.recommended == tpu.FitOptions(batch_size=512)
    assert planned.verdict.startswith("Fits v2-8 at batch 512; best 512: about ")
    assert planned.compiler.startswith("jax 0.10.2, libtpu 0.0.42")
    assert planned.complete and planned.host is not None and planned.host.examples_per_second > 1000
    text = planned.table()
    assert text.splitlines()[0] == planned.verdict and ESTIMATE in text and "128 instead of 130" not in planned.verdict
    (curve,) = planned.curves
    assert [(point.batch_size, point.compiled) for point in curve.points] == [
        (64, True),
        (128, False),
        (256, False),
        (512, True),
    ]
    assert list(planned.to_dataframe()["batch_size"]) == [64, 512]


@marked
def test_rows_are_told_as_they_come(planned: Plan, seen: list[Progress]) -> None:
    statuses = [tuple(row.status for row in now.rows) for now in seen]
    assert (PENDING,) in statuses or (PENDING, PENDING) in statuses
    assert any("fits" in now and PENDING in now for now in statuses) or ("fits", "fits") in statuses
    assert any(now.stage.startswith("bfloat16: compiling") for now in seen)
    assert all(now.elapsed >= before.elapsed for before, now in zip(seen, seen[1:]))


@marked
def test_the_same_plan_again_compiles_nothing_and_changes_nothing(planned: Plan) -> None:
    model = small()
    before = [keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)]
    attributes = {id(layer): dict(vars(layer)) for layer in model.layers}
    stages: list[str] = []
    again = tpu.plan(
        model, *data(50 * 512), target="v2-8", batch_sizes=[64, 512], progress=lambda now: stages.append(now.stage)
    )
    assert not any("compiling" in stage for stage in stages)
    assert all(row.cached for row in again.rows)
    assert [row.step_seconds for row in again.rows] == [row.step_seconds for row in planned.rows]
    assert again.advice == planned.advice and again.verdict == planned.verdict
    after = [keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)]
    assert len(before) == len(after) and all(map(np.array_equal, before, after))
    assert attributes == {id(layer): dict(vars(layer)) for layer in model.layers}


@marked
def test_without_a_compiler_what_is_known_is_told_and_the_rest_refused(
    planned: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPU_MAGIC_COMPILER_PYTHON", "/nowhere/python")
    known = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[64, 4096], advise=False, host=False)
    assert [row.status for row in known.rows] == ["fits", "refused"]
    assert "TPU_MAGIC_COMPILER_PYTHON" in known.rows[1].reason
    stages: list[str] = []
    with pytest.raises(CompilerError, match="TPU_MAGIC_COMPILER_PYTHON"):
        tpu.plan(
            small(), *data(), target="v2-8", batch_sizes=[4096 + 64 * n for n in range(9)],
            progress=lambda now: stages.append(now.stage),
        )  # fmt: skip
    # Once it is known that there is none, no further step is read for it.
    assert len({stage for stage in stages if "compiling" in stage}) <= 2


@marked
def test_what_takes_long_is_not_begun_without_a_word(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_module, "FREE_SECONDS", 0.0)
    found = tpu.plan(small(name="other"), *data(), target="v2-8", batch_sizes=[72, 80], host=False)
    assert found.rows == () and not found.complete and found.verdict == "Nothing was compiled."
    assert "--yes" in found.problems[0] and found.recommended == tpu.FitOptions()


@marked
def test_an_interrupt_gives_the_rows_so_far_and_leaves_no_process(planned: Plan) -> None:
    from tests.planner.conftest import wait_until, workers

    def interrupt(now: Progress) -> None:
        if any(row.status == PENDING for row in now.rows):
            raise KeyboardInterrupt

    begun = time.perf_counter()
    found = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[64, 1024], progress=interrupt)
    assert [(row.batch_size, row.status) for row in found.rows] == [(64, "fits")]
    assert not found.complete and found.problems[0].startswith("Interrupted")
    assert time.perf_counter() - begun < 20 and wait_until(lambda: not workers())


@marked
def test_a_compile_that_takes_too_long_is_a_row_and_the_plan_goes_on(planned: Plan) -> None:
    found = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[64, 2048], seconds=0.05, host=False)
    assert [(row.batch_size, row.status) for row in found.rows] == [(64, "fits"), (2048, "refused")]
    assert found.rows[1].reason.startswith("Not compiled within")
    assert found.recommended.batch_size == 64


@marked
def test_sizes_that_cannot_be_are_rows_of_their_own(planned: Plan) -> None:
    found = tpu.plan(small(), *data(), target="v2-8", batch_sizes=[60, 64], advise=False, host=False)
    assert [(row.batch_size, row.status) for row in found.rows] == [(60, "refused"), (64, "fits")]
    assert "does not divide over 8 devices" in found.rows[0].reason


@marked
@pytest.mark.slow
@pytest.mark.only("jax")
def test_the_border_of_the_memory_is_found_and_one_step_more_is_refused(cache: Path) -> None:
    model = keras.Sequential([keras.Input((4096,)), layers.Dense(4096, name="a"), layers.Dense(1, name="b")])
    model.compile("sgd", "mse")
    x, y = keras.KerasTensor((None, 4096), "float32"), keras.KerasTensor((None, 1), "float32")
    found = tpu.plan(model, x, y, target="v2-8", batch_sizes=[4096, 10**8], advise=False, yes=True)
    (curve,) = found.curves
    assert curve.largest_batch is not None and curve.first_refused is not None
    assert 0 < curve.first_refused - curve.largest_batch <= curve.largest_batch / 32
    status = {row.batch_size: row.status for row in found.rows}
    assert status[curve.largest_batch] == "fits" and status[curve.first_refused] == "out-of-memory"
    assert found.recommended.batch_size == 4096  # not one of the sizes that were only tried
    assert found.verdict.startswith(f"Fits v2-8 up to batch {curve.largest_batch:,}; best 4,096")
