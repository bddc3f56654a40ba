"""The place of a call is found through every function between it and the cell."""

from __future__ import annotations

import linecache

import pytest

from colab_tpu_magic.training import call_site as module
from colab_tpu_magic.training.call_site import PANEL, CallSite, call_site

NAMES = {"fit": call_site}


def ran(text: str, name: str, names: dict[str, object]) -> dict[str, object]:
    """Run a text as the cell of a notebook is run."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
    return names


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("site = fit()", 1, 12),
        ("site = fit(\n    1 and\n    2)" .replace("1 and\n    2", ""), 2, 5),
        ("\n\na = 1\nsite = fit()", 2, 12),
        ("a = 1; site = fit()", 1, 19),
        ("def f():\n    return fit()\nsite = f()", 2, 16),
    ],
)  # fmt: skip
def test_the_end_of_the_call_is_where_it_stands_in_the_text(text, line, column):
    site = ran(text, "<cell-1>", dict(NAMES))["site"]
    assert (site.end_line, site.end_column) == (line, column)
    assert site.cell == site.caller == text.lstrip("\n")


def test_a_function_of_an_earlier_cell_is_the_caller_and_the_last_cell_the_cell():
    names = ran("def train():\n    return fit()", "<cell-2>", dict(NAMES))
    site = ran("site = train()", "<cell-3>", names)["site"]
    assert site == CallSite("site = train()", "def train():\n    return fit()", 2, 16)


def test_the_call_of_a_cell_magic_is_not_taken_for_the_cell():
    names = ran("site = None\ndef magic(body):\n    exec(body, globals())", "<cell-4>", dict(NAMES))
    names["inner"] = lambda: ran("site = fit()", "<cell-5>", names)
    names["get_ipython"] = lambda: type("Shell", (), {"run_cell_magic": lambda *_: names["inner"]()})()
    ran("get_ipython().run_cell_magic('tpu_fit', '', 'site = fit()')\n", "<cell-6>", names)
    assert names["site"].caller == "site = fit()"
    assert "run_cell_magic" not in names["site"].cell


def test_code_in_a_file_is_named_and_has_no_text():
    site = call_site()
    assert site.elsewhere == __file__
    assert (site.caller, site.end_line) == ("", 0)


def test_the_panel_is_known_by_its_file(monkeypatch):
    monkeypatch.setattr(module, "OURS", "")
    monkeypatch.setattr(module, "PANEL_FILE", __file__)
    assert call_site() == CallSite(elsewhere=PANEL)
