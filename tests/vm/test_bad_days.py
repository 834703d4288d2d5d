"""What must be survived: killed hypervisors, dead guests, full disks, broken templates, killed processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workflow_gym.actions import Done, click
from workflow_gym.env import WorkflowGymEnv
from workflow_gym.errors import (
    GuestUnreachableError,
    HostError,
    MachineDiedError,
    MachineError,
    ResetNeededError,
    TemplateError,
)
from workflow_gym.machines.qemu import reaper
from workflow_gym.machines.qemu.machine import QemuMachine
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.paths import CachePaths
from workflow_gym.tasks import Task, load_task

pytestmark = pytest.mark.vm
IMAGE = "homebank"
NOTE_TASK = Path(__file__).parents[1] / "data/tasks/finance/homebank/open-ledger"


def until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(NOTE_TASK)


@pytest.fixture
def env(qemu: QemuProvider, task: Task) -> Iterator[WorkflowGymEnv]:
    made = WorkflowGymEnv(task, qemu)
    yield made
    made.close()


def machine_of(env: WorkflowGymEnv) -> QemuMachine:
    assert env._episode is not None
    machine = env._episode.machine
    assert isinstance(machine, QemuMachine)
    return machine


def test_qemu_killed_in_mid_episode_is_a_machine_error_and_the_next_reset_works(env: WorkflowGymEnv) -> None:
    env.reset()
    folder = machine_of(env).files.folder
    os.kill(machine_of(env).pid, signal.SIGKILL)
    with pytest.raises(MachineDiedError, match="status -9"):
        env.step(click(10, 10))
    assert not folder.exists()
    with pytest.raises(ResetNeededError):
        env.step(click(10, 10))
    env.reset()
    env.step(click(10, 10))


def test_dead_ssh_blinds_nothing_but_fails_grading_as_a_machine_error(env: WorkflowGymEnv) -> None:
    env.reset()
    machine = machine_of(env)
    with machine.running(), contextlib.suppress(MachineError):
        machine.shell.run(["sh", "-c", "systemctl stop ssh; pkill -KILL sshd-session; true"], timeout=10)
    machine.shell.disconnect()
    machine.shell._connect_seconds = 3.0
    observation, reward, terminated, truncated, info = env.step(click(10, 10))
    assert observation["screenshot"].any() and not terminated
    with pytest.raises(GuestUnreachableError):
        env.step(Done())
    env.reset()


def test_a_damaged_state_is_thrown_away_and_the_task_staged_anew(qemu: QemuProvider, env: WorkflowGymEnv) -> None:
    env.reset()
    key = next(folder.name for folder in qemu.templates._cache.templates.glob("finance-homebank-open-ledger-*"))
    template = qemu.find_template(key)
    assert template is not None
    qemu.spares.forget(template)
    template.state.write_bytes(b"QEVM" + b"\0" * 1000)
    observation, _ = env.reset()
    assert observation["screenshot"].any()
    anew = qemu.find_template(key)
    assert anew is not None and anew.state.stat().st_size > 1_000_000


@pytest.mark.parametrize("name", ["memory", "state", "disk.qcow2", "overlay.qcow2", "manifest.json"])
def test_half_written_templates_are_not_found(qemu: QemuProvider, tmp_path: Path, name: str) -> None:
    template = qemu.image_template(IMAGE)
    cache = CachePaths(tmp_path)
    copy = cache.templates / template.key
    subprocess.run(["cp", "-r", "--sparse=always", "--reflink=auto", template.folder, copy], check=True)
    (cache.images / template.image.key).symlink_to(template.image.folder)
    provider = QemuProvider(cache, spares=0)
    try:
        assert provider.find_template(template.key) is not None
        whole = copy / name
        whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2] if name != "memory" else b"")
        provider.templates._verified.clear()
        assert provider.find_template(template.key) is None
        assert not copy.exists()
    finally:
        provider.close()


def test_a_template_that_vanishes_is_a_template_error(qemu: QemuProvider, tmp_path: Path) -> None:
    template = qemu.image_template(IMAGE)
    with qemu.fork(template, branchable=True) as machine:
        captured = machine.capture("vanishing")
    shutil.rmtree(captured.folder)
    with pytest.raises(TemplateError):
        qemu.fork(captured)


def test_full_disk_while_forking_is_a_host_error_and_leaves_nothing(qemu: QemuProvider, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    template = qemu.image_template(IMAGE)
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small], check=True)
    try:
        provider = QemuProvider(CachePaths(small), spares=0)
        try:
            (small / "filler").write_bytes(b"x" * 100_000)
            with pytest.raises(HostError, match="No space left"):
                provider.fork(template)
            assert list(provider._run_folder.path.glob("m*")) == []
        finally:
            provider.close()
    finally:
        subprocess.run(["umount", small], check=True)


def test_the_guest_reaches_neither_host_nor_network(qemu: QemuProvider) -> None:
    with qemu.fork(qemu.image_template(IMAGE)) as machine, machine.running():
        for address in ("10.0.2.2", "10.0.2.3", "1.1.1.1"):
            probe = f"timeout 3 bash -c 'exec 3<>/dev/tcp/{address}/22 && echo open' 2>/dev/null || echo closed"
            assert machine.shell.run(["bash", "-c", probe]).strip() == "closed"


SWEEPER = """
    import json, sys, time
    from workflow_gym.machines.qemu.provider import QemuProvider
    provider = QemuProvider()
    template = provider.image_template("homebank")
    machines = [provider.fork(template) for _ in range(8)]
    for machine in machines:
        machine.resume()
    print(json.dumps([str(provider._run_folder.path), [machine.pid for machine in machines]]), flush=True)
    time.sleep(600)
