from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from workflow_gym.actions import Drag, Key, Point, TypeText
from workflow_gym.env import WorkflowGymEnv
from workflow_gym.errors import InputError, ResetNeededError
from workflow_gym.machines.fake import FakeMachine, FakeProvider
from workflow_gym.machines.film import Film
from workflow_gym.machines.settle import SettleBounds
from workflow_gym.machines.view import View
from workflow_gym.tasks import Task


@pytest.fixture
def fake() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def env(note: Task, fake: FakeProvider, quick: SettleBounds) -> Iterator[WorkflowGymEnv]:
    made = WorkflowGymEnv(note, fake, bounds=quick)
    yield made
    made.close()


def text_of(env: WorkflowGymEnv) -> str:
    assert env._episode is not None and isinstance(env._episode.machine, FakeMachine)
    return env._episode.machine.desktop.text


def test_eight_branches_of_one_moment_are_independent(
    env: WorkflowGymEnv, note: Task, fake: FakeProvider, quick: SettleBounds
) -> None:
    env.reset()
    env.step([Key(keys="ctrl+a"), TypeText(text="root")])
    checkpoint = env.checkpoint()
    before, *_ = env.step(TypeText(text=" goes on"))
    branches = [WorkflowGymEnv(note, fake, bounds=quick) for _ in range(8)]
    for number, branch in enumerate(branches):
        observation, info = branch.restore(checkpoint)
        assert info["round"] == 1 and text_of(branch) == "root"
        branch.step(TypeText(text=str(number)))
    assert [text_of(branch) for branch in branches] == [f"root{number}" for number in range(8)]
    assert text_of(env) == "root goes on"
    env.restore(checkpoint)
    assert text_of(env) == "root"
    for branch in branches:
        branch.close()


def test_a_checkpoint_counts_rounds(env: WorkflowGymEnv) -> None:
    env.reset()
    for _ in range(3):
        env.step(Key(keys="f5"))
    _, info = env.restore(env.checkpoint())
    assert info["round"] == 3
    *_, info = env.step(Key(keys="f5"))
    assert info["round"] == 4


def test_there_is_nothing_to_freeze_before_reset(env: WorkflowGymEnv) -> None:
    with pytest.raises(ResetNeededError):
        env.checkpoint()


def test_a_checkpoint_of_another_task_is_refused(env: WorkflowGymEnv) -> None:
    env.reset()
    checkpoint = env.checkpoint()
    other = type(checkpoint)("finance/editor/another", checkpoint.template, 0)
    with pytest.raises(InputError, match="another"):
        env.restore(other)


def test_a_discarded_checkpoint_is_gone(env: WorkflowGymEnv, fake: FakeProvider) -> None:
    env.reset()
    checkpoint = env.checkpoint()
    env.discard(checkpoint)
    env.discard(checkpoint)
    assert fake.find_template(checkpoint.template.key) is None


def test_unknown_reset_options_are_refused(env: WorkflowGymEnv) -> None:
    with pytest.raises(InputError, match="frame"):
        env.reset(options={"frame": 3})


def test_frames_show_what_happened_during_a_step(env: WorkflowGymEnv) -> None:
    env.reset(options={"frames": 4})
    *_, info = env.step(Drag(path=(Point(x=100, y=100), Point(x=900, y=500)), button="left"))
    frames = info["frames"]
    assert 1 <= len(frames) <= 4 and all(frame.shape == (800, 1280, 3) for frame in frames)
    env.reset()
    *_, info = env.step(Key(keys="f5"))
    assert "frames" not in info


@pytest.mark.parametrize(("limit", "shown"), [(2, 1), (2, 100), (5, 5), (5, 6), (8, 1000)])
def test_a_film_stays_short_and_even(limit: int, shown: int) -> None:
    film = Film(limit)
    for number in range(shown):
        film.add(np.full((1, 1, 3), number % 256, dtype=np.uint8))
    kept = [int(frame[0, 0, 0]) for frame in film.frames]
    assert 1 <= len(kept) <= limit and kept[0] == 0
    if shown <= 256 and len(kept) > 1:
        assert len({after - before for before, after in zip(kept, kept[1:], strict=False)}) == 1


def test_a_view_shows_and_cannot_touch(env: WorkflowGymEnv) -> None:
    view = env.view()
    assert view.screenshot() is None
    observation, _ = env.reset()
    view = env.view()
    frame = view.screenshot()
    assert frame is not None and (frame == observation["screenshot"]).all()
    with pytest.raises(ValueError, match="read-only"):
        frame[0, 0, 0] = 1
    env.close()
    assert view.screenshot() is not None


def test_many_looks_cost_the_machine_few_screenshots(fake: FakeProvider) -> None:
    machine = fake.fork(fake.image_template("homebank"))
    asked = []

    def source() -> FakeMachine:
        asked.append(1)
        return machine

    view = View(source)
    for _ in range(1000):
        view.screenshot()
    assert len(asked) < 20
