"""The training step of real models, lowered: what it computes, what it costs, and that the model is as before."""

from __future__ import annotations

import os
import random
import resource
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

from colab_tpu_magic.backends.variables import live_variables
from colab_tpu_magic.errors import DataError, ModelError, OptionError
from colab_tpu_magic.planner.lower import lower
from colab_tpu_magic.planner.lower.names import named
from colab_tpu_magic.planner.lower.portable import context, main_of
from colab_tpu_magic.planner.module import BATCH, OPTIMIZER, PARAMETER, STATE, Lowered

if os.environ.get("TPU_MAGIC_ENGINE", "").endswith("-1"):
    pytest.skip("a step is lowered alike however many replicas there are here", allow_module_level=True)

ROWS = 8


def spec(*shape: int, dtype: str = "float32") -> Any:
    """Return the shape of rows, without any."""
    return keras.KerasTensor((None, *shape), dtype)


def compiled(*parts: Any, loss: Any = "mse", optimizer: Any = "adam", metrics: Any = None, name: str = "net") -> Any:
    model = keras.Sequential(parts, name=name)
    model.compile(optimizer, loss, metrics=metrics)
    return model


def text_of(lowered: Lowered) -> str:
    """Return an artifact as text, with the names of its operations."""
    from jaxlib.mlir.dialects import stablehlo

    with context() as made:
        module = stablehlo.deserialize_portable_artifact(made, lowered.artifact)
        return module.operation.get_asm(enable_debug_info=True)


def names_in(lowered: Lowered) -> set[tuple[str, str]]:
    """Return the layers and parts that an artifact's operations tell of."""
    import re

    found = {named(name, lowered.layers, lowered.optimizer) for name in re.findall(r'loc\("([^"]*)"', text_of(lowered))}
    return {(one.layer, one.part) for one in found}


def run(lowered: Lowered, values: list[np.ndarray]) -> list[np.ndarray]:
    """Run an artifact for one device on this machine's CPU."""
    import jax
    from jaxlib import _jax, xla_client

    # On a TensorFlow engine this is the first use of JAX; only its CPU is asked for.
    device = jax.local_devices(backend="cpu")[0]
    list_of = getattr(_jax, "DeviceList", None) or xla_client.DeviceList
    loaded = device.client.compile_and_load(text_of(lowered), list_of((device,)), xla_client.CompileOptions())
    with jax._src.config.enable_x64(True):
        given = [jax.device_put(value, device) for value in values]
        outputs = loaded.execute_sharded(given).disassemble_into_single_device_arrays()
        return [np.asarray(output[0]) for output in outputs]


def numbers(rows: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, *shape)).astype("float32")


@pytest.mark.keras_floor
def test_the_artifact_computes_what_train_on_batch_does() -> None:
    model = compiled(
        keras.Input((4,)),
        layers.Dense(5, activation="tanh", kernel_regularizer="l2"),
        layers.BatchNormalization(),
        layers.Dense(3, activation="softmax"),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    x, y, weights = numbers(ROWS, 4), np.arange(ROWS) % 3, {0: 1.0, 1: 2.0, 2: 0.5}
    lowered = lower(model, x, y, devices=1, batch_size=ROWS, kwargs={"class_weight": weights})
    # The first fit builds the optimizer; a step at rate 0 would change the moments, so it is built by hand.
    model.optimizer.build(model.trainable_variables)
    model._symbolic_build(data_batch=(x, y, np.ones(ROWS, "float32")))
    held = {variable.path: keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)}
    held |= {"x": x, "y": y, "sample_weight": np.array([weights[int(one)] for one in y], "float32")}
    outputs = run(lowered, [np.array(held[one.name], one.dtype) for one in lowered.arguments])
    expected = model.train_on_batch(x, y, class_weight=weights, return_dict=True)

    trained = {variable.path: keras.ops.convert_to_numpy(variable.value) for variable in live_variables(model)}
    assert sum(float(output) == pytest.approx(float(expected["loss"]), rel=1e-5) for output in outputs[:2]) == 1
    compared = 0
    for argument, output in zip(lowered.arguments, places_of_new_values(lowered, len(outputs)), strict=True):
        if output is not None and not argument.name.endswith(("/total", "/count")):
            np.testing.assert_allclose(outputs[output], trained[argument.name], atol=1e-5, err_msg=argument.name)
            compared += 1
    assert compared >= 6 + 2 * 6 + 2  # weights, two moments of each, statistics


