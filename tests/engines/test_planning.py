"""Plans of small models, on both backends: what is read of a fit, and which copies of a model are worth compiling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

import colab_tpu_magic as tpu
from colab_tpu_magic.backends.variables import live_variables
from colab_tpu_magic.errors import DataError, ModelError, OptionError
from colab_tpu_magic.planner.asked import Asked, read
from colab_tpu_magic.planner.host import MOST_BATCHES, host_rate
from colab_tpu_magic.planner.narrower import just_over, narrowed, narrower_widths, shorter_rows
from colab_tpu_magic.planner.plan import HostRate
from colab_tpu_magic.planner.planning import _arguments
from colab_tpu_magic.planner.row import Row
from colab_tpu_magic.planner.steps import Case, Steps
from colab_tpu_magic.planner.targets import target

ROWS = 6400
V2 = target("v2-8")


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
