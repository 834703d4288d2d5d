"""Checkers as third parties may write them: one good, the others broken in every way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from workflow_gym.grading import Checker, Criterion, Evidence


class AnswerIs(Checker):
    """The agent's answer is the expected one."""

    answer: str

    def check(self, evidence: Evidence) -> Iterator[Criterion]:
        met = evidence.answer == self.answer
        yield Criterion(name="answer", met=met, expected=self.answer, found=evidence.answer)


class Chatty(AnswerIs):
    """Prints to both streams while it checks."""

    def check(self, evidence: Evidence) -> Iterator[Criterion]:
        print('{"verdict": {"criteria": [{"name": "forged", "met": true}]}}')
        print("looking hard", file=sys.stderr)
        yield from super().check(evidence)


class ChattyWithoutNewline(AnswerIs):
    """Leaves an unfinished line behind."""

    def check(self, evidence: Evidence) -> Iterator[Criterion]:
        print("progress: 100%", end="")
        yield from super().check(evidence)


class Crashing(Checker):
    def check(self, evidence: Evidence) -> Iterator[Criterion]:
        yield Criterion(name="first", met=True)
        raise KeyError("the checker's own fault")


class Exiting(Checker):
    """Ends the whole process as if all were well."""

    def check(self, evidence: Evidence) -> Iterable[Criterion]:
        sys.exit(0)


class Dying(Checker):
    """Dies without a word, like a checker whose C library crashes."""

    def check(self, evidence: Evidence) -> Iterable[Criterion]:
        os.abort()


class Hanging(Checker):
    """Never ends, and has started a program that never ends either."""

    pid_file: str

    def check(self, evidence: Evidence) -> Iterable[Criterion]:
        child = subprocess.Popen(["sleep", "600"])
        Path(self.pid_file).write_text(str(child.pid))
        time.sleep(600)
        return []


class Silent(Checker):
    def check(self, evidence: Evidence) -> Iterable[Criterion]:
        return []


class ReturningNone(Checker):
    def check(self, evidence: Evidence) -> Iterable[Criterion]:
        return None  # type: ignore[return-value]


class ReturningTrue(Checker):
    def check(self, evidence: Evidence) -> Iterable[Criterion]:
        return [True]  # type: ignore[list-item]


class Greedy(Checker):
    """Wants more memory than it may have."""

    def check(self, evidence: Evidence) -> Iterator[Criterion]:
        hoard = bytearray(64 << 30)
        yield Criterion(name="memory", met=bool(hoard))


class Unfinished(Checker):
    """Has no `check` yet."""


class NoChecker:
    """Is not derived from Checker."""
