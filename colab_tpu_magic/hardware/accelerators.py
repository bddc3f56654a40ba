"""Find TPUs and GPUs by what the kernel and the environment say, touching none of them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import OptionError
from .chips import Chip, chip_for_pci
from .frontend import command_of
from .slices import Slice, parse_slice, slice_for

GOOGLE_PCI_VENDOR = "0x1ae0"
"""Source: jax/_src/hardware_utils.py of jax 0.10.2. Google's network cards and disks have it too."""

_CLAIMS = ("TPU_ACCELERATOR_TYPE", "TPU_CHIPS_PER_HOST_BOUNDS", "ISTPUVM", "COLAB_TPU_1VM")
_TPU_FILE = re.compile(r"/dev/(?:accel\d+|vfio/\d+)")


@dataclass(frozen=True)
class Tpu:
    """A TPU that is attached to this machine.

    Attributes:
        chip: Its generation, or None when it cannot be told before initialising it.
        chips: Chips that this machine reaches, or None when it cannot be told.
        hosts: Machines that the slice spans, as its variables say.
        evidence: What gave it away: ``("4 PCI devices", "4 device files")``.
    """

    chip: Chip | None
    chips: int | None
    hosts: int = 1
    evidence: tuple[str, ...] = ()

    @property
    def slice(self) -> Slice | None:
        """The part of the slice that this machine reaches, or None when it cannot be told."""
        if self.chip is None or self.chips is None:
            return None
        return slice_for(self.chip, self.chips * self.chip.devices_per_chip)


@dataclass(frozen=True)
class Holder:
    """Another process that has the TPU open: its id and its command line."""

    pid: int
    command: str


def find_tpu(root: Path, environ: Mapping[str, str]) -> Tpu | None:
    """Return the TPU on this machine, or None.

    PCI and device files count as proof. Variables alone are believed where the host sets them (Colab,
    Kaggle), because a sandbox may hide the rest; elsewhere people set them to compile for a TPU they
    do not have.
    """
    found = _pci_chips(root)
    accel, vfio = _count(root / "dev", r"accel\d+"), _count(root / "dev" / "vfio", r"\d+")
    claims = [name for name in _CLAIMS if environ.get(name, "") not in ("", "0")]
    evidence = []
    if found:
        evidence.append(_many(len(found), "PCI device"))
    # A /dev/vfio file may belong to any card that is passed through: alone it proves nothing.
    files = accel or (vfio if found or claims else 0)
    if files:
        evidence.append(_many(files, "device file"))
    hosted = environ.get("COLAB_RELEASE_TAG") or environ.get("KAGGLE_KERNEL_RUN_TYPE")
    if not evidence and not (claims and hosted):
        return None
    declared = _declared_slice(environ)
    chip = found[0] if found else declared.chip if declared else None
    return Tpu(
        chip=chip,
        chips=_reachable(len(found), files, declared, environ),
        hosts=_hosts(environ),
        evidence=(*evidence, *claims),
    )


def find_tpu_node(environ: Mapping[str, str]) -> str:
    """Return the variable that points to a TPU node over gRPC, or an empty text.

    Such nodes were retired with Colab's move to TPU VMs; only their address is left in old images.
    """
    for name in ("COLAB_TPU_ADDR", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME"):
        address = environ.get(name, "")
        if address and (name == "COLAB_TPU_ADDR" or address.startswith("grpc://")):
            return f"{name}={address}"
    return ""


def find_gpus(root: Path) -> tuple[str, ...]:
    """Return the models of the NVIDIA GPUs, ``"GPU"`` where the driver does not name one."""
    models = []
    for card in _entries(root / "proc/driver/nvidia/gpus"):
        match = re.search(r"^Model:\s*(.+)$", _read(card / "information"), re.MULTILINE)
        models.append(match[1].strip() if match else "GPU")
    # A container may see fewer device files than the driver has cards; WSL has one file for all.
    files = _count(root / "dev", r"nvidia\d+") or _count(root / "dev", "dxg")
    return tuple((models + ["GPU"] * files)[:files])


def find_tpu_holder(root: Path) -> Holder | None:
    """Return another process that has a TPU device file open, or None.

    When this process has it open itself, a child that inherited the file is no stranger. Processes of other users cannot be looked into; they are passed over. A lock file is never read or
    deleted: it outlives its process (jax#10192) and proves nothing.
    """
    if _holds_tpu(root / "proc" / str(os.getpid())):
        return None
    for process in _entries(root / "proc"):
        if process.name.isdigit() and _holds_tpu(process):
            return Holder(int(process.name), command_of(root, int(process.name)))
    return None


def _holds_tpu(process: Path) -> bool:
    for link in _entries(process / "fd"):
        try:
            if _TPU_FILE.fullmatch(os.readlink(link)):
                return True
        except OSError:
            continue
    return False


def _pci_chips(root: Path) -> list[Chip]:
    chips = []
    for device in _entries(root / "sys/bus/pci/devices"):
        if _read(device / "vendor") != GOOGLE_PCI_VENDOR:
            continue
        chip = chip_for_pci(_read(device / "device"), _read(device / "subsystem_device"))
        if chip is not None:
            chips.append(chip)
    return chips


def _declared_slice(environ: Mapping[str, str]) -> Slice | None:
    try:
        return parse_slice(environ.get("TPU_ACCELERATOR_TYPE", ""))
    except OptionError:
        return None


def _reachable(pci: int, files: int, declared: Slice | None, environ: Mapping[str, str]) -> int | None:
    """Count chips: a container may see all of the host's PCI devices and own fewer device files."""
    counts = [count for count in (pci, files) if count]
    bounds = re.fullmatch(r"\d+(?:,\d+)*", environ.get("TPU_CHIPS_PER_HOST_BOUNDS", ""))
    if not counts and bounds:
        counts = [math.prod(int(number) for number in bounds[0].split(","))]
    if not counts and declared is not None and _hosts(environ) == 1:
        counts = [declared.chips]
    visible = environ.get("TPU_VISIBLE_CHIPS") or environ.get("TPU_VISIBLE_DEVICES") or ""
    if counts and visible:
        counts.append(len(visible.split(",")))
    return min(counts) if counts else None


def _hosts(environ: Mapping[str, str]) -> int:
    """Count the machines of the slice; one when the variables say that this process keeps to itself."""
    if environ.get("TPU_PROCESS_ADDRESSES") == "local" or environ.get("TPU_PROCESS_BOUNDS") == "1,1,1":
        return 1
    return max(1, len([name for name in environ.get("TPU_WORKER_HOSTNAMES", "").split(",") if name.strip()]))


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _count(folder: Path, pattern: str) -> int:
    return sum(re.fullmatch(pattern, entry.name) is not None for entry in _entries(folder))


def _entries(folder: Path) -> list[Path]:
    """Return what lies in a folder, sorted; nothing when it is missing or not ours to read."""
    try:
        return [folder / name for name in sorted(os.listdir(folder))]
    except OSError:
        return []


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
