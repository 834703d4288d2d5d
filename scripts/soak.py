"""Plays many rounds in one machine, then many resets, and prints whether anything grows or stays behind.

Run by `scripts/soak`, whose --help explains it.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

from rich.table import Table

from workflow_gym.actions import Action, Click, Drag, Key, Point, Scroll, TypeText
from workflow_gym.cli.console import long_work, out
from workflow_gym.env import WorkflowGymEnv
from workflow_gym.errors import GuestCommandError
from workflow_gym.machines.base import Machine, Progress
from workflow_gym.machines.qemu.machine import QemuMachine
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.machines.settle import SettleBounds

_FIGURES = ("round", "harness MB", "harness fds", "QEMU MB", "QEMU fds", "guest MB used", "X clients", "X fds")


def main() -> None:
    """Soak and print."""
    parser = argparse.ArgumentParser(prog="scripts/soak")
    parser.add_argument("--task", default="finance/homebank/january-ledger")
    parser.add_argument("--rounds", type=int, default=1000, metavar="N")
    parser.add_argument("--resets", type=int, default=200, metavar="N")
    options = parser.parse_args()
    provider = QemuProvider()
    env = WorkflowGymEnv(options.task, provider, bounds=SettleBounds(quiet=0.1, maximum=5))
    try:
        with long_work() as progress:
            provider.progress = progress
            rows = soak(env, options.rounds, progress)
            left = resets(env, options.resets, progress)
    finally:
        env.close()
        provider.close()
    table = Table(*_FIGURES, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(f"{value:.0f}" for value in row))
    out.print(table)
    out.print(f"{options.resets} resets; left behind: {', '.join(sorted(left)) or 'nothing'}", highlight=False)
    if left or not flat(rows):
        sys.exit(1)


def soak(env: WorkflowGymEnv, rounds: int, progress: Progress) -> list[list[float]]:
    """Play rounds in one machine, past the environment's own limit of rounds, and return the figures every tenth."""
    env.reset()
    rows = []
    for number in range(rounds + 1):
        machine = machine_of(env)
        if number % max(1, rounds // 10) == 0:
            rows.append([float(number), *figures(machine)])
        if number == rounds:
            break
        progress(f"round {number + 1} of {rounds}", "")
        assert env._episode is not None
        env._episode.rounds = 0
        env.step(_action(number))
    return rows


def _action(number: int) -> Action:
    here = Point(x=300 + number * 7 % 600, y=450 + number * 3 % 250)
    kinds: tuple[Action, ...] = (
        Click(point=here),
        Scroll(point=here, dy=1 if number % 2 else -1),
        Key(keys="esc"),
        TypeText(text="abc"),
        Drag(path=(here, Point(x=here.x + 50, y=here.y + 20))),
        Click(point=Point(x=20, y=31)),
        Key(keys="esc"),
    )
    return kinds[number % len(kinds)]


def machine_of(env: WorkflowGymEnv) -> QemuMachine:
    """Return the machine of a running episode."""
    assert env._episode is not None and isinstance(env._episode.machine, QemuMachine)
    return env._episode.machine


def figures(machine: QemuMachine) -> list[float]:
    """Return memory and descriptors of harness, hypervisor and guest; see `_FIGURES`."""
    with machine.running():
        used = int(machine.shell.run(["free", "-m"]).splitlines()[1].split()[2])
        clients = machine.shell.run(["sh", "-c", "ss -xH state established | grep -c X11-unix/X0 || true"])
        descriptors = machine.shell.run(["sh", "-c", "ls /proc/$(pidof Xorg)/fd | wc -l"])
    machine.shell.disconnect()
    return [
        _resident(os.getpid()), _descriptors(os.getpid()), _resident(machine.pid), _descriptors(machine.pid),
        float(used), float(clients), float(descriptors),
    ]  # fmt: skip


def _resident(pid: int) -> float:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def _descriptors(pid: int) -> float:
    return float(len(os.listdir(f"/proc/{pid}/fd")))


def flat(rows: list[list[float]]) -> bool:
    """Whether nothing grew, but for noise, from the second row (all was touched once by then) to the last."""
    first, last = rows[1], rows[-1]
    slack = (0.0, 20.0, 2.0, 80.0, 2.0, 40.0, 2.0, 2.0)
    return all(after - before <= room for before, after, room in zip(first[1:], last[1:], slack[1:], strict=True))


def resets(env: WorkflowGymEnv, count: int, progress: Progress) -> set[str]:
    """Leave marks in a machine and reset, many times; return the kinds of marks that were still there afterwards."""
    left: set[str] = set()
    for number in range(count):
        progress(f"reset {number + 1} of {count}", "")
        env.reset()
        machine = machine_of(env)
        with machine.running():
            left |= marks(machine)
            leave_marks(machine)
        env.step(Key(keys="esc"))
    env.reset()
    with machine_of(env).running():
        return left | marks(machine_of(env))


def leave_marks(machine: Machine) -> None:
    """Leave a file, a clipboard, a process and a window."""
    word = secrets.token_hex(4)
    machine.shell.write_file("/home/user/mark", word.encode(), user="user")
    script = "echo mark | xclip -selection clipboard; sleep 987 & xev -name mark >/dev/null & sleep 1"
    machine.shell.run(["systemd-run", "--quiet", "as-user", "sh", "-c", script + "; wait"])
    machine.shell.run(["sh", "-c", "until as-user wmctrl -l | grep -q mark; do sleep 0.1; done"])


def marks(machine: Machine) -> set[str]:
    """Return the kinds of marks that are there."""
    probes = {
        "file": "test -e /home/user/mark",
        "clipboard": "as-user timeout 2 xclip -o -selection clipboard | grep -q mark",
        "process": "pgrep -f 'sleep 987'",
        "window": "as-user wmctrl -l | grep -q mark",
    }
    script = "; ".join(f"if {probe} >/dev/null 2>&1; then echo {kind}; fi" for kind, probe in probes.items())
    try:
        return set(machine.shell.run(["sh", "-c", script]).split())
    except GuestCommandError as error:
        raise AssertionError(f"the marks cannot be looked for: {error}") from error


if __name__ == "__main__":
    main()
