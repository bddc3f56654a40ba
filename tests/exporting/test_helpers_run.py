"""What a script brings along does what the run did: the helpers themselves, run here."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest

from colab_tpu_magic.exporting.helpers import helpers_text

tf = pytest.importorskip("tensorflow")


def helper(name: str, backend: str = "tensorflow", replicas: int = 1, **names: Any) -> Any:
    """Return a helper as the script has it, with all that it needs."""
    known = {"keras": keras, "np": np, "tf": tf, "itertools": itertools, "threading": threading, **names}
    exec(helpers_text({name}, backend, replicas), known)
    return known[name]


class Numbers(keras.utils.PyDataset):
    """Four batches of three rows, each row the number of its batch."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = 0

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return np.full((3, 1), index), np.full(3, index)

    def on_epoch_end(self) -> None:
        self.ends += 1


def passes(seed: int, count: int) -> list[int]:
    """Return the batches of some passes in the order in which a run takes them: one draw for each pass."""
    np.random.seed(seed)
    orders = [np.random.default_rng(np.random.randint(2**31)).permutation(4) for _ in range(count)]
    return [int(one) for order in orders for one in order]


def numbers_of(batches: Any) -> list[int]:
    return [int(y[0]) for _, y in batches]


def test_batches_that_keras_looks_at_before_it_trains_are_drawn_once_for_jax():
    made, shuffled = helper("full_batches_of", "jax"), helper("shuffled")
    wanted = passes(5, 2)
    np.random.seed(5)
    endless = made(lambda: shuffled(Numbers()), batch_size=3)
    looked = [endless[index] for index in range(2)]
    trained = [endless[index] for index in range(8)]
    assert numbers_of(looked) == wanted[:2]
    assert numbers_of(trained) == wanted
    assert np.random.randint(2**31) == (passes(5, 2), np.random.randint(2**31))[1]


def test_batches_that_keras_looks_at_before_it_trains_are_drawn_once_for_tensorflow():
    made, shuffled = helper("full_batches_of"), helper("shuffled")
    wanted = passes(5, 2)
    after = np.random.randint(2**31)
    np.random.seed(5)
    dataset = made(lambda: shuffled(Numbers()), batch_size=3, most=8)
    assert numbers_of(dataset.take(1).as_numpy_iterator()) == wanted[:1]
    assert numbers_of(dataset.as_numpy_iterator()) == wanted
    assert np.random.randint(2**31) == after  # nothing was made ahead of what the training takes


def test_a_generator_is_looked_at_and_goes_on_in_the_next_fit():
    made, replayed = helper("full_batches_of"), helper("replayed")
    generator = ((np.full((3, 1), number), np.full(3, number)) for number in range(9))
    first = made(replayed(generator), batch_size=3, forever=False, most=4)
    assert numbers_of(first.take(1).as_numpy_iterator()) == [0]
    assert numbers_of(first.as_numpy_iterator()) == [0, 1, 2, 3]
    second = made(replayed(generator), batch_size=3, forever=False, most=4)
    assert numbers_of(second.as_numpy_iterator()) == [4, 5, 6, 7]


def test_passes_that_end_come_again_for_tensorflow():
    made, in_order = helper("full_batches_of"), helper("in_order")
    sequence = Numbers()
    dataset = made(lambda: in_order(sequence), batch_size=6, forever=False)
    assert [[int(one) for one in y] for _, y in dataset.as_numpy_iterator()] == [[0] * 3 + [1] * 3, [2] * 3 + [3] * 3]
    assert len(numbers_of(dataset.as_numpy_iterator())) == 2


def test_lists_of_inputs_become_tuples_for_tensorflow():
    def lists() -> Iterator[Any]:
        yield [np.zeros((5, 2)), {"b": [np.ones((5, 1))]}], np.zeros(5, "int64")

    dataset = helper("full_batches_of")(lists, batch_size=4, forever=False)
    (first, second), target = dataset.element_spec
    assert first.shape == (4, 2)
    assert second["b"][0].shape == (4, 1)
    assert target.shape == (4,)
    several = helper("full_batches")([np.zeros((9, 2)), np.zeros((9, 1))], [np.zeros(9)], batch_size=4, seed=0)
    assert [one.shape for one in tf.nest.flatten(several.element_spec)] == [(4, 2), (4, 1), (4,)]


