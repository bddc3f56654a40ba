"""The magic that brings old source up to date: %tpu_migrate and %%tpu_migrate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from ..errors import ModelError
from ..migration import migrate, migrate_file
from ..rewrite.source.suspicion import looks_old
from .base import MagicsBase

if TYPE_CHECKING:
    from ..options import FitOptions
    from ..rewrite.source.result import Refused

FUNCTION_AS_DATA = "input-function"
"""The one rewrite that a fit in `%%tpu_fit` can do without: it takes the function itself."""


@magics_class
class MigrateMagics(MagicsBase):
    """Bring code of TensorFlow's TPU years up to date."""

    @magic_arguments()
    @argument("file", nargs="*", help="On a line: a notebook (.ipynb) or a module (.py).")
    @argument("--force", action="store_true", help="Write over NAME.tpu.ipynb when it is there already.")
    @line_cell_magic
    def tpu_migrate(self, line: str, cell: str | None = None) -> None:
        """Turn code written for TensorFlow 1.11 to 2.4 and its TPUs into code of today.

        On a line it writes NAME.tpu.ipynb beside NAME.ipynb and leaves that as it is; the new
        notebook connects in its first cell and has `%%tpu_fit` above the cells that train. On a
        cell it puts the code of today into the next cell and runs nothing. Each rewrite is shown
        with its line, its reason and a source; what has no form of today, and a line that cannot be read
        as Python 3, is named with what to do. Print statements of Python 2 are read.
        `%%tpu_fit` does the same to its own cell, unless it is told `--no migrate`.

        Examples::

            %tpu_migrate old.ipynb
            %tpu_migrate old.ipynb --force

            %%tpu_migrate
            opt = tf.train.AdamOptimizer(0.001)
            tpu_model = tf.contrib.tpu.keras_to_tpu_model(model, strategy=strategy)
            tpu_model.fit(train_input_fn, steps_per_epoch=60, epochs=10)
        """
        __tracebackhide__ = True
        arguments = self._parse(self.tpu_migrate, line)
        name = " ".join(arguments.file).strip("\"'")
        if cell is None:
            if not name:
                raise UsageError(
                    "%tpu_migrate has no file.\nExpected: a notebook or a module, or the code below %%tpu_migrate.\n"
                    "Type: %tpu_migrate old.ipynb"
                )
            self._file(name, arguments.force)
        elif name:
            raise UsageError(
                f"%%tpu_migrate takes no file; {name!r} was given.\nExpected: the old code on the lines below.\n"
                f"Type: %tpu_migrate {name}"
            )
        else:
            self._cell(cell)

    def _file(self, name: str, force: bool) -> None:
        from ..widgets.migrated import counted, report

        made = self._ours(migrate_file, name, force)
        heading = f"Written: {made.path}. {counted([result for _, result in made.cells])}."
        if any(number for number, _ in made.cells) or made.added:
            heading += " Code cells are counted in the new notebook, lines in the old cell."
        parts = [(f"code cell {number}" if number else "", result) for number, result in made.cells]
        self._show(report(parts, heading, made.added))

    def _cell(self, cell: str) -> None:
        from ..widgets.migrated import heading_of, report

        result = self._ours(migrate, cell, self.shell.user_ns).below(1)
        self._show(report([("", result)], heading_of(result, "the cell")))
        if result.rewrites:
            text = result.text.rstrip("\n")
            trains = re.search(r"\.(?:fit|evaluate|predict)\s*\(", text) and not text.lstrip().startswith("%%")
            self.shell.set_next_input(f"%%tpu_fit\n{text}" if trains else text)


def text_of_today(magics: MagicsBase, text: str, options: FitOptions, above: int) -> str:
    """Return the text of a `%%tpu_fit` cell as it runs today, and show what was rewritten.

    Args:
        magics: Shows the report.
        text: The cell.
        options: `--no migrate` leaves the text as it is, `--quiet` keeps the report back.
        above: Lines of the notebook's cell above the text.

    Raises:
        ModelError: Something in it has no form of today; nothing was run.
    """
    if "migrate" in options.no or not looks_old(text):
        return text
    from ..widgets.migrated import heading_of, refusal_text, report

    result = migrate(text, magics.shell.user_ns).below(above)
    if result.unread and _is_pythons_own(result.refusals[0], text):
        return text  # Python names the line as it does in a plain cell
    if result.refusals:
        raise ModelError(
            f"The cell holds code that has no form of today, and nothing of it was run.\n{refusal_text(result.refusals)}",
            type_next="%%tpu_fit --no migrate to run it as it stands",
        )
    if {row.rule for row in result.rewrites} == {FUNCTION_AS_DATA}:
        return text
    if result.rewrites and not options.quiet:
        magics._show(report([("", result)], heading_of(result, "this cell")))
    return result.text


def _is_pythons_own(refused: Refused, text: str) -> bool:
    """Return whether Python stumbles over the same when it reads the text as it stands."""
    from ..rewrite.source.magic_lines import hide
    from ..rewrite.source.web_text import why_unread

    wrong = why_unread(hide(text).text)
    return wrong is None or wrong[1] in refused.why
