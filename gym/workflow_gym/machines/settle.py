"""Waits until a machine has settled: the screen is still *and* the guest's processors are idle.

A still screen alone is not enough: an application that is still computing its next window looks just like one that
waits for the user. Small changes that cost the guest nothing (a blinking caret, a clock) do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

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
    start = time.monotonic()
    frame, quiet_since, busy_then = machine.screenshot(), start, machine.busy_seconds()
    looked, busy_before = start, busy_then
    while True:
        # Look again when the quiet time would be over, or after a moment: whichever comes first.
        time.sleep(max(0.001, min(_POLL, quiet_since + bounds.quiet - time.monotonic())))
        latest, busy, now = machine.screenshot(), machine.busy_seconds(), time.monotonic()
        changed = changed_pixels(frame, latest)
        if changed and on_frame is not None:
            on_frame(latest)
        frame, window = latest, now - quiet_since
        # On average since it fell quiet; and not bursting just now, which a long quiet time would water down.
        busy_now = window >= _BUSY_WINDOW and (busy - busy_then) / window > bounds.idle_share
        busy_now = busy_now or (busy - busy_before) / max(now - looked, 0.02) > 2 * bounds.idle_share
        looked, busy_before = now, busy
        if changed > bounds.ignored_pixels or busy_now:
            quiet_since, busy_then = now, busy
        elif window >= bounds.quiet:
            return Settled(frame, True, now - start)
        if now - start >= bounds.maximum:
            return Settled(frame, False, now - start)


def changed_pixels(before: Frame, after: Frame) -> int:
    """Return how many pixels differ visibly (by more than 8 of 255 in some channel) between two frames."""
    if before.shape != after.shape:
        return int(after.shape[0] * after.shape[1])
    rows = np.flatnonzero((before != after).any(axis=(1, 2)))
    if not rows.size:
        return 0
    old, new = before[rows].astype(np.int16), after[rows].astype(np.int16)
    return int((np.abs(old - new).max(axis=2) > 8).sum())
