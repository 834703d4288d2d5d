"""Task folders: what is right is read, and what is wrong is named by file, field and reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_gym.actions import Click, Key, TypeText
from workflow_gym.env import WorkflowGymEnv
from workflow_gym.errors import FormatError, UnknownNameError
from workflow_gym.grading import Evidence, run_checks
from workflow_gym.tasks import Task, load_task, task_ids

WriteTask = Callable[..., Path]


def problem_of(folder: Path) -> str:
    with pytest.raises(FormatError) as caught:
        load_task(folder)
    return str(caught.value)


def test_the_note_is_read(note: Task, note_folder: Path) -> None:
    assert note.id == "finance/editor/note"
    assert note.domain == "Finance & Management"
    assert note.folder == note_folder
    assert note.spec.warm_up and note.spec.rounds == 12
    assert [type(step.action) for step in note.expert] == [Click, Key, TypeText, Key]
    assert all(step.caption for step in note.expert)
    assert [mutant.name for mutant in note.mutants] == ["not saved", "cut off", "old total", "a fourth line"]


def test_a_task_is_found_by_string_path_and_relative_path(
    note: Task, note_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(note_folder.parent)
    for name in (str(note_folder), Path("note"), "note", f"{note_folder}/"):
        assert load_task(name).id == note.id


@pytest.mark.parametrize(
    ("old", "new", "field", "reason"),
    [
        ('title = "Correct a note"', 'titel = "x"', "titel", "did you mean 'title'?"),
        ('title = "Correct a note"', 'title = ""', "title", "at least 1"),
        ('image = "homebank"', 'image = "homebnk"', "image", "did you mean 'homebank'?"),
        ("rounds = 12", "rounds = 401", "rounds", "400"),
        ("rounds = 12", "rounds = 0", "rounds", "greater than or equal to 1"),
        ("rounds = 12", "round = 12", "round", "did you mean 'rounds'?"),
        ('sub_domain = "Accounting"', "", "sub_domain", "required"),
        ('open = "/home/user/note.txt"', 'open = "note.txt"', "open", "/home/user/"),
        ('open = "/home/user/note.txt"', 'open = "/home/user/../root/x"', "open", "normal path"),
        ('[[inputs]]\nfile = "note.txt"', '[[inputs]]\nfile = "noet.txt"', "inputs.0.file", "does not exist"),
        ('[[inputs]]\nfile = "note.txt"', '[[inputs]]\nflie = "note.txt"', "inputs.0.flie", "did you mean 'file'?"),
        ('[[inputs]]\nfile = "note.txt"', '[[inputs]]\nfile = "../expert.jsonl"', "inputs.0.file", "inputs"),
        ('[[inputs]]\nfile = "note.txt"', '[[inputs]]\nfile = "/etc/hostname"', "inputs.0.file", "inputs"),
        ('name = "note.txt"', 'name = "../note.txt"', "collect.0.name", "plain file name"),
        ('name = "note.txt"', 'name = ".."', "collect.0.name", "plain file name"),
        ('name = "note.txt"', 'name = ""', "collect.0.name", "plain file name"),
        ('name = "note.txt"', 'name = "note.txt"\nlimit_mb = 0', "collect.0.limit_mb", "greater than 0"),
        ("[[checks]]", "[[check]]", "check", "did you mean 'checks'?"),
        ("text:TextFile", "text:TextFlie", "checks.0.use", "TextFile"),
        ("workflow_gym_checkers.text:TextFile", "workflow_gym_chekers:X", "checks.0.use", "workflow_gym_chekers"),
        ("workflow_gym_checkers.text:TextFile", "TextFile", "checks.0.use", "module:Name"),
        ("workflow_gym_checkers.text:TextFile", "workflow_gym.tasks:Task", "checks.0.use", "subclass"),
        ("workflow_gym_checkers.text:TextFile", "workflow_gym.grading:Checker", "checks.0.use", "Checker"),
        ("lines = [", "line = [", "checks.0.line", "did you mean 'lines'?"),
        ("lines = [", "lines = 3 # [", "checks.0.lines", "valid tuple"),
    ],
)
def test_a_mistake_in_task_toml_names_file_field_and_reason(
    write_task: WriteTask, old: str, new: str, field: str, reason: str
) -> None:
    folder = write_task({old: new})
    lines = problem_of(folder).splitlines()
    assert any(line.startswith(f"{folder / 'task.toml'}: {field}: ") and reason in line for line in lines), lines


def test_two_collected_files_of_one_name_are_refused(write_task: WriteTask) -> None:
    folder = write_task(append='[[collect]]\npath = "/home/user/other.txt"\nname = "note.txt"\n')
    assert "collect" in problem_of(folder) and "same name" in problem_of(folder)


def test_two_inputs_for_one_place_are_refused(write_task: WriteTask) -> None:
    folder = write_task(append='[[inputs]]\npath = "/home/user/note.txt"\nfile = "note.txt"\n')
    assert "inputs" in problem_of(folder)


def test_a_task_outside_the_domains_is_refused(write_task: WriteTask, tmp_path: Path) -> None:
    folder = write_task()
    moved = tmp_path / "cookery" / "editor" / "copy"
    moved.parent.mkdir(parents=True)
    folder.rename(moved)
    assert "finance" in problem_of(moved) and str(moved) in problem_of(moved)


def test_every_instruction_that_is_taken_can_be_observed(write_task: WriteTask) -> None:
    """A task in any script is refused when it is read, or gives observations inside the observation space."""
    folder = write_task({"The note note.txt is open": "记事本 note.txt est ouvert ✓ 🎉"})
    try:
        task = load_task(folder)
    except FormatError as error:
        assert "instruction" in str(error)
        return
    env = WorkflowGymEnv(task, "fake")
    assert env.observation_space.spaces["instruction"].contains(task.spec.instruction)  # type: ignore[attr-defined]


# expert.jsonl


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2"),
        ("[]", "line 2"),
        ('{"caption": "x"}', "line 2"),
        ('{"caption": "", "action": {"type": "done"}}', "caption"),
        ('{"action": {"type": "done"}}', "caption"),
        ('{"caption": "x", "action": {"type": "klick"}}', "klick"),
        ('{"caption": "x", "action": {"type": "key", "keys": "ctrl+nokey"}}', "nokey"),
        ('{"caption": "x", "action": {"type": "done"}, "note": 1}', "note"),
    ],
)
def test_a_mistake_in_the_expert_procedure_names_file_and_line(write_task: WriteTask, line: str, words: str) -> None:
    folder = write_task()
    first = (folder / "expert.jsonl").read_text().splitlines()[0]
    (folder / "expert.jsonl").write_text(f"{first}\n{line}\n")
    with pytest.raises(FormatError) as caught:
        _ = load_task(folder).expert
    assert f"{folder / 'expert.jsonl'}: line 2: " in str(caught.value) and words in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe{}\n"])
def test_an_empty_or_foreign_expert_procedure_is_refused(write_task: WriteTask, content: bytes) -> None:
    folder = write_task()
    (folder / "expert.jsonl").write_bytes(content)
    with pytest.raises(FormatError, match="expert.jsonl"):
        _ = load_task(folder).expert


def test_a_task_without_an_expert_procedure_can_be_read_but_not_shown(write_task: WriteTask) -> None:
    folder = write_task()
    (folder / "expert.jsonl").unlink()
    with pytest.raises(FormatError, match="expert.jsonl"):
        _ = load_task(folder).expert


@pytest.mark.parametrize("text", ["a\u2028b", "a\u2029b", "naïve ✓"])
def test_captions_and_texts_may_hold_any_character(write_task: WriteTask, text: str) -> None:
    folder = write_task()
    step = {"caption": text, "action": {"type": "type", "text": text}}
    (folder / "expert.jsonl").write_text(json.dumps(step, ensure_ascii=False) + "\n", encoding="utf-8")
    (read,) = load_task(folder).expert
    assert read.caption == text and read.action == TypeText(text=text)


# mutants


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "mutants"),
        ('[[mutants]]\nname = "x"\nbreaks = "y"\n', "changes nothing"),
        ('[[mutants]]\nname = "x"\nbraeks = "y"\n', "did you mean 'breaks'?"),
        (
            '[[mutants]]\nname = "x"\nbreaks = "y"\nedits = [{use = "workflow_gym_checkers.mutations:CutFle"}]\n',
            "mutants.0.edits.0",
        ),
        (
            '[[mutants]]\nname = "x"\nbreaks = "y"\nedits = [{use = "workflow_gym_checkers.mutations:CutFile"}]\n',
            "mutants.0.edits.0",
        ),
    ],
)
def test_a_mistake_in_the_mutants_names_the_file(write_task: WriteTask, text: str, words: str) -> None:
    folder = write_task()
    (folder / "mutants" / "mutants.toml").write_text(text)
    with pytest.raises(FormatError) as caught:
        _ = load_task(folder).mutants
    assert "mutants.toml" in str(caught.value) and words in str(caught.value)


def test_the_checks_take_the_result_and_refuse_every_mutant(note: Task, tmp_path: Path) -> None:
    assert run_checks(note.spec.checks, Evidence(artifacts=note.result, inputs=note.inputs)).passed
    assert not run_checks(note.spec.checks, Evidence(artifacts=note.inputs, inputs=note.inputs)).passed
    for number, mutant in enumerate(note.mutants):
        artifacts = tmp_path / str(number)
        artifacts.mkdir()
        for file in note.result.iterdir():
            (artifacts / file.name).write_bytes(file.read_bytes())
        for edit in mutant.edits:
            edit.build().apply(artifacts)
        assert not run_checks(note.spec.checks, Evidence(artifacts=artifacts, inputs=note.inputs)).passed, mutant.name


# Names and keys


def test_an_unknown_task_suggests_its_neighbours() -> None:
    known = task_ids()
    if known:
        with pytest.raises(UnknownNameError) as caught:
            load_task(known[0][:-1] + "x")
        assert f"did you mean '{known[0]}'" in str(caught.value)
    with pytest.raises(UnknownNameError, match="unknown task 'no/such/task'"):
        load_task("no/such/task")


@pytest.mark.parametrize("name", ["", ".", "/", "..", "~nobody-of-that-name/x", "a\x00b", "/dev/null"])
def test_a_name_that_is_no_task_is_unknown(name: str) -> None:
    with pytest.raises(UnknownNameError):
        load_task(name)


def test_ids_are_the_folders_below_the_root(note_folder: Path) -> None:
    root = note_folder.parents[2]
    assert "finance/editor/note" in task_ids(root)
    assert task_ids(note_folder) == []


def test_the_key_changes_with_all_that_decides_the_start_and_with_nothing_else(write_task: WriteTask) -> None:
    folder = write_task()
    keys = [load_task(folder).key]
    text = (folder / "task.toml").read_text()

    def note_key(new_text: str) -> None:
        (folder / "task.toml").write_text(new_text)
        keys.append(load_task(folder).key)

    note_key(text.replace('open = "/home/user/note.txt"', 'open = "/home/user/other.txt"'))
    note_key(text.replace('image = "homebank"', 'image = "base"'))
    note_key(
        text.replace('file = "note.txt"\npath = "/home/user/note.txt"', 'file = "note.txt"\npath = "/home/user/n"')
    )
    (folder / "inputs" / "note.txt").write_text("other")
    note_key(text)
    assert len(set(keys)) == len(keys)
    note_key(text.replace("rounds = 12", "rounds = 13").replace("Correct a note", "Correct it"))
    assert keys[-1] == keys[-2]
