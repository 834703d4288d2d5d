"""What is done to a desktop through its shell: start applications, and wait until they are ready."""

from __future__ import annotations

import re

from workflow_gym.deadline import Deadline
from workflow_gym.errors import GuestCommandError, MachineTimeoutError
from workflow_gym.images.recipe import ApplicationSection
from workflow_gym.machines.base import Machine
from workflow_gym.machines.settle import SettleBounds, settle
from workflow_gym.machines.ssh import DESKTOP_USER


def window_titles(machine: Machine) -> list[str]:
    """Return the titles of the windows on a running machine's desktop. Raises `MachineError`."""
    try:
        listing = machine.shell.run(["wmctrl", "-l"], user=DESKTOP_USER)
    except GuestCommandError:
        return []  # The window manager says so when there is no window list yet.
    return [fields[3] for line in listing.splitlines() if len(fields := line.split(None, 3)) == 4]


def start_application(machine: Machine, application: ApplicationSection, path: str | None = None) -> None:
    """Start the application on a running machine, with a file or without, and wait until it is ready.

    What of it runs already is ended first.

    Raises:
        MachineTimeoutError: it was not ready in time.
        MachineError: the machine broke.
    """
    words = application.open if path else application.launch
    machine.shell.run(["start-app", *(word.replace("{path}", path or "") for word in words)])
    wait_until_ready(machine, application.window, application.ready_seconds, application.quiet_seconds)


def wait_until_ready(machine: Machine, window: str, seconds: float, quiet: float) -> None:
    """Wait for a window whose title matches `window`, and then until the machine has settled for `quiet` seconds.

    Raises:
        MachineTimeoutError: it did not come to rest within `seconds`; the message lists the windows that were there.
        MachineError: the machine broke.
    """
    deadline = Deadline(seconds, f"waiting for a window {window!r}")
    titles = window_titles(machine)
    while not any(re.search(window, title) for title in titles):
        deadline.check(f"Windows seen: {titles}")
        deadline.sleep(0.3)
        titles = window_titles(machine)
    if not settle(machine, SettleBounds(quiet=quiet, maximum=max(deadline.left, quiet))).settled:
        raise MachineTimeoutError(f"the window {window!r} is there, but the machine did not settle in {seconds:g} s")
