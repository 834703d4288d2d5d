"""Forks and resets, with a spare process and without, and the start of a bare QEMU as the yardstick."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Self

from bench.figures import Figure, at_least, at_most, plain, timed
from workflow_gym.deadline import Deadline
from workflow_gym.env import WorkflowGymEnv
from workflow_gym.errors import FormatError
from workflow_gym.machines.base import Template
from workflow_gym.machines.qemu.command import QEMU
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.machines.qemu.template import QemuTemplate
from workflow_gym.staging import task_template
from workflow_gym.tasks import Task, load_task, task_ids

_PREFERRED_TASK = "finance/homebank/january-ledger"
_SPARE_SECONDS = 60.0


def any_task() -> Task | None:
    """Return the task to reset: the preferred one if it loads, else the first that does, else None."""
    for name in sorted(task_ids(), key=lambda name: name != _PREFERRED_TASK):
        try:
            return load_task(name)
        except FormatError:
            continue
    return None


class Forks:
    """Measures forks and resets in rounds, everything once per round, so that all meet the same load of the host."""

    def __init__(self, image: str, task: Task | None, progress: Callable[[str, str], None]) -> None:
        """Make the templates (which may build the image), and fork each once so that all caches are warm.

        Args:
            image: the image to fork.
            task: the task to reset, or None.
            progress: told what happens.
        """
        self._version: list[float] = []
        self._forks: dict[int, list[float]] = {0: [], 1: []}
        self._screenshots: dict[int, list[float]] = {0: [], 1: []}
        self._resets: dict[int, list[float]] = {0: [], 1: []}
        self._task = task
        with ExitStack() as stack:
            self.cold = stack.enter_context(closing(QemuProvider(spares=0)))
            self.cold.progress = progress
            progress("making templates where they are missing", "")
            self.template: QemuTemplate = self.cold.image_template(image)
            self._warm = stack.enter_context(closing(QemuProvider(spares=1)))
            self._warm_task = stack.enter_context(closing(QemuProvider(spares=1)))
            self._warm_task.progress = progress
            for provider in (self.cold, self._warm):
                provider.fork(self.template).close()
            self._envs: dict[int, WorkflowGymEnv] = {}
            for spares, provider in ((0, self.cold), (1, self._warm_task)) if task else ():
                assert task is not None
                self._envs[spares] = stack.enter_context(closing(WorkflowGymEnv(task, provider)))
                self._envs[spares].reset()
            self._stack = stack.pop_all()

    def round(self) -> None:
        """Measure everything once."""
        self._wait_for_spares()
        with timed(self._version):
            subprocess.run([QEMU, "--version"], check=True, capture_output=True)
        for spares, provider in ((0, self.cold), (1, self._warm)):
            self._wait_for_spares()
            self._fork(provider, spares)
        for spares, env in self._envs.items():
            self._wait_for_spares()
            with timed(self._resets[spares]):
                env.reset()

    def _fork(self, provider: QemuProvider, spares: int) -> None:
        with timed(self._forks[spares]):
            machine = provider.fork(self.template)
        with machine, timed(self._screenshots[spares]):
            machine.screenshot()

    def _wait_for_spares(self) -> None:
        """Wait until no spare is being made: it would be missed, and its start would disturb what is measured."""
        deadline = Deadline(_SPARE_SECONDS, "waiting for a spare process")
        waiting: list[tuple[QemuProvider, Template]] = [(self._warm, self.template)]
        if self._task is not None:
            waiting.append((self._warm_task, task_template(self._warm_task, self._task)))
        while not all(provider.spares.ready(template) for provider, template in waiting):
            deadline.check()
            deadline.sleep(0.01)
        time.sleep(0.02)

    def to_screenshot(self, spares: int) -> list[float]:
        """Return the seconds from the call of fork to the first screenshot."""
        return [sum(parts) for parts in zip(self._forks[spares], self._screenshots[spares], strict=True)]

    def figures(self, reverts: list[float]) -> list[Figure]:
        """Return what was measured, compared with the seconds of snapshot reverts where there are any."""
        version = plain(f"{QEMU} --version", "s", self._version)
        result = [version]
        for spares, kind in enumerate(("cold", "with a spare")):
            total = plain(f"fork to screenshot, {kind}", "s", self.to_screenshot(spares))
            part = "process start, load of state" if spares == 0 else "load of state"
            result += [
                total,
                plain(f"  {part}", "s", self._forks[spares]),
                plain("  screenshot", "s", self._screenshots[spares]),
                at_most("  times --version", "x", [total.p50 / version.p50], 3),
            ]
            if reverts:
                ratio = plain("", "s", reverts).p50 / total.p50
                result.append(at_least("  times faster than the revert", "x", [ratio], 30))
        if self._task is not None:
            name = self._task.id.rsplit("/", 1)[-1]
            for spares, kind in enumerate(("cold", "with a spare")):
                result.append(at_most(f"reset of {name}, {kind}", "s", self._resets[spares], 0.15))
        return result

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all machines."""
        self._stack.close()
