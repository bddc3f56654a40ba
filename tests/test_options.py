"""Options: one home for names, defaults and help; bad values get the line to type."""

from __future__ import annotations

import pytest

from colab_tpu_magic.errors import OptionError
from colab_tpu_magic.options import ConnectOptions, FitOptions, PlanOptions, declared, flag_name


def parse(options_class, name, text):
    (field,) = [field for field in declared(options_class) if field.name == name]
    return field.metadata["parse"](text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("batch_size", "auto", "auto"),
        ("batch_size", "keep", "keep"),
        ("batch_size", "1024", 1024),
        ("learning_rate", "1e-3", 0.001),
        ("learning_rate", "keep", "keep"),
        ("precision", "bfloat16", "bfloat16"),
        ("steps_per_execution", "32", 32),
        ("epochs", "3", 3),
        ("seed", "0", 0),
    ],
)
def test_good_values_are_parsed(name, text, value):
    assert parse(FitOptions, name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("batch_size", "0"),
        ("batch_size", "-8"),
        ("batch_size", "1.5"),
        ("batch_size", "big"),
        ("learning_rate", "nan"),
        ("learning_rate", "inf"),
        ("learning_rate", "-1"),
        ("precision", "float16"),
        ("epochs", "0"),
        ("epochs", "auto"),
        ("seed", "-1"),
        ("seed", "4294967296"),
    ],
)
def test_bad_values_say_what_was_expected_and_what_to_type(name, text):
    with pytest.raises(OptionError) as caught:
        parse(FitOptions, name, text)
    assert repr(text) in caught.value.what
    assert caught.value.expected and caught.value.type_next.startswith(flag_name(name))


@pytest.mark.parametrize(
    ("typed", "meant"), [("bf16", "bfloat16"), ("fp32", "float32"), ("Float32", "float32"), ("keeps", "keep")]
)
def test_misspelt_precision_is_answered_with_the_nearest(typed, meant):
    with pytest.raises(OptionError) as caught:
        parse(FitOptions, "precision", typed)
    assert caught.value.type_next == f"--precision {meant}"


def test_backend_is_one_of_three():
    assert parse(ConnectOptions, "backend", "jax") == "jax"
    with pytest.raises(OptionError, match="torch"):
        parse(ConnectOptions, "backend", "torch")


def test_every_option_has_help_of_one_sentence():
    unset = ("epochs", "seed", "simulate", "export", "plan", "seconds", "memory")
    for options_class in (ConnectOptions, FitOptions, PlanOptions):
        for field in declared(options_class):
            assert field.metadata["help"].endswith(".")
            assert field.default is not None or field.name in unset


@pytest.mark.parametrize(
    "values", [{"batch_size": "sideways"}, {"precision": "int8"}, {"epochs": -3}, {"learning_rate": "fast"}]
)
def test_options_made_in_python_are_checked_like_flags(values):
    with pytest.raises(OptionError, match="cannot be used|not known"):
        FitOptions(**values)


def test_options_made_in_python_keep_their_values():
    options = FitOptions(batch_size=64, learning_rate=1e-4, no="scope")
    assert (options.batch_size, options.learning_rate, options.no) == (64, 1e-4, ("scope",))


def test_values_separated_by_commas_are_a_tuple_and_each_counts_once():
    options = PlanOptions(target="v5litepod-8, V2-8,v2-8", batch_sizes="128,512", precision=["keep", "bfloat16"])
    assert options.target == ("v5e-8", "v2-8")
    assert options.batch_sizes == (128, 512)
    assert options.precision == ("keep", "bfloat16")
    assert PlanOptions(batch_sizes=256).batch_sizes == (256,)
    assert PlanOptions().target == () and PlanOptions().seconds is None


@pytest.mark.parametrize(
    ("values", "type_next"),
    [
        ({"target": "v5-1"}, "%tpu_plan model x y --target v5e-1"),
        ({"target": ("v2-8", "v9-8")}, "%tpu_plan model x y --target v2-8"),
        ({"batch_sizes": "128,0"}, "--batch-sizes 1"),
        ({"batch_sizes": "many"}, "--batch-sizes 1"),
        ({"precision": "float32,int8"}, "--precision float32"),
        ({"seconds": 0}, "--seconds 1"),
        ({"memory": "-1"}, "--memory 1"),
    ],
)
def test_options_of_a_plan_that_cannot_be_used_say_what_to_type(values, type_next):
    with pytest.raises(OptionError) as caught:
        PlanOptions(**values)
    assert caught.value.expected
    assert caught.value.type_next.split()[:-1] == type_next.split()[:-1]


def test_plan_of_a_fit_is_a_target_or_auto():
    assert FitOptions().plan is None
    assert (FitOptions(plan="auto").plan, FitOptions(plan="V5E-8").plan) == ("auto", "v5e-8")
    with pytest.raises(OptionError, match="not one that can be planned for"):
        FitOptions(plan="v5-9")
