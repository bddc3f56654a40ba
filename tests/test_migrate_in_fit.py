"""What `%%tpu_fit` brings up to date in its own cell, and what it leaves as it is; nothing here trains."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from colab_tpu_magic import ModelError
from colab_tpu_magic.magics.migrate import text_of_today
from colab_tpu_magic.options import FitOptions

PLAIN = "def feed():\n    return data\n"
GENERATOR = "def feed():\n    yield data\n"


class Magics:
    """Stand where the magics stand: a shell, and a place to show what was done."""

    def __init__(self):
        self.shell = InteractiveShell()
        self.shown = []

    def _show(self, bundle):
        self.shown.append(bundle["text/plain"])


@pytest.fixture
def magics():
    yield Magics()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("make", [PLAIN, GENERATOR])
def test_function_as_data_is_left_to_the_fit(magics, make):
    for text in (f"{make}m.fit(feed, epochs=2)", f"{make}rate = o.lr\nm.fit(feed, epochs=2)"):
        assert text_of_today(magics, text, FitOptions(), 1) == text
    assert magics.shown == []


def test_plain_function_beside_an_old_idiom_is_called_and_told(magics):
    old = f"{PLAIN}o = keras.optimizers.Adam(lr=0.1)\nm.fit(feed)"
    new = f"{PLAIN}o = keras.optimizers.Adam(learning_rate=0.1)\nm.fit(feed())"
    assert text_of_today(magics, old, FitOptions(), 1) == new
    assert magics.shown[0].startswith("2 places of this cell brought up to date.")


def test_refused_cell_says_so_before_it_runs(magics):
    with pytest.raises(ModelError, match="Line 2: tf.placeholder"):
        text_of_today(magics, "x = tf.placeholder(tf.float32)", FitOptions(), 1)
