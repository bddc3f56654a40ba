"""The magic that asks the TPU compiler ahead, with no TPU: %tpu_plan."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from ..errors import TpuMagicError
from ..explain import explain
from ..options import FitOptions, PlanOptions, declared
from ..plans import install_compiler, plan_cell, plan_shown
from ..session import session
from .base import MagicsBase
from .migrate import text_of_today
from .option_arguments import options_of
from .syntax_errors import compiled
from .training import _is_statement, _with_line

PLAN_LINE = "%tpu_plan model x y --target v5e-1"


@magics_class
class PlanMagics(MagicsBase):
    """Say whether a training fits a TPU, how fast it would be, and which batch size is best."""

    @magic_arguments()
    @options_of(PlanOptions)
    @argument("call", nargs="*", help="On a line: a call (model.fit(x, y)), or a model and its data (model x y).")
    @line_cell_magic
    def tpu_plan(self, line: str, cell: str | None = None) -> Any:
        """Ask the real TPU compiler, with no TPU: does it fit, how fast is it, which batch size is best.

        The training step of your compiled model is compiled for the target in another process. The
        card says for each batch size and precision whether it fits in the memory, about how many
        examples a second it takes, and where the time of a step goes. Every figure is the compiler's
        estimate, not measured on a TPU; `--explain` tells how each is made. Above a cell, the cell
        runs with its fits caught: nothing trains, and the notebook is as it was. The compiler is a
        download of some 360 MB, and is never fetched unless you type `%tpu_plan --install`.
        `tpu.last_plan` is the last plan; `plan = %tpu_plan model x y` keeps one.

        Examples::

            %tpu_plan model x_train y_train --target v5e-1
            %tpu_plan model x_train y_train --target v2-8,v5e-1,v6e-1 --batch-sizes 128,512,2048 --precision float32,bfloat16
            %tpu_plan model.fit(x_train, y_train, batch_size=256)
            %tpu_plan --install
            %tpu_plan --explain

            %%tpu_plan --target v5e-8
            model.compile("adam", "sparse_categorical_crossentropy")
            model.fit(x_train, y_train, epochs=5)
        """
        __tracebackhide__ = True
        arguments = self._parse(self.tpu_plan, line)
        options = self._ours(_options, arguments)
        words = " ".join(arguments.call)
        if cell is not None and words:
            raise UsageError(
                f"%%tpu_plan takes options only; {words!r} is none.\n"
                "Expected: the Keras code on the lines below.\nType: %tpu_plan? for the options"
            )
        if options.install:
            self._ours(install_compiler)
        if cell is not None:
            made = self._cell(cell, options)
        elif _is_statement(words):
            made = self._cell(words, options, on_a_line=True)
        elif words:
            made = self._names(arguments.call, options)
        elif options.install or options.explain:
            made = None
        else:
            raise UsageError(
                "%tpu_plan has nothing to plan.\n"
                "Expected: a compiled model and its data, or a call.\n"
                f"Type: {PLAN_LINE}, or %%tpu_plan above a cell"
            )
        if options.explain:
            self._explain(made)
        return made

    def _names(self, names: list[str], options: PlanOptions) -> Any:
        if not 2 <= len(names) <= 3:
            raise UsageError(
                f"%tpu_plan got {'only a model' if len(names) == 1 else f'{len(names)} names'}.\n"
                "Expected: a model, its inputs, and its targets unless they are in a dataset.\n"
                f"Type: {PLAN_LINE}"
            )
        model, x, y = [*(self._evaluate(name, PLAN_LINE) for name in names), None][:3]
        return self._ours(plan_shown, model, {"x": x, "y": y}, options, self.shell)

    def _cell(self, text: str, options: PlanOptions, on_a_line: bool = False) -> Any:
        __tracebackhide__ = True
        if not text.strip():
            raise UsageError("The cell is empty.\nExpected: Keras code that ends in model.fit(x, y).")
        today = self._ours(text_of_today, self, text, FitOptions(), 0 if on_a_line else 1)
        cell = compiled(self.shell, today, text if today != text else None)
        try:
            return plan_cell(today, cell, self.shell, options)[-1]
        except Exception as error:
            ours = error if isinstance(error, TpuMagicError) else explain(error)
            if ours is None:
                raise
            raise UsageError(str(ours) if on_a_line else _with_line(ours, error, cell, text)) from None

    def _explain(self, made: Any) -> None:
        from ..planner.plan import Plan

        print((made or session.last_plan or Plan("")).explain())


def _options(arguments: Any) -> PlanOptions:
    given = {field.name: getattr(arguments, field.name) for field in declared(PlanOptions)}
    return PlanOptions(**{name: value for name, value in given.items() if value is not None})
