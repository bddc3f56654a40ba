"""The one home of option names, defaults and help; the magics, the API and the docs read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from .errors import OptionError, nearest

BACKENDS = ("auto", "jax", "tensorflow")
PRECISIONS = ("keep", "float32", "bfloat16")


def option(default: Any, help: str, *, parse: Callable[[str], Any] = str, metavar: str = "", action: str = "") -> Any:
    """Declare a dataclass field that is also a command line flag of a magic.

    Args:
        default: Value when the flag is not given.
        help: One sentence for `?`, the reference and the panel.
        parse: Turns the typed text into the value; raises ValueError or OptionError.
        metavar: What stands for the value in the usage line.
        action: ``"store_true"`` for a switch, ``"append"`` for a repeatable flag, ``"?"`` for a flag whose value may
            be left out and is then ``"auto"``, else empty.
    """
    return field(default=default, metadata={"help": help, "parse": parse, "metavar": metavar, "action": action})


def flag_name(field_name: str) -> str:
    """Return the flag of a field: ``batch_size`` becomes ``--batch-size``.

    Example:
        >>> flag_name("batch_size")
        '--batch-size'
    """
    return "--" + field_name.replace("_", "-")


def _one_of(name: str, choices: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise OptionError(
                f"{name} {text!r} is not known.",
                expected=f"one of {', '.join(choices)}.",
                type_next=f"{name} {nearest(text, choices)}",
            )
        return text

    return parse


def _positive(name: str, kind: type, words: tuple[str, ...]) -> Callable[[str], Any]:
    """Parse one of ``words`` or a positive number of ``kind``."""

    def parse(text: str) -> Any:
        if text in words:
            return text
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not 0 < value < float("inf"):
            number = "a positive whole number" if kind is int else "a positive number"
            expected = ", ".join(words) + f" or {number}." if words else f"{number}."
            raise OptionError(
                f"{name} {text!r} cannot be used.", expected=expected, type_next=f"{name} {words[0] if words else 1}"
            )
        return value

    return parse


def _listed(name: str, parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Parse values that are separated by commas, each once."""

    def parse_all(text: str) -> tuple[Any, ...]:
        parts = [part.strip() for part in text.strip("()[] ").split(",")]
        return tuple(dict.fromkeys(parse(part.strip("\"'")) for part in parts if part))

    return parse_all


def _target(text: str) -> str:
    from .planner.targets import target

    return target(text).name


def _target_or_auto(text: str) -> str:
    return text if text == "auto" else _target(text)


def _seed(text: str) -> int:
    if not text.isdigit() or int(text) >= 2**32:
        raise OptionError(
            f"--seed {text!r} cannot be used.", expected="a whole number from 0 to 4294967295.", type_next="--seed 0"
        )
    return int(text)


@dataclass(frozen=True)
class ConnectOptions:
    """What `%tpu_connect` and `connect()` take."""

    backend: str = option(
        "auto",
        "Framework that trains: auto (JAX on a TPU unless only a TPU-capable TensorFlow is installed), jax or tensorflow.",
        parse=_one_of("--backend", BACKENDS),
        metavar="NAME",
    )
    simulate: str | int | None = option(
        None,
        "Rehearse a TPU slice (v2-8, v5e-4, ...) or a number of replicas on virtual CPU devices.",
        metavar="SLICE|N",
    )
    export: str | None = option(None, "Also bind the runtime to this name in the notebook.", metavar="NAME")
    restart: bool = option(
        False,
        "Restart the kernel where the front end allows it, so that the backend can be chosen again.",
        action="store_true",
    )
    verbose: bool = option(False, "Keep the start-up messages of TensorFlow, JAX and libtpu.", action="store_true")


