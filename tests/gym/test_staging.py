"""The start of a task: made once, found again, made anew when anything that matters changes or is damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_gym.errors import CapabilityError, GuestCommandError, MachineError, MachineTimeoutError, TemplateError
from workflow_gym.machines.base import Template
from workflow_gym.machines.fake import FakeMachine, FakeProvider, FakeShell, FakeTemplate
from workflow_gym.staging import fork_for_task, task_template
from workflow_gym.tasks import Task, load_task

WriteTask = Callable[..., Path]


class Fragile(FakeProvider):
    """Counts captures, and has damaged templates as often as told; a damaged template is removed, as is promised."""

    def __init__(self, damaged: int = 0) -> None:
        super().__init__()
        self.captures: list[str] = []
        self.damaged = damaged

    def keep(self, key: str, *rest: object) -> FakeTemplate:
        if key.startswith("finance-"):
            self.captures.append(key)
        return super().keep(key, *rest)  # type: ignore[arg-type]

    def fork(self, template: Template, *, branchable: bool = False) -> FakeMachine:
        if self.damaged and template.key in self.captures:
            self.damaged -= 1
            self.discard(template)
            raise TemplateError(f"{template.key} is damaged")
        return super().fork(template, branchable=branchable)


def test_a_task_begins_with_its_files_in_place_and_open_and_the_start_is_made_once(note: Task) -> None:
    provider = Fragile()
    first = fork_for_task(provider, note)
    assert first.paused and isinstance(first, FakeMachine)
    assert first.desktop.files == {"/home/user/note.txt": b"Invoice 17\ntotal 230\n"}
    assert first.desktop.path == "/home/user/note.txt"
    assert provider.live == {first}, "the machine in which the start was made is still there"
    second = fork_for_task(provider, note)
    assert len(provider.captures) == 1
    assert (first.screenshot() == second.screenshot()).all()


def test_another_start_is_made_when_an_input_changes(write_task: WriteTask, note_start: FakeTemplate) -> None:
    provider, folder = Fragile(), write_task()
    provider.keep(note_start.key.replace("-note-", "-copy-"), note_start.screen, note_start.desktop, "homebank")
    fork_for_task(provider, load_task(folder))
    assert len(provider.captures) == 1, "the start that was there was not found"
    (folder / "inputs" / "note.txt").write_text("another note")
    machine = fork_for_task(provider, load_task(folder))
    assert len(set(provider.captures)) == 2
    assert machine.shell.read_file("/home/user/note.txt", limit=99) == b"another note"


def test_a_task_without_files_begins_with_the_images_template(write_task: WriteTask, provider: FakeProvider) -> None:
    folder = write_task(
        {
            'open = "/home/user/note.txt"\n': "",
            '[[inputs]]\nfile = "note.txt"\npath = "/home/user/note.txt"\n': "",
        }
    )
    assert task_template(provider, load_task(folder)) == provider.image_template("homebank")


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_damaged_start_is_made_again_once(note: Task, note_start: FakeTemplate, damaged: int) -> None:
    provider = Fragile(damaged)
    provider.keep(note_start.key, note_start.screen, note_start.desktop, "homebank")
    if damaged == 1:
        assert fork_for_task(provider, note) in provider.live
    else:
        with pytest.raises(TemplateError):
            fork_for_task(provider, note)
        assert not provider.live
    assert len(provider.captures) == 2


def test_an_image_that_opens_no_files_is_refused(write_task: WriteTask) -> None:
    provider = Fragile()
    with pytest.raises(CapabilityError, match="base"):
        fork_for_task(provider, load_task(write_task({'image = "homebank"': 'image = "base"'})))
    assert not provider.live and not provider.captures, "a half-made start was kept"


def test_a_start_that_does_not_come_about_is_not_kept(note: Task) -> None:
    class Deaf(Fragile):
        def fork(self, template: Template, *, branchable: bool = False) -> FakeMachine:
            if branchable:
                raise MachineTimeoutError("the application did not become ready")
            return super().fork(template)

    provider = Deaf()
    with pytest.raises(MachineTimeoutError):
        fork_for_task(provider, note)
    assert not provider.captures


def test_a_start_whose_commands_fail_is_a_broken_machine(note: Task) -> None:
    class Full(FakeShell):
        def write_file(self, path: str, content: bytes, *, user: str = "root") -> None:
            raise GuestCommandError("install -d /home/user", 1, "No space left on device")

    class Cramped(Fragile):
        def fork(self, template: Template, *, branchable: bool = False) -> FakeMachine:
            machine = super().fork(template, branchable=branchable)
            machine._shell = Full(machine)
            return machine

    provider = Cramped()
    with pytest.raises(MachineError, match="finance/editor/note.*No space left"):
        fork_for_task(provider, note)
    assert not provider.live and not provider.captures
