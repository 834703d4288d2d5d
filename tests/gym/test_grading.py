"""A checker that is broken, in whatever way, gives a `CheckerError`: never a pass and never a failure."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from workflow_gym.errors import CheckerError, PluginError
from workflow_gym.grading import CheckSpec, Criterion, Evidence, Verdict, grade, run_checks

GOOD = {"use": "odd_checkers:AnswerIs", "answer": "42"}


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(artifacts=tmp_path, inputs=tmp_path, answer="42")


def spec(**fields: Any) -> CheckSpec:
    return CheckSpec.model_validate(fields)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


# In this process: what a checker may do, and what counts as broken.


def test_criteria_of_all_checks_make_one_verdict(plugins: Path, evidence: Evidence) -> None:
    verdict = run_checks([spec(**GOOD), spec(**GOOD | {"answer": "43"})], evidence)
    assert [criterion.met for criterion in verdict.criteria] == [True, False]
    assert not verdict.passed and verdict.fraction == 0.5
    assert run_checks([spec(**GOOD)], evidence).passed


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Crashing", "the checker's own fault"),
        ("Silent", "checked nothing"),
        ("ReturningNone", "crashed"),
        ("ReturningTrue", "no verdict"),
        ("Unfinished", "Unfinished"),
        ("NoChecker", "subclass"),
        ("NotThere", "NotThere"),
    ],
)
@pytest.mark.parametrize("good_first", [True, False])
def test_a_broken_checker_is_an_error_whatever_the_others_say(
    plugins: Path, evidence: Evidence, name: str, words: str, good_first: bool
) -> None:
    checks = [spec(**GOOD), spec(use=f"odd_checkers:{name}")]
    with pytest.raises(CheckerError) as caught:
        run_checks(checks if good_first else checks[::-1], evidence)
    assert words in str(caught.value) and name in str(caught.value) or name == "ReturningTrue"


def test_wrong_parameters_are_an_error(plugins: Path, evidence: Evidence) -> None:
    with pytest.raises(CheckerError, match="answr"):
        run_checks([spec(use="odd_checkers:AnswerIs", answr="42")], evidence)


@pytest.mark.parametrize("name", ["Unfinished", "NoChecker", "NotThere"])
def test_a_class_that_cannot_check_is_a_plugin_error(plugins: Path, name: str) -> None:
    with pytest.raises(PluginError, match=name):
        spec(use=f"odd_checkers:{name}").build()


def test_no_checks_are_no_verdict(evidence: Evidence) -> None:
    with pytest.raises(CheckerError):
        run_checks([], evidence)
    with pytest.raises(ValidationError):
        Verdict(criteria=())


def test_a_verdict_survives_json() -> None:
    verdict = Verdict(
        criteria=(Criterion(name="a", met=True, kind="complete"), Criterion(name="b", met=False, found="é\n"))
    )
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_evidence_gives_only_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    evidence = Evidence(artifacts=tmp_path, inputs=tmp_path, missing={"gone.txt": "it does not exist"})
    assert evidence.file("there.txt") == tmp_path / "there.txt"
    assert evidence.file("gone.txt") is None
    assert evidence.file("folder") is None


# In a process of its own: limits on time and memory, and what comes back.


@pytest.mark.parametrize(("name", "answer", "passed"), [("AnswerIs", "42", True), ("Chatty", "43", False)])
def test_third_partys_checkers_are_found_and_run_apart(
    plugins: Path, evidence: Evidence, name: str, answer: str, passed: bool
) -> None:
    verdict = grade([spec(use=f"odd_checkers:{name}", answer=answer)], evidence)
    assert verdict.passed is passed
    assert verdict.criteria == (Criterion(name="answer", met=passed, expected=answer, found="42"),)


def test_what_a_checker_prints_does_not_spoil_its_verdict(plugins: Path, evidence: Evidence) -> None:
    assert grade([spec(use="odd_checkers:ChattyWithoutNewline", answer="42")], evidence).passed


@pytest.mark.parametrize(
    ("name", "words"),
    [("Exiting", "nonsense"), ("Dying", "status -6"), ("Greedy", "MemoryError")],
)
def test_a_checker_that_breaks_its_process_is_an_error(
    plugins: Path, evidence: Evidence, name: str, words: str
) -> None:
    with pytest.raises(CheckerError, match=words):
        grade([spec(**GOOD), spec(use=f"odd_checkers:{name}")], evidence)


def test_a_checker_that_hangs_is_ended_with_all_that_it_started(
    plugins: Path, evidence: Evidence, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    started = time.monotonic()
    with pytest.raises(CheckerError, match="within 5 s"):
        grade([spec(use="odd_checkers:Hanging", pid_file=str(pid_file))], evidence, seconds=5)
    assert time.monotonic() - started < 15
    child = int(pid_file.read_text())
    try:
        end = time.monotonic() + 1
        while is_alive(child) and time.monotonic() < end:
            time.sleep(0.02)
        assert not is_alive(child), "the program that the checker started outlives it"
    finally:
        if is_alive(child):
            os.kill(child, 9)
