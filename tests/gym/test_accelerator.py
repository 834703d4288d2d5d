"""KVM only when the processor offers it *and* the device is usable; the reason is told."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from workflow_gym.machines.qemu.accelerator import choose_accelerator

INTEL, AMD, NONE = "flags\t\t: fpu vme vmx sse\n", "flags\t\t: fpu svm\n", "flags\t\t: fpu vme vmxnet svmx\n"


@pytest.fixture(autouse=True)
def _nobody_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKFLOW_GYM_ACCEL", raising=False)


@pytest.fixture
def cpu_info(tmp_path: Path) -> Path:
    return tmp_path / "cpuinfo"


@pytest.fixture
def device(tmp_path: Path) -> Path:
    device = tmp_path / "kvm"
    device.touch()
    return device


@pytest.mark.parametrize("flags", [INTEL, AMD])
def test_kvm_where_processor_and_device_offer_it(cpu_info: Path, device: Path, flags: str) -> None:
    cpu_info.write_text(flags)
    found = choose_accelerator(device, cpu_info)
    assert found.kind == "kvm" and found.arguments[:2] == ["-accel", "kvm"]


@pytest.mark.parametrize("present", [True, False])
def test_a_device_alone_proves_nothing(cpu_info: Path, device: Path, present: bool) -> None:
    cpu_info.write_text(NONE)
    if not present:
        device.unlink()
    found = choose_accelerator(device, cpu_info)
    assert found.kind == "tcg" and "neither vmx nor svm" in found.reason
    assert ("guests would hang" in found.reason) == present


def test_without_a_device_or_without_knowing_the_processor_it_is_tcg(cpu_info: Path, device: Path) -> None:
    assert choose_accelerator(device, cpu_info).kind == "tcg"
    cpu_info.write_text(INTEL)
    device.unlink()
    found = choose_accelerator(device, cpu_info)
    assert found.kind == "tcg" and "does not exist" in found.reason


def test_emulated_guests_see_no_avx(cpu_info: Path, device: Path) -> None:
    arguments = " ".join(choose_accelerator(device, cpu_info).arguments)
    assert all(f"{flag}=off" in arguments for flag in ("avx", "avx2", "fma", "f16c"))


@pytest.mark.parametrize(("flags", "wanted"), [(NONE, "kvm"), (INTEL, "tcg")])
def test_the_user_decides(
    cpu_info: Path, device: Path, monkeypatch: pytest.MonkeyPatch, flags: str, wanted: str
) -> None:
    cpu_info.write_text(flags)
    assert choose_accelerator(device, cpu_info, wanted).kind == wanted
    monkeypatch.setenv("WORKFLOW_GYM_ACCEL", wanted)
    assert choose_accelerator(device, cpu_info).kind == wanted


def test_a_device_that_we_may_not_use_is_named() -> None:
    """Root may use everything, so a child that is nobody looks."""
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "cpuinfo").write_text(INTEL)
        (folder / "kvm").touch(mode=0o600)
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setuid(65534)
                found = choose_accelerator(folder / "kvm", folder / "cpuinfo")
                os._exit(0 if found.kind == "tcg" and "group 'kvm'" in found.reason else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
