"""No machine outlives the process that made it, however that process ends: with real processes and real signals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workflow_gym.machines.qemu import reaper
from workflow_gym.machines.qemu.run_folder import RunFolder

_SLEEP = shutil.which("sleep") or "/bin/sleep"

# An owner as a real provider is one: it owns a run folder, and starts a program that is called qemu-something there.
OWNER = """
import os, subprocess, sys
from pathlib import Path
from workflow_gym.machines.qemu.run_folder import RunFolder

machines, sleep, ending = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
folder = RunFolder(machines)
program = folder.new_machine() / "qemu-sleep"
program.symlink_to(sleep)
guest = subprocess.Popen([program, "600"], start_new_session=True)
bystander = subprocess.Popen([sleep, "600"])
print(folder.path, guest.pid, bystander.pid, flush=True)
sys.stdin.readline()
if ending == "return":
    pass
elif ending == "raise":
    raise RuntimeError("on purpose")
elif ending == "_exit":
    os._exit(3)
elif ending == "close":
    folder.close()
    folder.close()
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def becomes_true(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a sleeping program under a name; all are ended at the end of the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start_program(program: Path, *arguments: str) -> subprocess.Popen[bytes]:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.symlink_to(_SLEEP)
        started.append(subprocess.Popen([program, "600", *arguments]))
        process = started[-1]
        assert becomes_true(lambda: os.fsencode(program) in Path(f"/proc/{process.pid}/cmdline").read_bytes())
        return process

    yield start_program
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    return tmp_path / "machines"


# Which processes belong to a folder


def test_only_qemu_processes_of_just_that_folder_are_found(machines: Path, start: Start) -> None:
    mine = start(machines / "1" / "m0" / "qemu-system-x86_64")
    start(machines / "12" / "m0" / "qemu-system-x86_64")
    start(machines / "1" / "m0" / "editor")
    assert reaper.processes_of(machines / "1") == [mine.pid]
    assert reaper.processes_of(machines / "1" / "m0") == [mine.pid]
    assert reaper.processes_of(machines / "3") == []


def test_removing_a_folder_ends_its_processes_and_no_others(machines: Path, start: Start) -> None:
    mine = [start(machines / "1" / f"m{number}" / "qemu-system-x86_64") for number in range(3)]
    others = [start(machines / "2" / "m0" / "qemu-system-x86_64"), start(machines / "1" / "m0" / "editor")]
    reaper.remove(machines / "1")
    assert not any(is_alive(process.pid) for process in mine)
    assert all(is_alive(process.pid) for process in others)
    assert not (machines / "1").exists() and (machines / "2").exists()
    reaper.remove(machines / "1")


def test_a_folder_with_blanks_and_odd_characters_is_cleaned_too(tmp_path: Path, start: Start) -> None:
    mine = start(tmp_path / "a folder, with 'ünï'" / "m0" / "qemu-system-x86_64")
    reaper.remove(tmp_path / "a folder, with 'ünï'")
    assert not is_alive(mine.pid)


# The sweep


def test_the_sweep_removes_what_dead_owners_left_and_nothing_else(machines: Path, start: Start) -> None:
    abandoned = start(machines / "dead" / "m0" / "qemu-system-x86_64")
    (machines / "dead" / reaper.LOCK).touch()
    owned = start(machines / "alive" / "m0" / "qemu-system-x86_64")
    shutil.rmtree(machines / "alive" / "m0")
    (machines / "alive").rmdir()
    lock = reaper.own(machines / "alive")
    (machines / "young").mkdir()
    (machines / "old").mkdir()
    os.utime(machines / "old", (time.time() - 60,) * 2)
    (machines / "file").touch()
    try:
        assert sorted(path.name for path in reaper.sweep(machines)) == ["dead", "old"]
        assert not is_alive(abandoned.pid) and is_alive(owned.pid)
        assert sorted(path.name for path in machines.iterdir()) == ["alive", "file", "young"]
    finally:
        os.close(lock)
    assert [path.name for path in reaper.sweep(machines)] == ["alive"]
    assert not is_alive(owned.pid)


def test_there_may_be_nothing_to_sweep(machines: Path) -> None:
    assert reaper.sweep(machines) == []


def test_a_new_owner_frees_what_a_crashed_host_left(machines: Path, start: Start) -> None:
    abandoned = start(machines / "dead" / "m0" / "qemu-system-x86_64")
    (machines / "dead" / reaper.LOCK).touch()
    folder = RunFolder(machines)
    assert not (machines / "dead").exists() and not is_alive(abandoned.pid)
    folder.close()


def test_a_folder_is_owned_once(machines: Path) -> None:
    lock = reaper.own(machines / "1")
    with pytest.raises(FileExistsError):
        reaper.own(machines / "1")
    assert (machines / "1").stat().st_mode & 0o777 == 0o700
    os.close(lock)


# Owners that end


Own = Callable[[str], tuple["subprocess.Popen[str]", Path, int]]


@pytest.fixture
def own(machines: Path) -> Iterator[Own]:
    """Return a function that starts an owner, and gives it with its folder and the id of its guest."""
    bystanders: list[int] = []
    owners: list[subprocess.Popen[str]] = []

    def start_owner(ending: str) -> tuple[subprocess.Popen[str], Path, int]:
        command = [sys.executable, "-c", OWNER, str(machines), _SLEEP, ending]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        pipe = subprocess.PIPE
        owner = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, process_group=0
        )
        owners.append(owner)
        assert owner.stdout is not None
        folder, guest, bystander = owner.stdout.readline().split()
        bystanders.append(int(bystander))
        assert Path(folder).is_dir() and is_alive(int(guest))
        return owner, Path(folder), int(guest)

    yield start_owner
    for pid in bystanders:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    for owner in owners:
        owner.kill()
        owner.communicate()


