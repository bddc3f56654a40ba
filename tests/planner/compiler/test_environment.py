"""The Python with the right pair is found, and what is wrong is said with the two ways to put it right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler import environment as found_in
from colab_tpu_magic.planner.compiler.environment import (
    VARIABLE,
    CompilerError,
    cache_folder,
    check_platform,
    find_environment,
    is_right,
    private_python,
    versions_of,
)


def python_that_says(path: Path, words: str, code: int = 0) -> Path:
    """Make something that answers as a Python does when it is asked for its versions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{words}'\nexit {code}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """This Python has no libtpu."""
    real = found_in.versions_of
    monkeypatch.setattr(found_in, "versions_of", lambda path: None if str(path) == sys.executable else real(path))


@pytest.mark.parametrize(
    ("jax", "libtpu", "right"),
    [
        ("0.10.2", "0.0.42.1", True),
        ("0.10.2", "0.0.42", True),
        ("0.10.2", "0.0.421", False),
        ("0.10.2", "0.0.52", False),
        ("0.7.2", "0.0.21.1", False),
        ("0.10.3", "0.0.42.1", False),
    ],
)
def test_only_the_pinned_pair_is_right(jax: str, libtpu: str, right: bool) -> None:
    assert is_right(jax, libtpu) is right


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "aarch64"), ("win32", "AMD64")])
def test_another_machine_is_told_where_the_compiler_exists(system: str, machine: str) -> None:
    with pytest.raises(CompilerError, match=f"does not exist for this machine .{system}, {machine}") as raised:
        check_platform(system, machine)
    assert raised.value.kind == "platform" and "Linux on x86-64" in raised.value.expected


def test_nothing_installed_names_both_ways(without_compiler: None, tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="The TPU compiler is not installed") as raised:
        find_environment({"XDG_CACHE_HOME": str(tmp_path)})
    assert raised.value.kind == "no-compiler"
    assert "pip install 'colab-tpu-magic[compiler]'" in str(raised.value)
    assert "%tpu_plan --install" in str(raised.value)


def test_the_private_environment_is_found(without_compiler: None, tmp_path: Path) -> None:
    variables = {"XDG_CACHE_HOME": str(tmp_path)}
    python = python_that_says(private_python(variables), "0.10.2 0.0.42.1")
    found = find_environment(variables)
    assert (found.python, found.libtpu, found.origin) == (str(python), "0.0.42.1", "the private environment")


def test_a_pair_of_other_versions_is_named(without_compiler: None, tmp_path: Path) -> None:
    variables = {"XDG_CACHE_HOME": str(tmp_path)}
    python_that_says(private_python(variables), "0.7.2 0.0.21.1")
    with pytest.raises(CompilerError, match="environment has jax 0.7.2 with libtpu 0.0.21.1"):
        find_environment(variables)


def test_the_variable_goes_first(tmp_path: Path) -> None:
    python = python_that_says(tmp_path / "python", "0.10.2 0.0.42")
    found = find_environment({VARIABLE: str(python)})
    assert (found.python, found.origin) == (str(python), VARIABLE)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("0.10.2 0.0.52", 0, "has jax 0.10.2 with libtpu 0.0.52"),
        ("", 1, "does not run or has no jax"),
        ("x", 0, "no jax"),
    ],
)
def test_a_wrong_python_of_the_variable_is_named_and_not_passed_over(
    tmp_path: Path, words: str, code: int, says: str
) -> None:
    python = python_that_says(tmp_path / "python", words, code)
    with pytest.raises(CompilerError, match=says) as raised:
        find_environment({VARIABLE: str(python)})
    assert VARIABLE in raised.value.what and str(python) in raised.value.what


def test_a_python_that_is_not_there_has_no_versions(tmp_path: Path) -> None:
    assert versions_of(tmp_path / "nowhere") is None


def test_the_cache_folder_follows_the_user() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/some/where"}) == Path("/some/where/colab-tpu-magic")
    home = Path.home() / ".cache" / "colab-tpu-magic"
    assert cache_folder({}) == home and cache_folder({"XDG_CACHE_HOME": "not/absolute"}) == home
    assert cache_folder({"XDG_CACHE_HOME": ""}) == home
