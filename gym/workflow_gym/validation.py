"""Proves a task: the expert passes in fresh machines, the untouched start fails, and every mutant is refused."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from workflow_gym.agent import make_agent
from workflow_gym.env import Outcome
from workflow_gym.episode import OnRound, TrialPlan, run_trial
from workflow_gym.errors import CheckerError, FormatError
from workflow_gym.grading import Evidence, Verdict, grade
from workflow_gym.machines.base import Provider
from workflow_gym.paths import TrialPaths, write_atomically
from workflow_gym.record import ResultRecord, read_trial, versions
from workflow_gym.tasks import MIN_EXPERT_ACTIONS, Mutant, Task

EXPERT_TRIALS = 3


class TrialEvidence(BaseModel):
    """One trial that was played to prove a task."""

    model_config = ConfigDict(frozen=True)

    agent: str
    """Who played."""
    outcome: Outcome
    """How it ended."""
    actions: int
    """How many actions it took."""
    seconds: float
    """How long it took."""
    folder: str
    """Its record, relative to the evidence."""
    error: str | None
    """What went wrong, for outcomes that are errors."""


class MutantEvidence(BaseModel):
    """What the checks said of one mutant."""

    model_config = ConfigDict(frozen=True)

    name: str
    """The mutant."""
    refused: bool
    """Whether it was refused, as it must be."""
    unmet: tuple[str, ...]
    """The criteria that refused it."""


class TaskEvidence(BaseModel):
    """Everything that proves a task, or shows why it is not proved: `evidence.json`."""

    model_config = ConfigDict(frozen=True)

    task: str
    """The task's id."""
    made: datetime
    """When."""
    versions: dict[str, str]
    """Versions of everything that may matter."""
    expert_actions: int
    """The length of the expert procedure."""
    expert: tuple[TrialEvidence, ...]
    """The expert's trials."""
    untouched: TrialEvidence
    """The trial in which nothing was done."""
    mutants: tuple[MutantEvidence, ...]
    """The mutants."""
    problems: tuple[str, ...]
    """Why the task is not proved; empty when it is."""

    @property
    def proved(self) -> bool:
        """Whether the task counts."""
        return not self.problems


