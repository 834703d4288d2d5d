"""One guest in one QEMU process, seen and touched from outside through QEMU's monitor."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workflow_gym.actions import Button
from workflow_gym.errors import HostError
from workflow_gym.images.build import BuiltImage
from workflow_gym.machines.base import Frame, Machine
from workflow_gym.machines.events import (
    ButtonChanged,
    Elapsed,
    InputEvent,
    KeyChanged,
    PointerMoved,
    TextEntered,
    WheelTurned,
)
from workflow_gym.machines.qemu.command import Hardware
from workflow_gym.machines.qemu.process import QemuProcess
from workflow_gym.machines.qemu.template import QemuTemplate
from workflow_gym.machines.ssh import DESKTOP_USER, SshShell
from workflow_gym.machines.typist import Typist

_BUTTON_NAMES: dict[Button, str] = {
    "left": "left",
    "middle": "middle",
    "right": "right",
    "back": "side",
    "forward": "extra",
}
_AXIS_MAXIMUM = 0x7FFF
_EVENTS_IN_A_ROW = 12
"""QEMU's keyboard and the guest's hold 64 reports, two to an event, and lose what comes on top: the guest is given time
to catch up before there are more than this."""


@dataclass(frozen=True)
class MachineFiles:
    """What a QEMU process runs on."""

    folder: Path
    """The machine's own folder; goes with it."""
    disk: Path
    """The disk that the guest writes to."""
    memory: Path
    """The file of the guest's memory."""
    shared_memory: bool
    """Whether the guest's writes go into `memory`."""
    image: BuiltImage
    """The image that it was booted from."""
    hardware: Hardware
    """Processors, memory, screen."""

    def remove(self) -> None:
        """Remove the machine's folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


Keep = Callable[["QemuMachine", str | None], QemuTemplate]
"""Captures a machine as a template, under a key or for the time being."""


class QemuMachine(Machine):
    """A guest that this process owns."""

    def __init__(
        self, process: QemuProcess, files: MachineFiles, keep: Keep, on_close: Callable[[QemuMachine], None]
    ) -> None:
        """Take over a process whose guest is stopped.

        Args:
            process: the process.
            files: what it runs on.
            keep: captures the machine as a template under a key; what `capture` calls.
            on_close: called once when the machine is closed.
        """
        self.process = process
        self.files = files
        self.screen = files.hardware.screen
        self.paused = True
        self._keep = keep
        self._on_close = on_close
        self._closed = False
        self._shell = SshShell(process.forwarded_port, files.image.ssh_key, files.image.host_key)
        self._typist = Typist(self)

    @property
    def shell(self) -> SshShell:
        """Files and commands inside the guest."""
        return self._shell

    @property
    def pid(self) -> int:
        """The id of the QEMU process."""
        return self.process.pid

    def screenshot(self) -> Frame:
        """Return what the screen shows now."""
        with self.process.explained():
            return self.process.screenshot()

    def send(self, events: Sequence[InputEvent]) -> None:
        """Play input events in order; see `Machine.send`."""
        with self.process.explained():
            pressed = 0
            for kind, group in itertools.groupby(events, key=_way):
                if kind == "time":
                    time.sleep(sum(event.seconds for event in group if isinstance(event, Elapsed)))
                elif kind == "sideways":
                    self._wheel_sideways([event for event in group if isinstance(event, WheelTurned)])
                elif kind == "text":
                    self._typist.type("".join(event.text for event in group if isinstance(event, TextEntered)))
                else:
                    # One command for all that happens at one moment: nothing can come between a key's down and up.
                    happening = [part for event in group for part in self._translate(event)]
                    self.process.qmp.execute("input-send-event", {"events": happening})
                    pressed += len(happening)
                    if pressed >= _EVENTS_IN_A_ROW:
                        self.process.catch_up()
                        pressed = 0

    def _translate(self, event: InputEvent) -> list[dict[str, object]]:
        match event:
            case PointerMoved(x, y):
                return [_axis("x", x, self.screen.width), _axis("y", y, self.screen.height)]
            case ButtonChanged(button, down):
                return [_button(_BUTTON_NAMES[button], down)]
            case WheelTurned(dx, dy):
                assert dx == 0
                name = "wheel-up" if dy < 0 else "wheel-down"
                return [_button(name, True), _button(name, False)]
            case KeyChanged(key, down):
                return [{"type": "key", "data": {"key": {"type": "qcode", "data": key}, "down": down}}]
        raise TypeError(f"{event!r} is no input event")

    def _wheel_sideways(self, events: list[WheelTurned]) -> None:
        # QEMU's tablet has one wheel only; X takes the buttons 6 and 7 for the other.
        for event in events:
            self.shell.run(["xdotool", "click", "6" if event.dx < 0 else "7"], user=DESKTOP_USER)

    def busy_seconds(self) -> float:
        """Return the CPU seconds of the guest's processors."""
        return self.process.busy_seconds()

    def waiting_seconds(self) -> float:
        """Return for how long the guest's processors waited for the host's."""
        return self.process.waiting_seconds()

    def disk_operations(self) -> int:
        """Return how many reads and writes of its disk the guest has made."""
        with self.process.explained():
            return self.process.disk_operations()

    def pause(self) -> None:
        """Stop the guest."""
        if not self.paused:
            with self.process.explained():
                self.process.qmp.execute("stop")
            self.paused = True

    def resume(self) -> None:
        """Let the guest go on."""
        if self.paused:
            with self.process.explained():
                self.process.qmp.execute("cont")
            self.paused = False

    def capture(self, key: str | None = None) -> QemuTemplate:
        """Freeze a copy of this guest as a template; see `Machine.capture`."""
        with self.process.explained():
            return self._keep(self, key)

    def come_to_rest(self) -> None:
        """Pause, with the SSH connection closed at both ends: a half-open one must not be frozen into a template."""
        if not self.paused and self._shell.connected:
            self._shell.disconnect()
            time.sleep(0.3)
        self.pause()

    def freeze_into(self, folder: Path) -> bool:
        """Write device state, disk and memory of the paused guest into `folder`.

        Memory that is private to the process goes into the state file, since no other file holds it.

        Returns:
            Whether memory lies in a file of its own, as a template needs it.

        Raises:
            HostError: the host's disk is full.
            MachineError: QEMU failed.
        """
        process, shared = self.process, self.files.shared_memory
        process.save_state(folder / "state", with_memory=not shared)
        try:
            if shared:
                copy_sparse(self.files.memory, folder / "memory")
            copy_sparse(self.files.disk, folder / "disk.qcow2")
        finally:
            process.go_on()
        return shared

    def close(self) -> None:
        """Destroy the machine. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._shell.disconnect()
        self.process.close()
        self.files.remove()
        self._on_close(self)


def _way(event: InputEvent) -> Literal["time", "text", "sideways", "input"]:
    if isinstance(event, Elapsed):
        return "time"
    if isinstance(event, WheelTurned) and event.dx:
        return "sideways"
    return "text" if isinstance(event, TextEntered) else "input"


def _axis(name: str, pixel: int, length: int) -> dict[str, object]:
    return {"type": "abs", "data": {"axis": name, "value": int((pixel + 0.5) * _AXIS_MAXIMUM / length)}}


def _button(name: str, down: bool) -> dict[str, object]:
    return {"type": "btn", "data": {"button": name, "down": down}}


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a file with its holes, sharing blocks where the file system can. Raises `HostError`."""
    try:
        command = ["cp", "--reflink=auto", "--sparse=always", str(source), str(target)]
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        with contextlib.suppress(OSError):
            os.unlink(target)
        raise HostError(f"cannot copy {source}: {error.stderr.strip()}") from None
