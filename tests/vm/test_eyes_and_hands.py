"""What the agent does arrives, and what it sees is true."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from workflow_gym.actions import Action, Done, Drag, Key, Point, TypeText, Wait, click
from workflow_gym.env import WorkflowGymEnv
from workflow_gym.errors import GuestUnreachableError, MachineError
from workflow_gym.machines.base import Frame
from workflow_gym.machines.qemu.machine import QemuMachine
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.self_check import check_names, run_self_check

pytestmark = pytest.mark.vm
TASK = Path(__file__).parents[1] / "data/tasks/finance/homebank/open-ledger"
MENUS: tuple[Action, ...] = (
    click(20, 31), Key(keys="down"), Key(keys="esc"), click(161, 31), Key(keys="esc"), Key(keys="esc"),
    Key(keys="ctrl+o"), TypeText(text="/home/user/"), Key(keys="esc"), click(30, 443), click(30, 405),
)  # fmt: skip


@pytest.fixture
def env(qemu: QemuProvider) -> Iterator[WorkflowGymEnv]:
    made = WorkflowGymEnv(TASK, qemu)
    yield made
    made.close()


def machine_of(env: WorkflowGymEnv) -> QemuMachine:
    assert env._episode is not None and isinstance(env._episode.machine, QemuMachine)
    return env._episode.machine


# The long ones take minutes; `workflow-gym self-check qemu` runs them too.
LONG = {"typing: 5,000 characters", "100 double clicks", "100 triple clicks"}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", [name for name in check_names() if name not in LONG])
def test_all_that_is_done_arrives(qemu: QemuProvider, name: str) -> None:
    results = list(run_self_check(qemu, {name}))
    assert [result.name for result in results] == [name]
    assert results[0].passed, results[0].detail


def test_frames_show_a_drag_under_way(env: WorkflowGymEnv) -> None:
    env.reset(options={"frames": 6})
    *_, info = env.step(Drag(path=(Point(x=200, y=450), Point(x=1000, y=700), Point(x=200, y=700))))
    frames = info["frames"]
    assert 3 <= len(frames) <= 6
    assert len({frame.tobytes() for frame in frames}) >= 3


def test_nothing_happens_while_the_agent_thinks(env: WorkflowGymEnv) -> None:
    env.reset()
    for action in MENUS[:5]:
        observation, *_ = env.step(action)
        time.sleep(1.0)
        assert (machine_of(env).screenshot() == observation["screenshot"]).all()


def test_eight_viewers_see_whole_frames_and_take_nothing(env: WorkflowGymEnv) -> None:
    env.reset()
    view = env.view()
    stop = threading.Event()
    looks: list[Frame] = []
    torn: list[Frame] = []

    def look() -> None:
        while not stop.is_set():
            frame = view.screenshot()
            assert frame is not None
            looks.append(frame)
            # The window's title bar and the lower edge are there in every whole frame.
            if frame.shape != (800, 1280, 3) or not frame[:18].any() or not frame[-5:].any():
                torn.append(frame)
            time.sleep(0.005)

    viewers = [threading.Thread(target=look) for _ in range(8)]
    for viewer in viewers:
        viewer.start()
    for action in MENUS:
        observation, *_ = env.step(action)
        # What the agent was given is its own, however many look.
        assert observation["screenshot"].flags.writeable
    stop.set()
    for viewer in viewers:
        viewer.join()
    assert len(looks) >= 2000 and not torn


def test_an_agent_that_kills_everything_still_sees_and_acts(env: WorkflowGymEnv) -> None:
    env.reset()
    machine = machine_of(env)
    with machine.running():
        try:
            machine.shell.run(["sh", "-c", "systemctl stop ssh; pkill -KILL -u user; pkill -KILL sshd"], timeout=10)
        except MachineError:
            pass
    machine.shell.disconnect()
    machine.shell._connect_seconds = 3.0
    before, *_ = env.step(Wait(seconds=1))
    after, _, terminated, _, info = env.step(click(300, 300))
    assert before["screenshot"].shape == after["screenshot"].shape and not terminated and info["carried_out"] == 1
    moved = np.argwhere((before["screenshot"] != after["screenshot"]).any(axis=2))
    assert len(moved), "the pointer of the X server, which lives on, did not move"
    with pytest.raises(GuestUnreachableError):
        env.step(Done())


def test_eight_branches_of_a_running_episode(qemu: QemuProvider, env: WorkflowGymEnv) -> None:
    env.reset(options={"branchable": True})
    for action in MENUS[:5]:
        env.step(action)
    start = time.monotonic()
    checkpoint = env.checkpoint()
    seconds = time.monotonic() - start
    seen, _ = env.reset()
    branches = [WorkflowGymEnv(TASK, qemu) for _ in range(8)]
    try:
        pictures = []
        for number, branch in enumerate(branches):
            observation, info = branch.restore(checkpoint)
            pictures.append(observation["screenshot"])
            assert info["round"] == 5
            branch.step(click(100 + 100 * number, 600))
            with machine_of(branch).running():
                machine_of(branch).shell.write_file("/home/user/branch", str(number).encode())
        assert all((picture == pictures[0]).all() for picture in pictures)
        for number, branch in enumerate(branches):
            with machine_of(branch).running():
                assert machine_of(branch).shell.read_file("/home/user/branch", limit=9) == str(number).encode()
    finally:
        for branch in branches:
            branch.close()
    assert seconds < 20
    env.discard(checkpoint)
