"""QEMU's command lines, built by small functions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workflow_gym.actions import Size
from workflow_gym.machines.qemu.accelerator import Accelerator

QEMU = "qemu-system-x86_64"
GUEST_CLOCK = "2027-01-04T09:00:00"
"""When guests boot: a Monday, later than the packages they are built from."""


@dataclass(frozen=True)
class Hardware:
    """What must be equal for the device state of one guest to load into another."""

    memory_mb: int
    """Guest memory in MiB."""
    processors: int
    """Guest processors."""
    screen: Size
    """Screen size in pixels."""


def qemu_command(
    hardware: Hardware,
    accelerator: Accelerator,
    *,
    disk: Path,
    layers: int,
    kernel: Path,
    initrd: Path,
    memory: Path,
    shared: bool,
    monitor_fd: int,
    incoming: bool,
    serial: Path | None = None,
) -> list[str]:
    """Return the command that starts a guest, stopped, with its monitor on the file descriptor `monitor_fd`.

    Args:
        hardware: processors, memory, screen.
        accelerator: KVM or TCG.
        disk: a qcow2 image that the guest may write to.
        layers: of how many files the disk is made, itself and what it is layered over.
        kernel: the guest's kernel.
        initrd: the guest's initial ramdisk.
        memory: the file that holds the guest's memory.
        shared: whether writes of the guest go into `memory` (else they stay private to the process).
        monitor_fd: an inherited file descriptor of a connected socket.
        incoming: whether to wait for device state instead of booting; the kernel is then in memory already.
        serial: where the guest's console is logged.
    """
    return [
        QEMU, "-nodefaults", "-no-user-config", "-S", "-display", "none", "-no-reboot",
        "-name", f"workflow-gym,process={disk.parent.name}",
        "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        *accelerator.arguments,
        "-smp", str(hardware.processors), "-m", str(hardware.memory_mb),
        *_memory(hardware, memory, shared),
        *([] if incoming else _boot(kernel, initrd)),
        *_disk(disk, layers),
        *_network(),
        *_screen_and_input(hardware.screen),
        "-device", "virtio-rng-pci",
        "-rtc", f"base={GUEST_CLOCK},clock=vm",
        "-chardev", f"socket,id=monitor,fd={monitor_fd}", "-mon", "chardev=monitor,mode=control",
        "-serial", f"file:{serial}" if serial else "null",
        *(["-incoming", "defer"] if incoming else []),
    ]  # fmt: skip


def _memory(hardware: Hardware, memory: Path, shared: bool) -> list[str]:
    backend = f"memory-backend-file,id=mem,size={hardware.memory_mb}M,mem-path={_escape(memory)}"
    return ["-machine", "q35,memory-backend=mem", "-object", f"{backend},share={'on' if shared else 'off'}"]


def _boot(kernel: Path, initrd: Path) -> list[str]:
    append = "root=/dev/vda rw console=ttyS0 quiet mitigations=off systemd.show_status=false"
    return ["-kernel", str(kernel), "-initrd", str(initrd), "-append", append]


def _disk(disk: Path, layers: int) -> list[str]:
    # After loading a guest, QEMU would drop each layer from the host's page cache, which all machines share.
    caches = [f"{'backing.' * level}file.drop-cache=off" for level in range(layers)]
    options = ["if=virtio", "format=qcow2", "cache=unsafe", "discard=unmap", *caches]
    return ["-drive", ",".join([f"file={_escape(disk)}", *options])]


def _network() -> list[str]:
    # restrict=on: the guest reaches nothing. Port 0: the kernel picks a free one, on loopback only.
    return ["-netdev", "user,id=net0,restrict=on,hostfwd=tcp:127.0.0.1:0-:22", "-device", "virtio-net-pci,netdev=net0"]


def _screen_and_input(screen: Size) -> list[str]:
    video_mb = 16 if screen.width * screen.height <= 1920 * 1080 else 64
    return [
        "-device", f"VGA,vgamem_mb={video_mb},edid=on,xres={screen.width},yres={screen.height}",
        "-device", "virtio-keyboard-pci", "-device", "virtio-tablet-pci",
    ]  # fmt: skip


def _escape(path: Path) -> str:
    """Double the commas of a path, as QEMU's option syntax wants it."""
    return str(path).replace(",", ",,")


def overlay_command(overlay: Path, backing: Path) -> list[str]:
    """Return the command that makes an empty copy-on-write disk over `backing`."""
    return ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(backing), "-F", "qcow2", str(overlay)]
