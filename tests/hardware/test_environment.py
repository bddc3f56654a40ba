import os
import subprocess
import sys
import time
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from colab_tpu_magic.hardware.accelerators import Holder
from colab_tpu_magic.hardware.environment import detect_environment
from colab_tpu_magic.hardware.frontend import FRONTEND_TITLES
from colab_tpu_magic.hardware.packages import installed_versions, version_tuple

from .. import machines
from ..machines import COLAB_V5E1, NOTHING, V2_8_TPU_VM, Machine


def slice_name(environment):
    return environment.tpu.slice.name if environment.tpu and environment.tpu.slice else None


@pytest.mark.parametrize(
    ("name", "frontend", "slice_", "gpus"),
    [
        ("colab v5e-1", "colab", "v5e-1", ()),
        ("colab v5e-1 with tensorflow", "colab", "v5e-1", ()),
        ("colab v6e-1", "colab", "v6e-1", ()),
        ("kaggle v5e-8", "kaggle", "v5e-8", ()),
        ("v2-8 TPU VM", "jupyter", "v2-8", ()),
        ("legacy node", "colab", None, ()),
        ("gpu", "jupyter", None, ("Tesla T4",)),
        ("nothing", "jupyter", None, ()),
    ],
)
def test_a_recorded_machine_is_recognised(tmp_path, name, frontend, slice_, gpus):
    found = machines.ALL[name].detect(tmp_path)
    assert (found.frontend, slice_name(found), found.gpus) == (frontend, slice_, gpus)
    assert found.frontend in FRONTEND_TITLES
    assert found.tpu_holder is None
    assert found.imported == ()
    assert found.keras_backend is None


def test_the_evidence_for_a_tpu_is_kept(tmp_path):
    found = V2_8_TPU_VM.detect(tmp_path)
    assert found.tpu.evidence == (
        "4 PCI devices",
        "4 device files",
        "TPU_ACCELERATOR_TYPE",
        "TPU_CHIPS_PER_HOST_BOUNDS",
    )
    assert (found.tpu.chips, found.tpu.hosts) == (4, 1)


def test_only_the_legacy_node_has_a_node_address(tmp_path):
    addresses = {name: machine.detect(tmp_path / name).tpu_node for name, machine in machines.ALL.items()}
    assert addresses.pop("legacy node") == "COLAB_TPU_ADDR=10.1.2.3:8470"
    assert set(addresses.values()) == {""}


def test_a_gke_endpoint_and_a_grpc_name_are_nodes_too():
    for name in ("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME"):
        environ = {name: "grpc://10.0.0.2:8470"}
        found = detect_environment("/nowhere", environ, {}, {})
        assert found.tpu_node == f"{name}=grpc://10.0.0.2:8470"
    assert detect_environment("/nowhere", {"TPU_NAME": "local"}, {}, {}).tpu_node == ""


def test_a_container_with_fewer_device_files_has_fewer_chips(tmp_path):
    machine = Machine(files={**machines.pci(8, "0x0063"), **machines.vfio(4)})
    assert slice_name(machine.detect(tmp_path)) == "v5e-4"


def test_visible_chips_are_counted(tmp_path):
    machine = Machine(files=machines.pci(8, "0x0063"), environ={"TPU_VISIBLE_CHIPS": "0,1"})
    assert slice_name(machine.detect(tmp_path)) == "v5e-2"


def test_device_files_without_pci_take_the_chip_from_the_variable(tmp_path):
    machine = Machine(files={"dev/accel0": "", "dev/accel1": ""}, environ={"TPU_ACCELERATOR_TYPE": "v4-8"})
    assert slice_name(machine.detect(tmp_path)) == "v4-4"
    unknown = Machine(files={"dev/accel0": ""}).detect(tmp_path / "other").tpu
    assert (unknown.chip, unknown.chips, unknown.slice) == (None, 1, None)


def test_vfio_files_and_other_google_cards_alone_are_no_tpu(tmp_path):
    assert Machine(files={**machines.vfio(2), **machines.pci(0, "")}).detect(tmp_path).tpu is None


def test_variables_alone_are_believed_on_kaggle_and_colab_only(tmp_path):
    claims = {"TPU_ACCELERATOR_TYPE": "v5litepod-8"}
    assert Machine(environ=claims).detect(tmp_path).tpu is None
    kaggle = Machine(environ={**claims, "KAGGLE_KERNEL_RUN_TYPE": "Batch"}).detect(tmp_path)
    assert slice_name(kaggle) == "v5e-8"
    bounds = {"TPU_CHIPS_PER_HOST_BOUNDS": "2,2,1", "COLAB_RELEASE_TAG": "x"}
    assert Machine(environ=bounds).detect(tmp_path).tpu.chips == 4


