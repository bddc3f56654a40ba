"""Of the cells before a fit, those statements are kept that it depends on."""

from __future__ import annotations

import ast

import pytest

from colab_tpu_magic.exporting.names import names_of
from colab_tpu_magic.exporting.slicing import sliced

from .notebooks import cell

FIT = "model.fit(x)"


def kept(*texts: str) -> list[str]:
    """Return the statements that are kept of all cells but the last, as text."""
    cells = [cell(text, number) for number, text in enumerate(texts, 1)]
    result = sliced(cells, cells[-1])
    return [ast.unparse(one.node) for one in result.statements if one.cell is not cells[-1]]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("x = 1\nz = 2\nmodel = make()", ["x = 1", "model = make()"]),
        ("x = 1\nx = 2", ["x = 2"]),
        ("x = 1\nx += 2", ["x = 1", "x += 2"]),
        ("a = 1\nx = a\na = 5", ["a = 1", "x = a"]),
        ("x = [0]\nx[0] = 3", ["x = [0]", "x[0] = 3"]),
        ("x = [0]\nx.append(3)", ["x = [0]", "x.append(3)"]),
        ("x = 1\nif a:\n    x = 2", ["x = 1", "if a:\n    x = 2"]),
        ("x = 1\nprint(x)\nlen(x)", ["x = 1"]),
        ("x = 1\nmodel = make()\nmodel.summary()\np = model.predict(x)", ["x = 1", "model = make()"]),
        ("model = make()\nmodel.compile('sgd')", ["model = make()", "model.compile('sgd')"]),
        ("model = make()\nh = model.fit(old)", ["model = make()", "h = model.fit(old)"]),
        (
            "base = make()\nmodel = wrap(base)\nbase.trainable = False",
            ["base = make()", "model = wrap(base)", "base.trainable = False"],
        ),
        (
            "model = make()\nlast = model.layers[0]\nlast.trainable = False",
            ["model = make()", "last = model.layers[0]", "last.trainable = False"],
        ),
        ("def f(q):\n    return q + k\nk = 1\nx = f(2)", ["def f(q):\n    return q + k", "k = 1", "x = f(2)"]),
        ("def train(m):\n    m.fit(1)\nout = train(model)", ["def train(m):\n    m.fit(1)", "out = train(model)"]),
        ("import numpy as np\nimport os\nx = np.ones(3)", ["import numpy as np", "x = np.ones(3)"]),
        ("x = [0]\nshuffle(x)", ["x = [0]", "shuffle(x)"]),
        ("for i in range(3):\n    x = i", ["for i in range(3):\n    x = i"]),
        ("x, z = 1, 2", ["x, z = (1, 2)"]),
        ("x = 1\ny = [x for x in (3, 4)]", ["x = 1"]),
        (
            "a = 1\nb = 2\nx = [a for a in {b: a for b in (3,) for a in {b for b in (b,)}}]",
            ["x = [a for a in {b: a for b in (3,) for a in {b for b in (b,)}}]"],
        ),
        ("a = 1\nx = [a for a in (3,)] + [a]", ["a = 1", "x = [a for a in (3,)] + [a]"]),
        ("[x := one for one in (3, 4)]", ["[(x := one) for one in (3, 4)]"]),
        ("def f():\n    global x\n    x = 3\nf()", ["def f():\n    global x\n    x = 3", "f()"]),
        ("import n as np\nx = 3\nnp.savez('a.npz', x)\nwith np.load('a.npz') as f:\n    x = f['x']", None),
        ("with open('b/a', 'w') as f:\n    f.write('1')\nx = open('b/a').read()", None),
        ("import n as np\nnp.savez('b.npz', 3)\nx = np.load('a.npz')", ["import n as np", "x = np.load('a.npz')"]),
        ("import n as np\nold = np.load('a.npz')\nx = np.load('a')", ["import n as np", "x = np.load('a')"]),
        ("w = Writer('r.tfrecord')\nw.write(x)\nx = 2", ["x = 2"]),
        ("t.save('d/r.npy', 3)\nx = read('d/*.npy')", None),
    ],
)
def test_what_the_fit_depends_on_is_kept(before, expected):
    if expected is None:  # all of it
        expected = [ast.unparse(one) for one in ast.parse(before).body]
    assert kept(before, FIT) == expected


@pytest.mark.parametrize(
    "before",
    [
        "try:\n    x = 1\nexcept ValueError as zz:\n    print(zz)",
        "match a:\n    case [x, *rest]:\n        print(rest)\n    case {'b': x, **more}:\n        print(more, x)",
        "with open('f') as x, open('g') as (y, z):\n    print(y, z)",
        "for i, (j, x) in a:\n    print(i, j)",
        "if (n := 3) > 2:\n    x = n",
        "x = [[one for one in two if (last := one)] for two in a] + [last]",
        "import os.path as p\nx = p.join('a')",
        "class K:\n    n = 3\n    m = n + 1\nx = K()",
        "f = lambda q, *r, s=1, **t: (q, r, s, t)\nx = f(1)",
        "def f(q):\n    def g():\n        nonlocal q\n        q = 2\n    try:\n        g()\n    except OSError as e:\n"
        "        print(e)\n    return q\nx = f(1)",
        "def f():\n    global n\n    n = 3\nf()\nx = n",
    ],
)
def test_names_that_a_statement_binds_are_none_that_are_needed(before):
    cells = [cell("a = model = None", 1), cell(before, 2), cell(FIT, 3)]
    assert sliced(cells, cells[-1]).missing == ()


