"""The same guest under a libvirt daemon of our own, to compare forks with libvirt's snapshot revert.

The daemon runs in session mode in PID and user namespaces of its own, with all its files in one temporary folder. It
touches no libvirt of the host, needs no root, and everything goes when our end of a pipe closes.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image as Picture

from bench import namespace_init
from workflow_gym.deadline import Deadline
from workflow_gym.errors import (
    CapabilityError,
    GuestCommandError,
    GuestUnreachableError,
    MachineError,
    MachineTimeoutError,
    MissingDependencyError,
)
from workflow_gym.images.build import BuiltImage
from workflow_gym.images.recipe import load_image
from workflow_gym.machines.base import Frame, Machine, Template
from workflow_gym.machines.desktop import start_application
from workflow_gym.machines.events import InputEvent
from workflow_gym.machines.qemu.accelerator import Accelerator
from workflow_gym.machines.qemu.command import Hardware, overlay_command, qemu_command
from workflow_gym.machines.settle import changed_pixels
from workflow_gym.machines.ssh import SshShell

_DOMAIN, _SNAPSHOT = "bench", "ready"
_QEMU_SCHEMA = "http://libvirt.org/schemas/domain/qemu/1.0"
_INNER_USER = "1000"
_DAEMON_SETTINGS = 'auth_unix_ro = "none"\nauth_unix_rw = "none"\n'
# Without virtlogd, which would outlive the daemon's socket.
_QEMU_SETTINGS = 'stdio_handler = "file"\nsecurity_driver = "none"\n'


class PrivateDaemon:
    """A libvirtd that nobody else sees. `close` ends it with all its guests, and removes its files."""

    def __init__(self) -> None:
        """Start it and wait until it answers.

        Raises:
            MissingDependencyError: libvirt is not installed.
            MachineError: it does not start.
        """
        self._virsh = _program("virsh", "libvirt-clients")
        self._libvirtd = _program("libvirtd", "libvirt-daemon")
        # The path is short, since the daemon makes sockets below it, whose paths the kernel limits to 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="wg-bench-", dir="/var/tmp"))
        self._log = self.folder / "libvirtd.log"
        self._socket = self.folder / "run" / "libvirt" / "libvirt-sock"
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = self._start()
            self._wait_until_up(self._process)
        except BaseException:
            self.close()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        settings = self.folder / ".config" / "libvirt"
        settings.mkdir(parents=True)
        (self.folder / "run").mkdir(mode=0o700)
        (settings / "libvirtd.conf").write_text(_DAEMON_SETTINGS)
        (settings / "qemu.conf").write_text(_QEMU_SETTINGS)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "LIBVIRT_"))}
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [*namespace_command(self.folder), self._libvirtd, "--config", str(settings / "libvirtd.conf")],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment | {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder / "run")},
                cwd=self.folder,
                start_new_session=True,  # Ctrl-C at the terminal must reach Python first, which then cleans up.
            )

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        deadline = Deadline(60, "starting libvirtd")
        while True:
            try:
                self.virsh("version")
                return
            except MachineError as error:
                log = self._log.read_text(errors="replace")[-1000:]
                if process.poll() is not None:
                    raise MachineError(
                        f"libvirtd ended with status {process.returncode} (--no-libvirt does without): {log}"
                    ) from error
                deadline.check(f"{error}; its log ends with: {log}")
                deadline.sleep(0.1)

    def virsh(self, *words: str) -> str:
        """Carry out a virsh command and return what it printed. Raises `MachineError`."""
        command = [self._virsh, "--quiet", "--connect", f"qemu:///session?socket={self._socket}", *words]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise MachineError(f"virsh {words[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def close(self) -> None:
        """End it with everything that it started. May be called twice."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def namespace_command(folder: Path) -> list[str]:
    """Return the words before a command that runs it in namespaces which end when standard input closes.

    The user inside is never root, even if we are: libvirt's session mode then keeps to its user's folders, and leaves
    control groups, firewall and system bus alone.
    """
    user = ["--user", f"--map-user={_INNER_USER}", f"--map-group={_INNER_USER}"]
    namespaces = ["unshare", *user, "--mount", "--pid", "--mount-proc", "--fork", "--kill-child"]
    return [*namespaces, sys.executable, "-I", "-S", namespace_init.__file__, str(folder)]


