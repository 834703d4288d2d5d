"""A read-only view of a machine for other eyes: recorders and live viewers, any number of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from workflow_gym.errors import MachineError
from workflow_gym.machines.base import Frame, Machine

_MAX_AGE = 0.1


class View:
    """Shows what a machine's screen shows. It can neither touch the machine nor slow it down by being looked at often.

    All who look share one picture, which is taken anew at most every tenth of a second.
    """

    def __init__(self, machine: Callable[[], Machine | None]) -> None:
        """Look at whatever machine `machine` returns at the moment, or None when there is none."""
        self._machine = machine
        self._lock = threading.Lock()
        self._frame: Frame | None = None
        self._taken = float("-inf")

    def screenshot(self) -> Frame | None:
        """Return the screen, (height, width, 3) uint8, at most a tenth of a second old; the last one once it is gone.

        The picture is shared and cannot be written to. None: there has been no machine yet.
        """
        with self._lock:
            if time.monotonic() - self._taken >= _MAX_AGE:
                machine = self._machine()
                try:
                    if machine is not None:
                        self._frame = machine.screenshot()
                        self._frame.flags.writeable = False
                except MachineError:
                    pass  # It broke or was closed; whoever drives it is told.
                self._taken = time.monotonic()
            return self._frame
