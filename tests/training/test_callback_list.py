"""Keras' list of callbacks with a watcher in front of it."""

import keras
import pytest

from colab_tpu_magic.training.callback_list import WatchedCallbacks


class Watcher:
    def __init__(self):
        self.seen = []

    def step_begins(self, batch):
        self.seen.append(("train", batch))

    def test_step_begins(self, batch):
        self.seen.append(("test", batch))


class Hook(keras.callbacks.Callback):
    def __init__(self, seen, hook):
        super().__init__()
        self.seen = seen
        setattr(self, hook, lambda batch, logs=None: self.seen.append((hook, batch)))


def pass_through(callbacks, kind="train", batches=3):
    getattr(callbacks, f"on_{kind}_begin")()
    for batch in range(batches):
        getattr(callbacks, f"on_{kind}_batch_begin")(batch)
        getattr(callbacks, f"on_{kind}_batch_end")(batch, {"loss": 1.0})
    getattr(callbacks, f"on_{kind}_end")()


def test_the_watcher_sees_every_step_of_training_and_validation():
    watcher = Watcher()
    callbacks = WatchedCallbacks(watcher, [])
    pass_through(callbacks)
    pass_through(callbacks, "test", 2)
    assert watcher.seen == [("train", 0), ("train", 1), ("train", 2), ("test", 0), ("test", 1)]


def test_no_batch_goes_to_the_thread_pool_when_no_callback_wants_it():
    callbacks = WatchedCallbacks(Watcher(), [keras.callbacks.EarlyStopping(monitor="loss")], add_history=True)
    pass_through(callbacks)
    assert callbacks._futures == []


@pytest.mark.parametrize("hook", ["on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"])
def test_a_callback_that_wants_batches_gets_them_after_the_watcher(hook):
    watcher = Watcher()
    callbacks = WatchedCallbacks(watcher, [Hook(watcher.seen, hook)])
    pass_through(callbacks, batches=1)
    assert watcher.seen == [("train", 0), (hook, 0)]


@pytest.mark.parametrize("hook", ["on_test_batch_begin", "on_test_batch_end"])
def test_a_callback_that_wants_validation_batches_gets_them(hook):
    watcher = Watcher()
    callbacks = WatchedCallbacks(watcher, [Hook(watcher.seen, hook)])
    pass_through(callbacks, "test", 1)
    assert watcher.seen == [("test", 0), (hook, 0)]


def test_a_class_that_overrides_a_batch_hook_is_recognised():
    class Counts(keras.callbacks.Callback):
        count = 0

        def on_train_batch_end(self, batch, logs=None):
            self.count += 1

    one = Counts()
    pass_through(WatchedCallbacks(Watcher(), [one]))
    assert one.count == 3


def test_a_progress_bar_still_gets_its_batches(capsys):
    callbacks = WatchedCallbacks(Watcher(), [], add_progbar=True, verbose=1, epochs=1, steps=3)
    callbacks.on_epoch_begin(0)
    pass_through(callbacks)
    assert "1/3" in capsys.readouterr().out
