"""A fit without a seed takes one of NumPy's state, and what NumPy draws next is what it would have drawn."""

from __future__ import annotations

import random

import keras
import numpy as np
import pytest

from colab_tpu_magic.training.shuffle_seed import shuffle_seed


@pytest.fixture(autouse=True)
def numpy_as_it_was():
    """Leave the state of the other tests alone."""
    state = np.random.get_state()
    yield
    np.random.set_state(state)


@pytest.mark.parametrize("before", [0, 1, 3, 623, 624, 1300])
def test_what_is_drawn_after_a_fit_is_what_would_have_been_drawn_without_it(before):
    def drawn(fits: int) -> np.ndarray:
        np.random.seed(7)
        np.random.randint(2**32, size=before)
        for _ in range(fits):
            shuffle_seed()
        return np.random.randint(2**32, size=2_000)

    assert np.array_equal(drawn(0), drawn(1))
    assert np.array_equal(drawn(0), drawn(5))


def test_half_of_a_pair_of_normal_numbers_is_still_to_come():
    np.random.seed(7)
    wanted = np.random.normal(size=4)
    np.random.seed(7)
    first = np.random.normal()
    shuffle_seed()
    assert np.array_equal([first, *np.random.normal(size=3)], wanted)


def test_fits_in_a_row_have_different_seeds_and_the_same_again_after_the_same_seed():
    def seeds() -> list[int]:
        np.random.normal()
        made = [shuffle_seed() for _ in range(3)]
        np.random.normal()
        return [*made, shuffle_seed()]

    keras.utils.set_random_seed(3)
    first = seeds()
    keras.utils.set_random_seed(3)
    assert seeds() == first
    assert len(set(first)) == 4
    assert all(0 <= one < 2**31 for one in first)
    keras.utils.set_random_seed(4)
    assert not set(seeds()) & set(first)


def test_seeds_that_follow_each_other_do_not_give_each_others_orders():
    made = []
    for seed in range(20):
        np.random.seed(seed)
        made += [shuffle_seed() for _ in range(20)]
    assert len(set(made)) == 400


def test_another_generator_than_the_usual_one_is_drawn_from(monkeypatch):
    monkeypatch.setattr(np.random, "get_state", lambda: {"bit_generator": "PCG64"})
    np.random.seed(7)
    wanted = np.random.randint(2**31)
    np.random.seed(7)
    assert shuffle_seed() == wanted


def test_python_draws_what_it_would_have_drawn():
    state = random.getstate()
    shuffle_seed()
    assert random.getstate() == state
