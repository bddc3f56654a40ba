"""Put the cells that a run depends on and the changes it was trained with together as a document."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from ..backends.base import BACKEND_TITLES
from ..errors import ExportError
from ..training.call_site import PANEL
from ..training.recipe import Recipe
from ..training.run import Run
from .calls import FitCall, calls_of, check_alike
from .cell_text import cell_text, imports_of
from .cells import Cell, cells_of, made_by_command, plain
from .document import Document, Section
from .edits import Edit, Source, within
from .failures import cut, without_failures
from .fit_text import fit_text, seed_comment
from .helpers import helpers_text
from .looks import begun_often
from .names import bound_by
from .numbered import numbered_outputs
from .own_forms import OwnForms, own_forms
from .plain_calls import models_of, reads, undistributed
from .setup_text import distribution_text, environment_text, imports_text
from .slicing import Slice, sliced

PACKAGE = "colab_tpu_magic"
UNEVEN = (
    "Plain Keras on several TensorFlow replicas wants a first batch that divides over them: an evaluate or predict of "
    "fewer rows, or of an odd number, ends in an error."
)


def document_of(
    run: Run,
    runs: list[Run],
    raw: list[str],
    transform: Callable[[str], str],
    raised: Mapping[int, int | None] | None = None,
) -> Document:
    """Return a run as plain Keras.

    Args:
        run: The run; with it come all others of its cell, and those before that trained the same model.
        runs: All runs of the process, oldest first.
        raw: What was typed in each cell, by number.
        transform: Turns a cell's magics into calls, as IPython does.
        raised: The line that raised, by the number of the cell; None where it is not known.

    Raises:
        ExportError: When something that the run depends on cannot be written out.
    """
    recipe = _recipe(run)
    cells = cells_of(raw, transform)
    last = _cell_of(recipe, run, cells)
    before = [cell for cell in cells if cell.number < last.number]
    if run.status != "failed":
        last = cut(last, (raised or {}).get(last.number), trained=True)
    cells = [*without_failures(before, runs, raised or {}), last]
    runs = [one for one in runs if one.status != "failed" or one.recipe is None or one.recipe.execution == last.number]
    kept = sliced(cells, last)
    _check_names(kept, run, cells)
    kept_cells = [cell for cell in cells if kept.of(cell)]
    numbers = {cell.number for cell in kept_cells if cell.fits or cell is last or _has_runs(cell, runs)}
    made = [one for one in runs if one.recipe is not None and one.recipe.execution in numbers]
    calls, missed = calls_of(made, cells, last)
    calls = [call for call in calls if _is_kept(call, kept)]
    for call in calls:
        check_alike(call)
    made = [one for call in calls for one in call.runs]
    ours = _names_of_ours(cells)
    files = own_forms(cells, {cell.number: kept.of(cell) for cell in kept_cells})
    texts = [fit_text(call, len(made) > 1, ours, files.edits.get(call.cell.number, ())) for call in calls]
    used = {name for text in texts for name in text.helpers} | files.helpers
    helpers = helpers_text(used, recipe.backend, recipe.replicas)
    edits: dict[int, list[Edit]] = {}
    for call, text in zip(calls, texts, strict=True):
        edits.setdefault(call.cell.number, []).extend(text.edits)
    _outside_the_fits(files, calls, edits)
    models = models_of(calls, kept_cells)
    if recipe.backend == "jax" and recipe.replicas > 1:
        _undistribute(kept_cells, calls, models, edits)
    sections = [_section(cell, kept, cell is last, edits.get(cell.number, []), ours) for cell in kept_cells]
    sections = [section for section in sections if section.code.strip()]
    imports = _used_imports(kept, kept_cells, ours, "\n".join(section.code for section in sections))
    setup = "\n\n".join(
        part
        for part in (
            environment_text(recipe) + "\n\n" + imports_text(imports, recipe, helpers, "tf" in used),
            distribution_text(recipe),
        )
        if part
    )
    seeds = _seeds(calls)
    missed += begun_often(made)
    apart = [*missed, *(note for text in texts for note in text.apart), *_elsewhere(made, recipe)]
    if recipe.backend == "tensorflow" and recipe.replicas > 1 and any(reads(cell, models) for cell in kept_cells):
        missed.append(UNEVEN)
    told = [*missed, *(note for text in texts for note in text.notes), *_notes(made, recipe)]
    told += numbered_outputs(made, "\n".join(section.code for section in sections))
    return Document(
        f"{run.title[0].upper()}{run.title[1:]} as plain Keras: {run.device}.",
        _words(recipe, kept.unseeded, bool(apart)),
        tuple(dict.fromkeys(told)),
        (
            Section("Setup", "The backend and the devices have to be chosen before Keras makes anything.", setup),
            Section("Helpers", "What the changes below need.", helpers),
            Section("Order of the rows", "What each shuffle begins with.", seeds),
            *sections,
        ),
        run.number,
    )


def _recipe(run: Run) -> Recipe:
    if run.recipe is None:
        raise ExportError(f"{run.title} does not know how it was made.", "a run of %%tpu_fit.")
    return run.recipe


def _cell_of(recipe: Recipe, run: Run, cells: list[Cell]) -> Cell:
    """Return the cell that made the run, as it ran."""
    if recipe.site.elsewhere == PANEL:
        raise ExportError(
            f"{run.title} was made by {PANEL}, so no cell says how.",
            expected="the %%tpu_fit cell that the panel gives to copy.",
            type_next="that cell, run once, then %tpu_export again",
        )
    typed = next((cell for cell in cells if cell.number == recipe.execution), None)
    ran = recipe.site.cell
    text = plain(ran) if ran else ""
    if typed is not None and (text in ("", typed.text) or "run_line_magic" in ran):
        return typed
    if text:  # old code, of which a newer form ran
        return Cell(recipe.execution, text, True, recipe.seed)
    raise ExportError(
        f"The code that made {run.title} is not known: it was not run in a cell of IPython or Jupyter.",
        expected="a fit in a %%tpu_fit cell, whose text can be written out.",
        type_next="%%tpu_fit above model.fit(x, y) in a notebook, then %tpu_export FILE.py",
    )


def _check_names(kept: Slice, run: Run, cells: list[Cell]) -> None:
    if not kept.missing:
        return
    title = f"{run.title[0].upper()}{run.title[1:]}"
    for name in kept.missing:
        for cell in cells:
            command = made_by_command(cell, name)
            if command:
                raise ExportError(
                    f"{title} needs {name}, which a notebook command made in cell {cell.number}: {name} = {command}. "
                    "A script has no such commands.",
                    expected=f"Python that makes {name}.",
                    type_next=f"{_in_python(name, command)} in a cell, train once more, then %tpu_export again",
                )
    names = ", ".join(kept.missing)
    raise ExportError(
        f"{title} needs {names}, and no cell in this kernel's history makes "
        f"{'it' if len(kept.missing) == 1 else 'them'}.",
        expected="every name of the cell made by a cell that ran in this kernel.",
        type_next=f"{kept.missing[0]} = ... in a cell, train once more, then %tpu_export again",
    )


def _in_python(name: str, command: str) -> str:
    line = command.lstrip("!") if command.startswith("!") else command.removeprefix("%sx ")
    if line == command:
        return f"{name} = ..."
    return f"import subprocess; {name} = subprocess.getoutput({line.strip()!r}).splitlines()"


def _has_runs(cell: Cell, runs: Iterable[Run]) -> bool:
    return any(run.recipe is not None and run.recipe.execution == cell.number for run in runs)


def _is_kept(call: FitCall, kept: Slice) -> bool:
    return any(node is call.node for statement in kept.of(call.cell) for node in ast.walk(statement))


def _names_of_ours(cells: list[Cell]) -> set[str]:
    return {
        alias.asname or PACKAGE
        for cell in cells
        for node in ast.walk(cell.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.split(".")[0] == PACKAGE
    }


def _undistribute(cells: list[Cell], calls: list[FitCall], models: set[str], edits: dict[int, list[Edit]]) -> None:
    last = max((call.cell.number for call in calls), default=0)
    for cell in cells:
        fits = [call.node for call in calls if call.cell is cell]
        edits.setdefault(cell.number, []).extend(undistributed(cell, models, fits, last > cell.number))


def _outside_the_fits(files: OwnForms, calls: list[FitCall], edits: dict[int, list[Edit]]) -> None:
    """Add the edits of files that no new text of a fit has in it already."""
    for number, renamed in files.edits.items():
        spans = [Source(call.cell.text).span(call.node) for call in calls if call.cell.number == number]
        inside = {id(edit) for start, stop in spans for edit in within(renamed, start, stop)}
        edits.setdefault(number, []).extend(edit for edit in renamed if id(edit) not in inside)


def _section(cell: Cell, kept: Slice, whole: bool, edits: list[Edit], ours: set[str]) -> Section:
    code = cell_text(cell, kept.of(cell), whole, edits, ours)
    if code and cell.fits:
        seed = f"\nkeras.utils.set_random_seed({cell.seed})" if cell.seed is not None else ""
        told = seed_comment(cell.seed, any(one.names.seeds for one in kept.statements))
        code = f"{told}{seed}\n\n{code}".lstrip()
    title = "Training" if whole else f"From cell {cell.number}"
    return Section(title, f"Cell {cell.number} of the notebook.", code, f"Cell [{cell.number}] of the notebook.")


def _used_imports(kept: Slice, cells: list[Cell], ours: set[str], code: str) -> list[str]:
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    found: list[str] = []
    for cell in cells:
        for node in imports_of(cell, kept.of(cell)):
            names = [alias for alias in node.names if bound_by(alias) in used or alias.name == "*"]
            names = [alias for alias in names if bound_by(alias) not in ours]
            if names and (getattr(node, "module", None) or "").split(".")[0] != PACKAGE:
                node = type(node)(**{**vars(node), "names": names})
                found += ast.unparse(node).split("\n")
    return list(dict.fromkeys(_single(found)))


def _single(imports: list[str]) -> Iterable[str]:
    for text in imports:
        if text.startswith("import ") and "," in text:
            yield from (f"import {part.strip()}" for part in text[7:].split(","))
        else:
            yield text


def _seeds(calls: list[FitCall]) -> str:
    texts = []
    for told, name, value in (
        ("Each fit of the run shuffled in an order of its own.", "shuffle_seeds", lambda recipe: recipe.shuffle_seed),
        ("Seed and number of the first pass over the files in each fit.", "first_passes", _first_pass),
    ):
        made = [[(run.number, value(run.recipe)) for run in call.runs if run.recipe is not None] for call in calls]
        differ = [pair for pairs in made if len({one for _, one in pairs}) > 1 for pair in pairs]
        if differ:
            texts.append(f"# {told}\n{name} = iter({[one for _, one in sorted(differ)]})")
    return "\n\n".join(texts)


def _first_pass(recipe: Recipe) -> tuple[int, int] | None:
    return recipe.passes[0] if recipe.passes else None


def _words(recipe: Recipe, unseeded: bool, apart: bool) -> tuple[str, ...]:
    packages = ["keras", "jax" if recipe.backend == "jax" else "tensorflow", "numpy"]
    exact = recipe.backend == "jax" or recipe.replicas == 1
    close = "1e-5 of each figure in float32 and 1e-2 in bfloat16"
    words = [
        f"The changes that %%tpu_fit made stand at the lines they concern, with their reasons. Tried with "
        f"{', '.join(f'{name} {_version(name)}' for name in packages)} on the {BACKEND_TITLES[recipe.backend]} backend.",
        "It does not give the figures of the run: no seed was set before the first weights were drawn, so they are "
        "drawn anew each time. The order of the rows is that of the run."
        if unseeded
        else "It does not give the history of the run: what it does otherwise stands below."
        if apart
        else f"It gives the history of the run: with the same versions and seeds to {close}."
        if exact
        else f"It gives the history of the run: with the same versions and seeds to {close}; layers that draw random "
        "numbers on each replica (Dropout, augmentation) differ more.",
    ]
    return tuple(words)


def _version(package: str) -> str:
    try:
        return re.sub(r"\+.*", "", version(package))
    except PackageNotFoundError:
        return "(unknown)"


def _notes(runs: list[Run], recipe: Recipe) -> tuple[str, ...]:
    notes = []
    for run in runs:
        if run.status in ("stopped", "interrupted", "failed"):
            notes.append(
                f"{run.title[0].upper()}{run.title[1:]} was {run.status} in epoch {run.epoch}; the script trains to the end."
            )
    return (*notes, *_elsewhere(runs, recipe))


def _elsewhere(runs: list[Run], recipe: Recipe) -> list[str]:
    """Return a sentence for each run that trained on something else than the one that is written out."""
    return [
        f"{run.title[0].upper()}{run.title[1:]} trained on {run.device}; the script trains it where the last one trained."
        for run in runs
        if run.recipe is not None and (run.recipe.backend, run.recipe.replicas) != (recipe.backend, recipe.replicas)
    ]
