"""From collected evidence to a verdict: what a checker is, and how checkers are run apart from everything else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workflow_gym.errors import CheckerError
from workflow_gym.plugins import load_class

GRADING_SECONDS = 120.0
"""How long all checks of a task may take together."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Criterion(_Frozen):
    """One requirement of the instruction, and whether the result meets it."""

    name: str
    """The requirement, in a few words."""
    met: bool
    """Whether it is met."""
    expected: str = ""
    """What the result should show."""
    found: str = ""
    """What it shows."""
    kind: Literal["complete", "accurate"] = "accurate"
    """"complete": whether that part of the work was done at all; "accurate": whether it was done right."""


class Verdict(_Frozen):
    """What the checks of a task say about a result."""

    criteria: tuple[Criterion, ...] = Field(min_length=1)
    """Every requirement that was looked at; there is at least one, since nothing checked is nothing passed."""

    @property
    def passed(self) -> bool:
        """Whether every criterion is met."""
        return all(criterion.met for criterion in self.criteria)

    @property
    def fraction(self) -> float:
        """The share of criteria that are met, 0 to 1."""
        return sum(criterion.met for criterion in self.criteria) / len(self.criteria)


class Evidence(_Frozen):
    """What was taken out of a machine for grading. All paths are on the host."""

    artifacts: Path
    """The folder of collected files."""
    inputs: Path
    """The folder of the files that the task began with, to compare with."""
    missing: dict[str, str] = {}
    """Files that should have been collected but were not, and why."""
    answer: str = ""
    """What the agent said at the end."""
    screenshot: Path | None = None
    """The final screen, a PNG file."""

    def file(self, name: str) -> Path | None:
        """Return the collected file of that name, or None when there is none."""
        path = self.artifacts / name
        return path if path.is_file() else None


class Checker(_Frozen, ABC):
    """Looks at evidence. A subclass declares its parameters as fields; a task's `[[checks]]` table sets them."""

    @abstractmethod
    def check(self, evidence: Evidence) -> Iterable[Criterion]:
        """Yield one criterion for each requirement.

        A file that is missing, empty, foreign or broken is the agent's doing: yield an unmet criterion that says so.
        Only a fault of the checker itself may raise.
        """


class Mutation(_Frozen, ABC):
    """Makes one change to a right result, after which it is wrong. Used to prove that checks look closely."""

    @abstractmethod
    def apply(self, artifacts: Path) -> None:
        """Change the files below `artifacts`.

        Raises:
            ValueError: there is nothing to change, so the mutation proves nothing.
        """


class CheckSpec(BaseModel):
    """One `[[checks]]` table of a task: which checker, and its parameters."""

    model_config = ConfigDict(frozen=True, extra="allow")

    use: str
    """The checker class, "module:Name"."""

    def build(self) -> Checker:
        """Return the checker.

        Raises:
            PluginError: there is no such class.
            ValidationError: the parameters do not fit.
        """
        return load_class(self.use, Checker, "checker").model_validate(self.model_extra or {})  # type: ignore[type-abstract]


class GradingJob(_Frozen):
    """What is handed to the grading process."""

    checks: tuple[CheckSpec, ...]
    """The checks of the task."""
    evidence: Evidence
    """What to look at."""
    import_path: tuple[str, ...]
    """Where modules are found."""


def run_checks(checks: Sequence[CheckSpec], evidence: Evidence) -> Verdict:
    """Run checks in this process and return their common verdict.

    Raises:
        CheckerError: a checker crashed or found nothing to say.
    """
    criteria: list[Criterion] = []
    for spec in checks:
        try:
            found = list(spec.build().check(evidence))
        except Exception as error:
            raise CheckerError(f"the checker {spec.use} crashed: {error!r}") from error
        if not found:
            raise CheckerError(f"the checker {spec.use} checked nothing")
        criteria += found
    try:
        return Verdict(criteria=tuple(criteria))
    except ValidationError as error:
        raise CheckerError(f"the checks gave no verdict: {error}") from None


def grade(checks: Sequence[CheckSpec], evidence: Evidence, seconds: float = GRADING_SECONDS) -> Verdict:
    """Run checks in a process of their own, with limits on time and memory, and return the verdict.

    Raises:
        CheckerError: a checker crashed, ran out of time or memory, or answered nonsense.
    """
    job = GradingJob(checks=tuple(checks), evidence=evidence, import_path=tuple(sys.path))
    command = [sys.executable, "-m", "workflow_gym.grading_process"]
    package_root = str(Path(__file__).resolve().parents[1])
    try:
        status, answered, printed = _run_apart(command, job.model_dump_json(), package_root, seconds)
    except subprocess.TimeoutExpired:
        raise CheckerError(f"grading did not end within {seconds:g} s") from None
    except OSError as error:
        raise CheckerError(f"grading could not be started: {error}") from error
    if status != 0:
        raise CheckerError(f"grading ended with status {status}: {printed.strip()[-2000:]}")
    try:
        answer = json.loads(answered)
        if "error" in answer:
            raise CheckerError(answer["error"])
        return Verdict.model_validate(answer["verdict"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckerError(f"grading answered nonsense: {error!r}: {answered[-500:]!r}") from None


def _run_apart(command: list[str], text: str, folder: str, seconds: float) -> tuple[int, str, str]:
    """Run a command on `text`, end it with all that it started, and return its status and what it wrote to 1 and 2."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        encoding="utf-8",
        errors="replace",
        cwd=folder,
        start_new_session=True,
    ) as process:
        try:
            answered, printed = process.communicate(text, timeout=seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, answered, printed
