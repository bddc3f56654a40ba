"""Making a runtime: what the chosen devices turn out to be is checked, and noise is kept away."""

from __future__ import annotations

import os
import subprocess
import sys

from colab_tpu_magic.backends.connect import COLLECTIVE_FLAGS_JAX, again, quiet_standard_error
from colab_tpu_magic.options import ConnectOptions

GPU_THAT_IS_NOT_THERE = """
import pathlib, tempfile
from colab_tpu_magic.backends.connect import make_runtime
from colab_tpu_magic.errors import ConnectError
from colab_tpu_magic.options import ConnectOptions
from tests.machines import GPU_MACHINE
for backend in ("tensorflow", "jax"):
    try:
        make_runtime(ConnectOptions(backend=backend), GPU_MACHINE.detect(pathlib.Path(tempfile.mkdtemp())))
    except ConnectError as error:
        print("REFUSED:", error.what.splitlines()[0])
    for name in [n for n in __import__("sys").modules if n.split(".")[0] == "keras"]:
        del __import__("sys").modules[name]
"""


def test_gpu_that_the_framework_cannot_use_is_not_claimed(root):
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
    done = subprocess.run(
        [sys.executable, "-c", GPU_THAT_IS_NOT_THERE], cwd=root, env=environment, capture_output=True, text=True
    )
    refused = [line for line in done.stdout.splitlines() if line.startswith("REFUSED:")]
    assert refused[0] == "REFUSED: TensorFlow cannot use Tesla T4: it finds no GPU device.", done.stderr
    assert refused[1].startswith("REFUSED: JAX cannot reach the GPU")


def test_line_to_type_asks_for_the_same_again():
    assert again(ConnectOptions(simulate="v2-8")) == "%tpu_connect --restart --simulate v2-8"
    assert again(ConnectOptions(backend="tensorflow", simulate=4)) == (
        "%tpu_connect --restart --backend tensorflow --simulate 4"
    )


def test_standard_error_is_quiet_inside_and_back_after(capfd):
    os.write(2, b"before ")
    with quiet_standard_error():
        os.write(2, b"inside ")
    os.write(2, b"after")
    assert capfd.readouterr().err == "before after"


def test_collective_flags_are_set_only_where_they_were_tried():
    # An XLA flag that the installed version does not know ends the process.
    assert COLLECTIVE_FLAGS_JAX == ("0.10.2",)
