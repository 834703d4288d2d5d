"""The record of a trial can be read back, also when the process that wrote it was cut off."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Picture

from workflow_gym.actions import Action, Done, Key, Point, Size, TypeText, Zoom
from workflow_gym.env import Outcome
from workflow_gym.errors import FormatError
from workflow_gym.grading import Criterion, Verdict
from workflow_gym.machines.base import Frame
from workflow_gym.paths import TrialPaths
from workflow_gym.record import Recorder, ResultRecord, TrialRecord, read_trial, versions

RECORD = TrialRecord(
    task="finance/editor/note",
    title="Correct a note",
    instruction="Größe → 5 µm",
    domain="Finance & Management",
    agent="odd_agents:Solver",
    provider="fake",
    seed=None,
    screen=Size(32, 20),
    started=datetime(2027, 1, 4, 9, tzinfo=UTC),
    versions={"python": "3.12"},
)
RESULT = ResultRecord(
    outcome=Outcome.FAILED,
    verdict=Verdict(criteria=(Criterion(name="total", met=False, expected="245", found="Größe ✓"),)),
    reward=0.0,
    rounds=2,
    actions=3,
    seconds=1.5,
    error=None,
)


@pytest.fixture
def paths(tmp_path: Path) -> TrialPaths:
    return TrialPaths.new(tmp_path, "finance/editor/note", "odd_agents:Solver")


def frame(shade: int) -> Frame:
    return np.full((20, 32, 3), shade, dtype=np.uint8)


def info(round_number: int, carried_out: int = 0, error: str | None = None) -> dict[str, Any]:
    common = {"round": round_number, "seconds": 0.5, "settled": True, "outcome": None}
    return common | {"carried_out": carried_out, "action_error": error}


def write_trial(paths: TrialPaths) -> Recorder:
    recorder = Recorder(paths, RECORD)
    recorder.add((None,), "", frame(0), info(0))
    keys: list[Action] = [Key(keys="ctrl+a"), TypeText(text="naïve 漢字 🎉\n\u2028")]
    recorder.add(keys, "Ich überlege … 🤔\nzweite Zeile", frame(1), info(1, 2))
    recorder.add([Done(answer="é")], "fertig ✓", frame(2), info(2, 1))
    return recorder


def test_what_is_written_is_read_back(paths: TrialPaths) -> None:
    recorder = write_trial(paths)
    assert recorder.actions == 3
    recorder.finish(RESULT)
    trial = read_trial(paths)
    assert (trial.record, trial.result) == (RECORD, RESULT)
    assert [step.number for step in trial.steps] == [0, 1, 2, 3]
    assert [step.round for step in trial.steps] == [0, 1, 1, 2]
    assert [step.action for step in trial.steps] == [
        None,
        Key(keys="ctrl+a"),
        TypeText(text="naïve 漢字 🎉\n\u2028"),
        Done(answer="é"),
    ]
    assert trial.steps[1].note == trial.steps[2].note == "Ich überlege … 🤔\nzweite Zeile"
    assert [(step.state, step.error) for step in trial.steps] == [("done", None)] * 4
    assert [step.at for step in trial.steps] == sorted(step.at for step in trial.steps)


def test_the_refused_action_is_told_from_those_before_and_after_it(paths: TrialPaths) -> None:
    recorder = Recorder(paths, RECORD)
    recorder.add((None,), "", frame(0), info(0))
    recorder.add([Key(keys="a"), Key(keys="b"), Done()], "", frame(1), info(1, 1, "off the screen"))
    assert recorder.actions == 1
    recorder.finish(RESULT)
    steps = read_trial(paths).steps
    assert [step.state for step in steps] == ["done", "done", "refused", "skipped"]
    assert [step.error for step in steps] == [None, None, "off the screen", None]


def test_what_a_zoom_showed_is_kept(paths: TrialPaths) -> None:
    recorder = Recorder(paths, RECORD)
    recorder.add((None,), "", frame(0), info(0))
    zoom = Zoom(top_left=Point(x=0, y=0), bottom_right=Point(x=4, y=4))
    recorder.add([zoom, Key(keys="b")], "", frame(1), info(1, 2) | {"zoom": frame(9)})
    recorder.finish(RESULT)
    steps = read_trial(paths).steps
    assert steps[1].zoom is not None and steps[2].zoom is None
    assert (np.asarray(Picture.open(paths.root / steps[1].zoom)) == frame(9)).all()


def test_screenshots_are_exactly_what_was_seen(paths: TrialPaths) -> None:
    write_trial(paths).finish(RESULT)
    for step, shade in zip(read_trial(paths).steps, (0, 1, 1, 2), strict=True):
        assert (np.asarray(Picture.open(paths.root / step.screenshot)) == frame(shade)).all()


def test_each_line_is_on_disk_as_soon_as_it_is_added(paths: TrialPaths) -> None:
    recorder = Recorder(paths, RECORD)
    assert read_trial(paths).steps == ()
    recorder.add((None,), "", frame(0), info(0))
    assert len(read_trial(paths).steps) == 1
    recorder.add([TypeText(text="x" * 20_000)], "y" * 20_000, frame(1), info(1, 2))
    trial = read_trial(paths)
    assert len(trial.steps) == 2 and trial.result is None
    recorder.finish(RESULT)


def test_a_record_that_is_cut_off_at_any_byte_keeps_its_whole_lines(paths: TrialPaths) -> None:
    write_trial(paths).close()
    content = paths.steps.read_bytes()
    for length in range(len(content) - 700, len(content) + 1):
        paths.steps.write_bytes(content[:length])
        trial = read_trial(paths)
        assert len(trial.steps) == content[:length].count(b"\n"), f"cut off at byte {length}"
        assert trial.result is None
    paths.steps.unlink()
    assert read_trial(paths).steps == ()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("trial.json", None),
        ("trial.json", b""),
        ("trial.json", b"{}"),
        ("trial.json", b"\xff"),
        ("result.json", b'{"outcome": "won"}'),
        ("steps.jsonl", b'{"number": 1}\n'),
        ("steps.jsonl", b"\xff\n"),
        ("steps.jsonl", b'{"number": 0, "round": 1, "action": {"type": "key", "keys": "nokey"}}\n'),
    ],
)
def test_what_is_no_record_is_a_format_error(paths: TrialPaths, file: str, content: bytes | None) -> None:
    write_trial(paths).finish(RESULT)
    if content is None:
        (paths.root / file).unlink()
    else:
        (paths.root / file).write_bytes(content)
    with pytest.raises(FormatError, match=paths.root.name):
        read_trial(paths)


def test_fields_of_later_versions_are_ignored(paths: TrialPaths) -> None:
    write_trial(paths).finish(RESULT)
    text = paths.trial.read_text(encoding="utf-8")
    paths.trial.write_text(text.replace("{", '{"from_the_future": 1,', 1), encoding="utf-8")
    assert read_trial(paths).record == RECORD


def test_versions_name_what_the_result_stands_on() -> None:
    found = versions({"image": "homebank-1"})
    assert {"workflow-gym", "gymnasium", "python", "host", "image"} <= set(found)
    assert all(found.values())
