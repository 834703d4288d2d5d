from __future__ import annotations

import time

import pytest

from workflow_gym.deadline import Deadline
from workflow_gym.errors import MachineTimeoutError


def test_a_deadline_that_has_passed_says_what_was_waited_for() -> None:
    deadline = Deadline(0.05, "booting")
    deadline.check()
    assert not deadline.passed and 0 < deadline.left <= 0.05
    deadline.sleep(10)
    assert deadline.passed and deadline.left == 0
    with pytest.raises(MachineTimeoutError, match=r"booting: not done within 0.05 s. The console is empty"):
        deadline.check("The console is empty")


def test_sleeping_ends_at_the_deadline() -> None:
    started = time.monotonic()
    Deadline(0.05, "x").sleep(30)
    Deadline(30, "x").sleep(0.05)
    assert 0.1 <= time.monotonic() - started < 5
