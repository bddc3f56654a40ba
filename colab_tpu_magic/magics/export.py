"""The magic that writes a run out as plain Keras: %tpu_export."""

from __future__ import annotations

from IPython.core.error import UsageError
from IPython.core.magic import line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from .base import MagicsBase


@magics_class
class ExportMagics(MagicsBase):
    """Take a run home."""

    @magic_arguments()
    @argument("file", nargs="?", help="Where to write: FILE.py, a script, or FILE.ipynb, a notebook.")
    @argument("--cell", action="store_true", help="Put the code in a new cell below, in place of a file.")
    @argument("--run", type=int, metavar="N", help="Number of the run; the last one if left out.")
    @argument("--force", action="store_true", help="Write over a file that is there.")
    @line_magic
    def tpu_export(self, line: str) -> None:
        """Write the last run out as plain Keras that needs nothing of this package.

        The script holds the cells that the run depends on, and each change that `%%tpu_fit` made
        as ordinary code with its reason as a comment. Run with the same versions it gives the same
        history, where the notebook or ``--seed`` fixes the first weights.

        Examples::

            %tpu_export digits.py
            %tpu_export digits.ipynb --run 3
            %tpu_export --cell
        """
        __tracebackhide__ = True
        arguments = self._parse(self.tpu_export, line)
        path = arguments.file.strip("\"'") if arguments.file else None
        if bool(path) == arguments.cell:
            raise UsageError(
                "%tpu_export writes to one place.\nExpected: a file, or --cell for a new cell.\nType: %tpu_export run.py"
            )
        from ..exporting.api import document_for, export

        if arguments.cell:
            self.shell.set_next_input(self._ours(document_for, arguments.run, self.shell).script())
            return
        self._ours(export, arguments.run, path, force=arguments.force, shell=self.shell)
        document = self._ours(document_for, arguments.run, self.shell)
        print(f"Written: {path} (run {document.number})")
        for note in document.notes:
            print(f"Note: {note}")