@pytest.mark.parametrize("ending", ["return", "raise", "_exit", "close"])
def test_machines_go_when_their_owner_ends_by_itself(own: Own, ending: str) -> None:
    owner, folder, guest = own(ending)
    assert owner.stdin is not None
    owner.stdin.write("\n")
    owner.stdin.flush()
    assert becomes_true(lambda: not is_alive(guest)), "the guest outlives its owner"
    assert becomes_true(lambda: not folder.exists()), "the folder outlives its owner"


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM])
def test_machines_go_when_their_owner_is_killed(own: Own, kind: signal.Signals) -> None:
    owner, folder, guest = own("killed")
    owner.send_signal(kind)
    assert becomes_true(lambda: not is_alive(guest)), "the guest outlives its owner"
    assert becomes_true(lambda: not folder.exists()), "the folder outlives its owner"


def test_machines_go_when_the_whole_process_group_is_killed(own: Own) -> None:
    """As a terminal that is closed, or Ctrl-C, does it: the guard must not be in that group."""
    owner, folder, guest = own("killed")
    os.killpg(owner.pid, signal.SIGKILL)
    assert becomes_true(lambda: not is_alive(guest) and not folder.exists())


# Run folders in this process


def test_every_machine_gets_a_folder_of_its_own_and_all_go_at_the_end(machines: Path, start: Start) -> None:
    run = RunFolder(machines)
    folders = [run.new_machine() for _ in range(3)]
    assert len(set(folders)) == 3 and all(folder.is_dir() for folder in folders)
    guest = start(folders[0] / "qemu-system-x86_64")
    run.close()
    assert not run.path.exists() and not is_alive(guest.pid)
    run.close()
    assert machines.exists()


def test_two_run_folders_do_not_disturb_each_other(machines: Path) -> None:
    one, other = RunFolder(machines), RunFolder(machines)
    one.close()
    assert other.path.is_dir() and other.new_machine().is_dir()
    other.close()


def test_a_forked_child_neither_ends_the_folder_nor_keeps_it(machines: Path) -> None:
    run = RunFolder(machines)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(writing)
            run.close()
            os.read(reading, 1)  # Lives on until the test ends it.
        finally:
            os._exit(0)
    os.close(reading)
    try:
        time.sleep(0.2)
        assert run.path.is_dir(), "the child removed its parent's folder"
        started = time.monotonic()
        run.close()
        assert time.monotonic() - started < 5, "the guard waited for the child"
        assert not run.path.exists()
    finally:
        os.close(writing)
        os.waitpid(child, 0)
