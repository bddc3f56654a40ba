"""The validation of an exported fit, as arguments or as a callback."""

from __future__ import annotations

import ast

from ..errors import ExportError
from ..training.recipe import ARRAYS, DataFacts, Recipe
from .data_text import GENERATOR_FUNCTION, DataText
from .expressions import (
    OF_TF_DATA,
    arrays_of_a_call,
    as_array,
    batched,
    called,
    dense,
    followed,
    is_made,
    is_simple,
    part,
)

NAMES = ("x", "y", "sample_weight")


def validation_data(recipe: Recipe, arguments: dict[str, str]) -> DataText:
    """Return the validation's text: plain arguments where Keras can, else a callback that does the same.

    Raises:
        ExportError: When no plain script validates so.
    """
    facts = recipe.validation
    if facts is None:
        return DataText(())
    steps, size = arguments.get("validation_steps", "None"), recipe.validation_batch_size
    helpers: set[str] = set()
    if recipe.validation_split_at is not None:
        data = _split(recipe, arguments)
    elif facts.form == ARRAYS:
        data, helpers = _arrays(recipe, called(arguments["validation_data"], facts))
    else:
        data, steps, helpers = _batches(recipe, facts, called(arguments["validation_data"], facts), steps)
    if facts.form == ARRAYS:
        size = _shared_out(recipe, facts, size)
    if _reads_by_itself(recipe, facts) or not _divides(recipe, facts, steps):
        return _callback(recipe, facts, data, size, steps, helpers, arguments.get("validation_freq", "1"))
    keywords = {"validation_data": data}
    if facts.form == ARRAYS:
        keywords["validation_batch_size"] = str(size)
    if steps != "None":
        keywords["validation_steps"] = steps
    return DataText((), keywords, helpers=frozenset(helpers))


def _callback(
    recipe: Recipe, facts: DataFacts, data: str, size: int, steps: str, helpers: set[str], frequency: str
) -> DataText:
    joined = recipe.backend == "tensorflow" and recipe.replicas > 1
    if facts.form == GENERATOR_FUNCTION:
        data = f"lambda: {data}"
    parts = [data]
    if facts.form == ARRAYS or joined:
        parts.append(f"batch_size={size}")
    if steps != "None":
        parts.append(f"steps={steps}")
    if frequency != "1":
        parts.append(f"validation_freq={frequency}")
    if joined and recipe.averaged_statistics:
        parts.append("callbacks=[AverageStatistics()]")
    return DataText((), {}, (), (f"ValidateEveryRow({', '.join(parts)})",), frozenset({*helpers, "ValidateEveryRow"}))


def _split(recipe: Recipe, arguments: dict[str, str]) -> str:
    """Return the rows that `validation_split` cut off."""
    if recipe.data.call:
        arguments = arrays_of_a_call(recipe.data, arguments)[1]
    kinds = dict(zip(NAMES, recipe.kinds, strict=True))
    parts = [
        part(
            arguments[name] if is_simple(arguments[name]) and not is_made(kinds[name]) else f"all_{name}",
            kinds[name],
            f"[{recipe.validation_split_at}:]",
        )
        for name in NAMES
        if arguments.get(name, "None") != "None"
    ]
    return f"({', '.join(parts)})"


def _arrays(recipe: Recipe, text: str) -> tuple[str, set[str]]:
    """Return the arrays of a validation: of what is none, such as a sparse matrix, what makes one."""
    kinds = recipe.validation_kinds
    if not any(is_made(kind) or kind == "unknown" for kind in kinds):
        return text, set()
    node = ast.parse(f"({text}\n)", mode="eval").body
    if isinstance(node, ast.Tuple) and len(node.elts) == len(kinds):
        parts = [ast.unparse(one) for one in node.elts]
    elif is_simple(text):
        parts = [f"{text}[{place}]" for place in range(len(kinds))]
    else:
        raise ExportError(
            f"The validation data {text[:60]} is made in the call, and arrays have to be made of what it holds.",
            expected="a name for it.",
            type_next=f"validation = {text[:60]} in a line above; model.fit(..., validation_data=validation)",
        )
    made = [
        one if kind == "" else as_array(one, kind, f"validation_data[{place}]") if is_made(kind) else one
        for place, (one, kind) in enumerate(zip(parts, kinds, strict=True))
    ]
    return f"({', '.join(made)})", {"tf"} if any("tf." in one for one in made) else set()