def test_a_slice_over_several_hosts_is_counted(tmp_path):
    names = {"TPU_WORKER_HOSTNAMES": "host-0,host-1,host-2,host-3", "TPU_ACCELERATOR_TYPE": "v5litepod-16"}
    machine = Machine(files={**machines.pci(4, "0x0063"), **machines.vfio(4)}, environ=names)
    found = machine.detect(tmp_path)
    assert (found.tpu.hosts, slice_name(found)) == (4, "v5e-4")
    alone = machine.having(environ={"TPU_PROCESS_ADDRESSES": "local"})
    assert replace(alone, files={}).detect(tmp_path).tpu.hosts == 1


def test_damaged_variables_and_files_are_no_error(tmp_path):
    environ = {"TPU_ACCELERATOR_TYPE": "banana", "TPU_CHIPS_PER_HOST_BOUNDS": "two", "ISTPUVM": "1"}
    environ["KAGGLE_KERNEL_RUN_TYPE"] = "Interactive"
    (tmp_path / "sys/bus/pci/devices/0000:00:01.0").mkdir(parents=True)
    found = detect_environment(tmp_path, environ, {}, {})
    assert (found.tpu.chip, found.tpu.chips, found.tpu.slice) == (None, None, None)


@pytest.mark.parametrize("device", ["/dev/vfio/0", "/dev/accel0", "/dev/accel13"])
def test_the_process_that_holds_the_tpu_is_named(tmp_path, device):
    found = COLAB_V5E1.having(files=machines.held(device)).detect(tmp_path)
    assert found.tpu_holder == Holder(machines.HOLDER, "/usr/bin/python3 -m ipykernel_launcher")


@pytest.mark.parametrize("device", ["/dev/vfio/vfio", "/dev/null", "socket:[4242]", "/tmp/dev/accel0"])
def test_other_open_files_hold_nothing(tmp_path, device):
    assert COLAB_V5E1.having(files=machines.held(device)).detect(tmp_path).tpu_holder is None


def test_our_own_process_is_no_other_holder(tmp_path):
    assert COLAB_V5E1.having(files=machines.own_process()).detect(tmp_path).tpu_holder is None


def test_processes_of_other_users_are_passed_over(tmp_path, monkeypatch):
    machine = COLAB_V5E1.having(files={**machines.held(), "proc/5/fd/0": "->/dev/accel0"})
    listdir = os.listdir

    def guarded(path):
        if str(path).endswith("proc/5/fd"):
            raise PermissionError(path)
        return listdir(path)

    monkeypatch.setattr(os, "listdir", guarded)
    assert machine.detect(tmp_path).tpu_holder.pid == machines.HOLDER


def test_a_process_that_ended_meanwhile_is_passed_over(tmp_path):
    machine = COLAB_V5E1.having(files={f"proc/{machines.HOLDER}/fd/7": "not a link", "proc/self/fd": ""})
    assert machine.detect(tmp_path).tpu_holder is None


@pytest.mark.parametrize(
    ("frontend", "environ", "modules", "shell"),
    [
        ("colab", {}, {"google.colab": object()}, machines.shell("google.colab._shell", "Shell")),
        ("colab", {}, {}, machines.shell("google.colab._shell", "Shell")),
        ("colab", {"COLAB_RELEASE_TAG": "release-colab"}, {}, None),
        ("colab", {"COLAB_RELEASE_TAG": "release-colab"}, {}, machines.shell()),
        ("kaggle", {"KAGGLE_KERNEL_RUN_TYPE": "Batch", "COLAB_RELEASE_TAG": "x"}, {}, machines.shell()),
        ("vscode", {"VSCODE_PID": "12"}, {}, machines.shell()),
        ("vscode", {}, {}, machines.shell(user_ns={"__vsc_ipynb_file__": "/a.ipynb"})),
        ("jupyter", {"TERM_PROGRAM": "vscode"}, {}, machines.shell()),
        ("jupyter", {}, {}, machines.shell()),
        (
            "ipython",
            {},
            {},
            machines.shell("IPython.terminal.interactiveshell", "TerminalInteractiveShell", kernel=None),
        ),
        ("ipython", {"VSCODE_PID": "1"}, {}, machines.shell("a", "TerminalInteractiveShell", kernel=None)),
        ("python", {}, {}, None),
    ],
)
def test_the_front_end_is_told(frontend, environ, modules, shell):
    assert detect_environment("/nowhere", environ, modules, {}, shell).frontend == frontend


