"""A trial ends in exactly one outcome, and leaves a record however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from workflow_gym.actions import Click, Done, Key, Screenshot, TypeText
from workflow_gym.agent import make_agent
from workflow_gym.env import Outcome
from workflow_gym.episode import TrialPlan, run_trial
from workflow_gym.errors import InputError
from workflow_gym.machines.fake import FakeProvider
from workflow_gym.paths import TrialPaths
from workflow_gym.record import Trial, read_trial
from workflow_gym.tasks import Task, load_task

WriteTask = Callable[..., Path]
Play = Callable[..., Trial]


@pytest.fixture
def play(plugins: Path, note: Task, provider: FakeProvider, tmp_path: Path) -> Play:
    """Return a function that runs a trial of an agent and reads its record."""

    def run(agent: str, task: Task = note, on_round: Callable[[int, str], None] = lambda number, note: None) -> Trial:
        plan = TrialPlan(task, make_agent(agent), agent, provider, seed=5)
        trial = read_trial(run_trial(plan, tmp_path / "runs", on_round))
        assert not provider.live, "the machine outlives its trial"
        return trial

    return run


def only_trial(runs: Path) -> TrialPaths:
    (folder,) = runs.iterdir()
    return TrialPaths(folder)


# The outcomes


def test_the_expert_passes(play: Play, note: Task) -> None:
    seen: list[tuple[int, str]] = []
    trial = play("expert", on_round=lambda number, text: seen.append((number, text)))
    assert trial.result is not None and trial.result.outcome is Outcome.PASSED
    assert trial.result.verdict is not None and trial.result.verdict.passed
    assert (trial.result.reward, trial.result.rounds, trial.result.actions, trial.result.error) == (1.0, 5, 5, None)
    assert [step.action for step in trial.steps] == [None, *(step.action for step in note.expert), Done()]
    assert seen == [(step.round, step.note) for step in trial.steps[1:]]
    assert [text for _, text in seen[:-1]] == [step.caption for step in note.expert]


def test_half_a_character_in_a_thought_does_no_harm(play: Play) -> None:
    trial = play("odd_agents:BrokenNote")
    assert trial.result is not None and trial.result.error == "that was all"
    assert trial.steps[-1].note == "half a character: ?"


def test_other_peoples_agents_play_several_actions_a_round(play: Play) -> None:
    trial = play("odd_agents:Solver")
    assert trial.result is not None and trial.result.outcome is Outcome.PASSED
    assert [step.round for step in trial.steps] == [0, 1, 1, 2, 2]
    assert trial.steps[1].note == "Überlege … ✓"
    assert trial.record.agent == "odd_agents:Solver" and trial.record.seed == 5


def test_an_agent_that_never_ends_runs_out_of_rounds(play: Play, write_task: WriteTask) -> None:
    trial = play("odd_agents:Stubborn", load_task(write_task({"rounds = 12": "rounds = 2"})))
    assert trial.result is not None and trial.result.outcome is Outcome.OUT_OF_ROUNDS
    assert trial.result.verdict is not None and trial.result.rounds == 2


def test_an_agent_is_told_why_its_action_was_refused(play: Play) -> None:
    trial = play("odd_agents:Missing")
    assert trial.result is not None and trial.result.error is not None
    assert "outside the screen" in trial.result.error and trial.result.actions == 0
    assert [step.state for step in trial.steps] == ["done", "refused", "skipped"]
    assert [type(step.action) for step in trial.steps[1:]] == [Click, TypeText]
    assert trial.steps[1].error == trial.result.error and trial.steps[2].error is None


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Refused", "quota exceeded"),
        ("RaisingLater", "ZeroDivisionError"),
        ("RaisingInReset", "no model at this address"),
        ("Idle", "no action"),
        ("ReturningNone", ""),
        ("ReturningText", "click(10, 20)"),
        ("ReturningMappings", "done"),
    ],
)
def test_an_agent_that_breaks_is_an_agent_error(play: Play, agent: str, words: str) -> None:
    trial = play(f"odd_agents:{agent}")
    assert trial.result is not None and trial.result.outcome is Outcome.AGENT_ERROR
    assert trial.result.error is not None and words in trial.result.error
    assert not trial.result.outcome.scored
    assert trial.result.verdict is None
    assert trial.steps[0].action is None


def test_a_machine_that_breaks_is_a_machine_error_with_all_that_led_there(play: Play, provider: FakeProvider) -> None:
    def break_the_machine(number: int, text: str) -> None:
        for machine in provider.live:
            machine.break_down()

    trial = play("expert", on_round=break_the_machine)
    assert trial.result is not None and trial.result.outcome is Outcome.MACHINE_ERROR
    assert trial.result.error is not None and "gone" in trial.result.error
    assert trial.result.verdict is None and trial.result.rounds == 1
    assert [type(step.action) for step in trial.steps] == [type(None), Click, Key], "the action that broke it is lost"


def test_a_checker_that_breaks_is_a_checker_error(play: Play, write_task: WriteTask) -> None:
    trial = play("noop", load_task(write_task(append='[[checks]]\nuse = "odd_checkers:Crashing"\n')))
    assert trial.result is not None and trial.result.outcome is Outcome.CHECKER_ERROR
    assert trial.result.error is not None and "own fault" in trial.result.error
    assert trial.result.verdict is None and trial.result.reward == 0.0
    assert trial.steps[-1].action == Done()


def test_faults_that_are_not_the_agents_do_not_count() -> None:
    scored = {outcome for outcome in Outcome if outcome.scored}
    assert scored == {Outcome.PASSED, Outcome.FAILED, Outcome.GAVE_UP, Outcome.OUT_OF_ROUNDS}


# The record


def test_doing_nothing_fails_and_the_record_says_what_was_run_and_seen(play: Play, note: Task, tmp_path: Path) -> None:
    trial = play("noop")
    paths = only_trial(tmp_path / "runs")
    assert trial.result is not None and trial.result.outcome is Outcome.FAILED
    assert (trial.result.reward, trial.result.rounds, trial.result.actions) == (0.0, 1, 1)
    assert trial.result.verdict is not None and not trial.result.verdict.passed
    record = trial.record
    assert (record.task, record.title, record.instruction) == (note.id, note.spec.title, note.spec.instruction)
    assert (record.provider, record.screen, record.domain) == ("fake", (1280, 800), note.domain)
    assert record.versions["task"] == note.key and record.versions["image"].startswith("homebank-")
    for step in trial.steps:
        assert np.asarray(Picture.open(paths.root / step.screenshot)).shape == (800, 1280, 3)
    assert (paths.artifacts / "note.txt").read_bytes() == (note.inputs / "note.txt").read_bytes()


def test_an_interrupt_propagates_and_leaves_a_readable_record_without_a_result(
    play: Play, provider: FakeProvider, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        play("odd_agents:Interrupted")
    assert not provider.live
    trial = read_trial(only_trial(tmp_path / "runs"))
    assert trial.result is None
    assert [step.action for step in trial.steps] == [None, Key(keys="ctrl+a")]


def test_trials_of_one_second_get_folders_of_their_own(play: Play, tmp_path: Path) -> None:
    for _ in range(3):
        play("odd_agents:Refused")
    assert len(list((tmp_path / "runs").iterdir())) == 3


def test_what_the_caller_got_wrong_is_raised(note: Task, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'qemu'"):
        run_trial(TrialPlan(note, make_agent("noop"), "noop", "quemu"), tmp_path / "runs")


def test_a_trial_whose_process_is_killed_can_be_read(plugins: Path, note_folder: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    program = (
        "import sys; from pathlib import Path\n"
        "from workflow_gym.agent import make_agent; from workflow_gym.tasks import load_task\n"
        "from workflow_gym.episode import TrialPlan, run_trial\n"
        "plan = TrialPlan(load_task(sys.argv[1]), make_agent('odd_agents:Stubborn'), 'stubborn', 'fake')\n"
        "run_trial(plan, Path(sys.argv[2]), lambda number, note: print(number, flush=True))\n"
    )
    command = [sys.executable, "-c", program, str(note_folder), str(runs)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plugins), *sys.path])}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        rounds = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGKILL)
    assert rounds == ["1\n", "2\n"]
    trial = read_trial(only_trial(runs))
    assert trial.result is None and len(trial.steps) >= 3
    assert {type(step.action) for step in trial.steps[1:]} == {Screenshot}
    for step in trial.steps:
        Picture.open(only_trial(runs).root / step.screenshot).load()


def test_the_time_of_a_trial_is_measured(play: Play) -> None:
    started = time.monotonic()
    trial = play("odd_agents:RaisingLater")
    assert trial.result is not None and 0 < trial.result.seconds <= time.monotonic() - started + 0.1
    assert all(step.at <= trial.result.seconds for step in trial.steps)
