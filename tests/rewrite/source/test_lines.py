"""A line of a migrated text knows which line of the old text it stands for."""

from __future__ import annotations

import pytest

from colab_tpu_magic.rewrite.source.lines import line_map


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\nb\nc", "a\nb\nc", [0, 1, 2, 3, 4]),
        ("a\nb", "new\na\nb", [0, 1, 1, 2, 3]),
        ("a\nb(\n  c,\n  d)\ne", "a\nb\ne", [0, 1, 2, 5, 6]),
        ("a\nb\nc", "a\nB1\nB2\nc", [0, 1, 2, 2, 3, 4]),
        ("a\nb\nc", "a\nc", [0, 1, 3, 4]),
        ("", "", [0, 1]),
    ],
)
def test_each_line_stands_for_the_one_at_its_place(before, after, lines):
    assert line_map(before, after) == lines


def test_numbers_never_go_back():
    before = "\n".join(str(n) for n in range(40))
    after = before.replace("7\n8\n9", "seven").replace("20", "twenty\nand\nmore").replace("30\n31\n", "")
    lines = line_map(before, after)
    assert lines == sorted(lines)
