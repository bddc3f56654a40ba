"""Write a run of the panel as the `%%tpu_fit` cell that trains the same."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from ..training.trials import AS_COMPILED, TrialSettings

MAKE_OPTIMIZER = {
    "sgd": "keras.optimizers.SGD()",
    "sgd, momentum 0.9": "keras.optimizers.SGD(momentum=0.9)",
    "rmsprop": "keras.optimizers.RMSprop()",
    "adam": "keras.optimizers.Adam()",
    "adamw": "keras.optimizers.AdamW()",
    "lion": "keras.optimizers.Lion()",
}

# Arguments of compile that change what is trained or measured, with their defaults.
COMPILED: tuple[tuple[str, Any], ...] = (
    ("loss_weights", None),
    ("metrics", None),
    ("weighted_metrics", None),
    ("run_eagerly", False),
)


def cell_text(settings: TrialSettings, model: Any, arguments: Mapping[str, Any], names: Mapping[str, Any]) -> str:
    """Return a cell that trains with these settings.

    Args:
        settings: Of the run.
        model: The compiled model.
        arguments: What ``model.fit`` gets, ``x`` and ``y`` first.
        names: The notebook's variables; a value that is one of them is written as its name, and a
            comment asks for the others.
    """
    writer = _Writer(names)
    model_name = writer.name_of(model, "model")
    lines = []
    if settings.optimizer != AS_COMPILED:
        lines.append(f"{model_name}.compile({MAKE_OPTIMIZER[settings.optimizer]}, {_compiled_with(model, model_name)})")
    given = {name: value for name, value in arguments.items() if value is not None and name != "epochs"}
    parts = [writer.write(given.pop(name), name) for name in ("x", "y") if name in given]
    parts.append(f"epochs={settings.epochs}")
    parts += [f"{name}={writer.write(value, name)}" for name, value in given.items()]
    lines.append(f"{model_name}.fit({', '.join(parts)})")
    comments = []
    if not settings.proceed:
        comments.append("# From the start: run the cell that makes the model once more before this one.")
    if writer.missing:
        comments.append(f"# To be put in, no variable of the notebook holds it: {', '.join(writer.missing)}")
    if any("keras." in line for line in lines) and "keras" not in names:
        lines.insert(0, "import keras")
    flags = [f"--{flag} {value}" for flag, value in _flags(settings)]
    return "\n".join([" ".join(["%%tpu_fit", *flags]), *comments, *lines])


class _Writer:
    """Write values as Python, and remember those that cannot be.

    Args:
        names: The notebook's variables.

    Attributes:
        missing: Names that stand for values which no variable holds.
    """

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self.missing: list[str] = []

    def write(self, value: Any, fallback: str) -> str:
        """Return a value as Python: itself when it is plain, else the variable that holds it."""
        held = self._variable(value)
        if _is_plain(value):
            return repr(value)
        if held is None and type(value) in (tuple, list):
            parts = [self.write(part, f"{fallback}_{number}") for number, part in enumerate(value)]
            if isinstance(value, list):
                return f"[{', '.join(parts)}]"
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        return self.name_of(value, fallback)

    def name_of(self, value: Any, fallback: str) -> str:
        """Return the variable that holds a value, else a name that stands for it."""
        held = self._variable(value)
        if held is not None:
            return held
        # Not the name of something else, with which the cell would run and train on that.
        name = f"your_{fallback}" if fallback in self._names else fallback
        self.missing.append(name)
        return name

    def _variable(self, value: Any) -> str | None:
        return next((name for name, one in self._names.items() if one is value and not name.startswith("_")), None)


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(_is_plain(key) and _is_plain(one) for key, one in value.items())
    return isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))


def _flags(settings: TrialSettings) -> list[tuple[str, Any]]:
    all_flags = (
        ("batch-size", settings.batch_size, "auto"),
        ("learning-rate", settings.learning_rate, "auto"),
        ("precision", settings.precision, "keep"),
        ("seed", settings.seed, None),
    )
    return [(flag, value) for flag, value, default in all_flags if value != default]


def _compiled_with(model: Any, model_name: str) -> str:
    """Return what else ``compile`` got, as far as it was no default."""
    config = model.get_compile_config() or {}
    loss = config.get("loss")
    parts = [repr(loss) if isinstance(loss, str) else f"loss={model_name}.loss"]
    for name, default in COMPILED:
        value = config.get(name, default)
        if value == default:
            continue
        plain = isinstance(value, list) and all(isinstance(one, str | int | float) for one in value)
        if plain or _is_plain(value):
            parts.append(f"{name}={value!r}")
        else:
            parts.append(f'{name}=keras.saving.deserialize_keras_object({model_name}.get_compile_config()["{name}"])')
    return ", ".join(parts)
