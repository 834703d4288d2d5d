"""What live machines cost while they stand still: memory, and CPU."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.figures import Figure, at_most, plain
from workflow_gym.machines.qemu.machine import QemuMachine
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.machines.qemu.template import QemuTemplate

_PAUSED_MACHINES = 8
_PAUSED_SECONDS = 10.0


def measure_machines(
    provider: QemuProvider,
    template: QemuTemplate,
    counts: Sequence[int],
    run_seconds: float,
    progress: Callable[[str, str], None],
) -> list[Figure]:
    """Measure memory with `counts` machines alive, each of which has run for a while, and the CPU of paused ones.

    Args:
        provider: makes the machines.
        template: what they are forked from.
        counts: how many machines, ascending.
        run_seconds: how long each machine runs before it is paused.
        progress: told what happens.
    """
    figures: list[Figure] = []
    machines: list[QemuMachine] = []
    with ExitStack() as stack:
        for count in counts:
            while len(machines) < count:
                progress(f"memory with {count} alive", f"machine {len(machines) + 1} runs for {run_seconds:g} s")
                machine = stack.enter_context(provider.fork(template))
                with machine.running():
                    time.sleep(run_seconds)
                machine.screenshot()
                machines.append(machine)
            figures += _memory_of(machines)
            if count == _PAUSED_MACHINES:
                progress(f"CPU of {count} paused machines", "")
                figures.append(_cpu_of(machines))
    return figures


def _memory_of(machines: Sequence[QemuMachine]) -> list[Figure]:
    rollups = [memory_rollup(machine.pid) for machine in machines]
    private = [rollup["Private_Dirty"] for rollup in rollups]
    shares = [rollup["Pss"] for rollup in rollups]
    return [
        at_most(f"private dirty memory, {len(machines)} alive", "MB", private, 120, of="max"),
        plain("  Pss (its share of what is shared, too)", "MB", shares),
        plain("  Pss of all together", "MB", [sum(shares)]),
    ]


def memory_rollup(pid: int) -> dict[str, float]:
    """Return the fields of /proc/PID/smaps_rollup in MB (a million bytes)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) * 1024 / 1e6 for line in lines}


def _cpu_of(machines: Sequence[QemuMachine]) -> Figure:
    before = [cpu_seconds(machine.pid) for machine in machines]
    time.sleep(_PAUSED_SECONDS)
    used = sum(cpu_seconds(machine.pid) for machine in machines) - sum(before)
    return at_most(f"CPU of {len(machines)} paused machines in {_PAUSED_SECONDS:g} s", "s", [used], 0.05)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds (user and system) that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
