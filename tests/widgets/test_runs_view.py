import math
import xml.etree.ElementTree as ET

from colab_tpu_magic.widgets.runs_view import runs_bundle
from colab_tpu_magic.widgets.table import Cell, table_html, table_text

from .runs import change, empty_run, finished_run


def cells(bundle):
    root = ET.fromstring(bundle["text/html"])
    return [list(row.iter("td")) for row in root.iter("tr") if row.find("td") is not None]


def test_no_run_is_said_in_a_sentence():
    assert runs_bundle([]) == {"text/html": "<div>No run yet.</div>", "text/plain": "No run yet."}


def test_each_run_is_a_row_with_what_it_did():
    first = finished_run(number=1, changes=(change(), change(title="Types")))
    second = empty_run(number=2, name="second try", epoch=1, step=14, status="failed", started=math.inf)
    assert runs_bundle([first, second])["text/plain"].splitlines() == [
        "#  Run         Status     Epochs  loss (train / val)  accuracy (train / val)  Time  Examples/s  Settings     Changes",
        "1  run 1       completed  2 / 2   0.5 / 0.625         0.875 / 0.85            22 s  1,024       batch 1,024  2",
        "2  second try  failed     1 / 2   –                   –                       –     –           batch 1,024  none",
    ]


def test_changes_errors_and_batches_are_told_in_full_under_the_pointer():
    run = finished_run(number=1, changes=(change(), change(title="Types")), status="failed", error="ValueError: <b>")
    (row,) = cells(runs_bundle([run]))
    assert row[-1].get("title") == "Global batch size, Types"
    assert row[2].get("title") == "ValueError: <b>"
    assert row[-2].get("title") == "1,024 rows = 8 replicas × 128, 8 simulated replicas (v2-8) on CPU, JAX backend"


def test_epochs_that_are_done_are_counted_also_after_a_later_start():
    runs = [
        finished_run(first_epoch=4, epoch=5, epochs=9, step=19),
        finished_run(steps_per_epoch=None, epoch=2),
        empty_run(),
    ]
    assert [row[3].text for row in cells(runs_bundle(runs))] == ["4 / 9", "2 / 2", "0 / 2"]


def test_names_from_users_are_text_and_never_elements():
    html = runs_bundle([finished_run(name="<img src=x>", error='" onmouseover="x')])["text/html"]
    assert "<img" not in html
    assert 'onmouseover="x' not in html


def test_a_table_has_headers_for_screen_readers_and_a_name():
    root = ET.fromstring(table_html(("a", "b"), [[Cell("1", below="one", tip="t"), Cell("2")]], "Numbers & more"))
    assert [header.get("scope") for header in root.iter("th")] == ["col", "col"]
    assert root.find("table").get("aria-label") == "Numbers & more"
    assert ["".join(cell.itertext()) for cell in root.iter("td")] == ["1one", "2"]


def test_only_long_texts_may_break():
    short, long = ET.fromstring(table_html(("a", "b"), [[Cell("0.5 / 0.25"), Cell("x" * 40)]])).iter("td")
    assert "nowrap" in short.get("style")
    assert "overflow-wrap:anywhere" in long.get("style")


def test_a_table_in_text_is_aligned_without_trailing_spaces():
    assert table_text(("name", "n"), [(Cell("a"), Cell("1")), (Cell("long name"), Cell(""))]) == (
        "name       n\na          1\nlong name"
    )
