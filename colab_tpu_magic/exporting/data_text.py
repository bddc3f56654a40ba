"""The training data of an exported fit, as expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import ExportError
from ..rewrite.forms.tf_data import FORM as TF_DATA
from ..training.recipe import ARRAY, ARRAYS, OTHER, TREE, DataFacts, Recipe
from .expressions import (
    OF_FILES,
    OF_TF_DATA,
    arrays_of_a_call,
    as_array,
    batched,
    called,
    dense,
    followed,
    is_made,
    is_simple,
    numbers,
    part,
)

GENERATOR_FUNCTION = "generator function"


@dataclass(frozen=True)
class DataText:
    """How a fit reads its data.

    Attributes:
        positional: The first arguments of ``fit``: ``full_batches(x, y, ...)``.
        keywords: Further arguments by name.
        before: Lines that have to stand before the call.
        callbacks: Callbacks that have to come first.
        helpers: Names of helpers that are used.
    """

    positional: tuple[str, ...]
    keywords: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()
    helpers: frozenset[str] = frozenset()


def training_data(recipe: Recipe, arguments: dict[str, str], seed: str, first_pass: str = "") -> DataText:
    """Return the training data's text.

    Args:
        recipe: How the run was made.
        arguments: The user's arguments, name to text.
        seed: The seed's text.
        first_pass: The text of seed and number of the first pass over files, empty where none are read.

    Raises:
        ExportError: For what a plain script cannot say.
    """
    if recipe.text:
        raise ExportError(
            f"The layer {recipe.text!r} made numbers of text outside of the model's step; this is not written out.",
            expected="the numbers made before the fit, and a model that begins after the layer.",
            type_next=f"x = {recipe.text}(texts); rest = keras.Sequential(model.layers[1:]); fit it, then %tpu_export again",
        )
    if recipe.alike:
        raise ExportError(
            "Each batch had rows of alike length, in an order that a plain script does not repeat.",
            expected="a run whose rows are padded to one length.",
            type_next="%%tpu_fit --no static-shapes, or shuffle=False; then %tpu_export again",
        )
    if recipe.data.call and recipe.data.form in OF_FILES:
        raise ExportError(
            "The fit was given a function that reads files, and which pass over them it began with is not known.",
            expected="the dataset itself.",
            type_next=f"data = {arguments['x']}{recipe.data.call}; model.fit(data, ...); %tpu_export again",
        )
    if recipe.data.form != ARRAYS:
        first = f", first_pass={first_pass}" if first_pass else ""
        return _stream(recipe, arguments, first)
    makes: tuple[str, ...] = ()
    if recipe.data.call:
        makes, arguments = arrays_of_a_call(recipe.data, arguments)
    names = [name for name in ("x", "y", "sample_weight") if arguments.get(name, "None") != "None"]
    before: list[str] = list(makes)
    parts = []
    places = dict(zip(("x", "y", "sample_weight"), recipe.kinds, strict=True))
    for place, name in enumerate(names):
        text = arguments[name]
        kind = OTHER if makes else places[name]
        if recipe.validation_split_at is not None and (is_made(kind) or not is_simple(text)):
            before.append(f"all_{name} = {as_array(text, kind, name)}")
            text, kind = f"all_{name}", TREE if kind.startswith("keras.tree") else kind if kind == TREE else ARRAY
        text = as_array(text, kind, name)
        text = part(text, kind, None if recipe.validation_split_at is None else f"[:{recipe.validation_split_at}]")
        if recipe.data.flat and place < len(recipe.data.dtypes) and recipe.data.dtypes[place]:
            text = f'{followed(text)}.astype("{recipe.data.dtypes[place]}")'
        parts.append(text)
    if not recipe.full_batches:
        keywords = {name: text for name, text in zip(names[2:], parts[2:], strict=True)}
        return DataText(tuple(parts[:2]), keywords | {"batch_size": str(recipe.batch_size)}, tuple(before))
    helper = "full_batches" if recipe.shuffle else "full_batches_in_order"
    ending = f", seed={seed}" if recipe.shuffle else ""
    made = f"{helper}({', '.join(parts)}, batch_size={recipe.batch_size}{ending})"
    helpers = {helper, "tf"} if any("tf." in kind for kind in recipe.kinds) else {helper}
    return DataText((made,), _steps(recipe), tuple(before), helpers=frozenset(helpers))


def _stream(recipe: Recipe, arguments: dict[str, str], first_pass: str) -> DataText:
    facts, size = recipe.data, recipe.batch_size
    helpers: set[str] = set()
    given = called(arguments["x"], facts)
    text = given
    if facts.dense:
        text, more = dense(text, facts)
        helpers |= more
    dataset = followed(text)
    if not recipe.full_batches:
        if facts.single:
            made, more = batched(text, facts, size)
            return DataText((made,), _steps(recipe), helpers=frozenset(helpers | more))
        if size == facts.batch_size:
            return DataText((text,), _steps(recipe), helpers=frozenset(helpers))
    if facts.form == TF_DATA and not facts.longest and not recipe.passes:
        if facts.single and recipe.steps_per_epoch is None:
            made = f"{dataset}.concatenate({dataset}.repeat().take({size - 1})).batch({size}, drop_remainder=True)"
        elif facts.single:
            made = f"{dataset}{'' if facts.infinite else '.repeat()'}.batch({size}, drop_remainder=True)"
        elif recipe.steps_per_epoch is None:
            first = f"{dataset}.take(1).unbatch().repeat().take({size - 1})"
            made = f"{dataset}.unbatch().concatenate({first}).batch({size}, drop_remainder=True)"
        else:
            made = f"{dataset}{'' if facts.infinite else '.repeat()'}.rebatch({size}, drop_remainder=True)"
        casts = _casts(facts)
        helpers |= {"tf"} if casts else set()
        return DataText((made + casts,), _steps(recipe), helpers=frozenset(helpers))
    helper = "full_batches_in_lengths" if facts.longest else "full_batches_of"
    helpers.add(helper)
    forever = "" if recipe.steps_per_epoch is not None and not facts.once else ", forever=False"
    # Each pass is one over the same object: made anew, it would begin with its first order once more.
    bound = "" if is_simple(given) or facts.form == GENERATOR_FUNCTION or facts.once else f" data={given}"
    if bound:
        text = dense("data", facts)[0] if facts.dense else "data"
        dataset = text
    if facts.form == "PyDataset":
        reader = "shuffled" if recipe.shuffle and not facts.infinite else "in_order"
        read = f"{reader}({text})"
        helpers.add(reader)
    elif facts.once:
        read = f"replayed({text})"
        helpers.add("replayed")
    elif facts.single and facts.longest:
        if forever:
            read, more = batched(text, facts, size)
        elif recipe.passes:
            read, more = batched(text, facts, 1)  # each row as long as it is, and passes one by one
        else:
            again = text if facts.infinite else f"{dataset}.repeat()"
            read, more = batched(again, facts, size, ", drop_remainder=True")
        helpers |= more
    elif facts.single:
        read = f"{dataset}.batch({size})"
    elif forever and facts.form in OF_TF_DATA and not facts.fill:
        read = f"{dataset}.rebatch({size})"  # so that the first rows that complete the last batch are as many
    else:
        read = text
    parts = [read if facts.once else f"lambda{bound}: {read}", f"batch_size={size}"]
    if facts.longest:
        parts += [f"longest={[dict(axes) for axes in facts.longest]}", f"fill={numbers(facts.fill)}"]
    if forever:
        helpers |= {"finite", "tf"}
    made = f"{helper}({', '.join(parts)}{forever}{_most(recipe, arguments)}{first_pass})"
    return DataText((made,), _steps(recipe), helpers=frozenset(helpers))


def _most(recipe: Recipe, arguments: dict[str, str]) -> str:
    """Return how many batches the training takes, where reading more would draw numbers or take from a generator."""
    steps, facts = recipe.steps_per_epoch, recipe.data
    ahead = recipe.backend == "tensorflow" or facts.once
    if steps is None or not ahead or facts.form in OF_TF_DATA:
        return ""
    begins = arguments.get("initial_epoch", "0")
    if begins.isdigit():
        return f", most={steps * max(0, recipe.epochs - int(begins))}"
    return f", most={steps} * ({recipe.epochs} - {followed(begins)})"


def _casts(facts: DataFacts) -> str:
    """Return a ``.map`` that casts the parts of a tf.data batch, empty where none is cast."""
    if not facts.flat or not any(facts.dtypes):
        return ""
    names = ("x", "y", "weight")[: len(facts.dtypes)]
    parts = [f'tf.cast({name}, "{dtype}")' if dtype else name for name, dtype in zip(names, facts.dtypes, strict=True)]
    made = f"({', '.join(parts)})" if len(parts) > 1 else f"({parts[0]},)"
    return f".map(lambda {', '.join(names)}: {made})"


def _steps(recipe: Recipe) -> dict[str, str]:
    return {} if recipe.steps_per_epoch is None else {"steps_per_epoch": str(recipe.steps_per_epoch)}