def places_of_new_values(lowered: Lowered, outputs: int) -> list[int | None]:
    """Return for each argument the place of the output that is its new value.

    JAX gives a donated array's memory to any output of its shape; its outputs are in the order of the state.
    """
    if lowered.backend == "jax":
        held = sum(one.role != BATCH for one in lowered.arguments)
        return [outputs - held + at if at < held else None for at in range(len(lowered.arguments))]
    from jaxlib.mlir.dialects import stablehlo

    with context() as made:
        said = main_of(stablehlo.deserialize_portable_artifact(made, lowered.artifact)).arg_attrs
        aliased = ["tf.aliasing_output" in attributes for attributes in said]
        return [
            int(attributes["tf.aliasing_output"].value) if has else None
            for attributes, has in zip(said, aliased, strict=True)
        ]


def hand_counts() -> dict[str, tuple[list[Any], Any, float]]:
    """Return layers, the shape of y and the FLOPs of a step on 8 rows, by hand.

    Backward costs as much for the weights and as much again for what a layer is given, except for the first layer.
    """
    lstm = 2 * ROWS * (3 + 5) * 4 * 5
    projection, scores = 2 * ROWS * 7 * 6 * 2 * 4, 2 * ROWS * 2 * 7 * 7 * 4
    return {
        "dense": ([keras.Input((4,)), layers.Dense(5), layers.Dense(3)], (3,), 2 * ROWS * (2 * 4 * 5 + 3 * 5 * 3)),
        "convolution": ([keras.Input((9, 9, 2)), layers.Conv2D(4, 3)], (7, 7, 4), 2 * 2 * ROWS * 7 * 7 * 3 * 3 * 2 * 4),
        "same": (
            [keras.Input((9, 9, 2)), layers.Conv2D(4, 3, padding="same")],
            (9, 9, 4),
            2 * 2 * ROWS * (9 * 3 - 2) ** 2 * 2 * 4,
        ),
        # the gradient for the inputs of each step is not needed, that for the state before it is, but of the first
        "lstm": ([keras.Input((6, 3)), layers.LSTM(5)], (5,), 6 * (2 * lstm + 2 * ROWS * 5 * 4 * 5)),
        "attention": ([Attention()], (7, 6), (3 * 2 + 1 * 3) * projection + 2 * 3 * scores),
    }


class Attention(layers.Layer):
    """A layer that attends to itself: 2 heads of 4, rows of shape (7, 6)."""

    def __init__(self) -> None:
        super().__init__(name="attention")
        self.inner = layers.MultiHeadAttention(2, 4, name="inner")

    def build(self, shape: Any) -> None:
        self.inner.build(shape, shape)

    def call(self, x: Any) -> Any:
        return self.inner(x, x)


@pytest.mark.parametrize("name", ["dense", "convolution", "same", "lstm", "attention"])
def test_flops_are_those_counted_by_hand(name: str) -> None:
    parts, target, flops = hand_counts()[name]
    given = (7, 6) if name == "attention" else parts[0].shape[1:]
    lowered = lower(compiled(*parts), spec(*given), spec(*target), devices=1, batch_size=ROWS)
    assert lowered.flops == pytest.approx(flops, rel=0.01 if name == "lstm" else 1e-9)
    own_kernel = name == "attention" and lowered.backend == "jax"
    assert ["splash attention" in remark for remark in lowered.remarks] == [True] * own_kernel


def test_bytes_of_parameters_and_optimizer_are_those_of_keras() -> None:
    model = compiled(keras.Input((4,)), layers.Dense(5), layers.BatchNormalization(), layers.Dense(3), metrics=["mae"])
    lowered = lower(model, spec(4), spec(3), devices=8, batch_size=ROWS)
    model._symbolic_build(data_batch=(numbers(ROWS, 4), numbers(ROWS, 3)))

    def held(variables: list[Any]) -> int:
        return sum(keras.ops.convert_to_numpy(variable.value).nbytes for variable in variables)

    assert lowered.bytes_of(PARAMETER) == held(model.trainable_variables) == (4 * 5 + 5 + 2 * 5 + 5 * 3 + 3) * 4
    assert lowered.bytes_of(OPTIMIZER) == held(model.optimizer.variables)
    assert lowered.bytes_of(STATE) == held([*model.non_trainable_variables, *model.metrics_variables])
    assert lowered.bytes_of(BATCH) == ROWS * (4 + 3) * 4
    assert lowered.bytes_per_device(BATCH) == (4 + 3) * 4
    donated = {one.role for one in lowered.arguments if one.donated}
    assert donated == {PARAMETER, OPTIMIZER, STATE}


