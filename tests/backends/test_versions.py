import re

import pytest

from colab_tpu_magic.backends.versions import KNOWN_PROBLEMS, LIBTPU_OF_JAX, libtpu_fits, version_warnings
from colab_tpu_magic.hardware.environment import Environment


def environment(python="3.12.9", **packages):
    return Environment("jupyter", python, {name.replace("_", "-"): version for name, version in packages.items()})


@pytest.mark.parametrize(
    ("jax", "libtpu", "fits"),
    [
        ("0.10.2", "0.0.42", True),
        ("0.10.2", "0.0.42.1", True),
        ("0.10.2", "0.0.4", False),
        ("0.10.2", "0.0.421", False),
        ("0.7.2", "0.0.23", True),
        ("0.7.2", "0.0.21.1", True),
        ("0.7.2", "0.0.42", False),
        ("0.8.0", "0.0.1", True),
    ],
)
def test_a_libtpu_fits_the_jax_that_asks_for_it(jax, libtpu, fits):
    assert libtpu_fits(environment(jax=jax, libtpu=libtpu)) is fits


def test_a_missing_libtpu_is_no_misfit():
    assert libtpu_fits(environment(jax="0.10.2"))


def test_a_nightly_libtpu_is_compared_too():
    assert not libtpu_fits(environment(jax="0.10.2", libtpu_nightly="0.1.dev20231022"))


def test_every_problem_names_its_source():
    for problem in KNOWN_PROBLEMS:
        assert len(problem.source) > 10
        assert problem.text.endswith((".", "one."))


def test_every_pin_is_a_version():
    for jax, pins in LIBTPU_OF_JAX.items():
        assert all(re.fullmatch(r"\d+(\.\d+)+", version) for version in (jax, *pins))


def test_versions_that_work_together_give_no_warning():
    colab = environment("3.13.15", jax="0.7.2", jaxlib="0.7.2", libtpu="0.0.21.1", keras="3.13.2", numpy="2.1.3")
    newest = environment("3.11.7", jax="0.10.2", jaxlib="0.10.2", keras="3.15.1", numpy="2.4.6", tensorflow="2.21.0")
    for backend in ("jax", "tensorflow"):
        for kind in ("tpu", "gpu", "cpu", "simulated"):
            assert version_warnings(colab, backend, kind) == ()
            assert version_warnings(newest, backend, kind) == ()


def test_a_jaxlib_that_differs_does_not_matter_to_tensorflow():
    mixed = environment(jax="0.10.2", jaxlib="0.7.2")
    assert len(version_warnings(mixed, "jax", "cpu")) == 1
    assert version_warnings(mixed, "tensorflow", "cpu") == ()


def test_several_problems_are_all_reported_in_a_fixed_order():
    many = environment("3.14.1", jax="0.10.2", jaxlib="0.7.2", tensorflow="2.15.0", numpy="2.0.0")
    starts = [warning.split()[0] for warning in version_warnings(many, "jax", "cpu")]
    assert starts == ["jax", "Python", "In", "tensorflow"]


def test_a_warning_is_one_sentence_with_its_source():
    (warning,) = version_warnings(environment("3.14.0"), "jax", "cpu")
    assert warning == (
        "Python 3.14.0 is outside 3.11 to 3.13, for which TensorFlow, JAX and Keras all have releases. "
        "(Source: the packages' own requirements, read 2026-11.)"
    )
