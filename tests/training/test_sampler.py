"""Readings of the device and of Keras' epochs, as series."""

import pytest

from colab_tpu_magic.backends.metrics import Reading
from colab_tpu_magic.training.run import Run
from colab_tpu_magic.training.sampler import Sampler


class Engine:
    """Gives readings in turn, and counts how often it is asked."""

    def __init__(self, *readings):
        self.readings = list(readings)
        self.asked = 0
        self.rates = [0.1]
        self.compiled = (3, 5.0)

    def read_metrics(self, model):
        self.asked += 1
        return self.readings.pop(0)

    def read_learning_rate(self, model):
        return self.rates[-1]

    def compilations(self, model):
        return self.compiled


def at(run, step, epoch_step):
    run.step, run.epoch_step = step, epoch_step


def mean(value, count):
    return {"loss": Reading(value, value * count, count)}


def test_the_last_steps_are_worked_out_of_two_running_means():
    run = Run("device")
    sampler = Sampler(run, Engine(mean(4.0, 10), mean(3.0, 20)))
    at(run, 10, 10)
    sampler.sample(None)
    at(run, 20, 20)
    sampler.sample(None)
    assert run.train["loss"].values == [4.0, 2.0]
    assert run.running["loss"].values == [4.0, 3.0]


def test_the_end_of_an_epoch_costs_no_reading_of_the_device():
    run = Run("device")
    engine = Engine(mean(4.0, 320))
    sampler = Sampler(run, engine)
    at(run, 10, 10)
    sampler.sample(None)
    at(run, 40, 40)
    # 40 steps of 32 rows with mean 2.5: the 30 steps since the sample have the mean 2.
    sampler.end_epoch({"loss": 2.5, "val_loss": 2.25})
    assert engine.asked == 1
    assert run.train["loss"].values == [4.0, 2.0]
    assert run.running["loss"].values == [4.0, 2.5]
    assert run.validation["loss"].steps == [40]
    assert run.validation["loss"].values == [2.25]


def test_an_epoch_without_a_sample_gives_its_mean():
    run = Run("device")
    sampler = Sampler(run, Engine())
    at(run, 5, 5)
    sampler.end_epoch({"loss": 1.5, "accuracy": 0.5, "learning_rate": 0.1, "per_class": [0.1, 0.2]})
    assert {name: series.values for name, series in run.train.items()} == {"loss": [1.5], "accuracy": [0.5]}


def test_a_sample_at_the_last_step_is_not_taken_twice():
    run = Run("device")
    sampler = Sampler(run, Engine(mean(4.0, 10)))
    at(run, 10, 10)
    sampler.sample(None)
    sampler.end_epoch({"loss": 4.0})
    assert run.train["loss"].steps == [10]


def test_a_new_epoch_begins_its_means_anew():
    run = Run("device")
    sampler = Sampler(run, Engine(mean(4.0, 10), mean(1.0, 5)))
    at(run, 10, 10)
    sampler.sample(None)
    sampler.start_epoch()
    at(run, 15, 5)
    sampler.sample(None)
    assert run.train["loss"].values == [4.0, 1.0]


def test_compilations_count_from_the_start_of_the_fit():
    run, engine = Run("device"), Engine()
    sampler = Sampler(run, engine, shapes={1, 2})
    sampler.start(None)
    engine.compiled = (5, 5.5)
    sampler.count_compilations(None)
    assert (run.compilations, run.compiling_seconds, run.batch_shapes) == (2, 0.5, 2)
    assert run.learning_rate.values == [0.1]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_first_loss_that_is_no_number_is_noted(value):
    run = Run("device")
    sampler = Sampler(run, Engine({"loss": Reading(1.0)}, {"loss": Reading(value)}, {"loss": Reading(value)}))
    for step in (4, 8, 12):
        at(run, step, step)
        sampler.sample(None)
    assert run.nan_step == 8
