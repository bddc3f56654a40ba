"""Name the operation that a TPU cannot run, with the user's layer, file and line, from what TensorFlow's compiler says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import ModelError
from .names import named

OPERATION = re.compile(r"(\w+) \(No registered '(\w+)' OpKernel")
NODE = re.compile(r"\{\{(?:function_)?node ([^{}\s]+)\}\}")
WHERE = re.compile(r'File "([^"]+)", line (\d+)')
OURS = "planner/lower/tensorflow.py"
OF_LIBRARIES = ("/site-packages/", "/dist-packages/", "<__array_function__")
MOST_CHARACTERS = 200
WHY = {
    "EagerPyFunc": "tf.py_function runs Python on the host",
    "PyFunc": "tf.numpy_function runs Python on the host",
    "PyFuncStateless": "tf.numpy_function runs Python on the host",
    "PrintV2": "tf.print writes on the host",
    "StringFormat": "it makes text, and a TPU has no strings",
}


@contextmanager
def refused(graph: Any, layers: Sequence[str]) -> Iterator[None]:
    """Turn TensorFlow's refusal to compile a step into one message.

    Args:
        graph: The traced step.
        layers: Paths of the model's layers.
    """
    try:
        yield
    except Exception as error:  # TensorFlow raises several kinds for one cause
        raise told_of(str(error), graph, layers) from error


def told_of(text: str, graph: Any, layers: Sequence[str]) -> ModelError:
    """Return what to tell the user of an error of TensorFlow's compiler."""
    operations = list(dict.fromkeys(name for name, _ in OPERATION.findall(text)))
    node = next(iter(NODE.findall(text)), "")
    layer = named(node, layers).layer
    where = (f' in the layer "{layer}"' if layer else "") + _made_at(text, graph, node)
    if not operations:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        said = (lines or ["no reason given"])[0]
        said = said if len(said) <= MOST_CHARACTERS else f"{said[:MOST_CHARACTERS]}…"
        return ModelError(
            f"TensorFlow's compiler cannot make this step{where}: {said}",
            expected="operations that a TPU can run, with shapes that are known ahead.",
        )
    why = next((f" ({WHY[name]})" for name in operations if name in WHY), "")
    return ModelError(
        f"A TPU cannot run {' and '.join(operations)}{why}{where}.",
        expected="numbers and tensors alone in the model, its loss and its metrics; the rest belongs before the model.",
        type_next="dataset = dataset.map(...)",
    )


def _made_at(text: str, graph: Any, node: str) -> str:
    """Return the innermost place in the user's own code that made an operation, as ``", made at file:line"``."""
    try:
        frames = [(one.filename, one.lineno) for one in graph.get_operation_by_name(node).traceback]
    except (KeyError, ValueError, AttributeError):  # inside a loop; the text has the places with shortened paths
        frames = [(name, int(line)) for name, line in WHERE.findall(text)]
    ours = [place for place, (name, _) in enumerate(frames) if name.endswith(OURS)]
    frames = frames[ours[-1] + 1 :] if ours else frames
    own = [(name, line) for name, line in frames if not any(part in name for part in OF_LIBRARIES)]
    if not own:
        return ""
    name, line = own[-1]
    return f", made in {name}, line {line}"
