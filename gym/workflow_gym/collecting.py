"""Takes the files that a task's checks need out of a machine."""

from __future__ import annotations

import time
from pathlib import Path

from PIL import Image as Picture

from workflow_gym.errors import MachineError
from workflow_gym.grading import Evidence
from workflow_gym.machines.base import Machine
from workflow_gym.tasks import CollectedFile, Task

_FLUSH_SECONDS = 5.0


def collect(machine: Machine, task: Task, artifacts: Path, answer: str = "") -> Evidence:
    """Copy a task's result out of a machine into `artifacts` and return the evidence.

    A file that is not there, is no regular file or is too large is noted as missing: that is the agent's doing.

    Raises:
        MachineError: the machine does not answer.
    """
    screenshot = artifacts / "_final_screen.png"
    Picture.fromarray(machine.screenshot()).save(screenshot, compress_level=1)
    missing: dict[str, str] = {}
    with machine.running():
        for entry in task.spec.collect:
            (artifacts / entry.name).unlink(missing_ok=True)  # An earlier episode may have been given this folder too.
            try:
                (artifacts / entry.name).write_bytes(_read_when_written(machine, entry))
            except FileNotFoundError:
                missing[entry.name] = f"{entry.path} does not exist"
            except ValueError as error:
                missing[entry.name] = str(error)
            except OSError as error:
                raise MachineError(f"cannot keep {entry.name}: {error}") from error
    return Evidence(
        artifacts=artifacts, inputs=task.inputs, missing=missing, answer=answer, screenshot=screenshot.resolve()
    )


def _read_when_written(machine: Machine, entry: CollectedFile) -> bytes:
    """Read a file twice until both readings agree, since an application may still be writing it."""
    limit = int(entry.limit_mb * (1 << 20))
    end = time.monotonic() + _FLUSH_SECONDS
    content = machine.shell.read_file(entry.path, limit=limit)
    while time.monotonic() < end:
        time.sleep(0.1)
        again = machine.shell.read_file(entry.path, limit=limit)
        if again == content:
            break
        content = again
    return content
