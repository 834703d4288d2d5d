"""One QEMU process: started, spoken to over QMP, seen, and ended."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from workflow_gym.deadline import Deadline
from workflow_gym.errors import HostError, MachineDiedError, MachineError, MissingDependencyError, TemplateError
from workflow_gym.machines.base import Frame
from workflow_gym.machines.qemu.qmp import Qmp

_SCREEN_FDSET = 1
_MOMENT = 0.01
_SPARE_SHARE = 0.6


class QemuProcess:
    """A running `qemu-system-x86_64`. `close` ends it; it may be called twice."""

    def __init__(self, command: Callable[[int], list[str]], folder: Path) -> None:
        """Start QEMU and shake hands with its monitor.

        Args:
            command: returns the command line, given the file descriptor of the monitor.
            folder: the machine's own folder; the log of the process goes there.

        Raises:
            MissingDependencyError: QEMU is not installed.
            MachineError: it did not start.
        """
        self._log = folder / "qemu.log"
        ours, theirs = socket.socketpair()
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    command(theirs.fileno()),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C at the terminal must reach Python first, which then cleans up.
                )
        except FileNotFoundError as error:
            ours.close()
            raise MissingDependencyError(
                f"{error.filename} is not installed; run `workflow-gym doctor` to see what is missing"
            ) from None
        except OSError as error:
            ours.close()
            raise HostError(f"cannot start QEMU: {error}") from error
        finally:
            theirs.close()
        self.qmp = Qmp(ours)
        self._screen_lock = threading.Lock()
        self._screen_fd = self._screen_memory = -1
        self._screen_map: mmap.mmap | None = None
        self._threads: list[int] = []
        self._seen: dict[str, tuple[int, float]] = {}
        try:
            with self.explained():
                self.qmp.handshake()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Add what QEMU printed to a `MachineDiedError` that is raised inside."""
        try:
            yield
        except MachineDiedError as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            raise MachineDiedError(f"{error}; {self.obituary()}") from error

    def obituary(self) -> str:
        """Say how the process ended and what it printed last."""
        status = self._process.poll()
        printed = self._log.read_text(errors="replace").strip()[-1500:] if self._log.exists() else ""
        return (
            f"QEMU {'still runs' if status is None else f'ended with status {status}'}, and printed: {printed or '-'}"
        )

    def load_state(self, state: Path, *, with_memory: bool = False) -> None:
        """Load device state into a process that was started with `incoming`; the guest stays stopped.

        Args:
            state: a file that `save_state` wrote.
            with_memory: whether it holds the guest's memory too.

        Raises:
            TemplateError: the state does not load.
        """
        self._ignore_shared_memory(not with_memory)
        try:
            descriptor = os.open(state, os.O_RDONLY)
        except OSError as error:
            raise TemplateError(f"{state} cannot be read: {error}") from error
        try:
            self.qmp.execute("getfd", {"fdname": "state"}, fd=descriptor)
        finally:
            os.close(descriptor)
        deadline = Deadline(60, "loading device state")
        try:
            self.qmp.execute("migrate-incoming", {"uri": "fd:state"})
            while self.qmp.execute("query-status")["status"] == "inmigrate":
                deadline.check()
                time.sleep(0.002)
        except MachineError as error:
            raise TemplateError(f"{state} does not load: {error}; {self.obituary()}") from error

    def save_state(self, state: Path, *, with_memory: bool = False) -> None:
        """Save the stopped guest's device state. `go_on` must follow before the guest can be saved again.

        Args:
            state: the file to write.
            with_memory: save the guest's memory too, which is needed where it is private to the process.

        Raises:
            HostError: the host's disk is full.
            MachineError: it failed.
        """
        self._ignore_shared_memory(not with_memory)
        try:
            descriptor = os.open(state, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise HostError(f"cannot write {state}: {error}") from error
        try:
            self.qmp.execute("getfd", {"fdname": "state"}, fd=descriptor)
        finally:
            os.close(descriptor)
        self.qmp.execute("migrate-set-parameters", {"max-bandwidth": 1 << 40})
        self.qmp.execute("migrate", {"uri": "fd:state"})
        deadline = Deadline(300, "saving device state")
        while (answer := self.qmp.execute("query-migrate")).get("status") not in ("completed", "failed"):
            deadline.check()
            time.sleep(0.005)
        if answer["status"] == "failed":
            raise HostError(f"saving the guest's state failed (is the disk full?): {answer.get('error-desc', '')}")

    def go_on(self) -> None:
        """Leave the state after a save, in which QEMU has let go of the disk; the guest is stopped again at once."""
        self.qmp.execute("cont")
        self.qmp.execute("stop")

    def _ignore_shared_memory(self, on: bool) -> None:
        capability = {"capability": "x-ignore-shared", "state": on}
        self.qmp.execute("migrate-set-capabilities", {"capabilities": [capability]})

    def screenshot(self) -> Frame:
        """Return the screen as (height, width, 3) uint8 RGB; any number of threads may look."""
        with self._screen_lock:
            return self._screendump()

    def _screendump(self) -> Frame:
        if self._screen_fd < 0:
            memory = os.memfd_create("screen")
            # QEMU takes only a descriptor of just the access mode it opens the file with.
            self._screen_fd = os.open(f"/proc/self/fd/{memory}", os.O_WRONLY | os.O_CLOEXEC)
            self._screen_memory = memory
            self.qmp.execute("add-fd", {"fdset-id": _SCREEN_FDSET}, fd=self._screen_fd)
        # QEMU writes through a duplicate of our descriptor, which shares its offset.
        os.lseek(self._screen_fd, 0, os.SEEK_SET)
        self.qmp.execute("screendump", {"filename": f"/dev/fdset/{_SCREEN_FDSET}"})
        length = os.lseek(self._screen_fd, 0, os.SEEK_CUR)
        if self._screen_map is None or len(self._screen_map) != length:
            self._screen_map = mmap.mmap(self._screen_memory, length, prot=mmap.PROT_READ)
        header = re.match(rb"P6\n(\d+) (\d+)\n255\n", self._screen_map[:32])
        if header is None:
            raise MachineError("QEMU's screen dump is not a picture")
        width, height = int(header[1]), int(header[2])
        pixels = np.frombuffer(self._screen_map, dtype=np.uint8, offset=header.end())
        return pixels.reshape(height, width, 3).copy()

    def busy_seconds(self) -> float:
        """Return the CPU seconds of the threads that run the guest's processors. Raises `MachineDiedError`."""
        return sum(ran for ran, _ in self._scheduled())

    def waiting_seconds(self) -> float:
        """Return for how long these threads waited for a processor of the host. Raises `MachineDiedError`."""
        return sum(waited for _, waited in self._scheduled())

    def disk_operations(self) -> int:
        """Return how many reads and writes of its disks the guest has made so far."""
        statistics = [device["stats"] for device in self.qmp.execute("query-blockstats")]
        return sum(int(disk["rd_operations"]) + int(disk["wr_operations"]) for disk in statistics)

    def catch_up(self, maximum: float = 30.0) -> None:
        """Wait until the running guest has a processor to spare and none that the host holds up.

        It ends all the same when `maximum` seconds are over.

        Raises:
            MachineDiedError: the process is gone.
        """
        end = time.monotonic() + maximum
        then, before = time.monotonic(), self._scheduled()
        while then < end:
            time.sleep(_MOMENT)
            now, after = time.monotonic(), self._scheduled()
            # An interrupt goes to one certain processor, so that none may be waiting for the host.
            held_up = max(new[1] - old[1] for old, new in zip(before, after, strict=True))
            wanted = min(sum(new) - sum(old) for old, new in zip(before, after, strict=True))
            if max(held_up, wanted) < _SPARE_SHARE * (now - then):
                return
            then, before = now, after

    def _scheduled(self) -> list[tuple[float, float]]:
        """Return for each of the guest's processors the seconds that it ran, and waited for a processor of the host.

        From the scheduler's statistics, https://docs.kernel.org/scheduler/sched-stats.html. They count a wait only when
        it is over, so the wait of a thread that could run but has not since we last looked is added.
        """
        if not self._threads:
            self._threads = [cpu["thread-id"] for cpu in self.qmp.execute("query-cpus-fast")]
        try:
            return [self._thread_times(Path(f"/proc/{self.pid}/task/{thread}")) for thread in self._threads]
        except (OSError, ValueError, IndexError):
            raise MachineDiedError(f"the machine is gone; {self.obituary()}") from None

    def _thread_times(self, folder: Path) -> tuple[float, float]:
        ran, waited, _ = map(int, (folder / "schedstat").read_text().split())
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        now = time.monotonic()
        total, since = self._seen.get(folder.name, (0, now))
        if total != ran + waited or state != "R":
            self._seen[folder.name] = (ran + waited, now)
            since = now
        return ran / 1e9, waited / 1e9 + (now - since)

    def forwarded_port(self) -> int:
        """Return the loopback port that leads to the guest's SSH server."""
        answer = self.qmp.execute("human-monitor-command", {"command-line": "info usernet"})
        found = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)", answer)
        if found is None:
            raise MachineError(f"QEMU forwards no port to the guest: {answer!r}")
        return int(found[1])

    def close(self) -> None:
        """End the process at once and give back its descriptors."""
        self.qmp.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._screen_fd >= 0:
            os.close(self._screen_fd)
            os.close(self._screen_memory)
            self._screen_fd = -1
