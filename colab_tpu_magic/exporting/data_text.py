"""The data arguments of an exported fit: training batches and validation, as expressions."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..errors import ExportError
from ..rewrite.forms.tf_data import FORM as TF_DATA
from ..training.recipe import ARRAY, ARRAYS, OTHER, TREE, UNKNOWN, DataFacts, Recipe

OF_FILES = ("image folder", "TFRecord dataset")
OF_TF_DATA = (TF_DATA, *OF_FILES)


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
        return _stream(recipe, _called(arguments["x"], recipe.data), first)
    called: tuple[str, ...] = ()
    if recipe.data.call:
        called, arguments = _arrays_of_a_call(recipe.data, arguments)
    names = [name for name in ("x", "y", "sample_weight") if arguments.get(name, "None") != "None"]
    before: list[str] = list(called)
    parts = []
    places = dict(zip(("x", "y", "sample_weight"), recipe.kinds, strict=True))
    for place, name in enumerate(names):
        text = arguments[name]
        kind = OTHER if called else places[name]
        if recipe.validation_split_at is not None and (_is_made(kind) or not _is_simple(text)):
            before.append(f"all_{name} = {_as_array(text, kind, name)}")
            text, kind = f"all_{name}", TREE if kind.startswith("keras.tree") else kind if kind == TREE else ARRAY
        text = _as_array(text, kind, name)
        text = _part(text, kind, None if recipe.validation_split_at is None else f"[:{recipe.validation_split_at}]")
        if recipe.data.flat and place < len(recipe.data.dtypes) and recipe.data.dtypes[place]:
            text = f'{text if _is_simple(text) else f"({text})"}.astype("{recipe.data.dtypes[place]}")'
        parts.append(text)
    if not recipe.full_batches:
        keywords = {name: text for name, text in zip(names[2:], parts[2:], strict=True)}
        return DataText(tuple(parts[:2]), keywords | {"batch_size": str(recipe.batch_size)}, tuple(before))
    helper = "full_batches" if recipe.shuffle else "full_batches_in_order"
    ending = f", seed={seed}" if recipe.shuffle else ""
    made = f"{helper}({', '.join(parts)}, batch_size={recipe.batch_size}{ending})"
    helpers = {helper, "tf"} if any("tf." in kind for kind in recipe.kinds) else {helper}
    return DataText((made,), _steps(recipe), tuple(before), helpers=frozenset(helpers))


def validation_data(recipe: Recipe, arguments: dict[str, str]) -> DataText:
    """Return the validation's text: plain arguments where Keras can, else a callback that does the same."""
    facts, helpers = recipe.validation, set[str]()
    if facts is None:
        return DataText(())
    if recipe.validation_split_at is not None:
        rest = f"[{recipe.validation_split_at}:]"
        if recipe.data.call:
            arguments = _arrays_of_a_call(recipe.data, arguments)[1]
        names = [name for name in ("x", "y", "sample_weight") if arguments.get(name, "None") != "None"]
        kinds = dict(zip(("x", "y", "sample_weight"), recipe.kinds, strict=True))
        parts = [
            _part(
                arguments[name] if _is_simple(arguments[name]) and not _is_made(kinds[name]) else f"all_{name}",
                kinds[name],
                rest,
            )
            for name in names
        ]
        data = f"({', '.join(parts)})"
    else:
        data = _called(arguments["validation_data"], facts)
        if facts.dense:
            data, helpers = _dense(data, facts)
        if facts.single:
            # Rows that are padded keep their own batches: longer padding could change a figure.
            size = facts.batch_size if facts.longest else recipe.validation_batch_size
            data, more_helpers = _batched(data, facts, size)
            helpers |= more_helpers
        elif _is_uneven(recipe, facts, arguments):
            # Plain Keras on several TensorFlow replicas wants a first batch that they can share.
            data = f"{data if _is_simple(data) else f'({data})'}{_rebatched(recipe, facts)}"
    steps = arguments.get("validation_steps", "None")
    size = recipe.validation_batch_size
    if not _divides(recipe, facts, steps):
        more = f", batch_size={size}" if facts.form == ARRAYS else ""
        more += f", steps={steps}" if steps != "None" else ""
        return DataText((), {}, (), (f"ValidateEveryRow({data}{more})",), frozenset({*helpers, "ValidateEveryRow"}))
    keywords = {"validation_data": data}
    if facts.form == ARRAYS:
        keywords["validation_batch_size"] = str(size)
    if steps != "None":
        keywords["validation_steps"] = steps
    return DataText((), keywords, helpers=frozenset(helpers))