def _batches(recipe: Recipe, facts: DataFacts, data: str, steps: str) -> tuple[str, str, set[str]]:
    """Return a stream of batches, the steps of it that are read, and the helpers for it."""
    helpers: set[str] = set()
    if facts.dense:
        data, helpers = dense(data, facts)
    if facts.single:
        # Rows that are padded keep their own batches: longer padding could change a figure.
        size = facts.batch_size if facts.longest else recipe.validation_batch_size
        data, more = batched(data, facts, size)
        helpers |= more
    elif _is_uneven(recipe, facts):
        # Plain Keras on several TensorFlow replicas wants a first batch that they can share.
        if steps != "None":
            data, steps = f"{followed(data)}.take({steps})", "None"
        data = f"{followed(data)}{_rebatched(recipe, facts)}"
    return data, steps, helpers


def _reads_by_itself(recipe: Recipe, facts: DataFacts) -> bool:
    """Return whether plain Keras reads a validation's batches otherwise than the run did, or cannot share them out.

    Raises:
        ExportError: When they cannot be joined either.
    """
    if facts.form in (ARRAYS, *OF_TF_DATA):
        return False
    joined = recipe.backend == "tensorflow" and recipe.replicas > 1
    if joined and (facts.longest or facts.fill and any(facts.fill) or not recipe.validation_in_any_batches):
        why = "rows of varying length" if facts.longest else "a loss or metric that is no mean over rows"
        raise ExportError(
            f"The validation reads a {facts.form} with {why}, whose batches plain Keras cannot share out over "
            f"{recipe.replicas} TensorFlow replicas.",
            expected="a validation in arrays.",
            type_next="x_val, y_val = (numpy.concatenate(part) for part in zip(*batches)); model.fit(..., "
            "validation_data=(x_val, y_val)), then %tpu_export again",
        )
    return joined or facts.once or facts.form == GENERATOR_FUNCTION


def _shared_out(recipe: Recipe, facts: DataFacts, size: int) -> int:
    """Return a batch size whose first batch TensorFlow replicas can share."""
    rows = facts.rows or 0
    uneven = recipe.backend == "tensorflow" and recipe.replicas > 1 and rows < size and rows % recipe.replicas
    if not uneven or not recipe.validation_in_any_batches:
        return size
    return max(rows - rows % recipe.replicas, 1)


def _is_uneven(recipe: Recipe, facts: DataFacts) -> bool:
    """Return whether a dataset's own batches would stop a validation on TensorFlow replicas, and others would not."""
    return (
        recipe.backend == "tensorflow"
        and facts.form in OF_TF_DATA
        and facts.batch_size % recipe.replicas != 0
        and recipe.validation_in_any_batches
    )


def _rebatched(recipe: Recipe, facts: DataFacts) -> str:
    """Return what makes batches of a dataset that replicas can share.

    Raises:
        ExportError: When its rows would have to be padded, and that could change a figure.
    """
    if not facts.fill:
        return f".rebatch({recipe.validation_batch_size})"
    if facts.masked and not any(facts.fill):
        return f".unbatch().padded_batch({recipe.validation_batch_size})"
    size = -(-facts.batch_size // recipe.replicas) * recipe.replicas
    raise ExportError(
        f"The validation has batches of {facts.batch_size} rows of varying length, which plain Keras cannot share out "
        f"over {recipe.replicas} TensorFlow replicas; joined to other batches they would be padded anew, and no mask "
        "hides that.",
        expected="batches that the replicas can share.",
        type_next=f"validation = rows.padded_batch({size}); fit with it, then %tpu_export again",
    )


def _divides(recipe: Recipe, facts: DataFacts, steps: str) -> bool:
    """Return whether plain Keras can share out every batch of the validation."""
    if recipe.replicas == 1 or recipe.backend != "jax":
        return True
    if facts.rows is None or steps != "None":
        return False
    return facts.rows % recipe.replicas == 0 and recipe.validation_batch_size % recipe.replicas == 0
