"""Plain text files: what counts, what does not, and that nothing the agent leaves behind makes the checker raise."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workflow_gym.grading import Criterion, Evidence
from workflow_gym_checkers.text import TextFile

CHECKER = TextFile(file="note.txt", lines=("Invoice 17", "  total 245", "Größe: 5 µm"))
RIGHT = "Invoice 17\n  total 245\nGröße: 5 µm\n"


def criteria(folder: Path, content: bytes | str | None, checker: TextFile = CHECKER) -> list[Criterion]:
    missing = {}
    if content is None:
        missing["note.txt"] = "/home/user/note.txt does not exist"
    else:
        (folder / "note.txt").write_bytes(content.encode() if isinstance(content, str) else content)
    return list(checker.check(Evidence(artifacts=folder, inputs=folder, missing=missing)))


@pytest.mark.parametrize(
    "content",
    [RIGHT, RIGHT.rstrip("\n"), RIGHT + "\n\n", RIGHT.replace("\n", "\r\n"), RIGHT.replace("17", "17 \t")],
)
def test_the_right_lines_pass_whatever_ends_them(tmp_path: Path, content: str) -> None:
    assert all(criterion.met for criterion in criteria(tmp_path, content))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "\n",
        RIGHT.replace("245", "244"),
        RIGHT.replace("  total", "total"),
        RIGHT.replace("\n", "\n\n", 1),
        RIGHT.replace("\n", " "),
        "\n" + RIGHT,
        RIGHT + "more",
        RIGHT.upper(),
        "\n".join(RIGHT.splitlines()[::-1]),
        "Invoice 17\n  total 245",
        RIGHT.encode("latin-1"),
        RIGHT.encode("utf-16"),
        b"\x89PNG\r\n\x1a\n\x00",
        b"\xff" * 100,
    ],
    ids=repr,
)
def test_other_content_is_saved_but_wrong(tmp_path: Path, content: str | bytes) -> None:
    saved, right = criteria(tmp_path, content)
    assert saved.met and saved.kind == "complete"
    assert not right.met and right.kind == "accurate"
    assert right.expected == "Invoice 17 /   total 245 / Größe: 5 µm"


def test_a_missing_file_is_two_unmet_criteria_that_say_why(tmp_path: Path) -> None:
    saved, right = criteria(tmp_path, None)
    assert not saved.met and not right.met
    assert saved.found == "/home/user/note.txt does not exist"


def test_a_file_that_nobody_collected_is_missing(tmp_path: Path) -> None:
    (saved, right) = CHECKER.check(Evidence(artifacts=tmp_path, inputs=tmp_path))
    assert not saved.met and saved.found


def test_a_missing_file_never_passes_even_if_nothing_is_expected(tmp_path: Path) -> None:
    assert not all(criterion.met for criterion in criteria(tmp_path, None, TextFile(file="note.txt", lines=("",))))


def test_what_was_found_is_told_but_not_without_end(tmp_path: Path) -> None:
    _, right = criteria(tmp_path, "wrong line\n" * 100_000)
    assert right.found.startswith("wrong line / wrong line") and len(right.found) <= 500


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_whatever_bytes_are_left_behind_are_judged(tmp_path: Path, content: bytes) -> None:
    found = criteria(tmp_path, content)
    assert len(found) == 2
    assert all(Criterion.model_validate_json(criterion.model_dump_json()) == criterion for criterion in found)