def _program(name: str, package: str) -> str:
    found = shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")
    if found is None:
        raise MissingDependencyError(f"{name} is not installed (Debian package {package})")
    return found


class DomainMachine(Machine):
    """A guest under libvirt, with as much of the interface as starting an application takes."""

    paused = False

    def __init__(self, daemon: PrivateDaemon, image: BuiltImage, hardware: Hardware) -> None:
        """Take over the running domain of `daemon`."""
        self.screen = hardware.screen
        self._daemon = daemon
        self._picture = daemon.folder / "screen.ppm"
        self._ready: Frame | None = None
        self._shell = SshShell(self._port, image.ssh_key, image.host_key, connect_seconds=15)

    @property
    def shell(self) -> SshShell:
        """Files and commands inside the guest."""
        return self._shell

    def _port(self) -> int:
        answer = self._daemon.virsh("qemu-monitor-command", _DOMAIN, "--hmp", "info usernet")
        found = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)", answer)
        if found is None:
            raise MachineError(f"libvirt's QEMU forwards no port to the guest: {answer!r}")
        return int(found[1])

    def screenshot(self) -> Frame:
        """Return what the screen shows now."""
        self._daemon.virsh("screenshot", _DOMAIN, str(self._picture))
        with Picture.open(self._picture) as picture:
            return np.asarray(picture.convert("RGB"))

    def busy_seconds(self) -> float:
        """Return the CPU seconds of the guest's processors."""
        listing = self._daemon.virsh("domstats", "--vcpu", _DOMAIN)
        return sum(int(nanoseconds) for nanoseconds in re.findall(r"vcpu\.\d+\.time=(\d+)", listing)) / 1e9

    def pause(self) -> None:
        """Stop the guest."""
        self._daemon.virsh("suspend", _DOMAIN)
        self.paused = True

    def resume(self) -> None:
        """Let the guest go on."""
        self._daemon.virsh("resume", _DOMAIN)
        self.paused = False

    def take_snapshot(self) -> None:
        """Keep memory and disk as they are now in an internal snapshot. The guest is paused."""
        self._ready = self.screenshot()
        self._daemon.virsh("snapshot-create-as", _DOMAIN, _SNAPSHOT)

    def timed_revert(self) -> float:
        """Change the screen, go back to the snapshot, and return the seconds until its screen was seen again.

        Raises:
            MachineError: it failed, or another screen was seen.
        """
        if self._ready is None:
            raise MachineError("there is no snapshot yet")
        with self.running():
            self.shell.run(["systemctl", "stop", "app"])
            self.shell.disconnect()
        if changed_pixels(self._ready, self.screenshot()) == 0:
            raise MachineError("the application has ended, but the screen of libvirt's guest is the same")
        start = time.perf_counter()
        self._daemon.virsh("snapshot-revert", _DOMAIN, _SNAPSHOT, "--paused")
        frame = self.screenshot()
        seconds = time.perf_counter() - start
        if changed := changed_pixels(self._ready, frame):
            raise MachineError(f"after libvirt's revert {changed} pixels differ from those at the snapshot")
        return seconds

    def send(self, events: Sequence[InputEvent]) -> None:
        """Raise `CapabilityError`."""
        raise CapabilityError("this guest is only looked at")

    def capture(self, key: str | None = None) -> Template:
        """Raise `CapabilityError`."""
        raise CapabilityError("this guest is only looked at")

    def close(self) -> None:
        """Let go of the guest, which ends with its daemon."""
        self._shell.disconnect()