def _is_uneven(recipe: Recipe, facts: DataFacts, arguments: dict[str, str]) -> bool:
    """Return whether a dataset's own batches would stop a validation on TensorFlow replicas, and others would not."""
    return (
        recipe.backend == "tensorflow"
        and facts.form in OF_TF_DATA
        and facts.batch_size % recipe.replicas != 0
        and recipe.validation_in_any_batches
        and arguments.get("validation_steps", "None") == "None"
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


def _is_made(kind: str) -> bool:
    """Return whether arrays have to be made of what was given, before some of its rows can be taken."""
    return "{}" in kind


def _as_array(text: str, kind: str, name: str) -> str:
    """Return the text of an array, or of a tree of them.

    Raises:
        ExportError: When nobody knows what makes arrays of the data.
    """
    if kind == UNKNOWN:
        raise ExportError(
            f"{name} holds data that was read row by row or made dense part by part, which is not written out.",
            expected="arrays.",
            type_next="x, y = (numpy.stack(part) for part in zip(*rows)) in a cell, model.fit(x, y), then %tpu_export",
        )
    if kind == OTHER:
        return f"np.asarray({text})"
    if kind.startswith("keras.tree"):
        return kind.format(text)
    return kind.format(text if _is_simple(text) else f"({text})") if "{}" in kind else text


def _stream(recipe: Recipe, text: str, first_pass: str) -> DataText:
    facts, size = recipe.data, recipe.batch_size
    helpers: set[str] = set()
    if facts.dense:
        text, more = _dense(text, facts)
        helpers |= more
    dataset = text if _is_simple(text) else f"({text})"
    if not recipe.full_batches:
        if facts.single:
            made, more = _batched(text, facts, size)
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
    before: tuple[str, ...] = ()
    forever = "" if recipe.steps_per_epoch is not None and not facts.once else ", forever=False"
    if facts.form == "PyDataset" and recipe.shuffle and not facts.infinite:
        read = f"lambda: shuffled({text})"
        helpers.add("shuffled")
        if recipe.backend == "jax":
            before = ("np.random.randint(2**31)  # the look at the first batch drew one order, too",)
    elif facts.once:
        read = f"replayed({text})"
        helpers.add("replayed")
    elif facts.single and facts.longest:
        if forever:
            read, more = _batched(text, facts, size)
        elif recipe.passes:
            read, more = _batched(text, facts, 1)  # each row as long as it is, and passes one by one
        else:
            again = text if facts.infinite else f"{dataset}.repeat()"
            read, more = _batched(again, facts, size, ", drop_remainder=True")
        read, helpers = f"lambda: {read}", helpers | more
    elif facts.single:
        read = f"lambda: {dataset}.batch({size})"
    elif forever and facts.form in OF_TF_DATA and not facts.fill:
        read = f"lambda: {dataset}.rebatch({size})"  # so that the first rows that complete the last batch are as many
    else:
        read = f"lambda: {text}"
    parts = [read, f"batch_size={size}"]
    if facts.longest:
        parts += [f"longest={[dict(axes) for axes in facts.longest]}", f"fill={_numbers(facts.fill)}"]
    if forever:
        helpers |= {"finite", "tf"}
    made = f"{helper}({', '.join(parts)}{forever}{first_pass})"
    return DataText((made,), _steps(recipe), before, helpers=frozenset(helpers))


def _dense(text: str, facts: DataFacts) -> tuple[str, set[str]]:
    """Return a dataset with its sparse and ragged tensors made dense, and the helpers for it."""
    fill = facts.fill[0] if facts.fill else 0.0
    return f"dense({text}{f', fill={_number(fill)}' if fill else ''})", {"dense", "tf"}


def _batched(text: str, facts: DataFacts, size: int, full: str = "") -> tuple[str, set[str]]:
    """Return single rows in batches, those of different lengths padded to the longest of their batch; and the helpers."""
    if facts.longest and any(facts.fill):
        return f"padded_rows({text}, {size}, fill={_numbers(facts.fill)}{full})", {"padded_rows", "tf"}
    padded = "padded_" if facts.longest else ""
    called = isinstance(ast.parse(text, mode="eval").body, ast.Call)
    return f"{text if called or _is_simple(text) else f'({text})'}.{padded}batch({size}{full})", set()


def _numbers(values: tuple[float, ...]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _called(text: str, facts: DataFacts) -> str:
    """Return the text of the data, that of a call where a function makes it."""
    if not facts.call:
        return text
    return f"{text if _is_simple(text) else f'({text})'}{facts.call}"


def _arrays_of_a_call(facts: DataFacts, arguments: dict[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the line that calls a function of arrays, and the arguments with the names that it binds."""
    if not facts.flat:
        raise ExportError(
            f"The function {arguments['x']} returns several inputs, which are not written out.",
            expected="the arrays themselves.",
            type_next="x, y = input_fn() in a cell, model.fit(x, y), then %tpu_export again",
        )
    names = ("x", "y", "sample_weight")[: facts.parts]
    made = {name: f"made_{name}" for name in names}
    return (f"{', '.join(made.values())} = {_called(arguments['x'], facts)}",), arguments | made


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


def _part(text: str, kind: str, rows: str | None) -> str:
    """Return the text of some of the rows of an array or of a tree of arrays."""
    if rows is None:
        return text
    if kind == TREE or kind.startswith("keras.tree"):
        return f"keras.tree.map_structure(lambda array: array{rows}, {text})"
    return f"{text if _is_simple(text) else f'({text})'}{rows}"


def _is_simple(text: str) -> bool:
    """Return whether a text can be read twice and be followed by a dot or a bracket."""
    node = ast.parse(text, mode="eval").body
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):  # np.asarray(x), which is ours
        return ast.unparse(node.func) in ("np.asarray", "dense")
    return isinstance(node, ast.Name)
