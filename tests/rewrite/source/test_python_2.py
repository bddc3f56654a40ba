"""Statements of Python 2 are written as Python 3 reads them; what still cannot be read is named."""

from __future__ import annotations

import ast

import pytest

from colab_tpu_magic import migrate
from colab_tpu_magic.rewrite.source import looks_old
from colab_tpu_magic.rewrite.source.python_2 import python_3

STATEMENTS = {
    "print 'hello'": "print('hello')",
    "print": "print()",
    "print 'a', b": "print('a', b)",
    "print 'a',": "print('a', end=\" \")",
    "print 'loss: %f' % loss  # told": "print('loss: %f' % loss)  # told",
    "print ('a %s') % b": "print(('a %s') % b)",
    "print ('a')": "print ('a')",
    "print('a', b)": "print('a', b)",
    "print [1, 2]": "print([1, 2])",
    "print -1": "print(-1)",
    "print >>sys.stderr, 'a', b": "print('a', b, file=sys.stderr)",
    "print >> f(1, 2), 'a',": "print('a', end=\" \", file=f(1, 2))",
    "print >>f": "print(file=f)",
    "if a: print 'b'": "if a: print('b')",
    "a = 1; print a; b = {1: 2}": "a = 1; print(a); b = {1: 2}",
    "for i in x[1:2]:\n\tprint i,\n\tprint": 'for i in x[1:2]:\n\tprint(i, end=" ")\n\tprint()',
    "print 'a', (1,\n       2)": "print('a', (1,\n       2))",
    "print \\\n  'a'": "print( \\\n  'a')",
    "try:\n    pass\nexcept E, e:\n    print e": "try:\n    pass\nexcept E as e:\n    print(e)",
    "try:\n    pass\nexcept (A, B), e: pass": "try:\n    pass\nexcept (A, B) as e: pass",
    "raise E, 'a'": "raise E('a')",
    "raise E('a', b)": "raise E('a', b)",
    "if a <> b: c = d <> e": "if a != b: c = d != e",
    "print 'x' <> 'y', 1 <> 2": "print('x' != 'y', 1 != 2)",
    "if a <> b: print 'c'": "if a != b: print('c')",
    "s = '''\nprint 'text'\n'''\nprint s": "s = '''\nprint 'text'\n'''\nprint(s)",
}


@pytest.mark.parametrize(("old", "new"), STATEMENTS.items())
def test_statement_of_python_2_becomes_this_one_on_the_same_lines(old, new):
    text, rows = python_3(f"{old}\n")
    assert text == f"{new}\n"
    ast.parse(text)
    assert text.count("\n") == old.count("\n") + 1
    assert bool(rows) is (old != new)


def test_text_of_python_3_is_left_alone_whatever_its_prints_look_like():
    for text in ("print ('a') % b", "print\nx = 1", "print [1]", "f = print; f >> 1", "print = 8\nprint >> 1"):
        assert migrate(text).text == text and not migrate(text).is_old


def test_old_code_behind_a_print_statement_is_brought_up_to_date_and_every_place_told():
    old = "!pip install x\nimport tensorflow as tf\nprint 'hello'\nfor i in xrange(2): print i\nopt = tf.train.GradientDescentOptimizer(1e-3)\n"
    result = migrate(old)
    assert result.text == (
        "!pip install x\nimport tensorflow as tf\nprint('hello')\nfor i in range(2): print(i)\n"
        "opt = tf.keras.optimizers.SGD(1e-3)\n"
    )
    assert [(row.line, row.rule, row.before) for row in result.rewrites] == [
        (3, "python-2", "print 'hello'"),
        (4, "python-2", "print i"),
        (4, "python-2-names", "xrange(2)"),
        (5, "tf-train-optimizers", "tf.train.GradientDescentOptimizer(1e-3)"),
    ]
    assert all(row.why and row.source for row in result.rewrites)
    assert migrate(result.text).text == result.text and not migrate(result.text).is_old


def test_a_print_to_a_file_which_can_be_read_and_never_run_is_written_anew():
    result = migrate("import sys\nx = 1\nprint >>sys.stderr, 'to', 3")
    assert result.text == "import sys\nx = 1\nprint('to', 3, file=sys.stderr)"
    assert [(row.line, row.rule) for row in result.rewrites] == [(3, "python-2")]


