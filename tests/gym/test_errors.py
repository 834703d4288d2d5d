"""The kinds of trouble are kept apart, since they must never be mixed in a score."""

from __future__ import annotations

import gymnasium
import pytest

from workflow_gym import errors
from workflow_gym.errors import (
    AgentError,
    CheckerError,
    GuestCommandError,
    InputError,
    MachineError,
    ResetNeededError,
    UnknownNameError,
    WorkflowGymError,
)

ALL = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


def test_every_error_has_the_one_base_and_says_when_it_is_raised() -> None:
    assert len(ALL) > 10
    for kind in ALL:
        assert issubclass(kind, WorkflowGymError)
        assert kind is WorkflowGymError or (kind.__doc__ or "").startswith("Raised when")


def test_the_four_kinds_do_not_overlap() -> None:
    kinds = (MachineError, CheckerError, AgentError, InputError)
    for kind in ALL:
        assert sum(issubclass(kind, one) for one in kinds) <= 1
    assert issubclass(ResetNeededError, gymnasium.error.ResetNeeded)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("homebnk", "unknown image 'homebnk'; did you mean 'homebank'? See the list."),
        ("home", "unknown image 'home'; did you mean 'homebank'? See the list."),
        ("zzzzz", "unknown image 'zzzzz' See the list."),
        ("", "unknown image '' See the list."),
    ],
)
def test_an_unknown_name_suggests_near_ones(name: str, message: str) -> None:
    assert str(UnknownNameError("image", name, ["base", "homebank", "qgis"], "See the list.")) == message


def test_at_most_three_names_are_suggested() -> None:
    message = str(UnknownNameError("task", "ledger", [f"ledger-{number}" for number in range(10)]))
    assert message.count("'ledger-") == 3


def test_a_guest_command_keeps_what_it_printed_last() -> None:
    error = GuestCommandError("make all", 2, "x" * 5000 + "\nthe end\n")
    assert (error.status, error.output[-8:]) == (2, "the end\n")
    assert str(error).endswith("the end") and "make all" in str(error) and len(str(error)) < 2200
