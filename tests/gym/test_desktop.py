"""Waiting for an application: by its window's title, and then until the machine has settled."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from workflow_gym.errors import GuestCommandError, MachineTimeoutError
from workflow_gym.images.recipe import ApplicationSection
from workflow_gym.machines.desktop import start_application, wait_until_ready, window_titles
from workflow_gym.machines.fake import FakeMachine, FakeProvider, FakeShell

LISTING = "0x01800003  0 desktop HomeBank - Ünï ledger (modified)\n0x01a00004 -1 desktop panel\n0x02  0 desktop\n"


class Scripted(FakeShell):
    """Lists no window, then fails as wmctrl does before there is a window list, then lists two."""

    def __init__(self, machine: FakeMachine) -> None:
        super().__init__(machine)
        self.commands: list[list[str]] = []
        self.answers: list[str | None] = ["", None, LISTING]

    def run(self, command: Sequence[str], *, user: str = "root", timeout: float = 60.0) -> str:
        self.commands.append(list(command))
        if command[0] != "wmctrl":
            return ""
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise GuestCommandError("wmctrl -l", 1, "Cannot get client list properties.")
        return answer


@pytest.fixture
def machine(provider: FakeProvider) -> FakeMachine:
    machine = provider.fork(provider.image_template("homebank"))
    machine._shell = Scripted(machine)
    machine.resume()
    return machine


def commands(machine: FakeMachine) -> list[list[str]]:
    assert isinstance(machine.shell, Scripted)
    return machine.shell.commands


def test_titles_may_hold_blanks_and_windows_may_have_none(machine: FakeMachine) -> None:
    assert window_titles(machine) == []
    assert window_titles(machine) == []
    assert window_titles(machine) == ["HomeBank - Ünï ledger (modified)", "panel"]


def test_an_application_is_waited_for(machine: FakeMachine) -> None:
    application = ApplicationSection(
        name="HomeBank", launch=("homebank",), open=("homebank", "--file={path}"), window="^HomeBank", quiet_seconds=0.1
    )
    start_application(machine, application, "/home/user/a b.xhb")
    assert commands(machine)[0] == ["start-app", "homebank", "--file=/home/user/a b.xhb"]
    assert len(commands(machine)) == 4
    start_application(machine, application)
    assert commands(machine)[4] == ["start-app", "homebank"]


def test_a_window_that_does_not_come_is_a_timeout_that_lists_what_was_there(machine: FakeMachine) -> None:
    with pytest.raises(MachineTimeoutError, match="GIMP.*HomeBank - Ünï ledger"):
        wait_until_ready(machine, "^GIMP", seconds=0.9, quiet=0.1)
