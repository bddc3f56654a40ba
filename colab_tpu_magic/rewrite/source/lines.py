"""Which line of one text a line of a changed copy of it comes from."""

from __future__ import annotations

from difflib import SequenceMatcher


def line_map(before: str, after: str) -> list[int]:
    """Return, for each line of ``after``, the line of ``before`` it stands for.

    Lines that are in both keep their own; of a block that was rewritten, each line stands for the
    one at the same place in the block, and lines beyond it for the block's last.

    Returns:
        ``after_line -> before_line``, both from 1; index 0 is unused, one entry more at the end.

    Example:
        >>> line_map("a\\nb\\nc", "new\\na\\nB\\nc")
        [0, 1, 1, 2, 3, 4]
    """
    old, new = before.splitlines(), after.splitlines()
    lines = [0] * (len(new) + 2)
    for _, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for offset in range(new_end - new_start):
            last = max(old_end - 1, old_start)
            lines[new_start + offset + 1] = min(old_start + offset, last) + 1
    lines[-1] = len(old) + 1
    return [0, *(min(line, max(len(old), 1)) for line in lines[1:-1]), lines[-1]]