def test_the_batch_is_divided_over_the_devices() -> None:
    from jaxlib.mlir.dialects import stablehlo

    model = compiled(keras.Input((4,)), layers.Dense(3))
    lowered = lower(model, spec(4), spec(3), devices=4, batch_size=ROWS)
    with context() as made:
        said = main_of(stablehlo.deserialize_portable_artifact(made, lowered.artifact)).arg_attrs
        shardings = [attributes["mhlo.sharding"].value for attributes in said]
    for argument, sharding in zip(lowered.arguments, shardings, strict=True):
        assert sharding == ("{devices=[4,1]<=[4]}" if argument.role == BATCH else "{replicated}")


@pytest.mark.keras_floor
def test_forward_and_backward_of_every_layer_can_be_told_apart() -> None:
    block = keras.Sequential([layers.Dense(6, name="dense"), layers.Dense(6, name="dense_1")], name="block")
    given = keras.Input((7, 6))
    hidden = block(given)
    hidden = layers.MultiHeadAttention(2, 4, name="attend")(hidden, hidden)
    hidden = layers.LSTM(6, name="recurrent")(hidden)
    shared = layers.Dense(6, name="dense")
    model = keras.Model(given, layers.Dense(3, name="dense_1")(shared(shared(hidden))), name="net")
    model.compile("adam", "mse")
    lowered = lower(model, spec(7, 6), spec(3), devices=1, batch_size=ROWS)
    assert lowered.layers[:4] == ("block", "block/dense", "block/dense_1", "attend")
    told = names_in(lowered)
    for layer in ("block/dense", "block/dense_1", "attend/query", "recurrent", "dense", "dense_1"):
        assert (layer, "forward") in told, layer
        assert (layer, "backward") in told, layer
    assert {("", "loss"), ("", "optimizer")} <= told


class Counting(keras.Model):
    """A model of the user's own that builds late, draws seeds and writes down what happens."""

    def __init__(self) -> None:
        super().__init__(name="counting")
        self.calls = 0
        self.made: list[Any] = []
        self.by_name: dict[str, Any] = {}
        self.first = layers.Dense(4, name="first")

    def build(self, shape: Any) -> None:
        self.made.append(layers.Dropout(0.5, name="late"))
        self.by_name["last"] = layers.Dense(3, name="last")
        self.built = True

    def call(self, x: Any, training: bool = False) -> Any:
        self.calls += 1
        return self.by_name["last"](self.made[0](self.first(x), training=training))


def photograph(model: Any) -> dict[str, Any]:
    """Return what can be seen of a model, with the values of its variables."""
    from keras.src.backend.common import global_state

    parts = [*model._flatten_layers(), model.optimizer]
    return {
        "built": [(one.name, one.built) for one in parts],
        "variables": [
            (variable.path, keras.ops.convert_to_numpy(variable.value).tolist()) for variable in live_variables(model)
        ],
        "policies": [layer.dtype_policy.name for layer in model._flatten_layers()],
        "attributes": [sorted(vars(one)) for one in parts],
        "metrics": [metric.name for metric in model.metrics],
        "losses": list(model._losses_override),
        "train_function": model.train_function,
        "names": dict(global_state.get_global_attribute("object_name_uids") or {}),
        "python": random.getstate(),
        "numpy": repr(np.random.get_state()),
        "keras": keras.config.dtype_policy().name,
    }


def models() -> dict[str, Any]:
    own = Counting()
    own.compile("nadam", "mse", metrics=["mae"])
    loose = compiled(layers.Dense(4), layers.Dropout(0.5), layers.Dense(3), metrics=["mae"])
    ready = compiled(keras.Input((4,)), layers.Dense(4), layers.Dropout(0.5), layers.Dense(3), metrics=["mae"])
    return {"unbuilt Sequential": loose, "unbuilt model of one's own": own, "built": ready}


