"""Loading, reloading and unloading the extension, and the help of its magics, in a real kernel."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.kernel

HEAVY = ("tensorflow", "jax", "jaxlib", "keras", "tf_keras", "matplotlib", "pandas", "ipywidgets")
TIME_IT = """
import json, sys, time
loaded = set(sys.modules)
start = time.perf_counter()
get_ipython().run_line_magic("load_ext", "colab_tpu_magic")
ours = time.perf_counter() - start
new = sorted(set(sys.modules) - loaded)
start = time.perf_counter()
import numpy
theirs = time.perf_counter() - start
print(json.dumps({"new": new, "load_ext_ms": ours * 1000, "import_numpy_ms": theirs * 1000}))
"""


def magics_in(kernel):
    return kernel.value(
        "[n for k in ('line', 'cell') for n in get_ipython().magics_manager.magics[k] if n.startswith('tpu')]"
    )


def test_load_ext_imports_no_framework(kernel):
    told = json.loads(kernel.run(TIME_IT).stdout)
    new = {name.partition(".")[0] for name in told["new"]}
    assert new.isdisjoint(set(HEAVY) - {"ipywidgets"}), sorted(new)
    assert "numpy" not in new
    print(f"load_ext {told['load_ext_ms']:.0f} ms, import numpy {told['import_numpy_ms']:.0f} ms")


def test_kernel_start_and_load_ext_leave_no_framework_in_memory(kernel):
    kernel.run("%load_ext colab_tpu_magic")
    loaded = kernel.value(f"[name for name in {HEAVY[:-1]!r} if name in __import__('sys').modules]")
    assert loaded == "[]"


def test_load_ext_prints_nothing(kernel):
    result = kernel.run("%load_ext colab_tpu_magic")
    assert (result.stdout, result.stderr, result.displays) == ("", "", [])


def test_reload_ext_keeps_each_magic_once(kernel):
    kernel.run("%load_ext colab_tpu_magic")
    before = magics_in(kernel)
    kernel.run("%reload_ext colab_tpu_magic")
    assert magics_in(kernel) == before
    assert "tpu_connect" in before


def test_unload_ext_takes_every_magic_away_and_load_ext_brings_them_back(kernel):
    kernel.run("%load_ext colab_tpu_magic")
    loaded = magics_in(kernel)
    kernel.run("%unload_ext colab_tpu_magic")
    assert magics_in(kernel) == "[]"
    assert "not found" in kernel.run("%tpu_connect", check=False).stderr
    kernel.run("%load_ext colab_tpu_magic")
    assert magics_in(kernel) == loaded


@pytest.fixture(scope="module")
def loaded_kernel(shared_kernel):
    shared_kernel.run("%load_ext colab_tpu_magic")
    return shared_kernel


@pytest.mark.parametrize("magic", ["%tpu_connect", "%tpu_fit", "%%tpu_fit", "%tpu_status", "%tpu"])
def test_question_mark_shows_help_with_an_example(loaded_kernel, magic):
    result = loaded_kernel.run(f"{magic}?")
    shown = result.pager + result.text
    assert "Example" in shown
    assert magic.lstrip("%") in shown


def test_help_of_tpu_fit_names_every_option(loaded_kernel):
    from colab_tpu_magic.options import FitOptions, declared, flag_name

    shown = loaded_kernel.run("%tpu_fit?").pager
    for field in declared(FitOptions):
        assert flag_name(field.name) in shown


def test_tpu_alone_lists_every_magic_in_one_table(loaded_kernel):
    listed = loaded_kernel.run("%tpu").text
    for name in json.loads(magics_in(loaded_kernel).replace("'", '"')):
        assert f"%{name}" in listed


def test_config_shows_the_settings(loaded_kernel):
    shown = loaded_kernel.run("%config TpuMagics").text
    assert "TpuMagics.batch_size" in shown
    assert "TpuMagics.quiet" in shown


def test_unknown_option_says_what_to_type_without_a_traceback(loaded_kernel):
    result = loaded_kernel.run("%tpu_connect --slice v2-8", check=False)
    told = result.stderr + result.error
    assert "--slice" in told and "Type:" in told
    assert "Traceback" not in told
