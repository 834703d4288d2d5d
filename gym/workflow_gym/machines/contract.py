"""The contract that every provider keeps, as checks that anyone can run against any provider.

Each check takes a provider and an image's template and raises `ContractViolation` where the provider does not do what
`workflow_gym.machines.base` promises. `CHECKS` lists them all.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from workflow_gym.actions import Move, Point
from workflow_gym.errors import GuestCommandError, MachineError, WorkflowGymError
from workflow_gym.machines.base import Machine, Provider, Template
from workflow_gym.machines.hands import events_for
from workflow_gym.machines.settle import settle

Check = Callable[[Provider, Template], None]


class ContractViolation(WorkflowGymError):
    """Raised when a provider breaks its contract."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ContractViolation(message)


def _raises(kind: type[BaseException], call: Callable[[], object], message: str) -> None:
    try:
        call()
    except kind:
        return
    raise ContractViolation(message)


def _move_pointer(machine: Machine, x: int, y: int) -> None:
    with machine.running():
        machine.send(events_for(Move(point=Point(x=x, y=y))))
        settle(machine)


def forks_show_the_template(provider: Provider, template: Template) -> None:
    """Forks are paused, and show the same picture of the stated size."""
    with provider.fork(template) as one, provider.fork(template) as two:
        _require(one.paused and two.paused, "a fresh fork is not paused")
        picture = one.screenshot()
        _require(picture.dtype == np.uint8, f"a screenshot has dtype {picture.dtype}")
        shape = (template.screen.height, template.screen.width, 3)
        _require(picture.shape == shape, f"a screenshot has shape {picture.shape}, and should have {shape}")
        _require(bool((picture == two.screenshot()).all()), "two forks of one template show different pictures")


def forks_are_independent(provider: Provider, template: Template) -> None:
    """What happens in one fork is not seen in another, nor in later forks."""
    path = f"/home/user/{secrets.token_hex(4)}"
    with provider.fork(template) as one, provider.fork(template) as two:
        with one.running():
            one.shell.write_file(path, b"one")
        with two.running():
            _raises(FileNotFoundError, lambda: two.shell.read_file(path, limit=100), "a file shows up in another fork")
    with provider.fork(template) as three, three.running():
        _raises(FileNotFoundError, lambda: three.shell.read_file(path, limit=100), "a file survives its machine")


def input_reaches_the_screen(provider: Provider, template: Template) -> None:
    """A pointer movement is seen."""
    with provider.fork(template) as machine:
        _move_pointer(machine, 300, 300)
        before = machine.screenshot()
        _move_pointer(machine, 700, 500)
        after = machine.screenshot()
        changed = (before != after).any(axis=2)
        _require(bool(changed[290:340, 290:340].any()), "the pointer did not leave the place it was at")
        _require(bool(changed[490:540, 690:740].any()), "the pointer did not arrive where it was sent")


def time_stands_still(provider: Provider, template: Template) -> None:
    """A paused machine uses no processor and does not change; pausing and resuming twice does nothing more."""
    with provider.fork(template) as machine:
        machine.resume()
        machine.resume()
        _require(not machine.paused, "a resumed machine says that it is paused")
        machine.pause()
        machine.pause()
        _require(machine.paused, "a paused machine says that it runs")
        picture, busy = machine.screenshot(), machine.busy_seconds()
        time.sleep(0.5)
        _require(machine.busy_seconds() - busy < 0.01, "a paused machine uses its processors")
        _require(bool((picture == machine.screenshot()).all()), "the screen of a paused machine changes")


def files_come_back_as_they_went(provider: Provider, template: Template) -> None:
    """Files keep their bytes and any name; what is no file, or too large, is refused with the right error."""
    content = bytes(range(256)) * 300
    path = "/home/user/a folder/ünï 文.bin"
    with provider.fork(template) as machine, machine.running():
        shell = machine.shell
        shell.write_file(path, content, user="user")
        _require(shell.read_file(path, limit=len(content)) == content, "a file came back changed")
        shell.write_file(path, b"", user="user")
        _require(shell.read_file(path, limit=10) == b"", "an overwritten file kept its old content")
        shell.write_file(path, b"12345", user="user")
        _raises(ValueError, lambda: shell.read_file(path, limit=4), "a file over the limit was read")
        _raises(FileNotFoundError, lambda: shell.read_file("/home/user", limit=100), "a folder was read as a file")
        _raises(FileNotFoundError, lambda: shell.read_file("/home/user/none", limit=100), "a missing file was read")


def commands_tell_how_they_ended(provider: Provider, template: Template) -> None:
    """A command that fails raises `GuestCommandError`, and the machine stays usable."""
    with provider.fork(template) as machine, machine.running():
        shell = machine.shell
        _raises(GuestCommandError, lambda: shell.run(["no-such-command"]), "an unknown command raised nothing")
        _require(shell.run(["true"]) == "", "`true` printed something")


def captures_fork(provider: Provider, template: Template) -> None:
    """A machine captured in mid-work forks with files and screen as they were, and goes on itself."""
    for branchable in (False, True):
        key = f"contract-{secrets.token_hex(4)}"
        with ExitStack() as stack:
            machine = stack.enter_context(provider.fork(template, branchable=branchable))
            with machine.running():
                machine.shell.write_file("/home/user/mark", b"one")
            _move_pointer(machine, 420, 420)
            picture = machine.screenshot()
            captured = machine.capture(key)
            stack.callback(provider.discard, captured)
            _require(provider.find_template(key) == captured, "a captured template is not found by its key")
            for _ in range(2):
                fork = stack.enter_context(provider.fork(captured))
                _require(bool((fork.screenshot() == picture).all()), "a fork of a capture shows another picture")
                with fork.running():
                    _require(
                        fork.shell.read_file("/home/user/mark", limit=9) == b"one", "a fork of a capture lost a file"
                    )
                    fork.shell.write_file("/home/user/mark", b"fork")
            with machine.running():
                _require(machine.shell.read_file("/home/user/mark", limit=9) == b"one", "a fork wrote into its origin")
                machine.shell.write_file("/home/user/mark", b"two")
            again = machine.capture(f"{key}-again")
            stack.callback(provider.discard, again)
            with provider.fork(again) as fork, fork.running():
                _require(
                    fork.shell.read_file("/home/user/mark", limit=9) == b"two", "a second capture is not the latest"
                )
            provider.discard(again)
            _require(provider.find_template(again.key) is None, "a discarded template is still found")


def unknown_keys_find_nothing(provider: Provider, template: Template) -> None:
    """Asking for a template that was never captured gives None."""
    _require(provider.find_template(f"contract-{secrets.token_hex(4)}") is None, "a template was found that never was")


def closing_is_final(provider: Provider, template: Template) -> None:
    """A machine may be closed twice, and then says that it is gone."""
    machine = provider.fork(template)
    machine.close()
    machine.close()
    _raises(MachineError, machine.screenshot, "a closed machine still gives screenshots")


CHECKS: tuple[Check, ...] = (
    forks_show_the_template,
    forks_are_independent,
    input_reaches_the_screen,
    time_stands_still,
    files_come_back_as_they_went,
    commands_tell_how_they_ended,
    captures_fork,
    unknown_keys_find_nothing,
    closing_is_final,
)
"""All checks of the contract."""
