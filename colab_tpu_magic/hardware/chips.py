"""The facts about each TPU generation: one table, with sources and dates."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30
GB = 10**9


@dataclass(frozen=True)
class Chip:
    """One TPU generation.

    Attributes:
        name: What Google calls it in slice names: ``"v5e"``.
        cores_per_chip: TensorCores on a chip.
        devices_per_chip: Devices that JAX and TensorFlow show for a chip, each of which is a replica.
        mxus_per_core: Matrix units in a TensorCore.
        mxu_size: Rows and columns of one matrix unit, multiply-accumulate cells.
        hbm_bytes_per_chip: Memory of a chip, bytes.
        hbm_gb_per_s: Bandwidth of that memory per chip, 10⁹ bytes a second.
        peak_bf16_tflops: Peak bfloat16 rate per chip, 10¹² operations a second.
        pci_device_id: Device id under Google's PCI vendor id, ``"0x0063"``.
        pci_subsystem_id: Needed too where two generations share a device id, else None.
        device_kind: What JAX calls one device: ``"TPU v5 lite"``.
        source: Where the figures were read.
        as_of: Year and month in which they were read.
    """

    name: str
    cores_per_chip: int
    devices_per_chip: int
    mxus_per_core: int
    mxu_size: int
    hbm_bytes_per_chip: int
    hbm_gb_per_s: int
    peak_bf16_tflops: int
    pci_device_id: str
    pci_subsystem_id: str | None
    device_kind: str
    source: str
    as_of: str = "2026-11"

    @property
    def cores_per_device(self) -> int:
        """TensorCores that work as one replica."""
        return self.cores_per_chip // self.devices_per_chip

    @property
    def hbm_bytes_per_device(self) -> int:
        """Memory that one replica has, bytes."""
        return self.hbm_bytes_per_chip // self.devices_per_chip

    @property
    def hbm_gb_per_s_per_device(self) -> float:
        """Memory bandwidth that one replica has, 10⁹ bytes a second."""
        return self.hbm_gb_per_s / self.devices_per_chip

    @property
    def peak_bf16_tflops_per_device(self) -> float:
        """Peak bfloat16 rate of one replica, 10¹² operations a second."""
        return self.peak_bf16_tflops / self.devices_per_chip

    @property
    def mxus_per_chip(self) -> int:
        """Matrix units on a chip."""
        return self.cores_per_chip * self.mxus_per_core

    @property
    def title(self) -> str:
        """The name in a sentence: ``"TPU v5e"``, and ``"TPU7x"`` as Google writes it."""
        return "TPU7x" if self.name == "7x" else f"TPU {self.name}"


_DOCS = "docs.cloud.google.com/tpu/docs/"
_JAX = "jax 0.10.2, jax/_src/pallas/mosaic/tpu_info.py"

# Memory: the pages of Google print GB; its TPU7x page, JAX and tpu-info read the same figures as GiB.
# Only for v2 do JAX (16·10⁹) and tpu-info (16 GiB) differ; the smaller one stands here.
_TABLE = (
    Chip("v2", 2, 2, 1, 128, 16 * GB, 716, 46, "0x0027", "0x004e", "TPU v2", _JAX),
    # JAX says 825 GB/s and 140 TFLOP/s for v3; Google's page is followed.
    Chip("v3", 2, 2, 2, 128, 32 * GIB, 900, 123, "0x0027", "0x004f", "TPU v3", _DOCS + "v3"),
    Chip("v4", 2, 1, 4, 128, 32 * GIB, 1200, 275, "0x005e", None, "TPU v4", _DOCS + "v4"),
    Chip("v5e", 1, 1, 4, 128, 16 * GIB, 819, 197, "0x0063", None, "TPU v5 lite", _DOCS + "v5e"),
    Chip("v5p", 2, 1, 4, 128, 95 * GIB, 2765, 459, "0x0062", None, "TPU v5", _DOCS + "v5p"),
    Chip("v6e", 1, 1, 2, 256, 32 * GIB, 1638, 918, "0x006f", None, "TPU v6 lite", _DOCS + "v6e"),
    # The size of the matrix units is JAX's; tpu7x-8 is four chips in Google's own tools (xpk).
    Chip("7x", 2, 2, 2, 256, 192 * GIB, 7380, 2307, "0x0076", None, "TPU7x", _DOCS + "tpu7x; MXUs: " + _JAX),
)

CHIPS: dict[str, Chip] = {chip.name: chip for chip in _TABLE}
"""Every chip by its name, oldest first."""

# JAX's older and newer names for the same devices (jax/_src/pallas/mosaic/tpu_info.py).
_KINDS = {chip.device_kind.lower(): chip for chip in _TABLE}
_KINDS.update({"tpu v5e": CHIPS["v5e"], "tpu v5p": CHIPS["v5p"], "tpu v6e": CHIPS["v6e"]})


def chip_for_device_kind(device_kind: str) -> Chip | None:
    """Return the chip that JAX calls ``device_kind``, or None when it is not in the table.

    Example:
        >>> chip_for_device_kind("TPU v5 lite").name
        'v5e'
    """
    return _KINDS.get(device_kind.strip().lower())


def chip_for_pci(device: str, subsystem: str) -> Chip | None:
    """Return the chip with these PCI ids under vendor 0x1ae0, or None when they are not a TPU's.

    Source: jax/_src/hardware_utils.py of jax 0.10.2 and tpu_info/device.py, checked 2026-11.

    Args:
        device: Device id, ``"0x0027"``.
        subsystem: Subsystem device id, which tells v2 from v3.

    Example:
        >>> chip_for_pci("0x0027", "0x004e").name
        'v2'
    """
    for chip in _TABLE:
        if chip.pci_device_id == device.lower() and chip.pci_subsystem_id in (None, subsystem.lower()):
            return chip
    return None
