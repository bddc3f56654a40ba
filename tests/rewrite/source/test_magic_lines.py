"""Magics and `!` commands survive a migration wherever IPython sees them."""

from __future__ import annotations

import ast

import pytest

from colab_tpu_magic import migrate
from colab_tpu_magic.rewrite.source.magic_lines import hide, old_lines, show

TEXTS = (
    "!pip install -q keras-hub\nimport keras\n",
    "files = !ls -la\nwhere = %pwd\n",
    "if a:\n    %matplotlib inline\n    !ls {folder} \\\n        -la\nprint(1)",
    "%%time\nmodel.fit(x, y)\n",
    "%%capture out --no-stderr\n!pip list\n",
    "model.fit?\n?model\nmodel??",
    "%load_ext tensorboard\n%tensorboard --logdir logs\n",
    "text = '''\n%time\n!ls\n'''\nprint('%d'\n      % 3)\n",
    "%%bash\nls | grep 'x\n",
    "%%html\n<b>“x”</b>",
    "a = 5 % 3\nb = a != 2\n",
    "!ls",
    "print(f'{a=!r}',\n      b)\n",
)


@pytest.mark.parametrize("text", TEXTS)
def test_hidden_text_is_python_and_comes_back_letter_by_letter(text):
    hidden = hide(text)
    ast.parse(hidden.text)
    assert show(hidden.text, hidden) == text


@pytest.mark.parametrize("text", TEXTS)
def test_line_numbers_stay_while_magics_are_hidden(text):
    hidden = hide(text)
    if "\\" not in text and not hidden.whole:
        assert (hidden.head + hidden.text).count("\n") == text.count("\n")


def test_code_between_magics_is_migrated():
    old = "%%time\n!ls\nopt = tf.train.GradientDescentOptimizer(0.1)\n%who\n"
    assert migrate(old).text == "%%time\n!ls\nopt = tf.keras.optimizers.SGD(0.1)\n%who\n"
    assert [row.line for row in migrate(old).rewrites] == [3]


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("!pip install tensorflow==1.15", "# !pip install tensorflow==1.15"),
        ("!pip install -q tensorflow-gpu==2.0.0-rc1", "!pip install -q tensorflow-gpu==2.0.0-rc1"),
        ("!pip install tensorflow==1.14 h5py 'keras==2.2.4'", "!pip install h5py"),
        ("%pip install keras<=2.3 -q", "# %pip install keras<=2.3 -q"),
        ("!pip install tensorflow>=1.12", "!pip install tensorflow>=1.12"),
        ("!pip install tensorflow==2.20.0", "!pip install tensorflow==2.20.0"),
        ("!pip install keras==3.10 tensorflow-datasets==1.2", "!pip install keras==3.10 tensorflow-datasets==1.2"),
        ("%tensorflow_version 2.x  # for TPUs", "# %tensorflow_version 2.x  # for TPUs"),
    ],
)
def test_old_versions_are_not_installed_any_more(line, new):
    text, rows = old_lines(line)
    assert text == new
    assert len(rows) == (line != new)
    assert old_lines(text) == (text, [])


def test_equal_sign_of_an_f_string_hides_nothing():
    assert hide("print(f'{a=!r}')\n").lines == ()
