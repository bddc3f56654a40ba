"""Name the operation that a TPU cannot run, with the user's file and line, from what TensorFlow's compiler says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import ModelError

REFUSED = re.compile(r"Detected unsupported operations")
OPERATION = re.compile(r"(\w+) \(No registered '(\w+)' OpKernel")
DYNAMIC = re.compile(r"node[^{]*\{\{node ([^}]+)\}\}")
WHERE = re.compile(r'File "([^"]+)", line (\d+)')
OF_LIBRARIES = ("/site-packages/", "/dist-packages/", "<__array_function__")
INSTEAD = {
    "EagerPyFunc": "tf.py_function runs Python on the host",
    "PyFunc": "tf.numpy_function runs Python on the host",
    "PyFuncStateless": "tf.numpy_function runs Python on the host",
    "PrintV2": "tf.print writes on the host",
    "StringFormat": "it makes text, and a TPU has no strings",
}


@contextmanager
def refused() -> Iterator[None]:
    """Turn TensorFlow's refusal to compile a step into one message."""
    try:
        yield
    except Exception as error:  # TensorFlow raises several kinds for one cause
        raise told_of(error) from error


def told_of(error: Exception) -> ModelError:
    """Return what to tell the user of an error of TensorFlow's compiler."""
    text = str(error)
    operations = list(dict.fromkeys(name for name, _ in OPERATION.findall(text)))
    if not operations:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return ModelError(
            f"TensorFlow's compiler cannot make this step: {(lines or [type(error).__name__])[0][:200]}{_at(text)}",
            expected="a step of operations that a TPU can run, with shapes that are known ahead.",
        )
    which = " and ".join(operations)
    why = next((f" ({INSTEAD[name]})" for name in operations if name in INSTEAD), "")
    return ModelError(
        f"A TPU cannot run {which}{why}{_at(text)}.",
        expected="Keras or TensorFlow operations alone in the model, its loss and its metrics.",
        type_next="move it into the input pipeline: dataset.map(...)",
    )


def _at(text: str) -> str:
    """Return the place in the user's own code that made the operation, the innermost one that is no library's."""
    own = [(name, line) for name, line in WHERE.findall(text) if not any(part in name for part in OF_LIBRARIES)]
    if not own:
        return ""
    name, line = own[-1]
    return f', made in {name}, line {line}'
