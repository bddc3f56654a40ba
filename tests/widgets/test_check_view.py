"""A report as it is shown: findings with what to type, and the rules folded below."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from colab_tpu_magic.checking.report import Report, merged
from colab_tpu_magic.rewrite.finding import Finding
from colab_tpu_magic.widgets.check_view import headline

from .runs import change

ERROR = Finding("nan-data", "error", "x holds NaN.", "x = numpy.nan_to_num(x)", "tensorflow#86953")
NOTE = Finding("tile-padding", "note", "130 is wide.")
EVIL = "<script>alert(1)</script>&'\""


def test_nothing_found_is_ok_and_nothing_to_show():
    report = Report((), (change(),), ("the values in the data",))
    assert report.ok and not report
    assert report.text(rules=False) == ""
    assert report.text().startswith("1 rule would act:\n  Global batch size  32 → 1,024")


def test_a_finding_is_its_severity_its_sentence_and_what_to_type():
    report = Report((ERROR, NOTE), (), ("the training data",))
    assert not report.ok
    assert report.text() == (
        "Error: x holds NaN.  [nan-data]\n  Type: x = numpy.nan_to_num(x)\nNote: 130 is wide.  [tile-padding]\n"
        "Not looked at: the training data."
    )
    assert headline(report) == "1 error, 1 note"


def test_html_folds_the_rules_below_findings_and_shows_them_open_alone():
    both = ET.fromstring(Report((ERROR,), (change(), change())).bundle()["text/html"])
    assert both.find("details/summary").text == "2 rules would act"
    code = [element.text for element in both.iter("code")]
    assert code[:2] == ["x = numpy.nan_to_num(x)", "%tpu_explain nan-data"]
    alone = ET.fromstring(Report((), (change(),)).bundle()["text/html"])
    assert alone.find("details") is None and "1 rule would act on this call" in "".join(alone.itertext())


@pytest.mark.parametrize("field", ["trap", "message", "type_next", "source"])
def test_every_text_of_a_finding_is_escaped(field):
    values = {"trap": "a", "severity": "error", "message": "b", "type_next": "c", "source": "d"} | {field: EVIL}
    html = Report((Finding(**values),), (), (EVIL,)).bundle()["text/html"]
    assert "<script" not in html
    assert EVIL in "".join(ET.fromstring(html).itertext())


def test_a_finding_that_is_no_trap_offers_no_explanation():
    html = Report((Finding("refused", "error", "No."),)).bundle()["text/html"]
    assert "tpu_explain" not in html


def test_findings_come_by_gravity_then_by_line_and_once():
    late, early = (Finding("a", "error", f"Line {line}: wrong", "", "") for line in (12, 3))
    again = Finding("tile-padding", "note", "130 is wide.")
    met = Finding("a", "error", "wrong while running")
    assert merged([NOTE, late, again, early, met, ERROR]) == (early, late, ERROR, NOTE)
