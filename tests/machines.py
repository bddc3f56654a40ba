"""Recorded machines: a small root folder, variables, packages and modules of each.

Written from public facts (image listings, issue threads and documentation, August to November 2026,
the sources that colab_tpu_magic/hardware names). None was recorded on, or run on, a real TPU.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from colab_tpu_magic.hardware.environment import Environment, detect_environment

# Colab's TPU image of 2026-08-19 (googlecolab/backend-info, pip-freeze.tpu.txt).
COLAB_PACKAGES = {
    "jax": "0.7.2",
    "jaxlib": "0.7.2",
    "libtpu": "0.0.21.1",
    "keras": "3.13.2",
    "numpy": "2.1.3",
    "ipython": "7.34.0",
    "ipykernel": "6.17.1",
    "ipywidgets": "7.7.1",
}
KERAS_ON_CPU = {"jax": "0.10.2", "jaxlib": "0.10.2", "keras": "3.15.1", "tensorflow": "2.21.0", "numpy": "2.4.6"}
HOLDER = 999_999


@dataclass(frozen=True)
class Machine:
    """What `detect_environment` is given.

    Attributes:
        files: Text of each file, by its path under the root; a leading ``->`` makes a link.
        environ: Environment variables.
        packages: Versions of the installed packages.
        modules: Loaded modules.
        shell: The IPython shell.
    """

    files: dict[str, str] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    modules: dict[str, Any] = field(default_factory=dict)
    shell: Any = None

    def having(self, **changes: dict[str, Any]) -> Machine:
        """Return the machine with more files, variables, packages or modules."""
        return replace(self, **{name: {**getattr(self, name), **more} for name, more in changes.items()})

    def without(self, *packages: str) -> Machine:
        """Return the machine with packages taken away."""
        return replace(self, packages={name: v for name, v in self.packages.items() if name not in packages})

    def detect(self, root: Path) -> Environment:
        """Build the root folder and return what is found on it."""
        for name, text in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("->"):
                path.symlink_to(text[2:])
            else:
                path.write_text(text)
        return detect_environment(root, self.environ, self.modules, self.packages, self.shell)


def shell(module: str = "ipykernel.zmqshell", name: str = "ZMQInteractiveShell", **attributes: Any) -> Any:
    """Return a stand-in for an IPython shell: a kernel's unless ``kernel=None``."""
    return type(name, (), {"__module__": module, "kernel": object(), "user_ns": {}, **attributes})()


def keras(backend: str) -> dict[str, Any]:
    """Return the modules of a Keras that is imported with a backend."""
    return {"keras": SimpleNamespace(config=SimpleNamespace(backend=lambda: backend))}


def pci(count: int, device: str, subsystem: str = "0x0000") -> dict[str, str]:
    """Return the files of TPU chips on the PCI bus, and of a network card by the same vendor."""
    cards = [(f"0000:00:{4 + index:02x}.0", device, subsystem) for index in range(count)]
    cards.append(("0000:00:03.0", "0x0042", "0x0058"))
    files = {}
    for address, card, sub in cards:
        folder = f"sys/bus/pci/devices/{address}/"
        files |= {
            folder + "vendor": "0x1ae0\n",
            folder + "device": card + "\n",
            folder + "subsystem_device": sub + "\n",
        }
    return files


def vfio(count: int) -> dict[str, str]:
    """Return the device files of v5e and newer chips."""
    return {"dev/vfio/vfio": "", **{f"dev/vfio/{index}": "" for index in range(count)}}


def held(device: str = "/dev/vfio/0", command: str = "/usr/bin/python3\0-m\0ipykernel_launcher\0") -> dict[str, str]:
    """Return the files of another process that has a TPU open."""
    return {f"proc/{HOLDER}/fd/7": f"->{device}", f"proc/{HOLDER}/cmdline": command}


def own_process(device: str = "/dev/vfio/0") -> dict[str, str]:
    """Return the files of this process having the TPU open."""
    return {f"proc/{os.getpid()}/fd/7": f"->{device}"}


def gpus(*models: str) -> dict[str, str]:
    """Return the files of NVIDIA cards."""
    files = {"dev/nvidiactl": "", "dev/nvidia-uvm": ""}
    for index, model in enumerate(models):
        files[f"dev/nvidia{index}"] = ""
        files[f"proc/driver/nvidia/gpus/0000:00:{index:02x}.0/information"] = f"Model: \t\t {model}\nIRQ: 35\n"
    return files


_COLAB_SHELL = shell("google.colab._shell", "Shell")

COLAB_V5E1 = Machine(
    files={**pci(1, "0x0063"), **vfio(1)},
    environ={"COLAB_RELEASE_TAG": "release-colab-external_20260819", "COLAB_TPU_1VM": "1"},
    packages=COLAB_PACKAGES,
    modules={"google.colab": object()},
    shell=_COLAB_SHELL,
)
"""Colab's free TPU runtime: one chip, no TensorFlow."""

COLAB_V5E1_TENSORFLOW = COLAB_V5E1.having(packages={"tensorflow": "2.20.0"})
"""The same after ``pip install tensorflow``: the wheel of colabtools#5174, beside the libtpu of JAX."""

COLAB_V6E1 = COLAB_V5E1.having(files=pci(1, "0x006f"))
"""Colab's paid TPU runtime."""

KAGGLE_V5E8 = Machine(
    files={**pci(8, "0x0063"), **vfio(8)},
    environ={
        "KAGGLE_KERNEL_RUN_TYPE": "Interactive",
        "COLAB_RELEASE_TAG": "release-colab-external_20260819",
        "ISTPUVM": "1",
        "TPU_PROCESS_ADDRESSES": "local",
    },
    packages={**COLAB_PACKAGES, "libtpu": "0.0.23", "tensorflow-cpu": "2.20.0"},
    shell=shell(),
)
"""Kaggle's TPU runtime: eight chips, a TensorFlow for CPUs."""

V2_8_TPU_VM = Machine(
    files={**pci(4, "0x0027", "0x004e"), **{f"dev/accel{index}": "" for index in range(4)}},
    environ={"TPU_ACCELERATOR_TYPE": "v2-8", "TPU_CHIPS_PER_HOST_BOUNDS": "2,2,1"},
    packages={"tensorflow-tpu": "2.19.1", "libtpu": "0.0.12", "keras": "3.13.2", "numpy": "2.1.3"},
    shell=shell(),
)
"""A Cloud TPU VM that was set up for TensorFlow."""

LEGACY_NODE = Machine(
    environ={"COLAB_TPU_ADDR": "10.1.2.3:8470", "COLAB_RELEASE_TAG": "release-colab-20230601", "COLAB_TPU_1VM": ""},
    packages=KERAS_ON_CPU,
    modules={"google.colab": object()},
    shell=_COLAB_SHELL,
)
"""An old Colab image that points to a TPU node over gRPC."""

GPU_MACHINE = Machine(files=gpus("Tesla T4"), packages={**KERAS_ON_CPU, "jax-cuda12-plugin": "0.10.2"}, shell=shell())
"""A machine with one GPU that both frameworks can use."""

NOTHING = Machine(packages=KERAS_ON_CPU, shell=shell())
"""A laptop."""

ALL = {
    "colab v5e-1": COLAB_V5E1,
    "colab v5e-1 with tensorflow": COLAB_V5E1_TENSORFLOW,
    "colab v6e-1": COLAB_V6E1,
    "kaggle v5e-8": KAGGLE_V5E8,
    "v2-8 TPU VM": V2_8_TPU_VM,
    "legacy node": LEGACY_NODE,
    "gpu": GPU_MACHINE,
    "nothing": NOTHING,
}
