"""However a fit ends, the weights so far are in the user's model and usable."""

from __future__ import annotations

import os
import signal
import threading
import time

import keras
import numpy as np
import pytest

from colab_tpu_magic.errors import DataError, ModelError, OptionError

from .models import dense, rows, training


def usable(model):
    x, y = rows(9)
    assert np.isfinite(model.evaluate(x, y, verbose=0)).all()
    assert model.predict(x, verbose=0).shape == (9, 2)
    with training():
        model.fit(x, y, epochs=1)


class Raises(keras.callbacks.Callback):
    """Raise in one hook at its n-th call."""

    def __init__(self, hook, call):
        super().__init__()
        self.left = call
        setattr(self, hook, self.count)

    def count(self, *args, **kwargs):
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("callback failed")


# What touches private names of Keras is the same in every hook: other versions of it get one in a training and one in
# a validation.
FLOOR = pytest.mark.keras_floor
HOOKS = (
    ("on_train_begin", 0),
    ("on_train_batch_begin", 0),
    pytest.param("on_train_batch_end", 5, marks=FLOOR),
    pytest.param("on_test_batch_end", 0, marks=FLOOR),
    ("on_epoch_end", 1),
)


def validation_for(hook, x, y):
    """Return what a hook of the validation needs to be called, and nothing for others: a validation is compiled too."""
    return {"validation_data": (x[:50], y[:50])} if hook.startswith("on_test") else {}


@pytest.mark.parametrize(("hook", "call"), HOOKS)
def test_exception_in_a_callback_leaves_a_usable_model(hook, call):
    x, y = rows(640)
    model = dense()
    with pytest.raises(RuntimeError, match="callback failed"), training() as cell:
        model.fit(x, y, epochs=3, callbacks=[Raises(hook, call)], **validation_for(hook, x, y))
    assert cell.runs[0].status == "failed"
    assert cell.runs[0].error == "RuntimeError: callback failed"
    usable(model)


def test_threads_that_read_ahead_end_with_the_fit_while_its_error_is_kept():
    x, y = rows(640)
    with pytest.raises(RuntimeError, match="callback failed") as kept, training():
        dense().fit(x, y, epochs=3, callbacks=[Raises("on_train_batch_end", 2)])
    until = time.monotonic() + 5
    while any(thread.name == "tpu-feed" for thread in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.05)
    assert kept.value.__traceback__ is not None
    assert [thread for thread in threading.enumerate() if thread.name == "tpu-feed"] == []


class Interrupts(keras.callbacks.Callback):
    """Send this process Ctrl-C in a hook."""

    def __init__(self, hook, call=0):
        super().__init__()
        self.left = call
        setattr(self, hook, self.count)

    def count(self, *args, **kwargs):
        self.left -= 1
        if self.left == -1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)


@pytest.mark.parametrize(
    "hook",
    [
        "on_train_begin",
        "on_train_batch_begin",
        pytest.param("on_train_batch_end", marks=FLOOR),
        pytest.param("on_test_batch_begin", marks=FLOOR),
    ],
)
def test_ctrl_c_leaves_a_usable_model(hook):
    x, y = rows(640)
    model = dense()
    with pytest.raises(KeyboardInterrupt), training() as cell:
        model.fit(x, y, epochs=50, callbacks=[Interrupts(hook)], **validation_for(hook, x, y))
    assert cell.runs[0].status == "interrupted"
    assert cell.runs[0].epoch <= 1
    usable(model)


def test_interrupt_handler_is_the_users_again_after_the_cell():
    x, y = rows(64)
    before = signal.getsignal(signal.SIGINT)
    with training():
        dense().fit(x, y)
    assert signal.getsignal(signal.SIGINT) is before


class Broken(keras.utils.PyDataset):
    """Eleven batches of which one cannot be read."""

    def __init__(self, bad):
        super().__init__()
        self.bad = bad
        self.x, self.y = rows()

    def __len__(self):
        return 11

    def __getitem__(self, index):
        if index == self.bad:
            raise OSError(f"cannot read batch {index}")
        part = slice(index * 97, (index + 1) * 97)
        return self.x[part], self.y[part]


@pytest.mark.parametrize("steps_per_execution", [1, 4])
@pytest.mark.parametrize("bad", [1, 9])
def test_exception_out_of_the_data_leaves_a_usable_model(bad, steps_per_execution):
    model = dense()
    with pytest.raises(OSError, match=f"cannot read batch {bad}"):
        with training(steps_per_execution=steps_per_execution) as cell:
            model.fit(Broken(bad), epochs=3, shuffle=False)
    assert cell.runs[0].status == "failed"
    assert cell.runs[0].error == f"OSError: cannot read batch {bad}"
    usable(model)


def test_exception_in_evaluate_or_predict_leaves_a_usable_model():
    model = dense()
    x, y = rows()
    model.fit(x, y, verbose=0)
    for call in (model.evaluate, model.predict):
        with pytest.raises(OSError, match="cannot read batch 5"), training():
            getattr(model, call.__name__)(Broken(5), verbose=0)
    usable(model)


def test_early_stopping_ends_as_completed_and_restores_the_best_weights():
    x, y = rows()
    model = dense(optimizer=keras.optimizers.SGD(0.0))
    stopping = keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, restore_best_weights=True)
    with training() as cell:
        history = model.fit(x, y, epochs=20, validation_data=(x, y), callbacks=[stopping])
    assert len(history.history["loss"]) == 2
    assert cell.runs[0].status == "completed"
    assert cell.runs[0].epoch == 2


