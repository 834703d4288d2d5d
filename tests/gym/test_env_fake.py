"""The environment on the fake provider: Gymnasium's rules, the ends of an episode, and the troubles on the way."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from workflow_gym.actions import (
    ACTION_TYPES,
    GRID_1000,
    Action,
    Click,
    Done,
    Drag,
    GiveUp,
    Key,
    Move,
    Point,
    Screenshot,
    TypeText,
    Wait,
    Zoom,
)
from workflow_gym.env import Outcome, WorkflowGymEnv
from workflow_gym.errors import (
    CapabilityError,
    CheckerError,
    HostError,
    InputError,
    MachineError,
    ResetNeededError,
    UnknownNameError,
)
from workflow_gym.machines.fake import FakeMachine, FakeProvider
from workflow_gym.machines.settle import SettleBounds
from workflow_gym.tasks import Task, load_task

WriteTask = Callable[..., Path]
SOLUTION: list[Action] = [
    Key(keys="ctrl+a"),
    TypeText(text="Invoice 17\ntotal 245\npaid: 4 January\n"),
    Key(keys="ctrl+s"),
]
OFF_SCREEN = Click(point=Point(x=1280, y=5))


def the_machine(provider: FakeProvider) -> FakeMachine:
    (machine,) = provider.live
    return machine


# Gymnasium's rules


@pytest.fixture
def made(shared_fake: None, note_folder: Path, quick: SettleBounds) -> Iterator[gymnasium.Env[Any, Any]]:
    env = gymnasium.make(
        "workflow_gym/WorkflowGym-v0", task=str(note_folder), provider="fake", bounds=quick, render_mode="rgb_array"
    )
    yield env
    env.close()


def test_gymnasium_finds_nothing_to_complain_about(made: gymnasium.Env[Any, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Said of every environment whose actions are pixels or seconds.
        warnings.filterwarnings("ignore", message=".*symmetric and normalized space.*")
        check_env(made.unwrapped)


def test_a_made_environment_plays_actions_and_members_of_its_space(made: gymnasium.Env[Any, Any]) -> None:
    observation, info = made.reset(seed=3)
    assert made.observation_space.contains(observation)
    assert info["round"] == 0 and info["outcome"] is None
    made.action_space.seed(5)
    observation, reward, terminated, truncated, info = made.step(Move(point=Point(x=3, y=4)))
    assert made.observation_space.contains(observation)
    assert (reward, terminated, truncated, info["round"]) == (0.0, False, False, 1)
    sample = made.action_space.sample() | {"type": np.int64(ACTION_TYPES.index("type")), "text": "abc"}
    assert made.step(sample)[4]["action_error"] is None


def test_a_step_before_reset_is_gymnasiums_own_error_too(made: gymnasium.Env[Any, Any]) -> None:
    with pytest.raises(gymnasium.error.ResetNeeded):
        made.step(Screenshot())
    with pytest.raises(ResetNeededError):
        made.unwrapped.step(Screenshot())


@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_vector_environments_play_samples_and_solutions(kind: type[object], note: Task, quick: SettleBounds) -> None:
    functions = [lambda: WorkflowGymEnv(note, "fake", bounds=quick)] * 2
    # Gymnasium reads texts out of shared memory once, when it is made, so observations with texts need to be sent.
    envs = AsyncVectorEnv(functions, shared_memory=False) if kind is AsyncVectorEnv else SyncVectorEnv(functions)
    try:
        observations, _ = envs.reset(seed=1)
        assert observations["screenshot"].shape == (2, 800, 1280, 3)
        assert observations["instruction"] == (note.spec.instruction,) * 2
        envs.action_space.seed(2)
        for text in ("left", "right"):
            actions = dict(envs.action_space.sample())
            actions["type"] = np.full(2, ACTION_TYPES.index("type"))
            actions["text"] = (text, text * 2)
            observations, rewards, terminated, truncated, infos = envs.step(actions)
            assert rewards.tolist() == [0, 0] and not terminated.any() and not truncated.any()
        assert (observations["screenshot"][0] != observations["screenshot"][1]).any()
        actions["type"] = np.array([ACTION_TYPES.index("done"), ACTION_TYPES.index("screenshot")])
        _, _, terminated, _, infos = envs.step(actions)
        assert terminated.tolist() == [True, False]
        assert infos["outcome"].tolist() == ["failed", None]
        assert not infos["verdict"][0].passed
        observations, *_, infos = envs.step(actions)
        assert infos["round"].tolist() == [0, 4], "a finished environment begins anew with the next step"
    finally:
        envs.close()


def test_two_environments_may_look_closer_at_different_places(
    shared_fake: None, note: Task, quick: SettleBounds
) -> None:
    envs = SyncVectorEnv([lambda: WorkflowGymEnv(note, "fake", bounds=quick)] * 2)
    try:
        envs.reset()
        envs.action_space.seed(2)
        actions = dict(envs.action_space.sample())
        actions["type"] = np.full(2, ACTION_TYPES.index("zoom"))
        actions["point"] = np.array([[0, 0], [0, 0]], dtype=np.int32)
        actions["end"] = np.array([[640, 400], [300, 600]], dtype=np.int32)
        *_, infos = envs.step(actions)
        assert infos["zoom"].shape[0] == 2
    finally:
        envs.close()


def test_samples_end_nothing_but_by_done_or_give_up(note: Task, provider: FakeProvider) -> None:
    env = WorkflowGymEnv(note, provider, bounds=SettleBounds(quiet=0.0, maximum=0.0))
    env.action_space.seed(7)
    ends = (ACTION_TYPES.index("done"), ACTION_TYPES.index("give_up"))
    observation, _ = env.reset()
    for number in range(60):
        if number % (note.spec.rounds - 1) == 0:
            observation, _ = env.reset()
        sample = env.action_space.sample()
        assert isinstance(sample, dict)
        if int(sample["type"]) in ends:
            continue
        observation, reward, terminated, truncated, info = env.step(sample)
        assert not terminated and not truncated and reward == 0.0
        assert info["action_error"] is None or ACTION_TYPES[int(sample["type"])] == "zoom"
    assert env.observation_space.contains(observation)
    env.close()


# Observations


def test_reset_shows_the_file_and_is_the_same_every_time(env: WorkflowGymEnv, provider: FakeProvider) -> None:
    first, _ = env.reset(seed=1)
    env.step(TypeText(text="something else"))
    second, _ = env.reset(seed=1)
    assert (first["screenshot"] == second["screenshot"]).all()
    assert the_machine(provider).desktop.text == "Invoice 17\ntotal 230\n"
    assert len(provider.live) == 1, "the machine of the last episode is still there"


def test_an_observation_that_is_written_over_changes_no_other(env: WorkflowGymEnv) -> None:
    first, _ = env.reset()
    kept = first["screenshot"].copy()
    actions: list[Action] = [OFF_SCREEN, Screenshot(), Zoom(top_left=Point(x=0, y=0), bottom_right=Point(x=9, y=9))]
    for action in actions:
        first["screenshot"][:] = 0
        first, *_ = env.step(action)
        assert (first["screenshot"] == kept).all(), f"after {action.type}"


def test_actions_are_seen_in_the_next_observation(env: WorkflowGymEnv, provider: FakeProvider) -> None:
    before, _ = env.reset()
    after, *_ = env.step(TypeText(text="and more"))
    assert (before["screenshot"] != after["screenshot"]).any()
    assert (after["screenshot"] == the_machine(provider).screenshot()).all()
    env.step(Click(point=Point(x=500, y=500), space=GRID_1000))
    assert the_machine(provider).desktop.pointer == (640, 400)


def test_several_actions_make_one_round(env: WorkflowGymEnv, provider: FakeProvider) -> None:
    env.reset()
    *_, info = env.step(SOLUTION)
    assert info["round"] == 1 and info["action_error"] is None
    assert the_machine(provider).desktop.files["/home/user/note.txt"].endswith(b"paid: 4 January\n")


def test_a_zoom_shows_the_region_larger_and_changes_nothing(env: WorkflowGymEnv) -> None:
    before, _ = env.reset()
    region = Zoom(top_left=Point(x=0, y=0), bottom_right=Point(x=320, y=200))
    after, *_, info = env.step(region)
    assert (before["screenshot"] == after["screenshot"]).all()
    assert info["zoom"].shape == (800, 1280, 3) and info["zoom"].dtype == np.uint8
    assert abs(info["zoom"].mean() - before["screenshot"][:200, :320].mean()) < 2
    *_, info = env.step(Screenshot())
    assert "zoom" not in info
    *_, info = env.step(region.model_copy(update={"bottom_right": Point(x=1, y=799)}))
    assert max(info["zoom"].shape) <= 1280


def test_render_gives_the_last_observation(note: Task, provider: FakeProvider, quick: SettleBounds) -> None:
    env = WorkflowGymEnv(note, provider, bounds=quick, render_mode="rgb_array")
    with pytest.raises(ResetNeededError):
        env.render()
    env.reset()
    observation, *_ = env.step(TypeText(text="abc"))
    picture = env.render()
    assert picture is not None and (picture == observation["screenshot"]).all()
    picture[:] = 0
    again = env.render()
    assert again is not None and (again == observation["screenshot"]).all()
    assert WorkflowGymEnv(note, provider).render() is None
    env.close()


# Time


def test_the_machine_stands_still_between_steps(env: WorkflowGymEnv, provider: FakeProvider) -> None:
    env.reset()
    assert the_machine(provider).paused
    rounds: list[list[Action]] = [[Screenshot()], [Wait(seconds=2)], [OFF_SCREEN], [Screenshot(), OFF_SCREEN]]
    for actions in rounds:
        env.step(actions)
        assert the_machine(provider).paused
    assert the_machine(provider).desktop.clock >= 2


def test_in_realtime_the_machine_goes_on_between_steps(note: Task, provider: FakeProvider, quick: SettleBounds) -> None:
    env = WorkflowGymEnv(note, provider, realtime=True, bounds=quick)
    env.reset()
    assert not the_machine(provider).paused
    env.step(Screenshot())
    assert not the_machine(provider).paused
    env.close()


def test_a_provider_that_cannot_pause_needs_realtime(plugins: Path, note: Task, quick: SettleBounds) -> None:
    name = "odd_providers:NeverPausing"
    env = WorkflowGymEnv(note, name, bounds=quick)
    with pytest.raises(CapabilityError, match="realtime=True"):
        env.reset()
    env.close()
    env = WorkflowGymEnv(note, name, realtime=True, bounds=quick)
    env.reset()
    env.close()


# Actions that cannot be carried out


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (OFF_SCREEN, "outside the screen"),
        (Drag(path=(Point(x=1, y=1), Point(x=1, y=800))), "outside the screen"),
        (Zoom(top_left=Point(x=5, y=5), bottom_right=Point(x=5, y=5)), "empty"),
        ({"type": 0}, "action space"),
        ({}, "action space"),
        ("click", "neither an action"),
        (None, "neither an action"),
        ([{"type": "click"}], "neither an action"),
        (17, "neither an action"),
    ],
    ids=str,
)
def test_a_refused_action_ends_nothing_and_says_why(
    env: WorkflowGymEnv, provider: FakeProvider, action: Any, words: str
) -> None:
    env.reset()
    before = the_machine(provider).desktop
    _, reward, terminated, truncated, info = env.step(action)
    assert words in info["action_error"]
    assert (reward, terminated, truncated, info["round"]) == (0.0, False, False, 1)
    assert the_machine(provider).desktop == before
    *_, info = env.step(Screenshot())
    assert info["action_error"] is None, "the error of the last round is still reported"


def test_the_rest_of_the_round_is_skipped_after_a_refused_action(env: WorkflowGymEnv, provider: FakeProvider) -> None:
    env.reset()
    _, _, terminated, _, info = env.step([TypeText(text="x"), OFF_SCREEN, TypeText(text="y"), Done()])
    assert not terminated and "outside" in info["action_error"]
    assert the_machine(provider).desktop.text == "Invoice 17\ntotal 230\nx"


# The ends of an episode


def test_done_with_the_right_result_passes(env: WorkflowGymEnv, provider: FakeProvider, tmp_path: Path) -> None:
    env.reset(options={"artifacts": tmp_path / "kept"})
    env.step(SOLUTION)
    _, reward, terminated, truncated, info = env.step(Done())
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["outcome"] == Outcome.PASSED and info["verdict"].passed
    assert info["artifacts"] == str(tmp_path / "kept")
    assert (tmp_path / "kept" / "note.txt").read_text() == "Invoice 17\ntotal 245\npaid: 4 January\n"
    assert not provider.live, "the machine outlives its episode"
    with pytest.raises(ResetNeededError):
        env.step(Screenshot())


def test_a_wrong_result_fails_and_its_files_go_when_the_environment_is_closed(
    note: Task, provider: FakeProvider, quick: SettleBounds
) -> None:
    env = WorkflowGymEnv(note, provider, reward="fraction", bounds=quick)
    env.reset()
    _, reward, terminated, _, info = env.step([TypeText(text="x"), Key(keys="ctrl+s"), Done(), TypeText(text="y")])
    assert terminated and reward == 0.5
    assert info["outcome"] == Outcome.FAILED and info["verdict"].fraction == 0.5
    collected = Path(info["artifacts"]) / "note.txt"
    assert collected.read_text().endswith("x"), "something was done after Done"
    env.close()
    assert not collected.parent.exists()


def test_the_round_limit_truncates_and_is_graded(
    write_task: WriteTask, provider: FakeProvider, quick: SettleBounds
) -> None:
    env = WorkflowGymEnv(load_task(write_task({"rounds = 12": "rounds = 2"})), provider, bounds=quick)
    env.reset()
    assert env.step(SOLUTION)[2:4] == (False, False)
    _, reward, terminated, truncated, info = env.step(OFF_SCREEN)
    assert (reward, terminated, truncated) == (1.0, False, True)
    assert info["outcome"] == Outcome.OUT_OF_ROUNDS and info["verdict"].passed and info["round"] == 2
    env.close()


def test_giving_up_is_its_own_outcome_and_graded(env: WorkflowGymEnv) -> None:
    env.reset()
    _, reward, terminated, truncated, info = env.step(GiveUp(reason="there is no save button"))
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["outcome"] == Outcome.GAVE_UP and not info["verdict"].passed


def test_done_in_the_last_round_is_done_and_the_answer_reaches_the_checker(
    plugins: Path, write_task: WriteTask, provider: FakeProvider, quick: SettleBounds
) -> None:
    check = '[[checks]]\nuse = "odd_checkers:AnswerIs"\nanswer = "é 42"\n'
    env = WorkflowGymEnv(load_task(write_task({"rounds = 12": "rounds = 1"}, check)), provider, bounds=quick)
    env.reset()
    _, reward, terminated, truncated, info = env.step([*SOLUTION, Done(answer="é 42")])
    assert (terminated, truncated, info["outcome"], reward) == (True, False, "passed", 1.0)
    assert [criterion.name for criterion in info["verdict"].criteria][-1] == "answer"
    env.close()


# Troubles


@pytest.mark.parametrize(
    "action", [TypeText(text="x"), Wait(seconds=0), Done(), GiveUp()], ids=lambda action: action.type
)
def test_a_machine_that_breaks_is_a_machine_error_and_reset_begins_anew(
    env: WorkflowGymEnv, provider: FakeProvider, action: Any
) -> None:
    env.reset()
    the_machine(provider).break_down()
    with pytest.raises(MachineError):
        env.step(action)
    assert not provider.live, "the broken machine is still held"
    with pytest.raises(ResetNeededError):
        env.step(action)
    env.reset()
    *_, info = env.step(Screenshot())
    assert info["round"] == 1


def test_a_machine_that_cannot_be_had_leaves_no_episode(plugins: Path, note: Task, quick: SettleBounds) -> None:
    env = WorkflowGymEnv(note, "odd_providers:Failing", bounds=quick)
    for _ in range(2):
        with pytest.raises(HostError, match="no such host"):
            env.reset()
        with pytest.raises(ResetNeededError):
            env.step(Screenshot())
    env.close()


def test_a_broken_checker_is_a_checker_error_and_reset_begins_anew(
    plugins: Path, write_task: WriteTask, provider: FakeProvider, quick: SettleBounds
) -> None:
    folder = write_task(append='[[checks]]\nuse = "odd_checkers:Crashing"\n')
    env = WorkflowGymEnv(load_task(folder), provider, bounds=quick)
    env.reset()
    env.step(SOLUTION)
    with pytest.raises(CheckerError, match="own fault"):
        env.step(Done())
    assert not provider.live
    with pytest.raises(ResetNeededError):
        env.step(Screenshot())
    env.reset()
    env.close()


def test_an_interrupt_in_mid_step_closes_the_machine(note: Task, provider: FakeProvider) -> None:
    env = WorkflowGymEnv(note, provider, bounds=SettleBounds(quiet=30, maximum=30))
    env.reset()
    timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        env.step(Screenshot())
    timer.join()
    assert not provider.live
    with pytest.raises(ResetNeededError):
        env.step(Screenshot())


def test_closing_twice_is_fine_and_final(env: WorkflowGymEnv, provider: FakeProvider) -> None:
    env.reset()
    env.close()
    env.close()
    assert not provider.live
    with pytest.raises(ResetNeededError):
        env.step(Screenshot())
    with pytest.raises(ResetNeededError, match="closed"):
        env.reset()


# What the caller gives


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"reward": "ternary"}, "fraction"),
        ({"render_mode": "human"}, "rgb_array"),
        ({"provider": "quemu"}, "did you mean 'qemu'"),
        ({"provider": "odd_providers:NoProvider"}, "subclass"),
        ({"provider": FakeProvider}, "provider"),
        ({"provider": None}, "provider"),
        ({"task": "finance/editor/no-such-task"}, "unknown task"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_at_once(plugins: Path, note: Task, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        WorkflowGymEnv(**(dict[str, Any](task=note, provider="fake") | arguments))


def test_unknown_reset_options_are_refused_and_the_episode_goes_on(env: WorkflowGymEnv) -> None:
    env.reset()
    with pytest.raises(InputError, match="artefacts"):
        env.reset(options={"artefacts": "x"})
    env.step(Screenshot())


def test_an_artifacts_folder_that_cannot_be_leaves_no_machine(
    env: WorkflowGymEnv, provider: FakeProvider, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((InputError, OSError)):
        env.reset(options={"artifacts": tmp_path / "file"})
    assert not provider.live


def test_an_unknown_image_is_refused(note_folder: Path) -> None:
    with pytest.raises(UnknownNameError):
        WorkflowGymEnv(str(note_folder) + "-not", "fake")
