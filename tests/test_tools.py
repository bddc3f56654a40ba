"""The tools count tests and check notebooks as they say."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

import nbformat
import pytest
import run_tests
from check_notebooks import faults_of, main, python_of
from make_plans import put_in_place
from run_tests import NO_TESTS_COLLECTED, Part, outcome_of, run_part

REPORT = '<testsuites><testsuite tests="10" failures="1" errors="1" skipped="3"/></testsuites>'


def notebook(*sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=cells)


def test_stored_notebooks_have_no_faults():
    assert main([]) == 0


@pytest.mark.parametrize(
    "source",
    [
        "%%tpu_fit --epochs 2\nmodel.fit(x, y)",
        "%load_ext colab_tpu_magic\nx = 1",
        "!pip list\nfiles = !ls",
        "%tpu_fit?",
        "%%bash\nfor f in *; do echo $f; done",
        "await something()",
        "if True:\n    %tpu_status\n",
    ],
)
def test_cells_with_magics_compile(source):
    assert faults_of(notebook(source)) == []


def test_code_that_does_not_compile_is_found_with_its_line():
    (fault,) = faults_of(notebook("x = 1", "%%tpu_fit\nmodel.fit(x, y"))
    assert "cell 2 does not compile" in fault and "line 2" in fault


def test_old_code_that_is_to_be_migrated_need_not_compile():
    assert faults_of(notebook("%%tpu_migrate\nprint(‘TPU not found’)")) == []
    assert len(faults_of(notebook("print(‘TPU not found’)"))) == 1


def test_line_numbers_of_a_cell_are_kept():
    assert python_of("%%tpu_fit\nx = 1\n%tpu_status\ny = 2").splitlines()[3] == "y = 2"


def test_stored_outputs_and_counts_are_found():
    wrong = notebook("1")
    wrong.cells[0].outputs = [nbformat.v4.new_output("stream", text="1")]
    wrong.cells[0].execution_count = 4
    wrong.metadata["widgets"] = {}
    assert len(faults_of(wrong)) == 3


def test_line_of_code_that_a_page_would_cut_off_is_a_fault():
    assert faults_of(notebook("x = " + "1" * 84)) == []
    (fault,) = faults_of(notebook("a = 1", "b = 2\nx = " + "1" * 85))
    assert fault == "cell 2 has 89 letters in line 2, more than the 88 of a page"


def test_failures_and_errors_are_failed_and_the_rest_passed(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8")
    outcome = outcome_of("jax-8", 1, report)
    assert (outcome.passed, outcome.failed, outcome.skipped) == (5, 2, 3)


@pytest.mark.parametrize("code", [-9, 2])
def test_a_process_that_dies_before_its_report_counts_as_failed(tmp_path, code):
    assert outcome_of("jax-8", code, tmp_path / "none.xml").failed == 1


def test_a_part_without_tests_counts_nothing(tmp_path):
    outcome = outcome_of("jax-8", NO_TESTS_COLLECTED, tmp_path / "none.xml")
    assert (outcome.passed, outcome.failed) == (0, 0)
    assert outcome.remark


@pytest.fixture
def small_suite(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path / "test_one.py"


def run_small(monkeypatch, parts, *arguments):
    monkeypatch.setattr(run_tests, "current_parts", lambda: parts)
    return run_tests.main(list(arguments))


def test_last_line_sums_up_the_parts(small_suite, monkeypatch, capsys):
    small_suite.write_text("def test_yes(): pass\ndef test_no(): assert False\n", encoding="utf-8")
    part = (str(small_suite),)
    assert run_small(monkeypatch, [Part("one", part), Part("two", (*part, "-k", "yes"))]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 1 failed, 0 skipped"


def test_nothing_ran_is_a_failure(small_suite, monkeypatch, capsys):
    small_suite.write_text("", encoding="utf-8")
    assert run_small(monkeypatch, [Part("one", (str(small_suite),))]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_an_unknown_part_is_refused_with_the_names_there_are(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run_small(monkeypatch, [Part("one", ())], "--parts", "jax-9")
    assert "no part jax-9; there are one" in capsys.readouterr().err


def test_a_part_that_does_not_end_is_stopped_and_counts_as_failed(small_suite, monkeypatch):
    monkeypatch.setattr(run_tests, "PART_TIMEOUT_SECONDS", 3)
    small_suite.write_text("import time\ndef test_sleeps(): time.sleep(600)\n", encoding="utf-8")
    outcome, _ = run_part(Part("one", (str(small_suite),)), [])
    assert outcome.failed == 1
    assert "did not end" in outcome.remark


def test_an_engine_part_finds_its_engine_and_no_other_setting(small_suite, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.setenv("TPU_MAGIC_ENGINE", "tensorflow-2")
    text = "import os\ndef test_it(): assert os.environ.get('KERAS_BACKEND') == {!r}\n"
    for part, backend in ((Part("plain", ()), None), (run_tests.engine_part("jax-8"), "jax")):
        small_suite.write_text(text.format(backend), encoding="utf-8")
        part = Part(part.name, (str(small_suite),), environment=part.environment)
        assert run_part(part, [])[0].passed == 1


def test_every_part_that_is_named_as_long_is_a_part_and_the_longest_is_the_first():
    asked = SimpleNamespace(colab=False, colab_python="python3", parts="")
    names = [part.name for part in run_tests.wanted_parts(argparse.ArgumentParser(), asked)]
    assert names[: len(run_tests.LONGEST)] == list(run_tests.LONGEST)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("there", [True, False])
def test_the_quickstart_runs_in_a_kernel_or_in_a_browser(monkeypatch, tmp_path, there):
    monkeypatch.setattr(run_tests, "CHROMIUM", tmp_path if there else tmp_path / "none")
    (kernels,) = (part for part in run_tests.current_parts() if part.name == "kernels")
    assert (f"--ignore=tests/kernels/{run_tests.QUICKSTART}" in kernels.arguments) is there
    (colab,) = (part for part in run_tests.colab_parts() if part.name == "colab-kernels")
    assert not any(run_tests.QUICKSTART in argument for argument in colab.arguments), "no browser runs there"


def test_the_parts_that_compile_for_a_tpu_find_the_compiler_and_others_do_not(small_suite, monkeypatch):
    monkeypatch.setenv("TPU_MAGIC_COMPILER_PYTHON", "theirs")
    text = "import os\ndef test_it(): assert os.environ.get('TPU_MAGIC_COMPILER_PYTHON') == {!r}\n"
    for name, found in (("plain", "/ours"), ("jax-1", None)):
        small_suite.write_text(text.format(found), encoding="utf-8")
        assert run_small(monkeypatch, [Part(name, (str(small_suite),))], "--compiler-python", "/ours") == 0


def test_new_plans_take_the_place_of_all_old_ones(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "old.json").write_text("old")
    (tmp_path / "new" / "mlp.json").write_text("new")
    put_in_place([tmp_path / "new" / "mlp.json"], tmp_path)
    assert [path.name for path in (tmp_path / "plans").iterdir()] == ["mlp.json"]
    assert (tmp_path / "plans" / "mlp.json").read_text() == "new"