REFUSED = [
    (lambda m, x, y: m.fit(x[:0], y[:0]), DataError, "The data has no rows."),
    (lambda m, x, y: m.fit(x, y[:-1]), DataError, "The data does not match: x has 1,003 rows, y has 1,002 rows."),
    (
        lambda m, x, y: m.fit(np.array(["a", "b"]), np.array([0, 1])),
        DataError,
        "x holds text or Python objects (dtype <U1).",
    ),
    (lambda m, x, y: m.fit(None), DataError, "There is no data: x is empty."),
    (lambda m, x, y: m.fit(x, y, validation_data=(x, y, y, y)), DataError, "validation_data has 4 parts."),
    (lambda m, x, y: m.fit(x, y, validation_split=1.5), DataError, "validation_split=1.5 cannot be used."),
    (
        lambda m, x, y: m.fit(x, np.full(len(x), 2**40)),
        DataError,
        "The data holds 1099511627776, which does not fit in 32 bits.",
    ),
]


@pytest.mark.parametrize(("call", "kind", "what"), REFUSED, ids=[what[:30] for _, _, what in REFUSED])
def test_data_that_cannot_be_used_gets_one_clear_message(call, kind, what):
    x, y = rows()
    model = dense()
    before = model.get_weights()
    with pytest.raises(kind) as caught, training() as cell:
        call(model, x, y)
    assert caught.value.what == what
    assert cell.runs == []
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_model_that_is_not_compiled_is_refused():
    x, y = rows()
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1)])
    with pytest.raises(ModelError, match="called before model.compile"), training():
        model.fit(x, y)


def test_batch_size_larger_than_the_data_is_refused():
    x, y = rows(40)
    with pytest.raises(OptionError) as caught, training(batch_size=1024):
        dense().fit(x, y)
    assert caught.value.what == "--batch-size 1024 is larger than the data, which has 40 rows."


def test_unknown_rule_is_refused_before_anything_runs():
    with pytest.raises(OptionError, match="There is no rule 'speed'") as caught, training(no=("speed",)):
        raise AssertionError("the cell ran")
    assert caught.value.type_next == "" and "input-pipeline, " in caught.value.expected
    with pytest.raises(OptionError) as caught, training(no=("pipeline",)):
        raise AssertionError("the cell ran")
    assert caught.value.type_next == "--no input-pipeline"


def test_step_that_fails_to_compile_leaves_the_weights_as_they_were():
    x, y = rows(64)
    model = dense()
    before = model.get_weights()
    with pytest.raises(Exception, match="(?i)shape|incompatible|dim"), training():
        model.fit(x[:, :7], y)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_missing_targets_are_named():
    import tensorflow as tf

    x, y = rows(64)
    with pytest.raises(DataError, match="y is missing"), training():
        dense().fit(x)
    with pytest.raises(DataError, match="The validation data has no targets"), training():
        dense().fit(x, y, validation_data=tf.data.Dataset.from_tensor_slices(x).batch(8))


@pytest.mark.parametrize(
    "arguments", [{"batch_size": 0}, {"epochs": "3"}, {"batch_size": 1.5}, {"steps_per_epoch": -1}]
)
def test_numbers_of_the_call_that_cannot_be_used_are_named(arguments):
    x, y = rows(64)
    with pytest.raises(DataError, match=f"{next(iter(arguments))}=.* cannot be used"), training():
        dense().fit(x, y, **arguments)


def test_a_count_that_was_divided_is_offered_whole():
    x, y = rows(64)
    with pytest.raises(DataError, match="steps_per_epoch=6.4 cannot be used") as raised, training():
        dense().fit(x, y, steps_per_epoch=64 / 10)
    assert raised.value.type_next == "steps_per_epoch=6" and "//" in str(raised.value)


def test_interrupt_of_a_callback_that_sleeps_ends_it_at_once():
    import threading

    x, y = rows(64)

    class Sleeps(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(60)

    model = dense()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), training() as cell:
        model.fit(x, y, epochs=2, callbacks=[Sleeps()])
    assert time.monotonic() - started < 40
    assert cell.runs[0].status == "interrupted"
    usable(model)


@pytest.mark.parametrize("method", ["evaluate", "predict"])
def test_ctrl_c_in_evaluate_or_predict_leaves_a_usable_model(method):
    x, y = rows(4096)
    model = dense()
    model.fit(x, y, verbose=0)
    hook = "on_test_batch_begin" if method == "evaluate" else "on_predict_batch_begin"
    arguments = (x, y) if method == "evaluate" else (x,)
    with pytest.raises(KeyboardInterrupt), training():
        getattr(model, method)(*arguments, batch_size=64, verbose=0, callbacks=[Interrupts(hook, 3)])
    usable(model)


def test_exception_out_of_the_validation_data_is_the_users_own_and_leaves_a_usable_model():
    x, y = rows(256)
    model = dense()
    with pytest.raises(OSError, match="cannot read batch 5"), training() as cell:
        model.fit(x, y, epochs=2, validation_data=Broken(5))
    assert cell.runs[0].error == "OSError: cannot read batch 5"
    usable(model)
