"""Every task, without a machine: its files fit together, its result passes, its start does not, and no mutant does.

The machines' share of the proof, that the expert makes that result, is in tests/vm/test_tasks.py.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from workflow_gym.grading import Evidence, run_checks
from workflow_gym.tasks import MAX_ROUNDS, MIN_EXPERT_ACTIONS, Mutant, Task, load_task, task_ids

MOST_EXPERT_ACTIONS = 110
FEWEST_MUTANTS = 8

each_task = pytest.mark.parametrize("task", task_ids(), indirect=True)


@pytest.fixture
def task(request: pytest.FixtureRequest) -> Task:
    return load_task(request.param)


def start_of(task: Task, folder: Path) -> Evidence:
    """What is collected when nothing was done: of the collected files, those that are inputs, unchanged."""
    missing = {}
    inputs = {entry.path: task.inputs / entry.file for entry in task.spec.inputs}
    for entry in task.spec.collect:
        if entry.path in inputs:
            shutil.copyfile(inputs[entry.path], folder / entry.name)
        else:
            missing[entry.name] = f"{entry.path} does not exist"
    return Evidence(artifacts=folder, inputs=task.inputs, missing=missing)


def test_there_are_tasks() -> None:
    assert task_ids()


@each_task
def test_the_expert_procedure_has_a_fitting_length(task: Task) -> None:
    assert task.spec.warm_up or MIN_EXPERT_ACTIONS <= len(task.expert) <= MOST_EXPERT_ACTIONS
    assert len(task.expert) < task.spec.rounds <= MAX_ROUNDS


@each_task
def test_every_step_of_the_expert_teaches(task: Task) -> None:
    for number, step in enumerate(task.expert, 1):
        caption = step.caption
        assert caption == caption.strip() and len(caption.split()) >= 2 and caption.endswith("."), f"step {number}"


@each_task
def test_the_result_passes(task: Task) -> None:
    verdict = run_checks(task.spec.checks, Evidence(artifacts=task.result, inputs=task.inputs))
    assert [criterion for criterion in verdict.criteria if not criterion.met] == []


@each_task
def test_the_result_is_what_is_collected(task: Task) -> None:
    assert {path.name for path in task.result.iterdir()} == {entry.name for entry in task.spec.collect}


@each_task
def test_the_untouched_start_fails(task: Task, tmp_path: Path) -> None:
    assert not run_checks(task.spec.checks, start_of(task, tmp_path)).passed


@each_task
def test_nothing_at_all_meets_nothing(task: Task, tmp_path: Path) -> None:
    verdict = run_checks(task.spec.checks, Evidence(artifacts=tmp_path, inputs=task.inputs))
    assert [criterion.name for criterion in verdict.criteria if criterion.met] == []


@each_task
def test_the_instruction_can_be_read(task: Task) -> None:
    text = task.spec.instruction
    assert text == text.strip("\n") + "\n" and "\t" not in text and "  " not in text.replace("\n   ", "\n")


@each_task
def test_there_are_enough_mutants_and_each_has_its_name(task: Task) -> None:
    names = [mutant.name for mutant in task.mutants]
    assert len(set(names)) == len(names) >= FEWEST_MUTANTS


def passes(task: Task, mutant: Mutant, folder: Path) -> bool:
    """Grade a mutant in this process, which is quicker than `workflow_gym.validation.grade_mutant`."""
    shutil.copytree(task.result, folder)
    for edit in mutant.edits:
        edit.build().apply(folder)
    missing = {entry.name: "removed" for entry in task.spec.collect if not (folder / entry.name).exists()}
    evidence = Evidence(artifacts=folder, inputs=task.inputs, missing=missing, answer=mutant.answer or "")
    return run_checks(task.spec.checks, evidence).passed


@each_task
def test_every_mutant_is_refused(task: Task, tmp_path: Path) -> None:
    passing = [m.name for index, m in enumerate(task.mutants) if passes(task, m, tmp_path / str(index))]
    assert passing == []
