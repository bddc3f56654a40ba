"""Free memory is the machine's or the container's, whichever is less."""

from __future__ import annotations

import pytest

from colab_tpu_magic.files.memory import available_bytes

MIB = 1 << 20
MEMINFO = "MemTotal:  24000 kB\nMemAvailable:   20480 kB\nSwapTotal: 0 kB\n"


@pytest.fixture
def machine(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("proc/meminfo", MEMINFO)
    return tmp_path, write


def test_the_machine_alone(machine):
    assert available_bytes(machine[0]) == 20 * MIB


def test_a_container_that_has_less(machine):
    root, write = machine
    write("sys/fs/cgroup/memory.max", f"{10 * MIB}\n")
    write("sys/fs/cgroup/memory.current", f"{7 * MIB}\n")
    assert available_bytes(root) == 3 * MIB
    write("sys/fs/cgroup/memory.stat", f"anon 5\ninactive_file {2 * MIB}\n")
    assert available_bytes(root) == 5 * MIB, "pages of files can be dropped"


def test_a_container_without_a_limit(machine):
    root, write = machine
    write("sys/fs/cgroup/memory.max", "max\n")
    write("sys/fs/cgroup/memory.current", "1\n")
    assert available_bytes(root) == 20 * MIB


def test_a_container_of_the_older_kind(machine):
    root, write = machine
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", f"{4 * MIB}")
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", f"{5 * MIB}")
    assert available_bytes(root) == 0
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")
    assert available_bytes(root) == 20 * MIB


def test_a_system_that_does_not_tell(tmp_path):
    assert available_bytes(tmp_path) is None