"""


def start_run_with_eight_machines() -> tuple[subprocess.Popen[str], Path, list[int]]:
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SWEEPER)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder, pids = json.loads(process.stdout.readline())
    return process, Path(folder), pids


def test_sigkill_of_the_owner_ends_its_machines_and_frees_their_files(qemu: QemuProvider) -> None:
    process, folder, pids = start_run_with_eight_machines()
    assert len(reaper.processes_of(folder)) >= 8
    process.kill()
    process.wait()
    assert until(lambda: not any(alive(pid) for pid in pids), 5)
    assert until(lambda: not folder.exists(), 5)


def test_what_survives_even_the_guard_is_freed_by_the_next_start(qemu: QemuProvider) -> None:
    process, folder, pids = start_run_with_eight_machines()
    guards = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _command_line(entry)[-2:] == [reaper.__file__, str(folder)]
    ]
    assert len(guards) == 1
    os.kill(guards[0], signal.SIGKILL)
    process.kill()
    process.wait()
    time.sleep(0.5)
    assert len(reaper.processes_of(folder)) >= 8
    QemuProvider(spares=0).close()
    assert not folder.exists()
    assert not any(alive(pid) for pid in pids)


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped by its parent does not."""
    return bool(_command_line(Path(f"/proc/{pid}")))


def _command_line(entry: Path) -> list[str]:
    try:
        return (entry / "cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def test_thirty_two_machines_start_in_parallel(qemu: QemuProvider) -> None:
    template = qemu.image_template(IMAGE)
    with ThreadPoolExecutor(32) as pool:
        machines = list(pool.map(lambda _: qemu.fork(template), range(32)))
    try:
        ports = {machine.process.forwarded_port() for machine in machines}
        assert len(ports) == 32
        assert all(machine.screenshot().any() for machine in machines)
        last = machines[-1]
        with last.running():
            assert last.shell.run(["hostname"]).strip() == "desktop"
    finally:
        for machine in machines:
            machine.close()


def test_ctrl_c_in_a_step_leaves_the_environment_usable(env: WorkflowGymEnv) -> None:
    env.reset()
    folder = machine_of(env).files.folder
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(20):
                env.step(click(640, 400))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert not folder.exists()
    env.reset()
    env.step(click(640, 400))
