"""Settled means: the screen is still *and* the processors are idle, within bounds."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from workflow_gym.errors import MachineDiedError
from workflow_gym.machines.base import Frame
from workflow_gym.machines.fake import Desktop, FakeMachine, FakeProvider
from workflow_gym.machines.settle import SettleBounds, changed_pixels, settle

BOUNDS = SettleBounds(quiet=0.15, maximum=1.0)


class BusyMachine(FakeMachine):
    """A fake machine whose screen and load are functions of the seconds since it was made."""

    drawn: Callable[[float], int]
    """How many pixels of the first row are white."""
    load: Callable[[float], float]
    """CPU seconds used so far."""

    def begin(
        self, drawn: Callable[[float], int] = lambda now: 0, load: Callable[[float], float] = lambda now: 0.0
    ) -> None:
        self.drawn, self.load, self._start = drawn, load, time.monotonic()

    def screenshot(self) -> Frame:
        frame = np.zeros((20, 1500, 3), dtype=np.uint8)
        frame[0, : self.drawn(time.monotonic() - self._start)] = 255
        return frame

    def busy_seconds(self) -> float:
        return self.load(time.monotonic() - self._start)


@pytest.fixture
def machine(provider: FakeProvider) -> BusyMachine:
    return BusyMachine(provider, provider.image_template("homebank"), "homebank")


def test_a_still_and_idle_machine_settles_at_once(machine: BusyMachine) -> None:
    machine.begin()
    result = settle(machine, BOUNDS)
    assert result.settled and 0.15 <= result.seconds < 1


def test_a_screen_that_changes_is_waited_for(machine: BusyMachine) -> None:
    machine.begin(drawn=lambda now: 900 if int(now * 10) % 2 and now < 0.5 else 0)
    result = settle(machine, BOUNDS)
    assert result.settled and result.seconds >= 0.5


def test_a_still_screen_is_not_enough_while_the_processors_work(machine: BusyMachine) -> None:
    machine.begin(load=lambda now: min(now, 0.6))
    result = settle(machine, BOUNDS)
    assert result.settled and result.seconds >= 0.6


def test_a_machine_that_never_rests_ends_at_the_maximum(machine: BusyMachine) -> None:
    machine.begin(load=lambda now: now)
    result = settle(machine, SettleBounds(quiet=0.1, maximum=0.4))
    assert not result.settled and 0.4 <= result.seconds < 2


def test_light_load_and_a_caret_or_clock_do_not_count(machine: BusyMachine) -> None:
    machine.begin(drawn=lambda now: 300 if int(now * 20) % 2 else 0, load=lambda now: now * 0.1)
    assert settle(machine, BOUNDS).settled


def test_the_last_frame_is_returned_and_each_change_is_reported(machine: BusyMachine) -> None:
    looks = iter([100, 600, 1200])
    machine.begin(drawn=lambda now: next(looks, 1200))
    seen: list[int] = []
    result = settle(machine, BOUNDS, lambda frame: seen.append(int((frame[0, :, 0] == 255).sum())))
    assert seen == [600, 1200]
    assert int((result.frame[0, :, 0] == 255).sum()) == 1200


def test_a_machine_that_breaks_meanwhile_says_so(provider: FakeProvider) -> None:
    machine = provider.fork(provider.image_template("homebank"))
    machine.break_down()
    with pytest.raises(MachineDiedError):
        settle(machine, BOUNDS)


def test_changed_pixels_counts_visible_changes() -> None:
    before = Desktop(text="a").picture(provider_screen := FakeProvider().image_template("homebank").screen)
    assert changed_pixels(before, before.copy()) == 0
    after = before.copy()
    after[5:10, 7:11, 1] ^= 0xFF
    assert changed_pixels(before, after) == 20
    faint = before.copy()
    faint[0, 0] = np.where(before[0, 0] > 100, before[0, 0] - 8, before[0, 0] + 8)
    assert changed_pixels(before, faint) == 0
    assert changed_pixels(before, before[:100]) == 100 * provider_screen.width


def test_changed_pixels_does_not_wrap_around() -> None:
    black, white = np.zeros((2, 2, 3), dtype=np.uint8), np.full((2, 2, 3), 255, dtype=np.uint8)
    assert changed_pixels(black, white) == changed_pixels(white, black) == 4
