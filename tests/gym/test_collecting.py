"""What is taken out of a machine: what is not there is the agent's doing, what breaks is the machine's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from workflow_gym.collecting import collect
from workflow_gym.errors import MachineError
from workflow_gym.machines.fake import FakeMachine, FakeProvider, FakeShell
from workflow_gym.staging import fork_for_task
from workflow_gym.tasks import Task, load_task

WriteTask = Callable[..., Path]


@pytest.fixture
def machine(note: Task, provider: FakeProvider) -> FakeMachine:
    machine = fork_for_task(provider, note)
    assert isinstance(machine, FakeMachine)
    return machine


def test_the_files_the_answer_and_the_screen_are_evidence(machine: FakeMachine, note: Task, tmp_path: Path) -> None:
    evidence = collect(machine, note, tmp_path, "42")
    path = evidence.file("note.txt")
    assert path is not None and path.read_bytes() == (note.inputs / "note.txt").read_bytes()
    assert (evidence.answer, evidence.missing, evidence.inputs) == ("42", {}, note.inputs)
    assert evidence.screenshot is not None
    assert (np.asarray(Picture.open(evidence.screenshot)) == machine.screenshot()).all()
    assert machine.paused, "the machine goes on although it was paused before"


def test_a_file_that_is_not_there_or_too_large_is_missing(
    machine: FakeMachine, write_task: WriteTask, tmp_path: Path
) -> None:
    task = load_task(
        write_task(
            {'name = "note.txt"': 'name = "note.txt"\nlimit_mb = 0.001'},
            '[[collect]]\npath = "/home/user/none.txt"\nname = "none.txt"\n',
        )
    )
    machine.shell.write_file("/home/user/note.txt", b"x" * 2000)
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    evidence = collect(machine, task, artifacts)
    assert evidence.file("note.txt") is None and evidence.file("none.txt") is None
    assert "2000 bytes" in evidence.missing["note.txt"] and "/home/user/none.txt" in evidence.missing["none.txt"]


def test_what_lies_in_the_folder_already_is_not_evidence(machine: FakeMachine, note: Task, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("left behind by an earlier episode")
    machine.desktop = machine.desktop.__class__()
    evidence = collect(machine, note, tmp_path)
    assert evidence.file("note.txt") is None and "note.txt" in evidence.missing


def test_a_file_that_is_still_being_written_is_waited_for(
    note: Task, machine: FakeMachine, provider: FakeProvider, tmp_path: Path
) -> None:
    class Growing(FakeShell):
        """Every reading of the first three is longer than the one before."""

        readings = 0

        def read_file(self, path: str, *, limit: int) -> bytes:
            self.readings += 1
            return b"line\n" * min(self.readings, 3)

    machine._shell = Growing(machine)
    evidence = collect(machine, note, tmp_path)
    path = evidence.file("note.txt")
    assert path is not None and path.read_bytes() == b"line\n" * 3


def test_a_machine_that_breaks_is_no_missing_file(machine: FakeMachine, note: Task, tmp_path: Path) -> None:
    machine.break_down()
    with pytest.raises(MachineError):
        collect(machine, note, tmp_path)
