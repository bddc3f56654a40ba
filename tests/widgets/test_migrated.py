"""The report of a migration as text and as HTML."""

from __future__ import annotations

import re

from colab_tpu_magic import migrate
from colab_tpu_magic.widgets.migrated import OPEN_ROWS, heading_of, refusal_text, report, together

OLD = (
    "opt = tf.train.GradientDescentOptimizer(0.1)\nm.sync_to_cpu()\ns = tf.Session()\n"
    "BATCH = 8 * 16\nt = '<b>' + str(np.float(1))\nu = np.int(f('<script>'))\npd.np.save('a')\n"
)


def bundle():
    result = migrate(OLD)
    return report([("", result)], heading_of(result, "the cell"))


def test_text_has_each_line_with_before_after_reason_and_source():
    lines = bundle()["text/plain"].splitlines()
    assert lines[0] == "5 places of the cell brought up to date, 1 cannot be carried over."
    assert lines[1] == "  line 1: tf.train.GradientDescentOptimizer(0.1) → tf.keras.optimizers.SGD(0.1)"
    assert "Source: keras.io/api/optimizers" in lines[2]
    assert "  line 2: m.sync_to_cpu() → (not needed)" in lines
    assert "  line 3: tf.Session cannot be carried over" in lines
    assert "  line 4: BATCH = 8 * 16 stays" in lines


def test_html_shows_refusals_first_and_folds_the_rest():
    html = bundle()["text/html"]
    assert html.index("cannot be carried over</b>") < html.index("GradientDescentOptimizer")
    shown, _, folded = html.partition("<details>")
    assert shown.count("<tr ") == OPEN_ROWS + 1
    assert "3 more" in folded


def test_every_text_of_the_user_is_escaped():
    result = migrate("u = pd.np.int('<script>alert(1)</script>')\nwith tf.Session('<img>') as s:\n    pass\n")
    html = report([("cell <1>", result)], "a <b> heading")["text/html"]
    assert "<script" not in html and "<img" not in html and "<1>" not in html and "a &lt;b&gt; heading" in html
    assert not re.search(r"<(?!/?(div|table|thead|tbody|tr|th|td|col|colgroup|code|span|b|i|details|summary)\b)", html)


def test_long_code_is_cut():
    result = migrate(f"m = keras_to_tpu_model(model, strategy=[{', '.join(['0'] * 400)}])\n")
    assert "…" in report([("", result)], "x")["text/html"]


def test_refusals_as_one_message():
    assert refusal_text(migrate("s = tf.Session()\n").refusals).splitlines()[0] == "Line 1: tf.Session"


def test_nothing_to_tell_is_told():
    result = migrate("a = 1")
    assert report([("", result)], heading_of(result, "this cell"))["text/plain"] == "Nothing in this cell is old."


def test_what_a_page_did_to_many_lines_is_told_once():
    result = migrate("a = ‘x’\nb = ‘y’\nc = np.float(1)\n")
    assert [(lines, row.rule) for lines, row in together(result.rewrites)] == [
        ((3,), "numpy-aliases"),
        ((1, 2), "typographic-quotes"),
    ]
    assert "  lines 1, 2: a = ‘x’ → a = 'x'" in report([("", result)], "x")["text/plain"]


def test_a_reason_is_told_once_where_rows_share_it():
    result = migrate("a = np.float(1)\nb = np.int(2)\n")
    html = report([("", result)], "x")["text/html"]
    assert html.count(result.rewrites[0].why) == 1 and "As above." in html
