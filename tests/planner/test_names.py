"""Which layer an operation's name tells of, on both backends."""

from __future__ import annotations

import pytest

from colab_tpu_magic.planner.lower.names import Named, named

LAYERS = (
    "conv_a",
    "dense",
    "dense_1",
    "encoder",
    "encoder/dense",
    "encoder/mha",
    "encoder/mha/query",
    "add",
    "lstm",
    "lstm/cell",
)


@pytest.mark.parametrize(
    ("name", "layer", "part"),
    [
        ("jit(train_step)/jvp(conv_a)/conv_general_dilated", "conv_a", "forward"),
        ("jit(train_step)/transpose(jvp(conv_a))/conv_general_dilated", "conv_a", "backward"),
        ("jit(train_step)/jvp(encoder)/dense/dot_general", "encoder/dense", "forward"),
        (
            "jit(train_step)/transpose(jvp(encoder))/mha/query/abc,cde->abde/dot_general",
            "encoder/mha/query",
            "backward",
        ),
        ("jit(train_step)/jvp(encoder)/mha/vmap(BTNH,BSNH->BNTS)/dot_general", "encoder/mha", "forward"),
        ("jit(train_step)/transpose(jvp(lstm))/while/body/closed_call/cell/dot_general", "lstm/cell", "backward"),
        ("jit(train_step)/jvp(dense_1)/add", "dense_1", "forward"),
        ("jit(train_step)/transpose(jvp(add))", "add", "backward"),
        ("jit(train_step)/adam/sub", "", "optimizer"),
        ("jit(train_step)/jvp(compile_loss)/mse/sub", "", "loss"),
        ("jit(train_step)/add", "", "rest"),
        ("jit(train_step)/jvp()/add", "", "forward"),
        ("forward/conv_a/convolution", "conv_a", "forward"),
        ("gradient_tape/forward/conv_a/convolution/Conv2DBackpropFilter", "conv_a", "backward"),
        ("forward/encoder/dense/MatMul", "encoder/dense", "forward"),
        ("gradient_tape/forward/dense_1/MatMul/MatMul_1", "dense_1", "backward"),
        ("gradient_tape/forward/lstm/while/gradients/forward/lstm/cell/MatMul_grad/MatMul", "lstm/cell", "backward"),
        ("forward/lstm/while/TensorListPushBack_9", "lstm", "forward"),
        ("adam_1/AssignSubVariableOp", "", "optimizer"),
        ("gradient_tape/compile_loss/mse/div_no_nan", "", "loss"),
        ("Adam_7/rest", "", "rest"),
        ("state[0][3]", "", "rest"),
        ("", "", ""),
    ],
)
def test_a_name_tells_layer_and_part(name: str, layer: str, part: str) -> None:
    assert named(name, LAYERS, "adam") == Named(layer, part)


def test_the_last_part_of_a_name_is_the_operation_and_no_layer() -> None:
    assert named("jit(train_step)/jvp(dense)/add", ("dense", "dense/add")).layer == "dense"
    assert named("forward/dense/add", ("dense", "dense/add")).layer == "dense"


def test_a_layer_that_is_named_like_the_root_is_a_layer() -> None:
    assert named("forward/forward/MatMul", ("forward",)) == Named("forward", "forward")
    assert named("gradient_tape/forward/forward/MatMul", ("forward",)) == Named("forward", "backward")