def test_a_generator_of_its_own_takes_nothing_from_the_global_one():
    before = (
        "import numpy as np\nfrom numpy.random import default_rng\nimport keras\n"
        "def load():\n    g = np.random.RandomState(3)\n    return g.rand(5)\n"
        "keras.utils.set_random_seed(1)\nother = load()\nmore = default_rng(2).normal()\nw = np.random.rand(3)\n"
        "noise = np.random.beta(1, 2)\nmodel = keras.layers.Dense(3)\nx = 1"
    )
    text = "\n".join(kept(before, FIT))
    assert [one for one in ("load()", "default_rng(2)", "RandomState") if one in text] == []
    assert "w = np.random.rand(3)" in text
    assert "noise = np.random.beta(1, 2)" in text


def test_seeds_are_kept_and_what_draws_after_them():
    before = (
        "import keras\nkeras.utils.set_random_seed(1)\nother = keras.layers.Dense(2)\nmodel = keras.layers.Dense(3)"
    )
    assert kept(before, FIT) == before.split("\n")


@pytest.mark.parametrize(
    ("statement", "draws"),
    [
        ("z = np.random.rand(3)", True),
        ("z = np.ones(3)", False),
        ("z = np.random.default_rng(3)", False),
        ("z = keras.Input((3,))", True),
        ("def f():\n    return keras.layers.Dense(1)", False),
        ("z = keras", False),
    ],
)
def test_only_what_draws_from_the_seeded_generators_comes_along(statement, draws):
    before = f"import keras\nimport numpy as np\nkeras.utils.set_random_seed(1)\n{statement}\nmodel = keras.Model()"
    assert (statement in kept(before, FIT)) == draws


def test_what_draws_before_the_seed_is_not_kept():
    before = (
        "import keras\nother = keras.layers.Dense(2)\nkeras.utils.set_random_seed(1)\nmodel = keras.layers.Dense(3)"
    )
    assert "other" not in "".join(kept(before, FIT))


def test_an_older_model_of_the_same_name_is_left_behind_with_all_that_was_done_to_it():
    old = "model = first()\nmodel.compile('sgd')\nhistory = model.fit(1)"
    new = "model = second()\nmodel.compile('adam')"
    assert kept(old, new, FIT) == new.split("\n")


def test_a_later_seed_makes_what_came_before_it_needless():
    first = "import keras\nkeras.utils.set_random_seed(1)\nother = keras.layers.Dense(2)"
    second = "keras.utils.set_random_seed(2)\nmodel = keras.layers.Dense(3)"
    assert kept(first, second, FIT) == ["import keras", *second.split("\n")]


def test_a_cell_that_seeds_itself_needs_no_seed_before_it():
    before = "import keras\nkeras.utils.set_random_seed(1)\nother = keras.layers.Dense(2)\nx = 5"
    assert kept(before, "%%tpu_fit --seed 3\nmodel = keras.layers.Dense(3)\nmodel.fit(x)") == ["import keras", "x = 5"]


def test_cells_keep_their_order_over_several_of_them():
    assert kept("a = 1", "b = 5", "x = a", FIT) == ["a = 1", "x = a"]


def test_names_that_no_cell_makes_are_told():
    cells = [cell("x = 1", 1), cell("model.fit(x, y)", 2)]
    assert sliced(cells, cells[-1]).missing == ("model", "y")


@pytest.mark.parametrize(
    "text",
    [
        "for rate in (1, 2):\n    h = rate\n    print(h)",
        "total = sum(n for n in (1, 2))",
        "def f(a, *b, c=1, **d):\n    e = a\n    return e, b, c, d",
        "double = lambda v: v * 2",
        "with open('f') as file:\n    text = file.read()",
        "class A:\n    def f(self):\n        return self",
    ],
)
def test_names_that_a_statement_makes_for_itself_are_not_missing(text):
    only = cell(text, 1)
    assert sliced([only], only).missing == ()


def test_a_star_import_may_make_every_name():
    cells = [cell("from somewhere import *", 1), cell(FIT, 2)]
    result = sliced(cells, cells[-1])
    assert result.missing == ()
    assert len(result.statements) == 2


def test_a_name_bound_in_a_loop_may_also_be_an_older_one():
    names = names_of(ast.parse("for i in a:\n    x = i").body[0])
    assert names.makes == {"i", "x"}
    assert not names.surely