@pytest.mark.parametrize(
    "command", ["papermill\0in.ipynb", "python\0/bin/jupyter-nbconvert\0--execute", "jupyter-execute"]
)
def test_a_program_that_executes_notebooks_is_told_by_being_the_parent(tmp_path, command):
    parent = {f"proc/{os.getppid()}/cmdline": f"/usr/bin/{command}\0"}
    assert Machine(files=parent, shell=machines.shell()).detect(tmp_path).frontend == "nbclient"


def test_google_colab_is_never_imported_to_find_out():
    detect_environment("/nowhere", {"COLAB_RELEASE_TAG": "x"}, None, {})
    assert "google.colab" not in sys.modules


def test_several_gpus_are_listed_by_model(tmp_path):
    found = Machine(files=machines.gpus("Tesla T4", "NVIDIA A100-SXM4-40GB")).detect(tmp_path)
    assert found.gpus == ("Tesla T4", "NVIDIA A100-SXM4-40GB")


def test_a_gpu_without_a_name_is_a_gpu_and_control_files_are_none(tmp_path):
    assert Machine(files={"dev/nvidia0": "", "dev/nvidiactl": ""}).detect(tmp_path / "a").gpus == ("GPU",)
    assert Machine(files={"dev/dxg": ""}).detect(tmp_path / "b").gpus == ("GPU",)
    assert Machine(files={"dev/nvidiactl": "", "dev/nvidia-uvm": ""}).detect(tmp_path / "c").gpus == ()


def test_imported_frameworks_and_the_backend_of_keras_are_told(tmp_path):
    machine = NOTHING.having(modules={**machines.keras("jax"), "jax": ModuleType("jax"), "tensorflow": None})
    found = machine.detect(tmp_path)
    assert found.imported == ("jax", "keras")
    assert found.keras_backend == "jax"


def test_the_imported_keras_counts_and_not_the_variable(tmp_path):
    machine = NOTHING.having(modules=machines.keras("tensorflow"), environ={"KERAS_BACKEND": "jax"})
    assert machine.detect(tmp_path).keras_backend == "tensorflow"
    half_imported = NOTHING.having(modules={"keras": ModuleType("keras")}, environ={"KERAS_BACKEND": "jax"})
    assert half_imported.detect(tmp_path).keras_backend == "jax"


def test_keras_2_is_asked_by_its_older_name(tmp_path):
    keras_2 = SimpleNamespace(backend=SimpleNamespace(backend=lambda: "tensorflow"))
    assert NOTHING.having(modules={"keras": keras_2}).detect(tmp_path).keras_backend == "tensorflow"


@pytest.mark.parametrize(
    ("setting", "legacy"), [("1", True), ("true", True), ("True", True), ("0", False), ("", False)]
)
def test_the_switch_to_keras_2_is_read_as_tensorflow_reads_it(tmp_path, setting, legacy):
    assert NOTHING.having(environ={"TF_USE_LEGACY_KERAS": setting}).detect(tmp_path).legacy_keras is legacy


def test_a_libtpu_of_the_machines_image_is_found(tmp_path):
    assert Machine(files={"usr/lib/libtpu.so": ""}).detect(tmp_path).system_libtpu == "/usr/lib/libtpu.so"
    named = Machine(environ={"TPU_LIBRARY_PATH": "/opt/libtpu.so"})
    assert named.detect(tmp_path).system_libtpu == "/opt/libtpu.so"


def test_versions_are_looked_up_by_name(tmp_path):
    found = COLAB_V5E1.detect(tmp_path)
    assert (found.version("jax"), found.version("tensorflow"), found.libtpu) == ("0.7.2", "", "0.0.21.1")
    assert Machine(packages={"libtpu-nightly": "0.1.dev20231022"}).detect(tmp_path / "b").libtpu == "0.1.dev20231022"


def test_installed_versions_are_those_of_the_metadata():
    from importlib.metadata import version

    found = installed_versions(["ipython", "pytest", "no-such-package-here"])
    assert found == {"ipython": version("ipython"), "pytest": version("pytest")}


def test_versions_compare_by_their_numbers():
    assert version_tuple("0.10.2rc1") == (0, 10, 2)
    assert version_tuple("3.9.2") < version_tuple("3.10")
    assert version_tuple("") == version_tuple("unknown") == ()


def test_detection_imports_no_framework():
    code = (
        "import sys\n"
        "from colab_tpu_magic.hardware.environment import detect_environment\n"
        "detect_environment()\n"
        "print([name for name in ('tensorflow', 'jax', 'keras', 'libtpu', 'IPython') if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_detection_takes_milliseconds(tmp_path):
    machine = machines.KAGGLE_V5E8.having(files=machines.held())
    machine.detect(tmp_path)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        detect_environment(tmp_path, machine.environ, machine.modules, None, machine.shell)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05