@pytest.mark.keras_floor
@pytest.mark.parametrize("name", ["unbuilt Sequential", "unbuilt model of one's own", "built"])
def test_the_model_is_exactly_as_it_was(name: str) -> None:
    model = models()[name]
    x, y = spec(4), spec(3)
    before = photograph(model)
    lowered = lower(model, x, y, devices=2, batch_size=ROWS, precision="bfloat16")
    assert photograph(model) == before
    assert lowered.bytes_of(PARAMETER) == (4 * 4 + 4 + 4 * 3 + 3) * 4
    assert not model.optimizer.built
    assert [argument.role for argument in lowered.arguments].count(OPTIMIZER) >= 2 + 2 * 4
    if name == "unbuilt model of one's own":
        assert (model.calls, model.made, model.by_name) == (0, [], {})


def test_a_model_in_mid_training_goes_on_as_if_nothing_had_been() -> None:
    x, y = numbers(ROWS, 4), numbers(ROWS, 3)

    def losses(between: Any) -> list[float]:
        keras.utils.set_random_seed(1)
        model = compiled(layers.Dense(4), layers.Dropout(0.5), layers.Dense(3))
        found: list[float] = []
        for _ in range(2):
            between(model)
            found += [float(model.train_on_batch(x, y))]
        return found

    assert losses(lambda model: lower(model, x, y, devices=2, batch_size=ROWS)) == losses(lambda model: None)


def test_the_model_is_as_it_was_after_an_error() -> None:
    model = models()["unbuilt Sequential"]
    x, y = spec(4), spec(3, 3, 3)
    before = photograph(model)
    with pytest.raises(DataError):
        lower(model, x, y, devices=1, batch_size=ROWS, precision="bfloat16")
    assert photograph(model) == before


@pytest.mark.parametrize(("precision", "products"), [(None, "f32"), ("float32", "f32"), ("bfloat16", "bf16")])
def test_a_precision_is_that_of_the_products_and_not_of_the_weights(precision: str | None, products: str) -> None:
    model = compiled(keras.Input((4,)), layers.Dense(5), layers.Dense(3))
    lowered = lower(model, spec(4), spec(3), devices=1, batch_size=ROWS, precision=precision)
    first = next(line for line in text_of(lowered).splitlines() if "stablehlo.dot" in line)
    assert f"tensor<8x4x{products}>" in first
    assert {one.dtype for one in lowered.arguments if one.role == PARAMETER} == {"float32"}
    assert lowered.precision == (precision or "")


def test_equal_steps_are_equal_and_others_are_not() -> None:
    def one(batch_size: int = ROWS, units: int = 5) -> str:
        keras.backend.clear_session()
        model = compiled(keras.Input((4,)), layers.Dense(units, name="a"), layers.Dense(3, name="b"))
        return lower(model, spec(4), spec(3), devices=1, batch_size=batch_size).digest()

    assert one() == one()
    assert len({one(), one(batch_size=16), one(units=6)}) == 3


