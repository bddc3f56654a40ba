"""The lesson on the batch size reads its plans from the files beside it, and states what they say."""

from __future__ import annotations

import os
import re
import shutil

import nbformat
import pytest
from make_plans import made_in

from colab_tpu_magic.planner.compiler.environment import VARIABLE

from .lesson import executed

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

FILES = ("around-1024", "batch-sizes", "bfloat16", "too-large", "width-100", "width-128", "width-130")
MAX_PROCESSOR_SECONDS = 60


@pytest.fixture(scope="module")
def lesson(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    shutil.copytree(root / "notebooks" / "plans", folder / "plans")
    notebook = nbformat.read(root / "notebooks" / "02_will_it_fit.ipynb", as_version=4)
    # Processor time of the kernel; on a busy machine a clock would tell of the others.
    notebook.cells.append(nbformat.v4.new_code_cell("import time\nprint(time.process_time())", id="seconds"))
    nbformat.write(notebook, folder / "lesson.ipynb")
    with pytest.MonkeyPatch.context() as patch:
        # Nothing may be compiled: neither is there a compiler, nor an answer kept on disk.
        patch.setenv(VARIABLE, str(folder / "no-python"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return executed(folder / "lesson.ipynb", folder)


def rows_of(lesson, name, width):
    """The lines of a printed table that begin with a target or a number, as lists of their cells."""
    lines = [re.split(r"\s+", line.strip()) for line in lesson.printed(name).splitlines()]
    return [line for line in lines if len(line) == width and re.match(r"v\d|[\d,]+$", line[0])]


def sweep(lesson):
    """Microseconds a step, nanoseconds a row by both ends, and MXU utilisation, by target and batch."""
    found = {}
    for target, batch, _, *figures in rows_of(lesson, "frame", 7):
        found[target, int(batch)] = [float(figure) for figure in figures]
    return found


def test_every_plan_is_read_from_its_file_and_none_is_compiled(lesson, root):
    printed = " ".join(lesson.text(name) for name in lesson.cells)
    assert re.findall(r"Read from plans/([\w-]+)\.json, made on [\d-]+ by jax", printed) == [
        "batch-sizes",
        "around-1024",
        "width-100",
        "width-128",
        "width-130",
        "too-large",
        "bfloat16",
    ]
    assert printed.count("Nothing was compiled.") == len(FILES)
    assert tuple(path.stem for path in sorted((root / "notebooks" / "plans").iterdir())) == FILES
    assert float(lesson.printed("seconds")) < MAX_PROCESSOR_SECONDS


def test_the_card_says_that_nothing_was_measured(lesson):
    for name in ("card", "border-card"):
        assert "not measured on a TPU" in lesson.text(name)
        assert "<svg" in lesson.text(name)
    for name in ("title", "end"):
        assert "estimate" in lesson.stated(name)


def test_a_tile_is_counted_whole(lesson):
    stated = lesson.stated("padding-text")
    assert 784 / 128 == 6.125 and "6⅛ tiles in height and gets 7" in stated
    assert 10 / 128 == pytest.approx(0.08, abs=0.005) and "8 % of the cells have work" in lesson.stated(
        "array-question"
    )


def test_small_batches_cost_as_much_as_the_answer_says(lesson):
    found = sweep(lesson)
    assert len(found) == 18
    (least, a_row, a_row_high, _), (step, row, row_high, _) = found["v2-8", 8], found["v2-8", 1024]
    stated = lesson.stated("batch-question")
    assert f"{step / least:.1f} times as long ({least:.0f} and {step:.0f} microseconds)" in stated
    assert f"{a_row / row:.0f} times cheaper: {row:.0f} nanoseconds instead of {a_row:,.0f}" in stated
    assert f"{1024 * row_high / (8 * a_row_high):.1f} times, and {a_row_high / row_high:.0f} times cheaper" in stated
    assert found["v2-8", 512][0] < 1.2 * least


def test_the_plan_stays_under_the_ceiling_of_the_array(lesson):
    for (target, batch), figures in sweep(lesson).items():
        rows = batch / (8 if target == "v2-8" else 1)
        assert 0 < figures[-1] < min(1, rows / 128)


def test_small_batches_wait_for_the_memory_and_large_ones_on_v2_for_the_mxu(lesson):
    bounds = {(target, int(batch)): bound for target, batch, _, _, bound in rows_of(lesson, "hbm", 5)}
    assert {bounds["v2-8", size] for size in (8, 32, 128, 512, 1024)} == {"HBM"}
    assert bounds["v2-8", 16384] == "MXU"


def test_128_rows_on_a_core_are_an_edge(lesson):
    near = {int(batch): (float(step), float(row)) for batch, _, step, row in rows_of(lesson, "near", 4)}
    assert near[1000][0] == near[1024][0]
    assert f"takes {near[1032][0] / near[1024][0] - 1:.0%} longer".replace("%", " %") in lesson.stated("near-text")
    assert near[1032][0] == pytest.approx(near[1152][0], rel=0.02)
    assert near[1152][1] < near[1024][1]
    found = sweep(lesson)
    prices = [found["v2-8", size][0] for size in (1024, 8)]
    assert "Of its {:.0f} microseconds {:.0f} are still".format(*prices) in lesson.stated("article-question")


def test_1024_is_a_floor_and_not_the_best(lesson):
    best = dict(
        (target, (int(batch.replace(",", "")), float(times)))
        for target, batch, times in re.findall(r"(v\S+): best batch ([\d,]+), ([\d.]+) times", lesson.printed("judge"))
    )
    assert best["v2-8"] == (16384, pytest.approx(5, abs=0.3))
    assert best["v5e-1"] == (8192, pytest.approx(2.4, abs=0.3))


def test_units_up_to_a_tile_are_cheap_and_two_more_are_not(lesson):
    found = {}
    line = r"(v\S+), batch +([\d,]+): .* ([+-]\d+)% time, .* ([+-]\d+)% time"
    for target, batch, *more in re.findall(line, lesson.printed("width-bars")):
        found[target, batch] = [int(one) for one in more]
    assert len(found) == 4
    to_128, to_130 = ([one[place] for one in found.values()] for place in (0, 1))
    stated = lesson.stated("width-question")
    assert f"only {min(to_128)} to {max(to_128)} % longer" in stated
    on_v2 = sorted(more[1] for (target, _), more in found.items() if target == "v2-8")
    assert f"takes {on_v2[0]} to {on_v2[1]} % longer" in stated
    assert min(to_130) > 0 and max(to_130) == on_v2[1]


def test_the_calculated_border_is_where_the_compiler_refuses(lesson):
    border = lesson.number("border", r"full at about ([\d,]+) rows")
    answers = re.findall(r"([\d,]+) rows: (\S+),", lesson.printed("border-ask"))
    states = {int(rows.replace(",", "")): state for rows, state in answers}
    assert states == {2_293_760: "fits", 2_359_296: "out-of-memory"}
    assert 0.8 * 2_293_760 < border < 2_293_760
    fewer = re.findall(r"([\d,]+) bytes a row", lesson.printed("border-ask"))[0]
    assert float(fewer.replace(",", "")) < lesson.number("border", r"([\d,]+) bytes a row")


def test_bfloat16_gains_less_than_twice(lesson):
    gains = [float(gain) for gain in re.findall(r"([\d.]+)×", lesson.printed("precision"))]
    assert len(gains) == 6
    assert max(gains) < 1.5
    assert min(gains) < 1


def test_each_part_ends_in_a_question_with_its_answer(lesson):
    asked = [lesson.stated(name) for name in lesson.cells if name.endswith("-question")]
    numbers = [int(number) for text in asked for number in re.findall(r"\*\*Question (\d)\.\*\*", text)]
    assert numbers == list(range(1, len(asked) + 1))
    assert all("<details><summary>Answer</summary>" in text for text in asked)


def test_nothing_is_printed_to_the_error_stream(lesson):
    assert lesson.errors() == []


def test_plans_are_made_by_running_a_notebook_where_there_are_none(tmp_path):
    cells = ["import os\nos.makedirs('plans')", "open('plans/b.json', 'w').write(os.environ['WORD'])"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "asks.ipynb")
    (tmp_path / "empty").mkdir()
    (made,) = made_in(tmp_path / "empty", tmp_path / "asks.ipynb", {**os.environ, "WORD": "a plan"})
    assert made.name == "b.json" and made.read_text() == "a plan"