def validate_task(
    task: Task,
    provider: str | Provider,
    folder: Path,
    *,
    trials: int = EXPERT_TRIALS,
    keep_result: bool = False,
    on_stage: Callable[[str], None] = lambda stage: None,
    on_round: OnRound = lambda number, note: None,
) -> TaskEvidence:
    """Prove one task and write the evidence into `folder`.

    Args:
        task: the task.
        provider: where machines come from.
        folder: where the trials' records and `evidence.json` go.
        trials: how often the expert plays, each time in a fresh machine.
        keep_result: replace the task's `result/` by what the first passing expert left behind.
        on_stage: told what is being done.
        on_round: called after each round of a trial.

    Raises:
        FormatError: the procedure or the mutants are malformed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    expert = []
    for number in range(trials):
        on_stage(f"{task.id}: expert {number + 1} of {trials}")
        expert.append(_play(task, "expert", provider, folder, on_round))
    on_stage(f"{task.id}: untouched")
    untouched = _play(task, "noop", provider, folder, on_round)
    passing = next((trial for trial in expert if trial.outcome is Outcome.PASSED), None)
    mutants: list[MutantEvidence] = []
    if passing is not None:
        artifacts = folder / passing.folder / "artifacts"
        if keep_result:
            _keep(artifacts, task)
        for mutant in task.mutants:
            on_stage(f"{task.id}: mutant {mutant.name}")
            mutants.append(_try_mutant(task, mutant, artifacts, _answer_of(folder / passing.folder)))
    evidence = TaskEvidence(
        task=task.id,
        made=datetime.now(UTC),
        versions=versions({"task": task.key}),
        expert_actions=len(task.expert),
        expert=tuple(expert),
        untouched=untouched,
        mutants=tuple(mutants),
        problems=tuple(_problems(task, expert, untouched, mutants)),
    )
    write_atomically(folder / "evidence.json", evidence.model_dump_json(indent=2))
    return evidence


def _play(task: Task, agent: str, provider: str | Provider, folder: Path, on_round: OnRound) -> TrialEvidence:
    paths = run_trial(TrialPlan(task, make_agent(agent), agent, provider), folder, on_round)
    result = _result(paths)
    return TrialEvidence(
        agent=agent,
        outcome=result.outcome,
        actions=result.actions,
        seconds=result.seconds,
        folder=paths.root.name,
        error=result.error,
    )


def _result(paths: TrialPaths) -> ResultRecord:
    result = read_trial(paths).result
    if result is None:
        raise FormatError(f"{paths.root} holds no result")
    return result


def _answer_of(folder: Path) -> str:
    last = read_trial(TrialPaths(folder)).steps[-1].action
    return getattr(last, "answer", "")


def _keep(artifacts: Path, task: Task) -> None:
    shutil.rmtree(task.result, ignore_errors=True)
    task.result.mkdir()
    for entry in task.spec.collect:
        shutil.copyfile(artifacts / entry.name, task.result / entry.name)


def _try_mutant(task: Task, mutant: Mutant, artifacts: Path, answer: str) -> MutantEvidence:
    verdict = grade_mutant(task, mutant, artifacts, answer)
    unmet = tuple(criterion.name for criterion in verdict.criteria if not criterion.met)
    return MutantEvidence(name=mutant.name, refused=not verdict.passed, unmet=unmet)


def grade_mutant(task: Task, mutant: Mutant, artifacts: Path, answer: str = "") -> Verdict:
    """Return what the checks of `task` say of `mutant`, made of the right result in `artifacts`.

    Raises:
        FormatError: the mutant does not apply to that result.
        CheckerError: a checker crashed on it.
    """
    with tempfile.TemporaryDirectory(prefix="workflow-gym-mutant-") as name:
        copy = Path(name)
        shutil.copytree(artifacts, copy, dirs_exist_ok=True)
        for edit in mutant.edits:
            try:
                edit.build().apply(copy)
            except (ValueError, OSError) as error:
                raise FormatError(f"task {task.id}: mutant {mutant.name}: {error}") from None
        missing = {entry.name: "removed" for entry in task.spec.collect if not (copy / entry.name).exists()}
        screenshot = copy / "_final_screen.png"
        evidence = Evidence(
            artifacts=copy,
            inputs=task.inputs,
            missing=missing,
            answer=answer if mutant.answer is None else mutant.answer,
            screenshot=screenshot if screenshot.exists() else None,
        )
        try:
            return grade(task.spec.checks, evidence)
        except CheckerError as error:
            raise CheckerError(f"mutant {mutant.name}: {error}") from error


def _problems(
    task: Task, expert: list[TrialEvidence], untouched: TrialEvidence, mutants: list[MutantEvidence]
) -> list[str]:
    problems = []
    passed = sum(trial.outcome is Outcome.PASSED for trial in expert)
    if passed < len(expert):
        ends = ", ".join(trial.outcome.value + (f" ({trial.error})" if trial.error else "") for trial in expert)
        problems.append(f"the expert passed {passed} of {len(expert)} times: {ends}")
    if untouched.outcome is not Outcome.FAILED:
        problems.append(f"the untouched start ended as {untouched.outcome.value}, and must fail")
    problems += [f"the mutant {mutant.name} passed" for mutant in mutants if not mutant.refused]
    if len(task.expert) < MIN_EXPERT_ACTIONS and not task.spec.warm_up:
        short = f"the expert procedure has {len(task.expert)} actions, fewer than {MIN_EXPERT_ACTIONS}"
        problems.append(f"{short}: label it warm_up = true")
    return problems
