"""A point in time by which something must be done, passed down instead of bare timeouts."""

from __future__ import annotations

import time

from workflow_gym.errors import MachineTimeoutError


class Deadline:
    """A moment on the monotonic clock."""

    def __init__(self, seconds: float, what: str) -> None:
        """Start the clock.

        Args:
            seconds: how long from now.
            what: what is being waited for, for the error's text.
        """
        self.seconds = seconds
        self.what = what
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, never below zero."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._end

    def check(self, detail: str = "") -> None:
        """Raise `MachineTimeoutError` when the time is over; `detail` is added to the message."""
        if self.passed:
            raise MachineTimeoutError(f"{self.what}: not done within {self.seconds:g} s. {detail}".strip())

    def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`, or until the deadline if that is sooner."""
        time.sleep(min(seconds, self.left))
