import xml.etree.ElementTree as ET

import pytest

from colab_tpu_magic.widgets.changes import changes_html

from .runs import change


def rows(table):
    return [[_text(cell) for cell in row] for row in table.iter("tr") if row.find("td") is not None]


def _text(cell):
    """Return a cell's text; the rule's id stands on a line of its own."""
    rule = cell.find("div/code")
    shown = "".join(cell.itertext())
    return shown if rule is None else f"{cell.text}\n{rule.text}"


def test_no_change_gives_no_table():
    assert changes_html(()) == ""


def test_a_row_says_what_before_after_why_source_and_switch():
    root = ET.fromstring(changes_html([change()]))
    assert rows(root) == [
        [
            "Global batch size\nbatch-size",
            "32 → 1,024",
            "A TPU multiplies large tiles.Source: the performance guide",
            "--batch-size keep",
        ]
    ]
    assert [cell.text for cell in root.iter("th")] == ["Changed", "Before → after", "Why", "To have it otherwise"]


@pytest.mark.parametrize(("count", "title"), [(1, "1 change for the TPU"), (2, "2 changes for the TPU")])
def test_the_title_counts_the_changes(count, title):
    assert ET.fromstring(changes_html([change()] * count))[0].text == title


@pytest.mark.parametrize("count", [1, 3])
def test_up_to_three_rows_are_all_open(count):
    root = ET.fromstring(changes_html([change()] * count))
    assert root.find("details") is None
    assert len(rows(root)) == count


def test_rows_after_the_third_are_folded_in_order():
    root = ET.fromstring(changes_html([change(title=f"title {number}") for number in range(5)]))
    assert [row[0] for row in rows(root.find("table"))] == [f"title {number}\nbatch-size" for number in range(3)]
    folded = root.find("details")
    assert folded.find("summary").text == "2 more"
    assert [row[0] for row in rows(folded)] == [f"title {number}\nbatch-size" for number in (3, 4)]


@pytest.mark.parametrize("field", ["title", "before", "after", "why", "source", "switch"])
def test_every_text_is_escaped(field):
    html = changes_html([change(**{field: "<script>alert(1)</script>&"})])
    assert "<script" not in html
    assert any("<script>alert(1)</script>&" in cell for cell in rows(ET.fromstring(html))[0])


def test_a_rule_with_quotes_cannot_leave_its_attribute():
    root = ET.fromstring(changes_html([change('x" onclick="y')]))
    (code,) = [element for element in root.iter("code") if element.get("title")]
    assert code.attrib == {"title": 'What to type for more: %tpu_explain x" onclick="y'}
    assert code.text == 'x" onclick="y'


def test_a_change_without_source_or_switch_has_no_empty_promise():
    (row,) = rows(ET.fromstring(changes_html([change(source="", switch="")])))
    assert row[2:] == ["A TPU multiplies large tiles.", "–"]
