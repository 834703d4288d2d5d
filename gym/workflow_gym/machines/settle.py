"""Waits until a machine has settled: the screen is still *and* the guest's processors and disk are idle.

A still screen alone is not enough: an application that is still computing its next window looks just like one that
waits for the user. Small changes that cost the guest nothing (a blinking caret, a clock) do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workflow_gym.machines.base import Frame, Machine


@dataclass(frozen=True)
class SettleBounds:
    """When a machine counts as settled, and how long to wait for it."""

    quiet: float = 0.25
    """Seconds for which the screen must be still and the processors idle."""
    maximum: float = 10.0
    """Seconds after which waiting ends all the same."""
    idle_share: float = 0.25
    """Processors count as idle below this share of one core."""
    ignored_pixels: int = 400
    """Changes of at most this many pixels do not count, while the processors are idle."""


@dataclass(frozen=True)
class Settled:
    """How waiting ended."""

    frame: Frame
    """The last frame seen."""
    settled: bool
    """False when the maximum ran out first."""
    seconds: float
    """How long it took."""


DEFAULT_BOUNDS = SettleBounds()
_POLL = 0.04
_WANTED_SHARE = 0.75
_BUSY_WINDOW = 0.1
"""Seconds over which processors are judged; shorter windows only measure noise."""


def settle(
    machine: Machine, bounds: SettleBounds = DEFAULT_BOUNDS, on_frame: Callable[[Frame], None] | None = None
) -> Settled:
    """Wait until a running machine has settled, or `bounds.maximum` is over.

    Args:
        machine: a running machine.
        bounds: see `SettleBounds`.
        on_frame: called with each frame that differs from the one before.

    Raises:
        MachineError: the machine broke meanwhile.
    """
    start = looked = time.monotonic()
    frame, meter = machine.screenshot(), _Meter(machine, bounds.idle_share)
    quiet = 0.0
    while True:
        # Look again when the quiet time would be over, or after a moment: whichever comes first.
        time.sleep(max(0.001, min(_POLL, bounds.quiet - quiet)))
        latest = machine.screenshot()
        changed = changed_pixels(frame, latest)
        if changed and on_frame is not None:
            on_frame(latest)
        frame, now = latest, time.monotonic()
        if meter.is_busy() or changed > bounds.ignored_pixels:
            quiet = 0.0
            meter.begin()
        else:
            # When the host holds us up too, one look must not stand for a long time that nobody saw.
            quiet += min(now - looked, 2 * _POLL)
        looked = now
        if quiet >= bounds.quiet:
            return Settled(frame, True, now - start)
        if now - start >= bounds.maximum:
            return Settled(frame, False, now - start)


class _Meter:
    """Tells whether a machine's processors or its disk are busy, since it began and just now."""

    def __init__(self, machine: Machine, idle_share: float) -> None:
        self._machine = machine
        self._idle_share = idle_share
        self._before = _Load.of(machine)
        self.begin()

    def begin(self) -> None:
        self._start = self._before

    def is_busy(self) -> bool:
        latest = _Load.of(self._machine)
        # On average since it fell quiet; and not bursting just now, which a long quiet time would water down.
        average = latest - self._start
        burst = latest - self._before
        self._before = latest
        if burst.operations:
            return True
        if average.seconds >= _BUSY_WINDOW and average.exceeds(self._idle_share):
            return True
        return burst.seconds >= _POLL / 2 and burst.exceeds(2 * self._idle_share)


class _Load(NamedTuple):
    seconds: float
    busy: float
    waiting: float
    operations: int

    @classmethod
    def of(cls, machine: Machine) -> _Load:
        return cls(time.monotonic(), machine.busy_seconds(), machine.waiting_seconds(), machine.disk_operations())

    def __sub__(self, other: _Load) -> _Load:
        seconds, busy, waiting, operations = other
        return _Load(self.seconds - seconds, self.busy - busy, self.waiting - waiting, self.operations - operations)

    def exceeds(self, share: float) -> bool:
        """Whether the processors were busier than `share`, or wanted to be and the host had no time for them.

        An idle guest wakes up often and briefly, and waits a little each time; one with work waits or runs always.
        """
        return self.busy > share * self.seconds or self.busy + self.waiting > _WANTED_SHARE * self.seconds


def changed_pixels(before: Frame, after: Frame) -> int:
    """Return how many pixels differ visibly (by more than 8 of 255 in some channel) between two frames."""
    if before.shape != after.shape:
        return int(after.shape[0] * after.shape[1])
    rows = np.flatnonzero((before != after).any(axis=(1, 2)))
    if not rows.size:
        return 0
    old, new = before[rows].astype(np.int16), after[rows].astype(np.int16)
    return int((np.abs(old - new).max(axis=2) > 8).sum())
