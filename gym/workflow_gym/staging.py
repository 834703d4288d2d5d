"""From an image to the start of a task: files in place, application open. Captured, so that it is done once."""

from __future__ import annotations

import hashlib

from workflow_gym.errors import CapabilityError, GuestCommandError, MachineError, TemplateError
from workflow_gym.images.recipe import load_image
from workflow_gym.machines.base import Machine, Provider, Template
from workflow_gym.machines.desktop import start_application
from workflow_gym.machines.ssh import DESKTOP_USER
from workflow_gym.tasks import Task


def fork_for_task(provider: Provider, task: Task, branchable: bool = False) -> Machine:
    """Return a paused machine in which the task can begin.

    A template that turns out damaged is thrown away and made again, once. `branchable` is handed to `Provider.fork`.

    Raises:
        CapabilityError: the provider cannot run the task.
        MachineError: no machine could be had.
    """
    try:
        return provider.fork(task_template(provider, task), branchable=branchable)
    except TemplateError:
        return provider.fork(task_template(provider, task), branchable=branchable)


def task_template(provider: Provider, task: Task) -> Template:
    """Return the template of a task's start, making it where it is missing. Raises as `fork_for_task`."""
    image = provider.image_template(task.spec.image)
    if not task.spec.inputs and task.spec.open is None:
        return image
    digest = hashlib.sha256(f"{image.key} {task.key}".encode()).hexdigest()[:12]
    key = f"{task.id.replace('/', '-')}-{digest}"
    if found := provider.find_template(key):
        return found
    with provider.making(key):
        if found := provider.find_template(key):
            return found
        with provider.fork(image, branchable=True) as machine:
            with machine.running():
                lay_out(machine, task)
            return machine.capture(key)


def lay_out(machine: Machine, task: Task) -> None:
    """Put the task's files into a running machine and open what is to be open. Raises `MachineError`."""
    try:
        for entry in task.spec.inputs:
            machine.shell.write_file(entry.path, (task.inputs / entry.file).read_bytes(), user=DESKTOP_USER)
        if task.spec.open is not None:
            application = load_image(task.spec.image).recipe.application
            if application is None or not application.open:
                raise CapabilityError(f"the image {task.spec.image} opens no files, but task {task.id} wants one open")
            start_application(machine, application, task.spec.open)
    except GuestCommandError as error:
        raise MachineError(f"the start of task {task.id} could not be made: {error}") from error