def boot_and_snapshot(
    daemon: PrivateDaemon,
    image_name: str,
    image: BuiltImage,
    hardware: Hardware,
    accelerator: Accelerator,
    progress: Callable[[str, str], None],
) -> DomainMachine:
    """Boot an image, start its application as templates do, and take the snapshot; the guest is paused then.

    Raises:
        MachineError: some step failed.
    """
    disk = daemon.folder / "disk.qcow2"
    subprocess.run(overlay_command(disk, image.disk), check=True, capture_output=True)
    definition = daemon.folder / "domain.xml"
    definition.write_text(domain_xml(image, hardware, accelerator, disk))
    progress("libvirt: booting the guest", "")
    daemon.virsh("define", str(definition))
    daemon.virsh("start", _DOMAIN)
    machine = DomainMachine(daemon, image, hardware)
    deadline = Deadline(600, "booting the guest under libvirt")
    while True:
        with contextlib.suppress(GuestCommandError, GuestUnreachableError, MachineTimeoutError):
            machine.shell.run(["test", "-e", "/run/desktop-is-up"], timeout=15)
            break
        deadline.check()
        deadline.sleep(0.5)
    if application := load_image(image_name).recipe.application:
        progress(f"libvirt: starting {application.name}", "")
        start_application(machine, application)
    machine.shell.disconnect()
    machine.pause()
    progress("libvirt: taking the snapshot", "")
    machine.take_snapshot()
    return machine


def domain_xml(image: BuiltImage, hardware: Hardware, accelerator: Accelerator, disk: Path) -> str:
    """Return libvirt's description of the guest that `qemu_command` starts.

    User networking with a forwarded port is not in libvirt's format, so that part is passed through to QEMU.
    """
    ET.register_namespace("qemu", _QEMU_SCHEMA)
    ours = qemu_command(
        hardware, accelerator, disk=disk, layers=1, kernel=image.kernel, initrd=image.initrd, memory=disk, shared=False,
        monitor_fd=0, incoming=False,
    )  # fmt: skip

    def argument(option: str) -> str:
        return ours[ours.index(option) + 1]

    domain = ET.Element("domain", type="kvm" if accelerator.kind == "kvm" else "qemu")
    _add(domain, "name", _DOMAIN)
    _add(domain, "memory", str(hardware.memory_mb), unit="MiB")
    _add(domain, "vcpu", str(hardware.processors))
    system = _add(domain, "os")
    _add(system, "type", "hvm", arch="x86_64", machine="q35")
    _add(system, "kernel", str(image.kernel))
    _add(system, "initrd", str(image.initrd))
    _add(system, "cmdline", argument("-append"))
    _add(_add(domain, "features"), "acpi")
    model, *flags = argument("-cpu").split(",")
    cpu = _add(domain, "cpu", mode="host-passthrough" if model == "host" else "maximum", check="none")
    for flag in flags:
        name, _, state = flag.partition("=")
        _add(cpu, "feature", name=name, policy="disable" if state == "off" else "require")
    _add(_add(domain, "clock", offset="utc"), "timer", name="rtc", track="guest")
    devices = _add(domain, "devices")
    drive = _add(devices, "disk", type="file", device="disk")
    _add(drive, "driver", name="qemu", type="qcow2", cache="unsafe", discard="unmap")
    _add(drive, "source", file=str(disk))
    _add(drive, "target", dev="vda", bus="virtio")
    _add(devices, "controller", type="usb", model="none")
    video = _add(_add(devices, "video"), "model", type="vga", vram="16384")
    _add(video, "resolution", x=str(hardware.screen.width), y=str(hardware.screen.height))
    _add(devices, "input", type="keyboard", bus="virtio")
    _add(devices, "input", type="tablet", bus="virtio")
    _add(devices, "memballoon", model="none")
    _add(_add(devices, "rng", model="virtio"), "backend", "/dev/urandom", model="random")
    passed_through = _add(domain, f"{{{_QEMU_SCHEMA}}}commandline")
    for option, device in (("-netdev", argument("-netdev")), ("-device", "virtio-net-pci,netdev=net0,addr=0x1e")):
        for word in (option, device):
            _add(passed_through, f"{{{_QEMU_SCHEMA}}}arg", value=word)
    return ET.tostring(domain, encoding="unicode")


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, attributes)
    element.text = text
    return element
