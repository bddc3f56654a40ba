import re
import time
import xml.etree.ElementTree as ET

import pytest

from colab_tpu_magic.hardware.usage import Usage
from colab_tpu_magic.widgets.header import COMPUTING_COLOUR, HEADER_HEIGHT, WAITING_COLOUR, header_html, usage_text
from colab_tpu_magic.widgets.text import PHASES

from .runs import empty_run, finished_run

TIMED = {"train_seconds": 1.0, "timed_steps": 100, "data_wait_seconds": 0.1}


def training(**fields):
    return empty_run(**{"phase": "training", "epoch": 1, "step": 4, "epoch_step": 4, "compile_seconds": 2.0} | fields)


def words(run, *args):
    return " ".join(ET.fromstring(header_html(run, *args)).itertext())


def test_the_parts_of_a_step_are_those_of_now():
    assert "12.3 ms = 7.6 waiting for data + 4.7 computing" in words(training(**TIMED), 5.0, (7.6, 4.7))


def test_without_parts_of_now_the_means_of_the_run_are_shown():
    assert "10.0 ms = 1.0 waiting for data + 9.0 computing" in words(training(**TIMED), 5.0)


def test_the_bar_has_the_share_of_waiting():
    html = header_html(training(), 5.0, (3.0, 1.0))
    assert f"linear-gradient(90deg,{WAITING_COLOUR} 75%,{COMPUTING_COLOUR} 75%)" in html
    assert 'aria-label="75 percent waiting for data"' in html


@pytest.mark.parametrize("times", [None, (0.0, 0.0)])
def test_without_a_timed_step_there_is_no_bar(times):
    assert WAITING_COLOUR not in header_html(training(), 5.0, times)


def test_compilations_are_counted_when_there_were_several():
    assert "compiled in 2.0 s" in words(training(), 5.0)
    assert "compiled in 6.1 s" in words(training(compilations=1, compiling_seconds=6.1), 5.0)
    assert "compiled 2 times in 9.0 s" in words(training(compilations=2, compiling_seconds=9.0), 5.0)
    assert "compiled 2 times" in words(training(compilations=2), 5.0)


def test_memory_and_tensorcores_are_shown_when_they_are_known():
    run = training(usage=Usage(9_100_000_000, 16_000_000_000, 71.2))
    assert "compiled in 2.0 s · HBM 9.1 / 16 GB, TensorCore 71 %" in words(run, 5.0)
    assert "HBM" not in words(training(), 5.0)


def test_memory_is_in_the_unit_that_divides_it():
    assert usage_text(Usage(3 * 2**30, 16 * 2**30)) == "HBM 3.0 / 16 GiB"
    assert usage_text(Usage(9 * 10**9, 16_900_000_000)) == "HBM 9.0 / 16.9 GB"


def test_the_gravest_finding_is_one_line_with_its_full_text_as_a_tip():
    html = header_html(training(nan_step=3, compilations=5), 5.0)
    assert html.count('role="note"') == 1
    note = ET.fromstring(html).find(".//*[@role='note']")
    assert note.text == note.get("title")
    assert note.text.startswith("The loss is not a number since step 3")


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_has_the_same_height(phase):
    for run in (training(phase=phase), training(phase=phase, nan_step=3, **TIMED)):
        root = ET.fromstring(header_html(run, None))
        assert root.get("style").startswith(f"height:{HEADER_HEIGHT}px;")
        assert PHASES[phase].casefold() in " ".join(root.itertext()).casefold()


def test_paused_and_stopping_are_said():
    assert words(training(phase="paused"), None).startswith("Paused ")
    assert words(training(phase="stopping"), None).startswith("Stopping… ")


def test_a_screen_reader_gets_all_numbers_as_one_sentence():
    root = ET.fromstring(header_html(training(**TIMED), 5.0))
    assert root.get("role") == "group"
    assert root.get("aria-label") == (
        "training, epoch 1 / 2, step 4 / 10, steps/s 5, examples/s 5,120, epoch left 1.2 s, run left 3.2 s, "
        "10.0 ms = 1.0 waiting for data + 9.0 computing, compiled in 2.0 s"
    )


def test_every_text_from_outside_is_escaped():
    html = header_html(training(device='<img src=x onerror="alert(1)">', phase="<b>"), 5.0)
    assert "<img" not in html
    assert not re.search(r"<b>\s*</b>", html)
    ET.fromstring(html)


def test_the_header_is_cheap():
    run = finished_run(status="running", phase="training", nan_step=3, **TIMED)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        header_html(run, 5.0)
        seconds.append(time.process_time() - start)
    # About 0.04 ms where it was measured.
    assert min(seconds) < 0.002
