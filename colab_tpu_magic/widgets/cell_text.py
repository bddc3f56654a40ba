"""Write a run of the panel as the `%%tpu_fit` cell that trains the same."""

from __future__ import annotations

from collections.abc import Mapping
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


def cell_text(settings: TrialSettings, model: Any, arguments: Mapping[str, Any], names: Mapping[str, Any]) -> str:
    """Return a cell that trains with these settings.

    Args:
        settings: Of the run.
        model: The compiled model.
        arguments: What ``model.fit`` gets, ``x`` and ``y`` first.
        names: The notebook's variables; a value that is one of them is written as its name.
    """
    flags = [f"--{flag} {value}" for flag, value in _flags(settings)]
    model_name = _name_of(model, names, "model")
    lines = [" ".join(["%%tpu_fit", *flags])]
    if settings.optimizer != AS_COMPILED:
        lines.append(f"{model_name}.compile({MAKE_OPTIMIZER[settings.optimizer]}, {_compiled_with(model, model_name)})")
    given = {name: value for name, value in arguments.items() if value is not None and name != "epochs"}
    parts = [_written(given.pop(name), names, name) for name in ("x", "y") if name in given]
    parts.append(f"epochs={settings.epochs}")
    parts += [f"{name}={_written(value, names, name)}" for name, value in given.items()]
    lines.append(f"{model_name}.fit({', '.join(parts)})")
    return "\n".join(lines)


def _flags(settings: TrialSettings) -> list[tuple[str, Any]]:
    all_flags = (
        ("batch-size", settings.batch_size, "auto"),
        ("learning-rate", settings.learning_rate, "auto"),
        ("precision", settings.precision, "keep"),
        ("seed", settings.seed, None),
    )
    return [(flag, value) for flag, value, default in all_flags if value != default]


def _compiled_with(model: Any, model_name: str) -> str:
    config = model.get_compile_config() or {}
    metrics = config.get("metrics")
    loss = config.get("loss")
    loss_text = repr(loss) if isinstance(loss, str) else f"loss={model_name}.loss"
    if metrics is None:
        return loss_text
    simple = isinstance(metrics, list) and all(isinstance(one, str) for one in metrics)
    return f"{loss_text}, metrics={metrics!r}" if simple else f"{loss_text}, metrics=metrics"


def _written(value: Any, names: Mapping[str, Any], fallback: str) -> str:
    if isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, tuple | list) and not any(value is one for one in names.values()):
        parts = [_written(part, names, f"{fallback}_{number}") for number, part in enumerate(value)]
        return f"({', '.join(parts)})" if isinstance(value, tuple) else f"[{', '.join(parts)}]"
    return _name_of(value, names, fallback)


def _name_of(value: Any, names: Mapping[str, Any], fallback: str) -> str:
    found = [name for name, one in names.items() if one is value and not name.startswith("_")]
    return found[0] if found else fallback