NAMES = {
    "n = raw_input('n')": "n = input('n')",
    "for k, v in d.iteritems(): print(k)": "for k, v in d.items(): print(k)",
    "a = list(d.itervalues())": "a = list(d.values())",
    "a = six.iteritems(d)": "a = six.iteritems(d)",
    "a = unicode(1) + unichr(65)": "a = str(1) + chr(65)",
    "a = long(3)": "a = int(3)",
    "a = unicode(b, 'utf-8')": None,
    "if not d.has_key('a'): pass": "if not ('a' in d): pass",
    "a = f(x)[0].has_key(b or c)": "a = ((b or c) in f(x)[0])",
    "class D:\n    def has_key(self, k): pass\nd = D()\nd.has_key(1)": None,
    "long = 3\nlong(3)\nxrange(2)": "long = 3\nlong(3)\nrange(2)",
    "try:\n    xrange\nexcept NameError:\n    xrange = range\na = xrange(3)": None,
    "def raw_input(): pass\nraw_input()": None,
    "class D:\n    def iteritems(self): pass\nd = D()\nd.iteritems()": None,
}


@pytest.mark.parametrize(("old", "new"), NAMES.items())
def test_name_of_python_2_becomes_todays_unless_the_text_defines_it(old, new):
    assert migrate(old).text == (new or old)
    assert looks_old(old)


UNREAD = {
    "a = 1\nif True\n    pass\n": (2, "if True"),
    "import tensorflow as tf\ntf.train.AdamOptimizer(1e-3)\nprint 'a'\nx = 0777\n": (4, "x = 0777"),
    "%matplotlib inline\n!ls\nf(a, b=1, b=2)\n": (3, "f(a, b=1, b=2)"),
    "%%time\na = 1\nb = = 2\n": (3, "b = = 2"),
    "def f(:\n  broken": (1, "def f(:"),
}


@pytest.mark.parametrize(("text", "told"), UNREAD.items())
def test_what_cannot_be_read_is_named_with_its_line_and_what_is_wrong(text, told):
    result = migrate(text)
    assert result.text == text and result.rewrites == () and result.unread
    (refused,) = result.refusals
    assert (refused.line, refused.name) == told
    assert refused.why.startswith("It cannot be read as Python 3: ") and len(refused.why) > 35


@pytest.mark.parametrize("text", ["print 'a'", "\tprint x", "try:\n  1\nexcept A, e:\n  2", "print >>f, 1", 'print"a"'])
def test_python_2_is_suspected_by_its_letters(text):
    assert looks_old(text)


TWICE = {
    "model.fit(x, y, epochs=2, nb_epoch=3)": "nb_epoch=3",
    "model.fit_generator(g, steps_per_epoch=2, epochs=2, nb_epoch=3)": "nb_epoch=3",
    "tf.keras.optimizers.Adam(lr=1, learning_rate=2)": "lr=1",
    "model.compile('adam', 'mse', steps_per_execution=2, experimental_steps_per_execution=3)": (
        "experimental_steps_per_execution=3"
    ),
}


@pytest.mark.parametrize(("call", "twice"), TWICE.items())
def test_argument_given_by_both_its_names_stays_and_is_named_and_the_rest_is_rewritten(call, twice):
    result = migrate(f"o = tf.keras.optimizers.Adam(lr=1e-2)\n{call}\n")
    first, second = result.text.splitlines()
    assert first == "o = tf.keras.optimizers.Adam(learning_rate=1e-2)"
    assert second == call.replace("fit_generator", "fit")
    assert [(one.line, one.name, one.unread) for one in result.refusals] == [(2, twice, False)]
    assert "once" in result.refusals[0].why


def test_of_a_print_statement_and_a_line_that_nothing_mends_the_second_is_named():
    (refused,) = migrate("import numpy as np\nprint 'a', 1\ndef f(x:\n    return x\n").refusals
    assert (refused.line, refused.unread) == (3, True)
    assert "?." not in refused.why and "was never closed" in refused.why or "invalid syntax" in refused.why
