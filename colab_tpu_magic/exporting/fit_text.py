"""Write one `fit` of the notebook as the plain call that trains the same, its settings before and after it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import ExportError
from ..training.recipe import ARRAYS, Recipe
from .calls import FitCall, arguments_of
from .data_text import DataText, training_data
from .edits import Edit, Source, indented, statement_around
from .expressions import followed
from .looks import looks
from .reasons import comment, not_carried_over, reason
from .validation_text import validation_data

KEPT = ("verbose", "callbacks", "class_weight", "initial_epoch", "validation_freq")
POLICIES = {"bfloat16": "mixed_bfloat16", "float32": "float32"}
# What the rule says of our own fit; in a script the lines themselves say it.
RATE_COMES_BACK = " When the fit ends, the optimizer has your own rate again."
BATCH_BY_BATCH = "Sparse and ragged rows are made so batch by batch, never all at once;"
ABOVE_THE_DATA = ("dense-arrays", "batch-size", "static-shapes", "dtypes")


UNFORESEEN = (
    "How many steps an epoch has is not known, and plain Keras on several TensorFlow replicas takes one too many where "
    "such data ends, which some replicas do and others not. steps_per_epoch=N in the call keeps it out."
)


@dataclass(frozen=True)
class FitText:
    """The edits that make a fit plain.

    Attributes:
        edits: Changes to the text of its cell.
        helpers: Names of the helpers that the new text uses.
        notes: What could not be written out, sentences.
        apart: Those of them for which the history is another one.
    """

    edits: tuple[Edit, ...]
    helpers: frozenset[str]
    notes: tuple[str, ...]
    apart: tuple[str, ...] = ()


def fit_text(call: FitCall, put_back: bool, ours: set[str], renamed: Sequence[Edit] = ()) -> FitText:
    """Return the edits for one call.

    Args:
        call: The call and its runs.
        put_back: Whether to give the model its own settings again, for what comes after.
        ours: Names under which the notebook knows this package.
        renamed: What is written in the place of functions of this package in the call's cell.

    Raises:
        ExportError: When the call cannot be written out.
    """
    recipe, changes = call.recipe, call.runs[-1].changes
    source = Source(call.cell.text, renamed)
    texts, model = _arguments(call, source, ours)
    seed = _seed(call)
    texts, looked, more = looks(recipe, texts)
    data = training_data(recipe, texts, seed, _first_pass(call))
    if _ends_unforeseen(recipe):
        steps = _steps_of_a_pass(call)
        data = _of_length(data, steps) if steps else data
        more += [] if steps else [UNFORESEEN]
    validation = validation_data(recipe, texts)
    before, after, helpers = _settings(call, model, put_back)
    if not model.replace(".", "").replace("_", "").isalnum():
        if before:
            before.insert(0, f"the_model = {model}")
            before = [before[0], *(line.replace(model, "the_model") for line in before[1:])]
            after = [line.replace(model, "the_model") for line in after]
            model = "the_model"
    if recipe.averaged_statistics:
        validation = _with_callback(validation, "AverageStatistics()")
        helpers.add("AverageStatistics")
    before += [*data.before, *validation.before, *looked]
    new = _call(call, source, model, texts, data, validation)
    start, stop = source.span(call.node)
    edits = [Edit(start, stop, new), *_lines_around(call, source, before, after)]
    notes, apart = not_carried_over(changes)
    if not recipe.full_batches:
        more.append("Without full batches the order of the rows is Keras' own, so the history is not the same.")
    if any(change.rule == "loss-scaling" and not change.after.startswith("gradients") for change in changes):
        more.append(
            f"The script divides the gradients, and what is learned is the same; the losses that it shows are {recipe.replicas} "
            "times the run's, as plain Keras adds up what each replica finds."
        )
    if recipe.backend == "tensorflow" and any(name.endswith("_loss") for name in call.runs[-1].validation):
        more.append(
            "Plain Keras on TensorFlow weighs a smaller last batch like a whole one in the validation loss of each output; "
            "the run counted every row."
        )
    if recipe.validates_on_the_same:
        more.append(
            "The same dataset of files trains and validates, and which of the two begins a pass first depends on their "
            "speed, so the order of the rows is not the same in every run. Two calls, one for each, keep it."
        )
    return FitText(
        tuple(edits), frozenset(helpers | data.helpers | validation.helpers), (*notes, *more), (*apart, *more)
    )


def _arguments(call: FitCall, source: Source, ours: set[str]) -> tuple[dict[str, str], str]:
    """Return the texts of the call's arguments by name, and of the model."""
    function = call.node.func
    assert isinstance(function, ast.Attribute)
    of_ours = isinstance(function.value, ast.Name) and function.value.id in ours
    arguments = arguments_of(call.node, of_ours)
    if "x" not in arguments:
        raise ExportError(f"The fit in {ast.unparse(call.node)[:60]} has no data.", "model.fit(x, y).")
    model = source.segment(call.node.args[0] if of_ours else function.value)
    return {name: source.segment(node) for name, node in arguments.items()}, model


