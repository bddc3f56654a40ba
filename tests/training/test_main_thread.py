"""A function for the main thread where there is no kernel; real kernels are in tests/kernels."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from colab_tpu_magic.training.main_thread import OutputPlace, current_place, run_on_main


def test_without_a_kernel_a_function_runs_at_once_and_raises_to_the_caller():
    ran = []
    run_on_main(None, lambda: ran.append("now"))
    assert ran == ["now"]
    with pytest.raises(ZeroDivisionError):
        run_on_main(SimpleNamespace(kernel=None), lambda: 1 / 0)
    assert current_place(None) == OutputPlace()
