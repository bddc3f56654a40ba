"""What is made of the errors of Keras and of TensorFlow's compiler: one message."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from colab_tpu_magic.planner.lower.failures import first_line
from colab_tpu_magic.planner.lower.unsupported import told_of

REFUSAL = (
    "Detected unsupported operations when trying to compile graph __inference_train_step_5[] on XLA_CPU_JIT: DecodeJpeg "
    "(No registered 'DecodeJpeg' OpKernel for XLA_CPU_JIT devices compatible with node {{node forward/read/DecodeJpeg}})"
    "{{node forward/read/DecodeJpeg}}\nThe op is created at: \n"
    'File "ipykernel_7/1.py", line 3, in <module>\n'
    'File "site/colab_tpu_magic/planner/lower/tensorflow.py", line 50, in train_step\n'
    'File "v/lib/python3.11/site-packages/keras/src/layers/layer.py", line 1002, in __call__\n'
    'File "ipykernel_7/2.py", line 8, in call\n'
    'File "v/lib/python3.11/site-packages/tensorflow/python/ops/image_ops.py", line 9, in decode\n'
)


class Frame(NamedTuple):
    filename: str
    lineno: int


class Operation(NamedTuple):
    traceback: list[Frame]


class Graph:
    """A graph that knows one operation, as TensorFlow's does."""

    def __init__(self, **operations: list[Frame]) -> None:
        self.operations = operations

    def get_operation_by_name(self, name: str) -> Any:
        return Operation(self.operations[name.replace("/", "_")])


def test_the_place_is_that_of_the_graph_where_it_knows_the_operation() -> None:
    graph = Graph(
        forward_read_DecodeJpeg=[
            Frame("/tmp/x.py", 1),
            Frame("/a/planner/lower/tensorflow.py", 2),
            Frame("/tmp/y.py", 4),
        ]
    )
    message = str(told_of(REFUSAL, graph, ("read",)))
    assert 'A TPU cannot run DecodeJpeg in the layer "read", made in /tmp/y.py, line 4.' in message


def test_inside_a_loop_the_place_is_that_of_the_text() -> None:
    message = str(told_of(REFUSAL, Graph(), ()))
    assert "A TPU cannot run DecodeJpeg, made in ipykernel_7/2.py, line 8." in message


def test_an_operation_of_a_librarys_own_has_no_place() -> None:
    text = REFUSAL.replace('File "ipykernel_7/2.py", line 8, in call\n', "")
    assert "A TPU cannot run DecodeJpeg." in str(told_of(text, Graph(), ()))


def test_another_refusal_is_told_in_its_own_words() -> None:
    text = "Input 1 to node `{{node forward/odd/Reshape}}` must be a compile-time constant.\nMore"
    message = str(told_of(text, Graph(), ("odd",)))
    assert message.startswith('TensorFlow\'s compiler cannot make this step in the layer "odd": Input 1 to node')
    assert "More" not in message


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("\x1b[1mNo.\x1b[0m"), "No"),
        (ValueError("Exception encountered when calling Dense.call().\n\nShapes differ.\nMore"), "Shapes differ"),
        (KeyError(), "KeyError"),
        (ValueError("x" * 300), "x" * 200 + "…"),
    ],
)
def test_the_first_line_that_says_something_is_told(error: Exception, said: str) -> None:
    assert first_line(error) == said


def test_behind_keras_advice_on_building_stands_what_went_wrong() -> None:
    try:
        try:
            raise TypeError("cannot reshape (8, 4) into (7, 3)")
        except TypeError:
            raise RuntimeError("Unable to automatically build the model. Please build it yourself.")  # noqa: B904
    except RuntimeError as error:
        assert first_line(error) == "cannot reshape (8, 4) into (7, 3)"
