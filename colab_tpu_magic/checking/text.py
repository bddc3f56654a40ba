"""Say what the text of a cell and the machine show; nothing is executed, connected or imported."""

from __future__ import annotations

from ..hardware.environment import detect_environment
from .cell import find_in_text
from .cell.base import parse_cell
from .environment_traps import find_in_environment
from .report import Report, merged

NOT_RUN = "the cell's fits: the cell was not run, for its text shows an error"


def check_text(text: str) -> Report:
    """Return what the text of a cell and the machine show.

    Args:
        text: The cell's text after the magic's line.

    Raises:
        SyntaxError: As the cell alone would.
    """
    environment = detect_environment()
    found = merged([*find_in_text(parse_cell(text, environment)), *find_in_environment(environment)])
    wrong = any(finding.severity == "error" for finding in found)
    return Report(found, (), (NOT_RUN,) if wrong else ())
