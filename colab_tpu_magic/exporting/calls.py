"""Find in the cells the calls that made the runs."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..errors import ExportError
from ..training.recipe import Recipe
from ..training.run import Run
from .cells import Cell, plain

FIT_ARGUMENTS = (
    "x", "y", "batch_size", "epochs", "verbose", "callbacks", "validation_split", "validation_data", "shuffle",
    "class_weight", "sample_weight", "initial_epoch", "steps_per_epoch", "validation_steps",
    "validation_batch_size", "validation_freq",
)  # fmt: skip


@dataclass(frozen=True)
class FitCall:
    """A call of the notebook and the runs that it made, in their order."""

    cell: Cell
    node: ast.Call
    runs: tuple[Run, ...]

    @property
    def recipe(self) -> Recipe:
        """The recipe of the last run; those of the others differ in the shuffle's seed at most."""
        recipe = self.runs[-1].recipe
        assert recipe is not None
        return recipe


def calls_of(runs: list[Run], cells: list[Cell], last: Cell) -> tuple[list[FitCall], list[str]]:
    """Return the calls that made some runs, and a sentence for each run before the last cell without a call.

    Args:
        runs: Runs that have a recipe, oldest first.
        cells: The cells, in the order in which they ran.
        last: The cell whose runs all have to be found.

    Raises:
        ExportError: When a call of the last cell stands in no cell.
    """
    notes: list[str] = []
    found: dict[tuple[int, int, int], tuple[Cell, ast.Call, list[Run]]] = {}
    for run in runs:
        try:
            cell, node = _place(run, cells)
        except ExportError as error:
            if run.recipe is None or run.recipe.execution == last.number:
                raise
            notes.append(f"{error.what} What it did to the model is left out.")
            continue
        key = (cell.number, node.lineno, node.col_offset)
        found.setdefault(key, (cell, node, []))[2].append(run)
    return [FitCall(cell, node, tuple(made)) for cell, node, made in found.values()], notes


def fit_calls(tree: ast.AST) -> list[ast.Call]:
    """Return every call of a method or function named ``fit``, in the order of the text."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_fit(node)]
    return sorted(calls, key=lambda node: (node.lineno, node.col_offset))


def arguments_of(call: ast.Call, function_takes_model: bool = False) -> dict[str, ast.expr]:
    """Return the arguments of a ``fit`` call by name.

    Args:
        call: The call.
        function_takes_model: Whether the first argument is the model, as in ``tpu.fit(model, x, y)``.

    Raises:
        ExportError: When arguments hide behind ``*`` or ``**``.
    """
    hidden = [one for one in call.args if isinstance(one, ast.Starred)]
    if hidden or any(keyword.arg is None for keyword in call.keywords):
        raise ExportError(
            f"The fit in {ast.unparse(call)[:60]} takes its arguments from * or **, so the text does not say them.",
            expected="arguments that are written out.",
            type_next="model.fit(x, y, epochs=5) in the cell, then %tpu_export again",
        )
    given = call.args[1:] if function_takes_model else call.args
    arguments = dict(zip(FIT_ARGUMENTS, given, strict=False))
    arguments.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None})
    arguments.pop("options", None)
    return arguments


def _is_fit(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "fit"


def _place(run: Run, cells: list[Cell]) -> tuple[Cell, ast.Call]:
    recipe = run.recipe
    assert recipe is not None
    site = recipe.site
    if site.elsewhere:
        raise ExportError(
            f"{run.title} was started by code in {site.elsewhere}, whose text is not in this notebook.",
            expected="a fit in a cell, or in a function that a cell defines.",
            type_next="model.fit(x, y) in a %%tpu_fit cell, then %tpu_export again",
        )
    own = next((cell for cell in reversed(cells) if cell.number == recipe.execution), None)
    caller = _plain(site.caller)
    same = [cell for cell in reversed(cells) if cell.number <= recipe.execution and caller and cell.text == caller]
    for cell in [cell for cell in same if cell is own] or same[:1]:
        for node in fit_calls(cell.tree):
            if node.end_lineno == site.end_line and site.end_column in (-1, node.end_col_offset):
                return cell, node
    if own is not None:
        candidates = fit_calls(own.tree)
        if caller:  # a line magic: the call is a text of its own
            wanted = [ast.dump(node) for node in fit_calls(ast.parse(caller))]
            candidates = [node for node in candidates if ast.dump(node) in wanted]
        if len(candidates) == 1:
            return own, candidates[0]
    raise ExportError(
        f"The call that made {run.title} is in no cell of this notebook's history.",
        expected="a model.fit(...) that stands in the cell, or in a function that an earlier cell defines.",
        type_next="model.fit(x, y) in a %%tpu_fit cell, then %tpu_export again",
    )


def _plain(text: str) -> str:
    try:
        return plain(text)
    except SyntaxError:
        return ""


def check_alike(call: FitCall) -> None:
    """Raise ExportError when the runs of one call had different settings."""
    settings = {_settings(run) for run in call.runs}
    if len(settings) > 1:
        numbers = " and ".join(str(run.number) for run in (call.runs[0], call.runs[-1]))
        raise ExportError(
            f"Line {call.node.lineno} of cell {call.cell.number} trained with different settings "
            f"(runs {numbers}), and one line of a script has one.",
            expected="one setting for each fit that the notebook writes down.",
            type_next="%%tpu_fit --batch-size keep --learning-rate keep above the cell, then %tpu_export again",
        )


def _settings(run: Run) -> tuple[object, ...]:
    recipe = run.recipe
    assert recipe is not None
    return (
        recipe.backend, recipe.replicas, recipe.batch_size, recipe.steps_per_epoch, recipe.epochs,
        recipe.learning_rate, recipe.precision, recipe.steps_per_execution, recipe.jit_compile, recipe.data,
        recipe.validation, recipe.full_batches,
    )  # fmt: skip
