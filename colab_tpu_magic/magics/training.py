"""The magics that connect and train: %tpu_connect, %%tpu_fit, %tpu_panel, %tpu_runs and %tpu_status."""

from __future__ import annotations

import ast
import builtins
import re
from keyword import iskeyword
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments
from traitlets import Any as Any_
from traitlets import Bool, TraitError, Unicode, validate

from ..cell import Cell, line_of
from ..errors import OptionError, TpuMagicError
from ..explain import explain
from ..kernel import restart
from ..options import ConnectOptions, FitOptions, declared
from ..session import connect, fit, intercepting, panel, session, show_runs
from ..training.legacy_keras import expect_legacy_keras
from .base import MagicsBase
from .migrate import text_of_today
from .option_arguments import options_of
from .syntax_errors import CellSyntaxError, compiled

ONLY_PREPARES = "The cell only prepares: it calls no fit, so nothing was trained. Next: model.fit in a %%tpu_fit cell."
PANEL_LINE = "%tpu_panel model x y --validation x_val y_val"


def _help(name: str) -> str:
    return str(FitOptions.__dataclass_fields__[name].metadata["help"])


@magics_class
class TpuMagics(MagicsBase):
    """Train Keras models on a TPU from a cell. ``%config TpuMagics`` shows and sets the defaults."""

    batch_size = Any_("auto", help=_help("batch_size")).tag(config=True)
    learning_rate = Any_("auto", help=_help("learning_rate")).tag(config=True)
    precision = Unicode("keep", help=_help("precision")).tag(config=True)
    steps_per_execution = Any_("auto", help=_help("steps_per_execution")).tag(config=True)
    quiet = Bool(False, help=_help("quiet")).tag(config=True)

    @validate("batch_size", "learning_rate", "precision", "steps_per_execution")
    def _check_setting(self, proposal: Any) -> Any:
        (field,) = [field for field in declared(FitOptions) if field.name == proposal["trait"].name]
        try:
            return field.metadata["parse"](str(proposal["value"]))
        except OptionError as error:
            raise TraitError(str(error)) from None

    @magic_arguments()
    @options_of(ConnectOptions)
    @line_magic
    def tpu_connect(self, line: str) -> None:
        """Find the accelerator, initialise it, and say what will train.

        A TPU (Colab v5e-1 or v6e-1, Kaggle v5e-8, a TPU VM) is taken first, then a GPU, then
        the CPU. Without a TPU, ``--simulate v2-8`` rehearses one: eight virtual replicas on
        this machine's CPU run the same code as on the chip.

        Examples::

            %tpu_connect
            %tpu_connect --simulate v2-8
            %tpu_connect --simulate 4 --backend tensorflow
        """
        arguments = self._parse(self.tpu_connect, line)
        if arguments.export:
            self._check_free(arguments.export)
        if arguments.restart:
            again = " ".join(word for word in line.split() if word != "--restart")
            restart(self.shell, f"%tpu_connect {again}".strip())
            return
        runtime = self._ours(connect, arguments.backend or "auto", arguments.simulate, arguments.verbose)
        if arguments.export:
            self.shell.user_ns[arguments.export] = runtime
        self._show_card(runtime)

    @magic_arguments()
    @options_of(FitOptions)
    @argument("target", nargs="*", help="On a line: a call (model.fit(x, y)), or a model and its data (model x y).")
    @line_cell_magic
    def tpu_fit(self, line: str, cell: str | None = None) -> Any:
        """Run a cell of ordinary Keras and train it on the connected runtime.

        ``fit``, ``evaluate`` and ``predict`` of every Keras model in the cell, and in the
        functions it calls, go to the replicas. The call is put into TPU-ready form by rules;
        each change is shown with its reason and the option that switches it off. The model
        stays your own object and holds the trained weights, also after Ctrl-C. Code written for
        TensorFlow 1.11 to 2.4 is brought up to date first, and each rewrite is shown; `--no migrate`
        runs the cell as it stands.

        Examples::

            %%tpu_fit
            model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
            model.fit(x_train, y_train, epochs=5, validation_data=(x_test, y_test))

            %%tpu_fit --batch-size keep --no learning-rate
            model.fit(x_train, y_train)

            %%tpu_fit --no migrate
            model.fit(x_train, y_train)

            %%tpu_fit --plan v5e-8
            model.fit(x_train, y_train)

            %tpu_fit model.fit(x_train, y_train)
            %tpu_fit model x_train y_train --epochs 5
        """
        __tracebackhide__ = True
        arguments = self._parse(self.tpu_fit, line)
        if arguments.plan is not None and not _looks_like_a_slice(arguments.plan):
            # The value of --plan may be left out: what stands behind it is what to train.
            arguments.plan, arguments.target = "auto", [arguments.plan, *arguments.target]
        options = self._ours(self._fit_options, arguments)
        if cell is not None:
            if arguments.target:
                raise UsageError(
                    f"%%tpu_fit takes options only; {' '.join(arguments.target)!r} is none.\n"
                    "Expected: the Keras code on the lines below.\nType: %tpu_fit? for the options"
                )
            return self._run(cell, options)
        target = " ".join(arguments.target)
        if not target:
            raise UsageError(
                "%tpu_fit has nothing to train.\nType: %tpu_fit model.fit(x, y), or %%tpu_fit above a cell"
            )
        if _is_statement(target):
            return self._run(target, options, on_a_line=True)
        values = [self._evaluate(name) for name in arguments.target]
        return self._ours(fit, *values[:3], options=options)

    @magic_arguments()
    @argument("target", nargs="+", help="A compiled model and its data: model x y.")
    @argument("--validation", nargs="+", metavar="DATA", help="Validation data: x_val y_val, or a dataset.")
    @argument("--epochs", type=int, default=5, metavar="N", help="Epochs that the form shows at first.")
    @line_magic
    def tpu_panel(self, line: str) -> Any:
        """Show a form to train a model with, as often as wanted, and to compare the runs.

        Epochs, batch size, learning rate, precision, optimizer and seed are fields; what the rules
        will change is shown as you type. Train, Pause and Stop are buttons, and the last ten runs
        lie over each other in one chart. Each run starts from the same weights unless it is to
        continue. It trains as `%%tpu_fit` does, and gives you that cell to copy.

        Examples::

            %tpu_panel model x_train y_train --validation x_test y_test
            panel = %tpu_panel model dataset --epochs 3
        """
        __tracebackhide__ = True
        arguments = self._parse(self.tpu_panel, line)
        model, *data = [self._evaluate(name, PANEL_LINE) for name in arguments.target]
        if not 1 <= len(data) <= 2:
            raise UsageError(
                f"%tpu_panel got a model and {len(data)} data arguments.\n"
                "Expected: a model, its inputs, and its targets unless they are in a dataset.\n"
                f"Type: {PANEL_LINE}"
            )
        settings: dict[str, Any] = {"epochs": arguments.epochs}
        if arguments.validation:
            parts = [self._evaluate(name, PANEL_LINE) for name in arguments.validation]
            settings["validation_data"] = parts[0] if len(parts) == 1 else tuple(parts)
        announce = session.runtime is None
        made = self._ours(panel, model, *data, **settings)
        if announce:
            self._show_card(session.runtime)
        return made

    @magic_arguments()
    @argument("numbers", nargs="*", type=int, help="Runs to draw over each other, by their numbers; none lists all.")
    @argument("--csv", metavar="FILE", help="Also write the series of the runs to this file.")
    @line_magic
    def tpu_runs(self, line: str) -> None:
        """List the runs of this kernel, draw some over each other, or write their series to a file.

        Examples::

            %tpu_runs
            %tpu_runs 2 5
            %tpu_runs --csv runs.csv
        """
        __tracebackhide__ = True
        arguments = self._parse(self.tpu_runs, line)
        csv = arguments.csv.strip("\"'") if arguments.csv else None
        bundle = self._ours(show_runs, tuple(arguments.numbers), csv)
        self._show(bundle)
        if arguments.csv:
            print(f"Written: {csv}")

    @line_magic
    def tpu_status(self, line: str) -> None:
        """Show the connected runtime and the last run.

        Example::

            %tpu_status
        """
        if session.runtime is None:
            print("Not connected.\nType: %tpu_connect")
        else:
            self._show_card(session.runtime)
        print(session.last_run.summary() if session.last_run is not None else "No run yet.")

    def _fit_options(self, arguments: Any) -> FitOptions:
        """Return the options of a line, with the defaults of %config where a flag was not given."""
        values: dict[str, Any] = {}
        for field in declared(FitOptions):
            value = getattr(arguments, field.name)
            if value is None and field.name in self.traits(config=True):
                value = getattr(self, field.name)
            if field.name == "quiet":
                value = value or self.quiet
            if value is not None:
                values[field.name] = tuple(value) if field.name == "no" else value
        options = FitOptions(**values)
        from ..rewrite.rules import check_switches

        check_switches(options)
        return options

    def _run(self, text: str, options: FitOptions, on_a_line: bool = False) -> Any:
        __tracebackhide__ = True
        if not text.strip():
            raise UsageError("The cell is empty.\nExpected: Keras code that ends in model.fit(x, y).")
        today = self._ours(text_of_today, self, text, options, 0 if on_a_line else 1)
        try:
            cell = compiled(self.shell, today, text if today != text else None)
        except CellSyntaxError as error:
            if "await" not in str(error.original.msg):
                raise
            raise UsageError(
                "%%tpu_fit runs its cell without an event loop, so await at the top of it cannot work.\n"
                "Expected: the await in a cell of its own.\nType: data = await load() in a cell above"
            ) from None
        announce = session.runtime is None and not options.quiet
        interceptor = self._ours(intercepting, options, self.shell)
        if announce and session.runtime is not None:
            self._show_card(session.runtime)
        expect_legacy_keras(text)
        try:
            with interceptor:
                value = cell.run(self.shell.user_ns)
        except Exception as error:
            ours = explain(error)
            if ours is None:
                raise
            raise UsageError(str(ours) if on_a_line else _with_line(ours, error, cell, text)) from None
        if not interceptor.calls:
            if interceptor.calls_elsewhere or not (cell.defines or today != text):
                raise UsageError(interceptor.nothing_trained())
            if not options.quiet:
                print(ONLY_PREPARES)
        return value

    def _check_free(self, name: str) -> None:
        if not name.isidentifier() or iskeyword(name) or hasattr(builtins, name):
            raise UsageError(f"--export {name!r} is not a free name.\nType: %tpu_connect --export runtime")


def _is_statement(text: str) -> bool:
    """Return whether a line is code to run (a call, or one that is assigned) and not names of a model and data."""
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return False
    return isinstance(getattr(statement, "value", None), ast.Call)


def _looks_like_a_slice(text: str) -> bool:
    """Return whether a word is meant for a target, known or not: ``v5e-1``, ``tpu7x-8``, ``auto``."""
    return text == "auto" or re.fullmatch(r"[\w.]*\d[\w.]*-\d+", text) is not None


def _with_line(ours: TpuMagicError, error: BaseException, cell: Cell, text: str) -> str:
    line = line_of(error, cell.filename)
    lines = ["", *text.splitlines()]
    if line is None or not 2 <= line <= len(lines):
        return str(ours)
    return f"{ours}\nIn line {line} of the cell: {lines[line - 1].strip()}"