def test_a_sequence_that_shuffles_its_own_arrays_changes_no_batch_that_was_taken():
    class Rows(Numbers):
        rows = np.arange(12)

        def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
            return self.rows[3 * index : 3 * index + 3], self.rows[3 * index : 3 * index + 3]

        def on_epoch_end(self) -> None:
            self.rows[:] = 0

    taken = list(helper("in_order")(Rows()))
    assert [int(x[0]) for x, _ in taken] == [0, 3, 6, 9]


class Evaluated:
    """A model that says which rows it was given."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def evaluate(self, x: Any, y: Any = None, sample_weight: Any = None, **arguments: Any) -> dict[str, float]:
        arguments.pop("verbose"), arguments.pop("return_dict")
        rows = [int(one) for batch in x for one in batch[1]] if y is None else [int(one) for one in y]
        self.told.append((rows, arguments))
        return {"loss": 1.0}


def validated(backend: str, replicas: int, data: Any, epochs: int = 2, **arguments: Any) -> list[Any]:
    """Return what a script's validation evaluates after each epoch: rows, and further arguments."""
    distribution = SimpleNamespace(distribution=SimpleNamespace(set_distribution=lambda to: None))
    fake = SimpleNamespace(callbacks=keras.callbacks, utils=keras.utils, tree=keras.tree, **vars(distribution))
    strategy = SimpleNamespace(num_replicas_in_sync=replicas)
    known = {"keras": fake, "data_parallel": None, "strategy": strategy}
    callback = helper("ValidateEveryRow", backend, replicas, **known)(data, **arguments)
    model = Evaluated()
    callback.set_model(model)
    for epoch in range(epochs):
        logs: dict[str, float] = {}
        callback.on_epoch_end(epoch, logs)
        assert logs in ({"val_loss": 1.0}, {})
    return model.told


def counted(last: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for number in range(last):
        yield np.full((3, 1), number), np.full(3, number)


@pytest.mark.parametrize(("backend", "replicas"), [("jax", 1), ("jax", 8), ("tensorflow", 1)])
def test_a_generator_goes_on_in_the_next_validation(backend, replicas):
    told = validated(backend, replicas, counted(9), steps=2)
    assert told == [([0, 0, 0, 1, 1, 1], {"steps": 2}), ([2, 2, 2, 3, 3, 3], {"steps": 2})]


def test_batches_are_joined_for_tensorflow_replicas_and_the_first_can_be_shared():
    assert validated("tensorflow", 2, counted(9), steps=3, batch_size=48) == [
        ([0] * 3 + [1] * 3 + [2] * 3, {"batch_size": 8}),
        ([3] * 3 + [4] * 3 + [5] * 3, {"batch_size": 8}),
    ]
    sequence = Numbers()
    assert validated("tensorflow", 2, sequence, batch_size=4)[1] == (np.repeat(range(4), 3).tolist(), {"batch_size": 4})
    assert sequence.ends == 2


def test_a_generator_function_is_called_for_each_validation_and_as_often_as_was_said():
    told = validated("jax", 1, lambda: counted(2), epochs=4, validation_freq=2)
    assert [rows for rows, _ in told] == [[0, 0, 0, 1, 1, 1]] * 2
    assert len(validated("jax", 1, lambda: counted(2), epochs=4, validation_freq=[1, 2, 4])) == 3


def test_gradients_are_divided_as_often_as_was_said_last():
    taken = []

    class Optimizer(keras.optimizers.SGD):
        def apply(self, grads, trainable_variables=None):
            taken.append([None if one is None else float(np.sum(one)) for one in grads])

    divide = helper("divide_gradients")
    model = SimpleNamespace(optimizer=Optimizer(), second=Optimizer(), train_function=1)
    divide(model, 2)
    divide(model, 2)
    for optimizer in (model.optimizer, model.second):
        optimizer.apply([np.ones(2), None], [])
    divide(model, 1)
    model.optimizer.apply([np.ones(2), None], [])
    assert taken == [[1.0, None], [1.0, None], [2.0, None]]
    assert model.train_function is None
