"""Every form of model with every form of data trains as plain Keras does on one device, given the same batches.

The cases are chosen so that every two of model, data, weights and validation meet at least once. The first model with
each kind of inputs and targets meets every form of data; the others meet the forms that stand for all that are read
the same way, unless ``TPU_MAGIC_PAIRS=all``. That a form of data gives a second pass has nothing to do with the model:
it is seen with the first model. A model is made once and trains from the same weights in each case, so that its step is
compiled once.

Tolerances: JAX sums in another order on eight devices, and TensorFlow in each replica's share; both stay under
1e-5 of a loss and 1e-4 in weights of about 1 after up to two epochs of Adam at a rate of 0.01.
"""

from __future__ import annotations

import importlib.util
import os

import keras
import numpy as np
import pytest

from colab_tpu_magic.backends.variables import forget_functions, live_variables

from .data_forms import BATCH, DATA
from .model_forms import MODELS, samples
from .models import training
from .pairwise import covering

pytestmark = pytest.mark.table

LOSS_TOLERANCE, WEIGHT_TOLERANCE = 1e-5, 1e-4
ROWS = 3 * BATCH
VALIDATION_ROWS = BATCH
EVERY_PAIR = os.environ.get("TPU_MAGIC_PAIRS") == "all"


def holds(data: str, model: str) -> bool:
    """Say whether a form of data can hold what a form of model takes."""
    takes, given = MODELS[model], DATA[data]
    return takes.inputs in given.inputs and takes.targets in given.targets


def meet(model: str, data: str) -> bool:
    """Say whether a form of model is tried with a form of data."""
    takes = MODELS[model]
    first = next(n for n, one in MODELS.items() if (one.inputs, one.targets) == (takes.inputs, takes.targets))
    return holds(data, model) and (EVERY_PAIR or bool(DATA[data].stands_for) or model == first)


def passes(case: dict) -> int:
    """Return how many epochs a case trains: all that the data can give with the first model that it can be of."""
    first = next(model for model in MODELS if holds(case["data"], model))
    return DATA[case["data"]].epochs if EVERY_PAIR or case["model"] == first else 1


def possible(case: dict) -> bool:
    """Say whether a case can be: the data holds the model's inputs and targets, and validates that way."""
    if not meet(case["model"], case["data"]):
        return False
    model, data = MODELS[case["model"]], DATA[case["data"]]
    if case["validation"] == "split" and not data.splits:
        return False
    # Keras takes class weights with one output, and beside no sample weights.
    return not (case["weights"] == "class" and model.targets == "two")


def cases() -> list[dict]:
    """Return the cases, those of one model after each other."""
    data = [name for name, form in DATA.items() if not form.needs or importlib.util.find_spec(form.needs)]
    factors = {
        "model": list(MODELS),
        "data": data,
        "weights": ["none", "sample", "class"],
        "validation": ["none", "split", "same form"],
    }
    return covering(factors, possible)


CASES = cases()


def weights_of(case: dict, rows: int):
    return np.linspace(0.1, 2, rows).astype("float32") if case["weights"] == "sample" else None


def arguments_of(case: dict, form: str) -> dict:
    """Return the arguments of the fit of a case with its data in a form."""
    model, data = MODELS[case["model"]], DATA[form]
    x, y = samples(model.inputs, model.targets, ROWS)
    arguments = data.give(x, y, weights_of(case, ROWS)) | {"shuffle": False, "epochs": passes(case)}
    if case["weights"] == "class":
        arguments["class_weight"] = {0: 0.5, 1: 2.0}
    if case["validation"] == "split":
        arguments["validation_split"] = 1 / 3
    elif case["validation"] == "same form":
        held_out = samples(model.inputs, model.targets, VALIDATION_ROWS, seed=1)
        given = data.give(*held_out, weights_of(case, VALIDATION_ROWS))
        arguments["validation_data"] = tuple(given.values()) if "y" in given else given["x"]
    if "y" in arguments:
        arguments["batch_size"] = BATCH
    return arguments


class SameStart:
    """A model that trains from the same weights each time, in plain Keras or on the replicas."""

    def __init__(self, form: str) -> None:
        self.model = MODELS[form].make()
        x, y = samples(MODELS[form].inputs, MODELS[form].targets, BATCH)
        self.model._symbolic_build(data_batch=(x, y))
        self.values = [(one, np.array(keras.ops.convert_to_numpy(one.value))) for one in live_variables(self.model)]

    def fit(self, arguments: dict, **more) -> tuple[dict, list]:
        """Train, and return the history and the weights after it."""
        for variable, value in self.values:
            variable.assign(value)
        return self.model.fit(**arguments, **more).history, self.model.get_weights()


def expected(model: SameStart, case: dict, known: dict) -> tuple[dict, list]:
    """Return what plain Keras makes of the same rows in NumPy arrays on one device."""
    key = (case["weights"], case["validation"], passes(case))
    if key not in known:
        known[key] = model.fit(arguments_of(case, "numpy"), verbose=0)
    return known[key]


def check(found: tuple[dict, list], wanted: tuple[dict, list]) -> None:
    assert list(found[0]) == list(wanted[0])
    for name, values in wanted[0].items():
        np.testing.assert_allclose(found[0][name], values, rtol=LOSS_TOLERANCE, atol=LOSS_TOLERANCE, err_msg=name)
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, atol=WEIGHT_TOLERANCE)


@pytest.mark.parametrize("model", MODELS)
def test_every_form_of_data_trains_a_model_as_plain_keras_does(model, runtime):
    if runtime.backend == "tensorflow" and runtime.replicas > 1 and not MODELS[model].same_on_tensorflow:
        pytest.skip("each TensorFlow replica computes this from its own share of the batch")
    # Those that need a step of their own come last, so that one is made anew once.
    own = sorted((case for case in CASES if case["model"] == model), key=lambda case: DATA[case["data"]].other_shapes)
    plain, ours, known = SameStart(model), SameStart(model), {}
    wanted = [expected(plain, case, known) for case in own]
    wrong, other_shapes = [], False
    with training(batch_size=BATCH, learning_rate="keep", steps_per_execution="keep"):
        for case, result in zip(own, wanted, strict=True):
            try:
                if DATA[case["data"]].other_shapes != other_shapes:
                    forget_functions(ours.model)  # a step of TensorFlow that has met both knows no rank any more
                other_shapes = DATA[case["data"]].other_shapes
                check(ours.fit(arguments_of(case, case["data"])), result)
            except Exception as error:
                wrong.append(f"{case}: {type(error).__name__}: {error}")
    assert not wrong, "\n\n".join(wrong)


def test_the_cases_hold_every_pair_that_can_be():
    installed = [name for name, form in DATA.items() if not form.needs or importlib.util.find_spec(form.needs)]
    pairs = {(model, data) for model in MODELS for data in installed if meet(model, data)}
    assert {(case["model"], case["data"]) for case in CASES} == pairs
    assert {data for _, data in pairs} == set(installed), "every form of data meets a model"
    for weights in ("none", "sample", "class"):
        assert {case["data"] for case in CASES if case["weights"] == weights} == set(installed)
    assert CASES == cases(), "the same each time"