def _seed(call: FitCall) -> str:
    seeds = [run.recipe.shuffle_seed for run in call.runs if run.recipe is not None]
    return str(seeds[0]) if len(set(seeds)) == 1 else "next(shuffle_seeds)"


def _first_pass(call: FitCall) -> str:
    """Return the text of seed and number of the first pass over files, empty where none are read.

    Raises:
        ExportError: When files are read in orders that one pair does not say.
    """
    passes = [run.recipe.passes for run in call.runs if run.recipe is not None]
    several = next((one for one in passes if len(one) > 1), None)
    if several is not None:
        raise ExportError(
            f"The data is made of {len(several)} datasets of files whose orders have different seeds, or which were "
            "read a different number of times.",
            expected="datasets with one seed, read by nothing else before the fit.",
            type_next="seed=0 in each tpu.images or tpu.tfrecords, made and fit in one cell, then %tpu_export again",
        )
    if not any(passes):
        return ""
    if call.recipe.full_batches and call.recipe.steps_per_epoch is None and call.recipe.epochs > 1:
        raise ExportError(
            "The files were not counted (they are compressed, not on this machine, or very many), so each epoch is "
            "one pass of unknown length, and a script would not know where the next one begins.",
            expected="the number of steps in an epoch.",
            type_next="model.fit(rows, epochs=5, steps_per_epoch=100), then %tpu_export again",
        )
    return str(passes[0][0]) if len(set(passes)) == 1 else "next(first_passes)"


def _call(
    call: FitCall, source: Source, model: str, texts: dict[str, str], data: DataText, validation: DataText
) -> str:
    recipe, changes = call.recipe, call.runs[-1].changes
    indent = source.indent(call.node.lineno) + "    "
    keywords = {"shuffle": "False"} if recipe.full_batches else {}
    keywords |= data.keywords
    if "epochs" in texts and recipe.epochs == recipe.own_epochs:
        keywords["epochs"] = texts["epochs"]
    elif recipe.epochs != 1:
        keywords["epochs"] = str(recipe.epochs)
    keywords |= {name: texts[name] for name in KEPT if name in texts}
    keywords |= validation.keywords
    forms = {run.recipe.callbacks for run in call.runs if run.recipe is not None}
    given = texts.get("callbacks", "None")
    if validation.callbacks:
        keywords["callbacks"] = _callbacks(validation.callbacks, given, forms)
    lines = [f"{model}.fit("]
    told = [replace(one, why=one.why.replace(BATCH_BY_BATCH, "Here all are made so at once;")) for one in changes]
    for text in (reason(told, rule) for rule in ABOVE_THE_DATA):
        lines += [indent + line for line in text.split("\n") if line]
    lines += [f"{indent}{text}," for text in data.positional]
    lines += [f"{indent}{name}={text}," for name, text in keywords.items()]
    return "\n".join([*lines, indent[:-4] + ")"])


def _callbacks(ours: tuple[str, ...], own: str, forms: set[str]) -> str:
    """Return a list of ours and the user's callbacks.

    Args:
        ours: Ours, which come first.
        own: The user's argument.
        forms: What it was in each run, as in `Recipe.callbacks`.
    """
    if own == "None" or forms == {""}:
        return f"[{', '.join(ours)}]"
    if forms == {"list"}:
        if isinstance(ast.parse(f"({own}\n)", mode="eval").body, ast.List):
            return f"[{', '.join(ours)}, {own.strip()[1:].lstrip()}"
        return f"[{', '.join(ours)}, *{followed(own)}]"
    return f"[{', '.join(ours)}, *keras.tree.flatten({own} or [])]"


def _ends_unforeseen(recipe: Recipe) -> bool:
    """Return whether Keras would learn where a pass ends by running into it, with a step that only some replicas do."""
    shared = recipe.backend == "tensorflow" and recipe.replicas > 1
    return shared and recipe.steps_per_epoch is None and recipe.full_batches and recipe.data.form != ARRAYS


