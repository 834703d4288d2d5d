"""Measures machines: forks, resets, memory, paused CPU, and libvirt's revert of the same guest, all in one run.

Run by `scripts/bench_machines`, whose --help explains it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from bench.figures import Figure, plain, table
from bench.forks import Forks, any_task
from bench.libvirt import PrivateDaemon, boot_and_snapshot
from bench.memory import measure_machines
from rich.console import Console

from workflow_gym.cli.console import errors, long_work
from workflow_gym.errors import WorkflowGymError
from workflow_gym.machines.base import Progress
from workflow_gym.machines.qemu.accelerator import choose_accelerator
from workflow_gym.machines.qemu.provider import QemuProvider, qemu_version
from workflow_gym.paths import write_atomically


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench_machines", epilog="scripts/bench_machines --help says more")
    parser.add_argument("--image", default="homebank")
    parser.add_argument("--forks", type=_positive, default=20, metavar="N")
    parser.add_argument("--reverts", type=_positive, default=3, metavar="N")
    parser.add_argument("--machines", type=_counts, default=(1, 8, 32), metavar="N,N,…")
    parser.add_argument("--run-seconds", type=float, default=3.0, metavar="S")
    parser.add_argument("--no-libvirt", action="store_false", dest="libvirt")
    parser.add_argument("--no-memory", action="store_false", dest="memory")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _positive(text: str) -> int:
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _counts(text: str) -> tuple[int, ...]:
    return tuple(sorted({_positive(word) for word in text.split(",")}))


def measure(options: argparse.Namespace, progress: Progress) -> list[Figure]:
    """Measure everything that is asked for, and return the figures."""
    with ExitStack() as stack:
        forks = stack.enter_context(Forks(options.image, any_task(), progress))
        template, accelerator = forks.template, forks.cold.accelerator
        guest, rounds = None, options.forks
        if options.libvirt:
            daemon = stack.enter_context(closing(PrivateDaemon()))
            guest = stack.enter_context(
                boot_and_snapshot(daemon, options.image, template.image, template.hardware, accelerator, progress)
            )
            rounds = max(options.forks, options.reverts)
        reverts: list[float] = []
        for number in range(rounds):
            progress("forks, resets and reverts in turn", f"round {number + 1} of {rounds}")
            forks.round()
            # Reverts are spread over the rounds, so that they meet the same load of the host.
            if guest and len(reverts) < (number + 1) * options.reverts // rounds:
                reverts.append(guest.timed_revert())
        figures = forks.figures(reverts)
        if reverts:
            figures.append(plain("libvirt: snapshot revert to screenshot", "s", reverts))
    if options.memory:
        with closing(QemuProvider(spares=0)) as provider:
            figures += measure_machines(provider, template, options.machines, options.run_seconds, progress)
    return figures


def _host(image: str) -> dict[str, Any]:
    accelerator = choose_accelerator()
    return {
        "image": image,
        "qemu": qemu_version(),
        "accelerator": accelerator.kind,
        "accelerator_reason": accelerator.reason,
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def main() -> None:
    """Measure and print."""
    options = _options()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    try:
        before = _host(options.image)
        with long_work() as progress:
            figures = measure(options, progress)
    except KeyboardInterrupt:
        errors.print("interrupted; everything that was started has been ended")
        sys.exit(130)
    except WorkflowGymError as error:
        errors.print(f"error: {error}", markup=False, highlight=False)
        sys.exit(1)
    out = Console(width=None if sys.stdout.isatty() else 110)
    out.print(
        f"{options.image} on QEMU {before['qemu']} ({before['accelerator']}), {before['processors']} processors, "
        f"load {before['load'][0]} before and {os.getloadavg()[0]:.2f} after; {before['when']}",
        highlight=False,
    )
    out.print(table(figures))
    if options.json:
        result = {"host": before, "figures": [figure.to_json() for figure in figures]}
        write_atomically(options.json, json.dumps(result, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
