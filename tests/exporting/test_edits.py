"""Edits change what they name and nothing else."""

from __future__ import annotations

import ast

from colab_tpu_magic.exporting.cell_text import cell_text
from colab_tpu_magic.exporting.edits import Edit, Source, applied, indented, statement_around

from .notebooks import cell


def test_edits_are_made_at_the_places_of_the_old_text():
    assert applied("one two three", [Edit(0, 3, "1"), Edit(8, 13, "3"), Edit(4, 4, "and ")]) == "1 and two 3"


def test_columns_count_bytes_and_offsets_count_characters():
    source = Source('ä = "ö"; b = call()')
    call = next(node for node in ast.walk(ast.parse(source.text)) if isinstance(node, ast.Call))
    assert source.segment(call) == "call()"


def test_the_innermost_statement_around_a_call_is_found():
    tree = ast.parse("for i in a:\n    if i:\n        h = f(i)\n")
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert ast.unparse(statement_around(tree, call)) == "h = f(i)"


def test_a_statement_behind_a_semicolon_does_not_begin_its_line():
    source = Source("a = 1; b = 2")
    first, second = ast.parse(source.text).body
    assert (source.begins_its_line(first), source.begins_its_line(second)) == (True, False)


def test_empty_lines_are_not_indented():
    assert indented("a\n\nb", "  ") == "  a\n\n  b"


def text_of(text: str, keep: tuple[int, ...], whole: bool = False, ours: frozenset[str] = frozenset()) -> str:
    one = cell(text)
    return cell_text(one, [one.tree.body[place] for place in keep], whole, [], set(ours))


def test_comments_stay_with_the_statement_below_them():
    text = "# of a\na = 1\n\n# of b\nb = 2\n# of c\nc = 3  # behind c"
    assert text_of(text, (0, 2)) == "# of a\na = 1\n\n# of c\nc = 3  # behind c"


def test_a_cell_that_is_kept_whole_keeps_every_comment_but_no_import():
    text = "# of the cell\nimport os\n\n# between\n\na = 1\n# at the end"
    assert text_of(text, (0, 1), whole=True) == "# of the cell\n\n# between\n\na = 1\n# at the end"


def test_statements_with_our_package_go():
    assert text_of("tpu.connect()\na = 1", (0, 1), whole=True, ours=frozenset({"tpu"})) == "a = 1"


def test_decorators_go_and_stay_with_their_function():
    text = "@wrap\ndef f():\n    pass\n\n@wrap\ndef g():\n    pass"
    assert text_of(text, (1,)) == "@wrap\ndef g():\n    pass"