def test_a_big_batch_is_never_made() -> None:
    """16,384 images of 224x224 are 9.9 GB, and each activation 3.3 times that."""
    model = compiled(keras.Input((224, 224, 3)), layers.Conv2D(10, 3), layers.GlobalAveragePooling2D(), layers.Dense(2))
    lower(model, spec(224, 224, 3), spec(2), devices=8, batch_size=8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lowered = lower(model, spec(224, 224, 3), spec(2), devices=8, batch_size=16384)
    assert lowered.bytes_of(BATCH) == 16384 * (224 * 224 * 3 + 2) * 4
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_lowering_again_and_again_takes_no_more_memory() -> None:
    model = compiled(layers.Dense(4000))  # 64 MB, and 192 MB with Adam's moments
    lower(model, spec(4000), spec(4000), devices=1, batch_size=ROWS)
    before = resident()
    for _ in range(3):
        lower(model, spec(4000), spec(4000), devices=1, batch_size=ROWS)
    assert resident() - before < 250e6


def test_data_in_other_forms_has_the_same_step() -> None:
    import tensorflow as tf

    model = compiled(keras.Input((4,)), layers.Dense(3))
    x, y = numbers(ROWS, 4), numbers(ROWS, 3)
    digests = {
        lower(model, *data, devices=1, batch_size=4).digest()
        for data in [(x, y), (x.astype("float16"), y.tolist()), (tf.data.Dataset.from_tensor_slices((x, y)).batch(2),)]
    }
    assert len(digests) == 1


def test_several_inputs_and_outputs_have_their_names() -> None:
    left, right = keras.Input((4,), name="left"), keras.Input((2,), name="right")
    joined = layers.Concatenate()([left, right])
    model = keras.Model({"left": left, "right": right}, {"a": layers.Dense(1)(joined), "b": layers.Dense(3)(joined)})
    model.compile("sgd", {"a": "mse", "b": "mse"})
    x, y = {"right": spec(2), "left": spec(4)}, {"a": spec(1), "b": spec(3)}
    lowered = lower(model, x, y, devices=1, batch_size=ROWS)
    batch = {one.name: one.shape for one in lowered.arguments if one.role == BATCH}
    assert batch == {"x['left']": (8, 4), "x['right']": (8, 2), "y['a']": (8, 1), "y['b']": (8, 3)}


def test_bad_input_gets_one_message() -> None:
    model = compiled(keras.Input((4,)), layers.Dense(3))
    x, y = numbers(ROWS, 4), numbers(ROWS, 3)
    cases: list[tuple[type[Exception], str, Any, dict]] = [
        (DataError, r"x has rows of shape \(5,\), and the model takes \(4,\)", (numbers(ROWS, 5), y), {}),
        (DataError, "There is no y", (x,), {}),
        (DataError, "text or Python objects", (np.array([["a"] * 4] * ROWS), y), {}),
        (DataError, "text", (spec(4, dtype="string"), y), {}),
        (DataError, r"Rows of x: \(4,\); of y: \(2, 7\)", (spec(4), spec(2, 7)), {}),
        (DataError, "does not divide over 3 devices", (x, y), {"devices": 3}),
        (DataError, "read only once", ((batch for batch in [(x, y)]),), {}),
        (OptionError, "no precision 'float8'", (x, y), {"precision": "float8"}),
    ]
    for kind, message, data, more in cases:
        with pytest.raises(kind, match=message):
            lower(model, *data, **{"devices": 1, "batch_size": ROWS, **more})
    model.optimizer = None
    with pytest.raises(ModelError, match="compiled without an optimizer"):
        lower(model, x, y, devices=1, batch_size=ROWS)
    with pytest.raises(ModelError, match="never compiled"):
        lower(keras.Sequential([layers.Dense(3)]), x, y, devices=1, batch_size=ROWS)


def test_a_model_that_was_made_in_the_runtimes_scope_has_the_same_step(runtime: Any) -> None:
    def made() -> Any:
        parts = [keras.Input((4,)), layers.Dense(5, name="a"), layers.BatchNormalization(name="b")]
        return compiled(*parts, optimizer=keras.optimizers.Adam(name="adam"))

    outside = made()
    with runtime.scope():
        inside = made()
    held = [variable._value for variable in live_variables(inside)]
    digests = {lower(model, spec(4), spec(5), devices=2, batch_size=ROWS).digest() for model in (outside, inside)}
    assert len(digests) == 1
    assert all(variable._value is value for variable, value in zip(live_variables(inside), held, strict=True))


@pytest.mark.only("tensorflow")
def test_a_step_of_ones_own_with_two_optimizers_has_the_state_of_both() -> None:
    from .test_own_train_step import TensorFlowStep

    model = TensorFlowStep()
    model.compile("adam", "sparse_categorical_crossentropy")
    lowered = lower(model, spec(4), keras.KerasTensor((None,), "int32"), devices=2, batch_size=ROWS)
    held = {one.name: one.role for one in lowered.arguments if "iteration" in one.name}
    assert set(held.values()) == {OPTIMIZER} and len(held) == 2
    assert lowered.bytes_of(PARAMETER) == (4 * 8 + 8 + 8 * 2 + 2) * 4
    assert not model.built and not model.slow.built


@pytest.mark.only("tensorflow")
def test_an_operation_of_the_host_is_named_with_layer_file_and_line() -> None:
    import tensorflow as tf

    source = (
        "class Odd(layers.Layer):\n"
        "    def call(self, x):\n"
        "        doubled = x * 2\n"
        "        return tf.reshape(tf.py_function(lambda v: v.numpy(), [doubled], tf.float32), tf.shape(x))\n"
    )
    names: dict[str, Any] = {"layers": layers, "tf": tf}
    exec(compile(source, "/tmp/ipykernel_1/cell.py", "exec"), names)
    model = compiled(keras.Input((4,)), names["Odd"](name="odd"), layers.Dense(3))
    with pytest.raises(ModelError) as caught:
        lower(model, spec(4), spec(3), devices=1, batch_size=ROWS)
    message = str(caught.value)
    assert "A TPU cannot run EagerPyFunc (tf.py_function runs Python on the host)" in message
    assert 'in the layer "odd", made in /tmp/ipykernel_1/cell.py, line 4.' in message