@dataclass(frozen=True)
class FitOptions:
    """What `%%tpu_fit` and `fit()` take."""

    epochs: int | None = option(
        None, "Train this many epochs, whatever the call says.", parse=_positive("--epochs", int, ()), metavar="N"
    )
    batch_size: str | int = option(
        "auto",
        "Global batch size: auto (aim at 128 rows per replica, keep enough steps in an epoch), keep, or a number.",
        parse=_positive("--batch-size", int, ("auto", "keep")),
        metavar="auto|keep|N",
    )
    learning_rate: str | float = option(
        "auto",
        "Learning rate: auto (scale a plain number when the batch was changed), keep, or a number.",
        parse=_positive("--learning-rate", float, ("auto", "keep")),
        metavar="auto|keep|X",
    )
    precision: str = option(
        "keep",
        "What the layers compute in: keep, float32, or bfloat16 (float32 weights, bfloat16 arithmetic).",
        parse=_one_of("--precision", PRECISIONS),
        metavar="keep|float32|bfloat16",
    )
    steps_per_execution: str | int = option(
        "auto",
        "Training steps in one dispatch to the device: auto or a number.",
        parse=_positive("--steps-per-execution", int, ("auto", "keep")),
        metavar="auto|keep|N",
    )
    normalise_on_device: bool = option(
        False,
        "Let the rule normalise-on-device act on CPU replicas too, where it saves nothing; it does by itself on TPU and GPU.",
        action="store_true",
    )
    no: tuple[str, ...] = option(
        (),
        "Switch a rule off by its id, for example --no learning-rate; may be repeated.",
        metavar="RULE",
        action="append",
    )
    quiet: bool = option(False, "Show nothing but the cell's own output.", action="store_true")
    seed: int | None = option(
        None, "Seed Python, NumPy, the backend and the shuffle before the cell runs.", parse=_seed, metavar="N"
    )
    plan: str | None = option(
        None,
        "Train with the batch size and precision that the TPU compiler's plan recommends, for this target or else for "
        "the connected slice, or v5e-1; what --batch-size or --precision gives is kept.",
        parse=_target_or_auto,
        metavar="TARGET",
        action="?",
    )

    def __post_init__(self) -> None:
        """Refuse values that the flags would refuse."""
        rules: Any = self.no
        object.__setattr__(self, "no", (rules,) if isinstance(rules, str) else tuple(rules))
        for one in fields(self):
            value = getattr(self, one.name)
            if one.metadata["action"] in ("", "?") and value is not None:
                object.__setattr__(self, one.name, one.metadata["parse"](str(value)))


@dataclass(frozen=True)
class PlanOptions:
    """What `%tpu_plan` takes; `plan()` takes the same as arguments."""

    target: tuple[str, ...] = option(
        (),
        "Slices to plan for, separated by commas: v5e-1, v2-8, ...; by default the connected slice, or v5e-1.",
        parse=_listed("--target", _target),
        metavar="SLICE,...",
    )
    batch_sizes: tuple[int, ...] = option(
        (),
        "Global batch sizes to compile, separated by commas; by default a few, and the largest that fits is searched.",
        parse=_listed("--batch-sizes", _positive("--batch-sizes", int, ())),
        metavar="N,...",
    )
    precision: tuple[str, ...] = option(
        (),
        "What the layers compute in, separated by commas: float32, bfloat16, or keep; by default the model's own.",
        parse=_listed("--precision", _one_of("--precision", PRECISIONS)),
        metavar="NAME,...",
    )
    seconds: float | None = option(
        None,
        "Time that one compilation may take, in seconds.",
        parse=_positive("--seconds", float, ()),
        metavar="S",
    )
    memory: float | None = option(
        None,
        "Memory of this machine that the compiler may take, in GiB; by default a share of what is free.",
        parse=_positive("--memory", float, ()),
        metavar="GIB",
    )
    yes: bool = option(False, "Compile also when that takes more than about two minutes.", action="store_true")
    explain: bool = option(False, "Also tell how each figure is made and what it cannot know.", action="store_true")
    install: bool = option(
        False,
        "Install the TPU compiler into an environment of its own in the user's cache folder; says its size first.",
        action="store_true",
    )

    def __post_init__(self) -> None:
        """Refuse values that the flags would refuse; a single value stands for a list of one."""
        for one in fields(self):
            value = getattr(self, one.name)
            if not one.metadata["action"] and value is not None:
                listed = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
                object.__setattr__(self, one.name, one.metadata["parse"](listed))


def declared(options_class: type) -> list[Any]:
    """Return the fields of an options class in the order they are documented."""
    return list(fields(options_class))
