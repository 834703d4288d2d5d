"""Spare processes: guests that already stand ready, so that a fork need not wait for QEMU to start and load."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from workflow_gym.errors import WorkflowGymError
from workflow_gym.machines.base import Template
from workflow_gym.machines.qemu.machine import MachineFiles
from workflow_gym.machines.qemu.process import QemuProcess
from workflow_gym.machines.qemu.template import QemuTemplate

_LOG = logging.getLogger(__name__)
_TEMPLATES = 4
"""For how many templates spares are kept: those that were forked last."""


class Started(NamedTuple):
    """A process whose guest stands ready and stopped, and its files."""

    process: QemuProcess
    files: MachineFiles

    def discard(self) -> None:
        """End the process and remove its files."""
        self.process.close()
        self.files.remove()


class SparePool:
    """Keeps spares of the templates that were forked last, made in the background."""

    def __init__(self, start: Callable[[QemuTemplate], Started], each: int) -> None:
        """Begin with none.

        Args:
            start: starts a process and loads a template into it.
            each: how many spares a template has.
        """
        self._start = start
        self._each = each
        self._lock = threading.Lock()
        self._templates: list[QemuTemplate] = []
        self._spares: list[tuple[str, Started]] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    def take(self, template: QemuTemplate) -> Started | None:
        """Return a spare of the template, if one is ready and alive, and hold it no longer."""
        while True:
            with self._lock:
                found = next((spare for spare in self._spares if spare[0] == template.key), None)
                if found is None:
                    return None
                self._spares.remove(found)
            if found[1].process.alive:
                return found[1]
            found[1].discard()

    def ready(self, template: Template) -> bool:
        """Whether a spare of the template is ready."""
        with self._lock:
            return any(key == template.key for key, _ in self._spares)

    def order(self, template: QemuTemplate) -> None:
        """Have spares of the template made in the background, and those of the template forked longest ago ended."""
        with self._lock:
            if self._closed or not self._each:
                return
            self._templates = [template, *(other for other in self._templates if other.key != template.key)]
            dropped = self._drop({other.key for other in self._templates[_TEMPLATES:]})
            del self._templates[_TEMPLATES:]
            if self._thread is None:
                self._thread = threading.Thread(target=self._make, daemon=True)
                self._thread.start()
        for spare in dropped:
            spare.discard()

    def forget(self, template: Template) -> None:
        """End the spares of a template, and make no more."""
        with self._lock:
            self._templates = [other for other in self._templates if other.key != template.key]
            dropped = self._drop({template.key})
        for spare in dropped:
            spare.discard()

    def _drop(self, keys: set[str]) -> list[Started]:
        dropped = [spare for key, spare in self._spares if key in keys]
        self._spares = [(key, spare) for key, spare in self._spares if key not in keys]
        return dropped

    def _missing(self) -> QemuTemplate | None:
        """Return a template that lacks a spare; with none the thread is at its end."""
        for template in () if self._closed else self._templates:
            if sum(key == template.key for key, _ in self._spares) < self._each:
                return template
        self._thread = None
        return None

    def _make(self) -> None:
        while True:
            with self._lock:
                template = self._missing()
            if template is None:
                return
            try:
                spare = self._start(template)
            except WorkflowGymError as error:
                _LOG.debug("no spare process: %s", error)  # The next fork meets the same trouble, and reports it.
                self.forget(template)
                continue
            with self._lock:
                kept = not self._closed and any(other.key == template.key for other in self._templates)
                if kept:
                    self._spares.append((template.key, spare))
            if not kept:
                spare.discard()

    def close(self) -> None:
        """End all spares, and wait for the one that is being made."""
        with self._lock:
            self._closed = True
            thread, spares = self._thread, self._spares
            self._spares = []
        for _, spare in spares:
            spare.discard()
        if thread is not None:
            thread.join()
