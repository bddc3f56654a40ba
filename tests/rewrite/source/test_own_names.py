"""What a text defines itself is not Keras' however it is called; what is Keras' under another name is."""

from __future__ import annotations

import pytest

from colab_tpu_magic import migrate
from colab_tpu_magic.rewrite.source.magic_lines import lines_in_strings
from colab_tpu_magic.rewrite.source.notebook import migrate_notebook

TRAINER = (
    "class Trainer:\n    def fit_generator(self, feed, steps):\n        return self.model.fit_generator(feed, steps)\n"
    "    def predict_classes(self, x):\n        return x\n"
)
OWN = (
    "def Adam(lr=1):\n    return lr\nAdam(lr=0.5)",
    "class SGD:\n    def __init__(self, lr, decay=0):\n        self.lr = lr\nSGD(lr=0.5, decay=0.1)",
    "Adam = functools.partial(make, 3)\nAdam(lr=0.5)",
    "def build():\n    Nadam = pick()\n    return Nadam(lr=0.5)",
    "from mine.optimizers import RMSprop\nRMSprop(lr=0.5)",
    "class T:\n    def fit_generator(self, g, n):\n        pass\nt = T()\nt.fit_generator(batches, 3)\nT().fit_generator(g, 2)",
    "class T:\n    def predict_generator(self, g):\n        return self.evaluate_generator(g)\n"
    "    def evaluate_generator(self, g):\n        return g",
    "class Net(Model):\n    def predict_classes(self, x):\n        return x\nmodel = Net()\nmodel.predict_classes(x)",
    "s = '''\n%tensorflow_version 1.x\n!pip install tensorflow==1.15\n'''\n",
    "forest = RandomForest()\nforest.predict_proba(x)",
    "re.compile(a, b)\nmodel.compile(opt, loss, [0.5, 1.0])\nmodel.compile(opt, loss, metrics=['acc'])",
    "class T:\n    def compile(self, a, b, c):\n        pass\nT().compile('a', 'b', ['c'])",
    "def ModelCheckpoint(path, period):\n    pass\nModelCheckpoint('a', period=3)",
)


@pytest.mark.parametrize("text", OWN)
def test_own_names_and_methods_stay_as_they_are(text):
    result = migrate(text)
    assert (result.text, result.rewrites) == (text, ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class A:\n    def Adam(self):\n        pass\nAdam(lr=1)", "Adam(learning_rate=1)"),
        ("SGD = tf.keras.optimizers.SGD\nSGD(lr=1)", "SGD(learning_rate=1)"),
        (
            "try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\ntf.to_int32(b)",
            "tf.cast(b, tf.int32)",
        ),
        ("def f():\n    K = 3\nK.set_image_dim_ordering('th')", "K.set_image_data_format('channels_first')"),
        (f"{TRAINER}net = Sequential()\nnet.fit_generator(g, 2)", "net.fit(g, steps_per_epoch=2)"),
        (f"{TRAINER}model.predict_classes(x)", "model.predict(x).argmax(axis=-1)"),
        ("m = keras.models.load_model('a.h5')\nm.predict_proba(x)", "m.predict(x)"),
        ("m = build()\nm.compile('sgd', 'mse')\nm.predict_classes(x)", "m.predict(x).argmax(axis=-1)"),
        ("class Net(keras.Model):\n    pass\nm = Net()\nm.predict_classes(x)", "m.predict(x).argmax(axis=-1)"),
    ],
)
def test_what_is_of_keras_is_still_brought_up_to_date(old, new):
    assert migrate(old).text.splitlines()[-1] == new


def test_wrapper_calls_the_method_of_today_on_the_model_it_holds():
    new = migrate(f"{TRAINER}t = Trainer()\nt.fit_generator(g, 2)").text
    assert "return self.model.fit(feed, steps_per_epoch=steps)" in new
    assert new.endswith("t.fit_generator(g, 2)")


def test_function_of_an_earlier_cell_is_the_notebooks_own():
    assert migrate("Adam(lr=1)", {"Adam": lambda lr: lr}).text == "Adam(lr=1)"
    sources = ("def Adam(lr):\n    pass", "Adam(lr=1)")
    notebook = {"cells": [{"cell_type": "code", "source": one} for one in sources], "nbformat": 4}
    migrate_notebook(notebook)
    assert [cell["source"] for cell in notebook["cells"][1:]] == list(sources)


def test_magics_behind_a_string_are_magics_again():
    text = "s = '''\n%tensorflow_version 1.x\n'''\n%tensorflow_version 1.x\n"
    assert migrate(text).text == "s = '''\n%tensorflow_version 1.x\n'''\n# %tensorflow_version 1.x\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a = \"it's\"\n# don't\n!echo it's '''\n%time\n", set()),
        ("a = 'b\\\nc'\nd = r'''x\ny'''; e = 1\nf", {2, 4}),
        ("a = '\\''\n'''\\'''\n'''\nb", {3}),
        ("a = 'never closed\n!ls", set()),
    ],
)
def test_lines_that_begin_inside_a_string(text, lines):
    assert lines_in_strings(text) == lines


@pytest.mark.parametrize(
    "sets",
    [
        "c = keras.callbacks.LearningRateScheduler(f)",
        "c = [ReduceLROnPlateau()]",
        "model.optimizer.lr = 0.1",
        "K.set_value(model.optimizer.lr, 0.1)",
    ],
)
def test_decay_is_left_out_where_the_rate_is_set(sets):
    result = migrate(f"opt = RMSprop(lr=1e-3, decay=1e-6)\n{sets}")
    assert result.text.splitlines()[0] == "opt = RMSprop(learning_rate=1e-3)"
    assert "decay, which Keras 3 ignores, is left out" in result.rewrites[0].why


def test_decay_is_left_out_where_another_cell_sets_the_rate():
    import keras

    callback = keras.callbacks.ReduceLROnPlateau()
    assert migrate("opt = Adam(decay=0.1)", {"callback": callback}).text == "opt = Adam()"
    sources = ("opt = Adam(0.5, decay=0.1)", "c = ReduceLROnPlateau()")
    notebook = {"cells": [{"cell_type": "code", "source": one} for one in sources], "nbformat": 4}
    migrate_notebook(notebook)
    assert notebook["cells"][1]["source"] == "opt = Adam(0.5)"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m.compile(opt, 'mse', 'acc')", "m.compile(opt, 'mse', metrics=['acc'])"),
        (
            "m.compile(Adam(0.1), 'mse', ['acc'], [1.0])",
            "m.compile(Adam(0.1), 'mse', metrics=['acc'], loss_weights=[1.0])",
        ),
        ("m.compile(o, l, [keras.metrics.AUC()])", "m.compile(o, l, metrics=[keras.metrics.AUC()])"),
        ("tf.to_float(x=a, name='n')", "tf.cast(x=a, dtype=tf.float32, name='n')"),
        ("tf.compat.v1.to_double(a, 'n')", "tf.cast(a, tf.float64, name='n')"),
        ("ModelCheckpoint('ck.h5', period=1, verbose=1)", "ModelCheckpoint('ck.h5', verbose=1)"),
    ],
)
def test_old_argument_is_written_as_today(old, new):
    assert migrate(old).text == new


def test_period_of_several_epochs_is_dropped_and_told():
    result = migrate("c = keras.callbacks.ModelCheckpoint('ck.h5', period=5)")
    assert result.text == "c = keras.callbacks.ModelCheckpoint('ck.h5')"
    assert "after every epoch now, not after every 5" in result.rewrites[0].why
