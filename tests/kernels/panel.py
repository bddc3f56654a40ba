"""What a notebook with buttons and a training has in its first cells, for tests of clicks in mid-cell."""

from __future__ import annotations

SETUP = """
import contextlib, signal, time
import ipywidgets
from colab_tpu_magic.training.main_thread import current_place, run_on_main
from colab_tpu_magic.training.message_pump import pump_for

shell = get_ipython()
clicks, order = [], []

def button(name):
    made = ipywidgets.Button(description=name)
    made.on_click(lambda _: clicks.append((name, time.time())))
    return made

ours, theirs, field = button("ours"), button("theirs"), ipywidgets.FloatText(1.0)
place = current_place(shell)

def names():
    return [name for name, _ in clicks]

def poll_until(is_true, pump=None, seconds=10):
    pump = pump or pump_for(shell, [ours, field])
    print("looping", flush=True)
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, names()
        pump.poll()
        time.sleep(0.002)

def poll_until_clicked(times=1, **options):
    poll_until(lambda: names().count("ours") >= times, **options)

def poll_for(seconds):
    end = time.monotonic() + seconds
    poll_until(lambda: time.monotonic() >= end)
"""
