"""The private environment is made whole or not at all, and its size is said first."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from colab_tpu_magic.planner.compiler import install as made_by
from colab_tpu_magic.planner.compiler.environment import CompilerError, find_environment
from colab_tpu_magic.planner.compiler.install import InstallCost, install, install_cost


def wheel(folder: Path, name: str, version: str, needs: str = "") -> Path:
    """Write a wheel that holds nothing but its name, its version and what it needs."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (
        f"Requires-Dist: {needs}\n" if needs else ""
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{info}/METADATA", metadata)
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from, and nothing else; the user's cache is a folder of the test's."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TPU_MAGIC_COMPILER_PYTHON", raising=False)
    # What is installed here is next to nothing, so it is tried on a full disk as well.
    monkeypatch.setattr(made_by, "install_cost", lambda folder=None: replace(install_cost(folder), free_bytes=10**10))
    return folder


def test_the_size_is_said_and_nothing_is_written(offline: Path, tmp_path: Path) -> None:
    cost = install_cost()
    assert "about 360 MB" in str(cost) and "about 1.3 GB" in str(cost) and str(cost.folder) in str(cost)
    assert cost.folder.is_relative_to(tmp_path / "cache") and not (tmp_path / "cache").exists()


def test_what_pip_installs_is_found_afterwards(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel(offline, "jax", "0.10.2", "libtpu")
    wheel(offline, "libtpu", "0.0.42.7")
    said: list[str] = []
    made = install(said.append, requirement="jax==0.10.2")
    assert said[0].startswith("The TPU compiler (jax[tpu]==0.10.2") and said[-1] == "The TPU compiler is installed."
    assert (made.jax, made.libtpu) == ("0.10.2", "0.0.42.7")
    folder = Path(made.python).parent.parent
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    from colab_tpu_magic.planner.compiler import environment

    real = environment.versions_of
    monkeypatch.setattr(environment, "versions_of", lambda path: real(path) if path.is_relative_to(folder) else None)
    assert find_environment() == made


def test_a_failure_is_told_in_pips_words_and_leaves_nothing(offline: Path, tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="not installed: ERROR: .*No matching distribution.*jax") as raised:
        install(lambda line: None)
    assert "%tpu_plan --install" in raised.value.type_next and "pip install" in raised.value.type_next
    assert not list((tmp_path / "cache" / "colab-tpu-magic").iterdir())


def test_the_wrong_pair_is_not_kept(offline: Path, tmp_path: Path) -> None:
    wheel(offline, "jax", "0.10.2", "libtpu")
    wheel(offline, "libtpu", "0.0.52")
    with pytest.raises(CompilerError, match="pip installed jax 0.10.2 with libtpu 0.0.52"):
        install(lambda line: None, requirement="jax==0.10.2")
    assert not list((tmp_path / "cache" / "colab-tpu-magic").iterdir())


def test_an_interrupt_leaves_nothing(offline: Path, tmp_path: Path) -> None:
    wheel(offline, "jax", "0.10.2", "libtpu")

    def interrupted(line: str) -> None:
        if "jax" in line and "compiler" not in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(interrupted, requirement="jax==0.10.2")
    assert not list((tmp_path / "cache" / "colab-tpu-magic").iterdir())


def test_no_room_is_told_before_anything_is_written(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = InstallCost(tmp_path / "cache" / "x", 360 * 10**6, 1_300 * 10**6, 10**9)
    monkeypatch.setattr(made_by, "install_cost", lambda folder=None: full)
    with pytest.raises(CompilerError, match="no room") as raised:
        install(lambda line: None)
    assert "1.7 GB free, 1.0 GB are" in raised.value.expected and not (tmp_path / "cache").exists()