def _steps_of_a_pass(call: FitCall) -> int | None:
    """Return how many steps each epoch of some runs had, or None when they do not tell."""
    found = set()
    for run in call.runs:
        done = len(next(iter(run.history.values()), ()))
        steps = run.step
        if run.recipe is not None and run.first_epoch - 1 + done < run.recipe.epochs:
            steps -= run.recipe.steps_per_execution or 1  # a callback that stops a training is counted as a step
        found.add(steps // done if done and run.status == "completed" and steps % done == 0 else 0)
    return found.pop() or None if len(found) == 1 else None


def _of_length(data: DataText, steps: int) -> DataText:
    made = f"{data.positional[0]}.apply(tf.data.experimental.assert_cardinality({steps}))"
    return replace(data, positional=(made,), helpers=data.helpers | {"tf"})


def _with_callback(data: DataText, callback: str) -> DataText:
    return DataText(data.positional, data.keywords, data.before, (callback, *data.callbacks), data.helpers)


def _settings(call: FitCall, model: str, put_back: bool) -> tuple[list[str], list[str], set[str]]:
    """Return the lines before and after the call that set what the fit needs, and the helpers they use."""
    recipe, changes = call.recipe, call.runs[-1].changes
    before: list[str] = []
    after: list[str] = []
    helpers: set[str] = set()

    def add(rule: str, line: str, back: str) -> None:
        told = [replace(change, why=change.why.replace(RATE_COMES_BACK, "")) for change in changes]
        before.extend(line for line in reason(told, rule).split("\n") if line)
        before.append(line)
        if put_back:
            after.append(back)

    if recipe.jit_compile is not None:
        add("jit-compile", f"{model}.jit_compile = {recipe.jit_compile}", "")
        after[:] = [line for line in after if line]
    if recipe.learning_rate is not None:
        if put_back:
            before.append(f"own_rate = float(keras.ops.convert_to_numpy({model}.optimizer.learning_rate))")
        add(
            "learning-rate",
            f"{model}.optimizer.learning_rate = {np.float32(recipe.learning_rate)!s}",
            f"{model}.optimizer.learning_rate = own_rate",
        )
    if recipe.precision is not None:
        helpers.add("compute_in")
        places = ", ".join(map(str, recipe.last_layers))
        last = f", float32_layers=[{places}]" if recipe.precision != "float32" and places else ""
        own = next((change.before for change in changes if change.rule == "precision"), "float32")
        back = POLICIES.get(own, "float32")
        add(
            "precision",
            f'compute_in("{POLICIES[recipe.precision]}", {model}{last})',
            f'compute_in("{back}", {model})  # as it was',
        )
    if any(change.rule == "loss-scaling" for change in changes):
        helpers |= {"divide_gradients", "tf"}
        add(
            "loss-scaling",
            f"divide_gradients({model}, {recipe.replicas})",
            f"divide_gradients({model}, 1)  # as it was",
        )
    if any(change.rule == "steps-per-execution" for change in changes) and recipe.steps_per_execution is not None:
        own = next(change.before for change in changes if change.rule == "steps-per-execution")
        add(
            "steps-per-execution",
            f"{model}.steps_per_execution = {recipe.steps_per_execution}",
            f"{model}.steps_per_execution = {own}",
        )
        if put_back:
            after.append(f"{model}.train_function = {model}.test_function = None  # made anew with these settings")
    return before, after, helpers


def _lines_around(call: FitCall, source: Source, before: list[str], after: list[str]) -> list[Edit]:
    if not (before or after):
        return []
    statement = statement_around(call.cell.tree, call.node)
    if not source.begins_its_line(statement) or isinstance(statement, ast.If | ast.While | ast.For | ast.With):
        raise ExportError(
            f"The fit in line {call.node.lineno} of cell {call.cell.number} shares its line with other code, "
            "and its settings need lines of their own.",
            expected="the fit on a line of its own.",
            type_next="history = model.fit(x, y) on a line of its own, then %tpu_export again",
        )
    indent = source.indent(statement.lineno)
    edits = []
    if before:
        at = source.line_start(statement.lineno)
        edits.append(Edit(at, at, indented("\n".join(before), indent) + "\n"))
    if after:
        end = source.span(statement)[1]
        edits.append(Edit(end, end, "\n" + indented("\n".join(after), indent)))
    return edits


def seed_comment(seed: int | None, seeds_itself: bool) -> str:
    """Return what stands above the line that seeds, or what to say where nothing did."""
    if seed is not None:
        return comment("Seeds Python, NumPy and the backend: the first weights and the random layers.")
    if seeds_itself:
        return ""
    return comment(
        "No --seed was given and the notebook seeds nothing: the order of the rows is that of the run, but the first "
        "weights are drawn anew, so figures differ from the run's."
    )
