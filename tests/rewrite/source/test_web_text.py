"""Code copied from a web page is repaired where that is certain, and left alone where it is not."""

from __future__ import annotations

import pytest

from colab_tpu_magic import migrate
from colab_tpu_magic.rewrite.source.lost_indentation import indent_again
from colab_tpu_magic.rewrite.source.web_text import parses, repair, straighten

from ...article_cells import ADDRESS


@pytest.mark.parametrize(
    ("copied", "straight"),
    [
        ("print(‘a’)", "print('a')"),
        ("print(“a”)", 'print("a")'),
        ("print(‘don’t’)", "print('don’t')"),
        ("f(“say ‘hi’”, ‘x’)", "f(\"say ‘hi’\", 'x')"),
        ("f(‘it's’)", 'f("it\'s")'),
        ("f(’a’, ’b’)", "f('a', 'b')"),
        ("d[‘k’] = “”", "d['k'] = \"\""),
        ("a\u00a0= 1 \u2212 2\u200b", "a = 1 - 2"),
        ("s = '‘kept’'  # ‘kept’\n", "s = '‘kept’'  # ‘kept’\n"),
        ('"""“kept”\n‘kept’"""\nf(‘a’)', '"""“kept”\n‘kept’"""\nf(\'a\')'),
    ],
)
def test_quotes_that_delimit_a_string_are_straightened(copied, straight):
    assert straighten(copied) == straight


def test_each_repaired_line_is_told():
    text, rows = repair(ADDRESS)
    assert parses(text)
    assert [(row.line, row.rule) for row in rows] == [(line, "typographic-quotes") for line in (2, 3, 4, 6)]
    assert rows[0].after == "device_name = os.environ['COLAB_TPU_ADDR']"


def test_python_with_typographic_letters_in_its_strings_is_left_alone():
    text = "print('‘a’\u00a0b')  # “c”\n"
    assert repair(text) == (text, [])


FLAT = {
    "a function up to its return": (
        "def f(v):\nw = v\nreturn w\nprint(f(1))\n",
        "def f(v):\n    w = v\n    return w\nprint(f(1))\n",
    ),
    "a loop up to an empty line": ("for i in a:\nprint(i)\n\nb = 1\n", "for i in a:\n    print(i)\n\nb = 1\n"),
    "both branches": ("if a:\nb = 1\nelse:\nb = 2\n", "if a:\n    b = 1\nelse:\n    b = 2\n"),
    "a try and its except": (
        "try:\na = 1\nexcept KeyError:\nprint(0)\n",
        "try:\n    a = 1\nexcept KeyError:\n    print(0)\n",
    ),
    "a block in a block": (
        "def f():\nfor i in a:\nprint(i)\n\nreturn 1\n",
        None,
    ),
    "comments at the margin": ("def f():\n# a comment\nreturn 1\n", "def f():\n    # a comment\n    return 1\n"),
}


@pytest.mark.parametrize(("flat", "block"), FLAT.values(), ids=FLAT.keys())
def test_lost_indentation_comes_back_where_the_end_of_the_block_is_certain(flat, block):
    text, moved = indent_again(flat, parses)
    assert text == (block or flat)
    assert bool(moved) is (block is not None)


def test_comments_at_the_margin_of_a_function_that_is_indented_are_no_lost_indentation():
    text = "def f():\n    a = 1\n# a comment\n    return a\n"
    assert repair(text) == (text, [])


def test_copied_text_that_stays_broken_is_refused_with_what_to_do():
    result = migrate("print(‘a’)\nfor i in (‘b’\n")
    assert result.text == "print(‘a’)\nfor i in (‘b’\n"
    assert "indentation" in result.refusals[0].instead


def test_plain_syntax_error_is_not_laid_at_a_web_pages_door():
    (refused,) = migrate("a = (").refusals
    assert refused.unread and "web page" not in refused.why and "web page" not in refused.instead


def test_a_loop_outside_of_functions_is_not_given_more_than_one_line_back():
    one, two = "for i in range(2):\nmodel.fit(x, y)\n", "for i in range(2):\nprint(i)\nmodel.fit(x, y)\n"
    assert repair(one)[0] == "for i in range(2):\n    model.fit(x, y)\n"
    assert repair(two) == (two, [])
    inside = "def make():\nwhile True:\na = 1\nyield a\n"
    assert repair(inside)[0] == "def make():\n    while True:\n        a = 1\n        yield a\n"
