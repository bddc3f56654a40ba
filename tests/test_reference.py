"""The reference in docs is what the argument declarations say."""

from __future__ import annotations

import re

import pytest
from make_reference import REFERENCE, main, reference

from colab_tpu_magic.magics import names
from colab_tpu_magic.options import ConnectOptions, FitOptions, PlanOptions, declared, flag_name


def test_docs_magics_is_current():
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "Type: python tools/make_reference.py"


def test_every_magic_has_a_section():
    text = reference()
    for name in names():
        assert f'<a id="{name.lstrip("%")}"></a>' in text


@pytest.mark.parametrize("options_class", [ConnectOptions, FitOptions, PlanOptions])
def test_every_option_is_listed_with_its_help(options_class):
    text = reference()
    for field in declared(options_class):
        rows = [line for line in text.splitlines() if re.match(rf"\| `{flag_name(field.name)}[` ]", line)]
        assert any(field.metadata["help"].replace("|", "\\|") in row for row in rows)


def test_every_magic_shows_an_example():
    for section in reference().split("<a id=")[1:]:
        assert "```python\n%" in section


def test_check_says_what_to_type_when_the_file_is_old(tmp_path, monkeypatch, capsys):
    old = tmp_path / "magics.md"
    old.write_text("old", encoding="utf-8")
    monkeypatch.setattr("make_reference.REFERENCE", old)
    assert main(["--check"]) == 1
    assert "Type: python tools/make_reference.py" in capsys.readouterr().err
    assert old.read_text(encoding="utf-8") == "old"
    assert main([]) == 0
    assert main(["--check"]) == 0
