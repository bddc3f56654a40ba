"""The magics that look before training and explain: %%tpu_check and %tpu_explain."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from ..options import FitOptions
from ..session import check, check_cell, explanation
from .base import MagicsBase
from .option_arguments import options_of
from .syntax_errors import compiled
from .training import TpuMagics, _is_statement

CHECK_LINE = "%tpu_check model x y"


@magics_class
class CheckMagics(MagicsBase):
    """Say what a training would run into, and explain rules and traps."""

    @magic_arguments()
    @options_of(FitOptions)
    @argument("target", nargs="*", help="On a line: a call (model.fit(x, y)), or a model and its data (model x y).")
    @argument("--validation", nargs="+", metavar="DATA", help="Validation data: x_val y_val, or a dataset.")
    @argument("--rules", action="store_true", help="List the rules that would act too, also when nothing is found.")
    @line_cell_magic
    def tpu_check(self, line: str, cell: str | None = None) -> None:
        """Say what a training would run into, without training: a finding each, and the line to type.

        Nothing is shown when all is well. ``--rules`` lists what the rules would change, too. Above a
        cell, its text is read first; then it runs with every fit caught, so nothing trains, and names,
        random generators and compiled models are what they were afterwards. What else the cell does,
        such as writing a file, is done. A cell whose text shows an error is not run. The options are
        those of `%%tpu_fit`.

        Examples::

            %tpu_check model x_train y_train --validation x_test y_test
            %tpu_check model.fit(x_train, y_train, batch_size=100)
            %tpu_check --rules model dataset

            %%tpu_check
            model.compile("adam", "sparse_categorical_crossentropy")
            model.fit(x_train, y_train, epochs=5)
        """
        __tracebackhide__ = True
        arguments = self._parse(self.tpu_check, line)
        options = self._ours(self._options, arguments)
        if cell is None and _is_statement(" ".join(arguments.target)):
            cell, arguments.target = " ".join(arguments.target), []
        if cell is not None:
            if arguments.target or arguments.validation:
                raise UsageError(
                    f"%%tpu_check takes options only; {' '.join(arguments.target or arguments.validation)!r} is none.\n"
                    "Expected: the Keras code on the lines below.\nType: %tpu_check? for the options"
                )
            try:
                report = self._ours(check_cell, cell, self.shell, options)
            except SyntaxError:
                compiled(self.shell, cell)  # raises it again, with the lines that the notebook shows
                raise
        else:
            report = self._check_names(arguments, options)
        if report or (arguments.rules and report.changes):
            self._show(report.bundle())

    def _check_names(self, arguments: Any, options: FitOptions) -> Any:
        if not 2 <= len(arguments.target) <= 3:
            raise UsageError(
                "%tpu_check needs a model and its data.\n"
                "Expected: a model, its inputs, and its targets unless they are in a dataset.\n"
                f"Type: {CHECK_LINE}, or %%tpu_check above a cell"
            )
        values = [self._evaluate(name, CHECK_LINE) for name in arguments.target]
        more: dict[str, Any] = {}
        if arguments.validation:
            parts = [self._evaluate(name, CHECK_LINE) for name in arguments.validation]
            more["validation_data"] = parts[0] if len(parts) == 1 else tuple(parts)
        return self._ours(check, *values, options=options, **more)

    @magic_arguments()
    @argument("topic", nargs="?", help="Id of a rule or a trap, such as batch-size; none lists them all.")
    @line_magic
    def tpu_explain(self, line: str) -> None:
        """Explain a rule or a trap in a paragraph with a small picture, or list them all.

        The numbers in the picture are those of the last run, or of the connected runtime.

        Examples::

            %tpu_explain batch-size
            %tpu_explain
        """
        arguments = self._parse(self.tpu_explain, line)
        self._show(self._ours(explanation, arguments.topic))

    def _options(self, arguments: Any) -> FitOptions:
        """Return the options of a line, with the defaults that %config sets for `%%tpu_fit`."""
        return self.shell.magics_manager.registry[TpuMagics.__name__]._fit_options(arguments)
