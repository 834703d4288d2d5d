from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import workflow_gym  # noqa: F401 - registers the environment
from workflow_gym.actions import Done, Key, TypeText, Wait, click
from workflow_gym.env import WorkflowGymEnv
from workflow_gym.machines.qemu.machine import QemuMachine
from workflow_gym.machines.qemu.provider import QemuProvider

pytestmark = pytest.mark.vm
TASK = Path(__file__).parents[1] / "data/tasks/finance/homebank/open-ledger"


@pytest.fixture
def env(qemu: QemuProvider) -> Iterator[WorkflowGymEnv]:
    made = WorkflowGymEnv(TASK, qemu)
    yield made
    made.close()


def test_gymnasium_is_satisfied() -> None:
    env = gymnasium.make("workflow_gym/WorkflowGym-v0", task=TASK, render_mode="rgb_array")
    try:
        check_env(env.unwrapped)
    finally:
        env.close()


def test_the_task_s_file_is_open_and_resets_are_alike(env: WorkflowGymEnv) -> None:
    first, _ = env.reset(seed=1)
    second, _ = env.reset(seed=1)
    assert (first["screenshot"] == second["screenshot"]).all()
    machine = machine_of(env)
    with machine.running():
        titles = machine.shell.run(["wmctrl", "-l"], user="user")
    assert "note.xhb" in titles or "Test" in titles


def machine_of(env: WorkflowGymEnv) -> QemuMachine:
    assert env._episode is not None and isinstance(env._episode.machine, QemuMachine)
    return env._episode.machine


def test_time_stands_still_between_steps(env: WorkflowGymEnv) -> None:
    env.reset()
    machine = machine_of(env)
    busy = machine.busy_seconds()
    time.sleep(1.0)
    assert machine.busy_seconds() == busy
    env.step(Wait(seconds=0.2))
    assert machine.busy_seconds() > busy and machine.paused


def test_realtime_lets_the_machine_run(qemu: QemuProvider) -> None:
    env = WorkflowGymEnv(TASK, qemu, realtime=True)
    try:
        env.reset()
        assert not machine_of(env).paused
        env.step(Wait(seconds=0.1))
        assert not machine_of(env).paused
    finally:
        env.close()


def test_what_is_done_is_seen(env: WorkflowGymEnv) -> None:
    before, _ = env.reset()
    after, reward, terminated, truncated, info = env.step(click(20, 31))
    changed = (before["screenshot"] != after["screenshot"]).any(axis=2)
    assert changed[40:200, 0:200].mean() > 0.2, "the File menu did not open"
    assert info["settled"] and reward == 0.0 and not terminated and not truncated
    env.step([Key(keys="esc"), Key(keys="esc")])


def test_a_dialog_takes_typed_text(env: WorkflowGymEnv) -> None:
    env.reset()
    env.step(Key(keys="ctrl+o"))
    shown, *_ = env.step(TypeText(text="/home/user/No Such File-01.xhb"))
    again, *_ = env.step(TypeText(text="Ω€é"))
    assert (shown["screenshot"] != again["screenshot"]).any()


def test_the_end_is_graded(env: WorkflowGymEnv) -> None:
    env.reset()
    _, reward, terminated, _, info = env.step(Done())
    assert terminated and reward == 0.0
    assert info["outcome"] == "failed"
    assert [criterion.met for criterion in info["verdict"].criteria] == [True, False]
    assert (Path(info["artifacts"]) / "note.xhb").read_text().startswith("<?xml")


def test_vector_environments() -> None:
    envs: Any = gymnasium.make_vec(
        "workflow_gym/WorkflowGym-v0", num_envs=2, vectorization_mode="async", task=str(TASK)
    )
    try:
        observations, _ = envs.reset(seed=3)
        assert observations["screenshot"].shape == (2, 800, 1280, 3)
        assert (observations["screenshot"][0] == observations["screenshot"][1]).all()
        envs.action_space.seed(3)
        _, rewards, *_ = envs.step(envs.action_space.sample())
        assert rewards.shape == (2,) and rewards.dtype == np.float64
    finally:
        envs.close()
