"""For every task: the expert scores 1, doing nothing scores 0, and every mutant is refused, in real machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.tasks import load_task, task_ids
from workflow_gym.validation import validate_task


@pytest.mark.vm
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("task_id", task_ids())
def test_the_task_is_proved(qemu: QemuProvider, task_id: str, tmp_path: Path) -> None:
    # Once here, for time; `workflow-gym task validate` plays the expert three times.
    evidence = validate_task(load_task(task_id), qemu, tmp_path, trials=1)
    assert evidence.problems == ()
