"""Evaluation and prediction are exact for any number of rows, in every entry point."""

from __future__ import annotations

import importlib.util

import keras
import numpy as np
import pytest

from colab_tpu_magic.backends.variables import forget_functions

from .data_forms import DATA, beside
from .models import dense, rows, training

# A metric of one's own may depend on how rows are split; the one here does not.
pytestmark = pytest.mark.filterwarnings("ignore:A loss or metric of this model may be no mean")
COUNTS = (1, 7, 8, 9, 127, 128, 129, 1003)


class CountsRows(keras.metrics.Metric):
    """Count rows without looking at sample weights: padding rows would show."""

    def __init__(self, name="rows", **kwargs):
        super().__init__(name=name, **kwargs)
        self.seen = self.add_weight(name="seen", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.seen.assign_add(keras.ops.sum(keras.ops.ones_like(keras.ops.reshape(y_true, (-1,)), "float32")))

    def result(self):
        return keras.ops.convert_to_tensor(self.seen)


def share_of_first_class(y_true, y_pred):
    """A metric that is a function: one value a row."""
    return y_pred[:, 0]


class AreaUnderCurve(keras.metrics.AUC):
    """The AUC of the second of two classes."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        super().update_state(y_true, y_pred[:, 1:], sample_weight)


def with_many_metrics():
    """Return a model whose metrics are strings, functions and classes, weighted and not."""
    return dense(
        metrics=["accuracy", AreaUnderCurve(name="auc"), share_of_first_class, CountsRows()],
        weighted_metrics=[
            keras.metrics.SparseCategoricalAccuracy(name="weighted"),
            AreaUnderCurve(name="weighted_auc"),
        ],
    )


# The number of rows, the form the data comes in, and whether rows weigh differently: each pair of neighbours once.
FORMS = ("numpy", "PyDataset", "generator", "sparse", "tf.data", "function returning arrays", "pandas", "grain rows")
EXACT = [(count, FORMS[at], at % 2 == 0) for at, count in enumerate(COUNTS)]
EXACT += [(count, FORMS[-1 - at], at % 2 == 0) for at, count in enumerate(COUNTS)]
PREDICTED = [(count, form) for count, form, _ in EXACT[: len(FORMS)]]


@pytest.fixture(scope="module")
def trained():
    x, y = rows()
    model = with_many_metrics()
    with training():
        model.fit(x, y, epochs=1)
    return model


@pytest.fixture(scope="module")
def at_home(trained):
    """Return what plain Keras says of the first rows, in one batch; each is asked for once."""
    known = {}

    def ask(count, weighted):
        if (count, weighted) not in known:
            given = beside(*rows(count), weights(count) if weighted else None)
            known[count, weighted] = trained.evaluate(**given, verbose=0, return_dict=True, batch_size=2048)
        return known[count, weighted]

    return ask


def weights(count):
    return np.linspace(0.1, 2, count).astype("float32")


def installed(form):
    """Say whether the package that a form of data needs is there."""
    return not DATA[form].needs or importlib.util.find_spec(DATA[form].needs) is not None


def asked_in_one_cell(cases, ask):
    """Return {case: what `ask` returned or raised} of a cell that asks all: what it is asked of is compiled once."""
    found = {}
    with training():
        for case in cases:
            try:
                found[case] = ask(*case)
            except Exception as error:
                found[case] = error
    return found


def answer(found, case):
    """Return what was found of a case, or raise its error; skip a case whose package is missing."""
    if not installed(case[1]):
        pytest.skip(f"{DATA[case[1]].needs} is not installed")
    if isinstance(found[case], Exception):
        raise found[case]
    return found[case]


@pytest.fixture(scope="module")
def evaluated(trained):
    """What `evaluate` says on the replicas, by case."""
    shapes = [False]

    def ask(count, form, weighted):
        if DATA[form].other_shapes != shapes[-1]:
            forget_functions(trained)  # a step of TensorFlow that has met both knows no rank any more
        shapes.append(DATA[form].other_shapes)
        given = DATA[form].give(*rows(count), weights(count) if weighted else None)
        return trained.evaluate(**given, verbose=0, return_dict=True)

    cases = [case for case in EXACT if installed(case[1])]
    return asked_in_one_cell(sorted(cases, key=lambda case: (DATA[case[1]].other_shapes, case[2])), ask)


@pytest.fixture(scope="module")
def predicted(trained):
    """What `predict` returns on the replicas, by case."""
    cases = [case for case in PREDICTED if installed(case[1])]
    return asked_in_one_cell(
        cases, lambda count, form: trained.predict(DATA[form].give(*rows(count), None)["x"], verbose=0)
    )


@pytest.mark.parametrize(("count", "form", "weighted"), EXACT)
def test_evaluate_counts_every_row_once_in_every_form(evaluated, at_home, count, form, weighted):
    there = answer(evaluated, (count, form, weighted))
    assert there["rows"] == count
    home = at_home(count, weighted)
    assert list(there) == list(home)
    for name, value in home.items():
        assert there[name] == pytest.approx(value, rel=2e-6, abs=2e-6), name
    if weighted and count == 1003:
        assert abs(there["accuracy"] - there["weighted"]) > 1e-4, "one of them weighs the rows"


@pytest.mark.parametrize(("count", "form"), PREDICTED)
def test_predict_returns_every_row_in_order_in_every_form(trained, predicted, count, form):
    there = answer(predicted, (count, form))
    assert there.shape == (count, 2)
    np.testing.assert_allclose(there, trained.predict(rows(count)[0], verbose=0), atol=1e-6)


@pytest.mark.keras_floor
@pytest.mark.eight
def test_acceptance_four_1003_rows_over_eight_replicas():
    x, y = rows(1003)
    model = dense()
    with training():
        there = model.evaluate(x, y, verbose=0)
        predicted = model.predict(x, verbose=0)
    np.testing.assert_allclose(there, model.evaluate(x, y, verbose=0), rtol=1e-6)
    np.testing.assert_allclose(predicted, model.predict(x, verbose=0), atol=1e-6)


def test_validation_inside_a_fit_counts_every_row_once():
    x, y = rows()
    model = dense(metrics=[CountsRows()])
    counts = (1, 3, 11, 100)
    # In one cell and with steps that stay the same, the model is compiled once.
    with training(learning_rate="keep", steps_per_execution="keep"):
        found = [
            model.fit(x, y, epochs=2, validation_data=(x[:count], y[:count])).history["val_rows"] for count in counts
        ]
    assert found == [[count, count] for count in counts]


def test_steps_limits_the_rows_of_evaluate_and_predict(trained):
    x, y = rows(200)
    with training():
        there = trained.evaluate(x, y, batch_size=16, steps=3, verbose=0, return_dict=True)
        assert trained.predict(x, batch_size=16, steps=3, verbose=0).shape == (48, 2)
    assert there["rows"] == 48


@pytest.mark.keras_floor
def test_the_loss_of_each_output_counts_every_row_once():
    """In a graph of TensorFlow's, plain Keras weighs a last batch of 3 rows as much as one of 16."""
    x, _ = rows(51)
    y = {"a": x[:, :1] * 3 - 1, "b": x[:, :3] ** 2}
    inputs = keras.Input((20,))
    model = keras.Model(
        inputs, {"a": keras.layers.Dense(1, name="a")(inputs), "b": keras.layers.Dense(3, name="b")(inputs)}
    )
    model.compile(keras.optimizers.SGD(0.0), {"a": "mse", "b": "mae"}, loss_weights={"a": 0.3, "b": 1.0})
    whole = model.evaluate(x, y, batch_size=51, verbose=0, return_dict=True)
    with training(batch_size="keep", learning_rate="keep"):
        there = model.evaluate(x, y, batch_size=16, verbose=0, return_dict=True)
        history = model.fit(x, y, batch_size=16, validation_data=(x, y), verbose=0).history
    for name, value in whole.items():
        assert there[name] == pytest.approx(value, rel=1e-6)
        assert history[f"val_{name}"] == pytest.approx([value], rel=1e-6)
    assert type(model._compile_loss).__name__ == "CompileLoss"


def test_several_outputs_are_each_cut_to_the_rows():
    x, _ = rows(13)
    inputs = keras.Input((20,))
    model = keras.Model(inputs, {"a": keras.layers.Dense(1)(inputs), "b": keras.layers.Dense(3)(inputs)})
    with training():
        there = model.predict(x, verbose=0)
    home = model.predict(x, verbose=0)
    for name in ("a", "b"):
        np.testing.assert_allclose(there[name], home[name], atol=1e-6)


@pytest.mark.only("tensorflow")
def test_model_that_is_compiled_by_xla_is_evaluated_and_predicts_on_replicas():
    x, y = rows(64)
    model = dense()
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=True)
    expected, answers = model.evaluate(x, y, verbose=0), model.predict(x, verbose=0)
    with training():
        assert model.evaluate(x, y, verbose=0) == pytest.approx(expected, rel=1e-5)
        np.testing.assert_allclose(model.predict(x, verbose=0), answers, rtol=1e-5)
    assert model.jit_compile is True


def aligned(array):
    """Return a copy that begins at a multiple of 64, as about one array in four does."""
    memory = np.empty(array.nbytes + 64, "uint8")
    start = -memory.ctypes.data % 64
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def test_the_users_arrays_are_never_written_to():
    random = np.random.default_rng(3)
    x, y = (
        aligned(random.normal(size=(96, 6)).astype("float32")),
        aligned(random.normal(size=(96, 1)).astype("float32")),
    )
    before = x.copy(), y.copy()
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    with training(batch_size="keep"):
        model.fit(x, y, batch_size=32, epochs=2, shuffle=False, validation_data=(x, y))
        model.evaluate(x, y, batch_size=32)
        model.predict(x, batch_size=32)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
