"""What setup.cfg promises: versions, bounds that Colab's image satisfies, and files that are shipped."""

from __future__ import annotations

import configparser
import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import colab_tpu_magic
from colab_tpu_magic._version import __version__

PACKAGE = Path(colab_tpu_magic.__file__).parent


@pytest.fixture(scope="module")
def setup_cfg(root):
    parser = configparser.RawConfigParser()
    parser.read(root / "setup.cfg", encoding="utf-8")
    return parser


def requirements(text: str) -> list[Requirement]:
    lines = (line.strip() for line in text.splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def colab_pins(root: Path) -> dict[str, Version]:
    lines = (root / "tests" / "colab-tpu-constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    return {pin.name: Version(next(iter(pin.specifier)).version) for pin in pins}


def test_version_is_told_in_one_place(setup_cfg):
    assert setup_cfg["metadata"]["version"] == "attr: colab_tpu_magic._version.__version__"
    assert colab_tpu_magic.__version__ == __version__
    assert str(Version(__version__)) == __version__


def test_installed_version_is_this_one():
    try:
        installed = metadata.version("colab-tpu-magic")
    except metadata.PackageNotFoundError:
        pytest.skip("the tests run from the checkout, without an installation")
    assert installed == __version__


def test_changelog_begins_with_this_version(root):
    versions = re.findall(r"^## (\S+)", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == __version__


def test_colab_satisfies_every_bound(root, setup_cfg):
    pins = colab_pins(root)
    wanted = requirements(setup_cfg["options"]["install_requires"])
    wanted += [one for extra in ("demo", "test") for one in requirements(setup_cfg["options.extras_require"][extra])]
    refused = [
        f"{one} (Colab: {pins[one.name]})" for one in wanted if one.name in pins and pins[one.name] not in one.specifier
    ]
    assert refused == []


def test_every_dependency_that_colab_ships_is_pinned_in_the_constraints(root, setup_cfg):
    pins = colab_pins(root)
    assert [one.name for one in requirements(setup_cfg["options"]["install_requires"]) if one.name not in pins] == []


@pytest.mark.parametrize(
    ("version", "fits"), [("3.10", False), ("3.11", True), ("3.12", True), ("3.13", True), ("3.14", False)]
)
def test_python_versions_are_those_of_ci_and_colab(setup_cfg, version, fits):
    assert (version in SpecifierSet(setup_cfg["options"]["python_requires"])) is fits


def test_classifiers_name_every_python_that_is_allowed(setup_cfg):
    told = re.findall(r"Python :: (3\.\d+)", setup_cfg["metadata"]["classifiers"])
    allowed = SpecifierSet(setup_cfg["options"]["python_requires"])
    assert told == [f"3.{minor}" for minor in range(8, 20) if f"3.{minor}" in allowed]


def test_planner_has_one_exact_jax(setup_cfg):
    (jax,) = requirements(setup_cfg["options.extras_require"]["compiler"])
    assert jax.extras == {"tpu"}
    assert [one.operator for one in jax.specifier] == ["=="]


def test_types_are_shipped(setup_cfg):
    assert (PACKAGE / "py.typed").exists()
    assert "py.typed" in setup_cfg["options.package_data"]["colab_tpu_magic"]


def test_every_folder_with_code_is_a_package_that_is_shipped():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert sorted(str(one) for one in folders if not (one / "__init__.py").exists()) == []


def test_licence_is_apache_2(root, setup_cfg):
    assert setup_cfg["metadata"]["license"] == "Apache-2.0"
    assert "Apache License" in (root / "LICENSE").read_text(encoding="utf-8")[:200]
