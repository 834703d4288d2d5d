"""Chooses KVM or TCG (software emulation), and says why."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workflow_gym.errors import InputError

# Under TCG the guest must not see AVX: QEMU 7.2 emulates a gather instruction wrongly enough to crash llvmpipe.
_TCG_CPU = "max,avx=off,avx2=off,fma=off,f16c=off"


@dataclass(frozen=True)
class Accelerator:
    """How guest code is executed."""

    kind: Literal["kvm", "tcg"]
    """Which one."""
    reason: str
    """Why it was chosen, for people."""

    @property
    def arguments(self) -> list[str]:
        """QEMU's arguments for it."""
        if self.kind == "kvm":
            return ["-accel", "kvm", "-cpu", "host"]
        return ["-accel", "tcg,thread=multi", "-cpu", _TCG_CPU]


def choose_accelerator(
    device: Path = Path("/dev/kvm"), cpu_info: Path = Path("/proc/cpuinfo"), wanted: str | None = None
) -> Accelerator:
    """Return KVM when the processor offers it and the device is usable, else TCG.

    A /dev/kvm without `vmx` or `svm` among the processor's flags exists on some nested hosts, where ordinary guest
    kernels hang: the device alone proves nothing.

    Args:
        device: KVM's device file.
        cpu_info: where the processor's flags are listed.
        wanted: "kvm" or "tcg" decides; by default `$WORKFLOW_GYM_ACCEL` does, where it is set.

    Raises:
        InputError: `wanted` is neither.
    """
    wanted = wanted or os.environ.get("WORKFLOW_GYM_ACCEL")
    if wanted == "kvm":
        return Accelerator("kvm", "asked for by WORKFLOW_GYM_ACCEL")
    if wanted == "tcg":
        return Accelerator("tcg", "asked for by WORKFLOW_GYM_ACCEL")
    if wanted:
        raise InputError(f"WORKFLOW_GYM_ACCEL must be 'kvm' or 'tcg', not {wanted!r}")
    flags = cpu_info.read_text().split() if cpu_info.exists() else []
    if "vmx" not in flags and "svm" not in flags:
        extra = " (the device exists, but guests would hang on it)" if device.exists() else ""
        return Accelerator("tcg", f"the processor offers neither vmx nor svm{extra}; guests run about 10 times slower")
    if not device.exists():
        return Accelerator("tcg", f"{device} does not exist; load the kvm module to run about 10 times faster")
    if not os.access(device, os.R_OK | os.W_OK):
        return Accelerator("tcg", f"{device} is not readable and writable for you; join the group 'kvm'")
    return Accelerator("kvm", f"the processor offers it and {device} is usable")
