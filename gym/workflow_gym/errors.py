"""Every error of the project, under one base class.

Four kinds of trouble are kept apart, because they must never be mixed in a score: the machine is broken
(`MachineError`), the checker is broken (`CheckerError`), the agent or its model API is broken (`AgentError`), and the
caller gave bad input (`InputError`). An action that the screen cannot take is an `ActionError`; it is told to the agent
and ends nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import gymnasium as gym


class WorkflowGymError(Exception):
    """Base of every error that this project raises on purpose."""


class InputError(WorkflowGymError):
    """Raised when something that the caller gave (a name, a file, an option) cannot be used."""


class UnknownNameError(InputError):
    """Raised when a task, image, provider or agent of that name does not exist; suggests near names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        """Build the message.

        Args:
            kind: what was looked for, such as "task".
            name: the name that was not found.
            known: the names that exist.
            hint: a sentence that tells where to see all of them.
        """
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        near += [other for other in names if name and name in other and other not in near][: 3 - len(near)]
        message = f"unknown {kind} {name!r}"
        if near:
            message += "; did you mean " + " or ".join(repr(other) for other in near) + "?"
        super().__init__(f"{message} {hint}".strip())


class FormatError(InputError):
    """Raised when a file of ours (task, image recipe, procedure, record) is malformed; names file, field and reason."""


class PluginError(InputError):
    """Raised when a "module:Name" string cannot be loaded or is of the wrong type."""


class MissingDependencyError(InputError):
    """Raised when a program or package that is needed is not installed; says what to install."""


class CapabilityError(InputError):
    """Raised when a task or call needs something that the chosen provider cannot do."""


class ActionError(InputError):
    """Raised when an action cannot be carried out (off the screen, unknown key); the text is for the agent."""


class ResetNeededError(WorkflowGymError, gym.error.ResetNeeded):
    """Raised when `step` is called before `reset`, after the end of an episode, or after `close`."""


class MachineError(WorkflowGymError):
    """Raised when the machine (or its host) is broken: never the agent's failure, never scored."""


class MachineDiedError(MachineError):
    """Raised when the hypervisor process of a machine has ended although nobody closed it."""


class MachineTimeoutError(MachineError):
    """Raised when a machine did not answer, or did not become ready, before its deadline."""


class GuestUnreachableError(MachineError):
    """Raised when the guest does not answer over SSH."""


class HostError(MachineError):
    """Raised when the host lacks something a machine needs right now, such as disk space."""


class TemplateError(MachineError):
    """Raised when a template is missing, half-written or corrupt."""


class ImageBuildError(MachineError):
    """Raised when an image could not be built; carries the end of the build's log."""


class GuestCommandError(WorkflowGymError):
    """Raised when a command inside a healthy guest ended with a non-zero status."""

    def __init__(self, command: str, status: int, output: str) -> None:
        """Keep the command, its exit status and what it printed."""
        super().__init__(f"guest command {command!r} ended with status {status}: {output.strip()[-2000:]}")
        self.status = status
        self.output = output


class CheckerError(WorkflowGymError):
    """Raised when a checker crashed, ran out of time or returned nonsense: never a pass and never a failure."""


class AgentError(WorkflowGymError):
    """Raised when an agent or its model API failed for good."""
