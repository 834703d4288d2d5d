"""The folder of live machines that belongs to this process."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import subprocess
import sys
import weakref
from pathlib import Path

from workflow_gym.errors import HostError
from workflow_gym.machines.qemu import reaper

_OPEN: weakref.WeakSet[RunFolder] = weakref.WeakSet()


def _forget_all() -> None:
    for folder in list(_OPEN):
        folder.forget()


os.register_at_fork(after_in_child=_forget_all)


class RunFolder:
    """One owned folder, guarded by a child process that outlives us for a moment. `close` may be called twice."""

    def __init__(self, machines: Path) -> None:
        """Free what dead processes left, then create our own folder.

        Raises:
            HostError: it cannot be created.
        """
        reaper.sweep(machines)
        self.path = machines / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._numbers = itertools.count()
        self._owner = os.getpid()
        try:
            self._lock = reaper.own(self.path)
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", reaper.__file__, str(self.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"cannot create {self.path}: {error}") from error
        _OPEN.add(self)

    def forget(self) -> None:
        """Let go in a forked copy of the owner, which must neither keep the guard waiting nor hold the lock."""
        if self._lock >= 0:
            os.close(self._lock)
            assert self._guard.stdin is not None
            with contextlib.suppress(OSError):
                self._guard.stdin.close()
            self._lock = -1

    def new_place(self) -> Path:
        """Return a path in the folder at which nothing lies yet."""
        return self.path / f"m{next(self._numbers)}"

    def new_machine(self) -> Path:
        """Create a folder for one machine. Raises `HostError`."""
        folder = self.new_place()
        try:
            folder.mkdir()
        except OSError as error:
            raise HostError(f"cannot create {folder}: {error}") from error
        return folder

    def close(self) -> None:
        """Kill what is left in the folder and remove it."""
        if self._lock < 0 or os.getpid() != self._owner:
            return
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()
        os.close(self._lock)
        self._lock = -1
