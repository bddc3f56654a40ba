"""The pump without a kernel, with one that fails, and its clock; real kernels are in tests/kernels."""

from __future__ import annotations

import threading
import warnings
from types import SimpleNamespace

import pytest

from colab_tpu_magic.training import message_pump
from colab_tpu_magic.training.message_pump import MessagePump, pump_for


class Kernel:
    """What the pump looks for in an ipykernel 6, with a socket that fails when it is told to."""

    def __init__(self) -> None:
        self.looks = 0
        self.fails = False
        self.msg_queue = SimpleNamespace(qsize=self.look)
        self.shell_stream = SimpleNamespace(socket=SimpleNamespace(get=lambda option: 0))
        self.dispatch_shell = self.schedule_dispatch = None

    def look(self) -> int:
        self.looks += 1
        if self.fails:
            raise OSError("closed")
        return 0


def test_without_a_kernel_the_pump_says_so_and_does_nothing():
    pump = pump_for(None, [])
    assert "no Jupyter kernel" in pump.reason
    assert (pump.poll(), pump.poll_now()) == (0, 0)


def test_kernel_of_an_unknown_kind_is_named_as_the_reason():
    pump = MessagePump(object(), ["id"])
    assert "not known" in pump.reason
    assert pump.poll_now() == 0


def test_pump_looks_no_more_often_than_its_interval():
    kernel, now = Kernel(), [100.0]
    pump = MessagePump(kernel, ["id"], min_interval_seconds=0.1, clock=lambda: now[0])
    for step in range(100):
        now[0] = 100.0 + step * 0.01
        pump.poll()
    assert kernel.looks == 10


def test_surprise_switches_the_pump_off_with_one_warning():
    kernel = Kernel()
    pump = MessagePump(kernel, ["id"], min_interval_seconds=0.0)
    assert pump.poll() == 0 and pump.reason == ""
    kernel.fails = True
    with pytest.warns(UserWarning, match="training goes on. The kernel raised OSError: closed"):
        assert pump.poll() == 0
    assert "OSError: closed" in pump.reason
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (pump.poll(), pump.poll_now(), kernel.looks) == (0, 0, 2)


def test_surprise_does_not_raise_where_warnings_are_errors():
    kernel = Kernel()
    kernel.fails = True
    pump = MessagePump(kernel, ["id"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pump.poll_now() == 0
    assert "closed" in pump.reason


def test_another_thread_neither_looks_nor_switches_the_pump_off():
    kernel, seen = Kernel(), []
    pump = MessagePump(kernel, ["id"])
    thread = threading.Thread(target=lambda: seen.extend([pump.poll_now(), pump.reason]))
    thread.start()
    thread.join()
    assert seen == [0, message_pump.OTHER_THREAD]
    assert (kernel.looks, pump.reason) == (0, "")


def test_closed_widgets_are_left_out():
    widgets = [SimpleNamespace(comm=None, model_id=None), SimpleNamespace(comm=object(), model_id="open")]
    pump = pump_for(SimpleNamespace(kernel=Kernel()), widgets)
    assert pump._comm_ids == {"open"}
