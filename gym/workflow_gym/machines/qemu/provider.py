"""Forks machines from templates; boots images into templates."""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import threading
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from pathlib import Path

from workflow_gym.deadline import Deadline
from workflow_gym.errors import (
    GuestCommandError,
    GuestUnreachableError,
    HostError,
    MachineDiedError,
    MachineTimeoutError,
    MissingDependencyError,
    TemplateError,
)
from workflow_gym.images.build import BuiltImage, build_image
from workflow_gym.images.recipe import Image, load_image
from workflow_gym.machines.base import Capabilities, Provider, Template
from workflow_gym.machines.desktop import start_application
from workflow_gym.machines.qemu.accelerator import Accelerator, choose_accelerator
from workflow_gym.machines.qemu.command import QEMU, Hardware, overlay_command, qemu_command
from workflow_gym.machines.qemu.machine import MachineFiles, QemuMachine, copy_sparse
from workflow_gym.machines.qemu.process import QemuProcess
from workflow_gym.machines.qemu.qcow2 import backing_chain
from workflow_gym.machines.qemu.run_folder import RunFolder
from workflow_gym.machines.qemu.spares import SparePool, Started
from workflow_gym.machines.qemu.template import Kind, QemuTemplate, TemplateStore
from workflow_gym.machines.settle import SettleBounds, settle
from workflow_gym.machines.ssh import SshShell
from workflow_gym.paths import CachePaths

_LOG = logging.getLogger(__name__)
_BOOT_SECONDS = 600


@cache
def qemu_version() -> str:
    """Return QEMU's version, such as "7.2.22".

    Raises:
        MissingDependencyError: QEMU is not installed.
    """
    try:
        words = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        raise MissingDependencyError(
            f"{QEMU} is not installed (Debian package qemu-system-x86); `workflow-gym doctor` lists all that is missing"
        ) from None
    return words[3]


class QemuProvider(Provider):
    """Plain QEMU processes, no daemon. All machines die with this process."""

    name = "qemu"
    capabilities = Capabilities(snapshot=True, pause=True)

    def __init__(
        self,
        cache: CachePaths | None = None,
        accelerator: Accelerator | None = None,
        spares: int = 1,
    ) -> None:
        """Prepare; nothing is started yet but the guard of the run folder.

        Args:
            cache: where images and templates lie; by default the user's cache folder.
            accelerator: KVM or TCG; by default what the host offers.
            spares: how many processes stand ready for the next fork of each template that was forked lately.

        Raises:
            MissingDependencyError: QEMU is not installed.
            HostError: the cache folder cannot be written.
        """
        self._cache = cache or CachePaths.default()
        self.accelerator = accelerator or choose_accelerator()
        self.templates = TemplateStore(self._cache, f"qemu {qemu_version()} {self.accelerator.kind}")
        self._run_folder = RunFolder(self._cache.machines)
        self._lock = threading.Lock()
        self._machines: set[QemuMachine] = set()
        self.spares = SparePool(self._start, spares)

    # Templates

    def image_template(self, image: str) -> QemuTemplate:
        """Return the template of an image; see `Provider.image_template`."""
        recipe = load_image(image)
        key = self._template_key(recipe)
        if found := self.templates.find(key):
            return found
        built = build_image(recipe, self._cache, self.progress)
        with self.templates.lock(key):
            return self.templates.find(key) or self._boot(recipe, built, key)

    def _template_key(self, image: Image) -> str:
        machine = f"{image.recipe.machine.model_dump_json()} {qemu_version()} {self.accelerator.arguments}"
        return f"{image.key}-{hashlib.sha256(machine.encode()).hexdigest()[:8]}"

    def find_template(self, key: str) -> QemuTemplate | None:
        """Return a captured template; see `Provider.find_template`."""
        return self.templates.find(key)

    def making(self, key: str) -> AbstractContextManager[None]:
        """Hold the lock of one template; see `Provider.making`."""
        return self.templates.lock(key)

    def discard(self, template: Template) -> None:
        """Throw a template away; see `Provider.discard`."""
        self.spares.forget(template)
        self.templates.discard(template)

    def _boot(self, image: Image, built: BuiltImage, key: str) -> QemuTemplate:
        recipe = image.recipe
        hardware = Hardware(recipe.machine.memory_mb, recipe.machine.processors, recipe.machine.screen)
        folder = self._run_folder.new_machine()
        disk, memory = folder / "disk.qcow2", folder / "memory"
        try:
            subprocess.run(overlay_command(disk, built.disk), check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            raise HostError(f"cannot create {disk}: {error.stderr.strip()}") from None
        files = MachineFiles(folder, disk, memory, True, built, hardware)
        with self._adopt(self._launch(files, incoming=False), files) as machine:
            self.progress(f"{image.name}: booting the guest ({self.accelerator.kind})", "")
            machine.resume()
            self._wait_for_desktop(machine)
            if recipe.application:
                self.progress(f"{image.name}: starting {recipe.application.name}", "")
                start_application(machine, recipe.application)
            else:
                settle(machine, SettleBounds(quiet=2.0, maximum=60))
            self.progress(f"{image.name}: freezing the template", "")
            return self._keep(machine, key, "image")

    def _wait_for_desktop(self, machine: QemuMachine) -> None:
        deadline = Deadline(_BOOT_SECONDS, "booting the guest")
        process, image = machine.process, machine.files.image
        shell = SshShell(process.forwarded_port, image.ssh_key, image.host_key, connect_seconds=15)
        while True:
            try:
                shell.run(["test", "-e", "/run/desktop-is-up"], timeout=15)
                shell.disconnect()
                return
            except (GuestCommandError, GuestUnreachableError, MachineTimeoutError):
                if not process.alive:
                    raise MachineDiedError(f"the guest did not boot; {process.obituary()}") from None
                deadline.check(f"Its console ends with: {_tail(machine.files.folder / 'serial.log')}")
                deadline.sleep(0.5)

    # Forks

    def fork(self, template: Template, *, branchable: bool = False) -> QemuMachine:
        """Start a machine from a template; see `Provider.fork`."""
        if not isinstance(template, QemuTemplate):
            raise TypeError(f"{type(template).__name__} was not made by the qemu provider")
        started = (None if branchable else self.spares.take(template)) or self._start(template, branchable)
        machine = self._adopt(started.process, started.files)
        if not branchable:
            self.spares.order(template)
        return machine

    def _start(self, template: QemuTemplate, branchable: bool = False) -> Started:
        """Start a process and load the template into it. Raises as `fork`."""
        folder = self._run_folder.new_machine()
        memory = folder / "memory" if branchable else template.memory
        files = MachineFiles(folder, folder / "disk.qcow2", memory, branchable, template.image, template.hardware)
        try:
            shutil.copyfile(template.empty_overlay, files.disk)
            if branchable:
                copy_sparse(template.memory, memory)
            process = self._launch(files, incoming=True)
            try:
                process.load_state(template.state)
            except BaseException:
                process.close()
                raise
        except (TemplateError, FileNotFoundError) as error:
            files.remove()
            self.discard(template)
            raise TemplateError(f"the template {template.key} is damaged: {error}") from error
        except OSError as error:
            files.remove()
            raise HostError(f"cannot fork {template.key}: {error}") from error
        except MachineDiedError as error:
            files.remove()
            if template.folder.exists():
                raise
            raise TemplateError(f"the template {template.key} went away meanwhile: {error}") from error
        except BaseException:
            files.remove()
            raise
        return Started(process, files)

    def _launch(self, files: MachineFiles, *, incoming: bool) -> QemuProcess:
        layers = len(backing_chain(files.disk))
        return QemuProcess(
            lambda monitor_fd: qemu_command(
                files.hardware,
                self.accelerator,
                disk=files.disk,
                layers=layers,
                kernel=files.image.kernel,
                initrd=files.image.initrd,
                memory=files.memory,
                shared=files.shared_memory,
                monitor_fd=monitor_fd,
                incoming=incoming,
                serial=None if incoming else files.folder / "serial.log",
            ),
            files.folder,
        )

    def _adopt(self, process: QemuProcess, files: MachineFiles) -> QemuMachine:
        machine = QemuMachine(process, files, lambda machine, key: self._keep(machine, key, "capture"), self._release)
        with self._lock:
            self._machines.add(machine)
        return machine

    def _release(self, machine: QemuMachine) -> None:
        with self._lock:
            self._machines.discard(machine)

    # Captures

    def _keep(self, machine: QemuMachine, key: str | None, kind: Kind) -> QemuTemplate:
        """Freeze a machine into a template, in the store or (without a key) in the run folder."""
        files = machine.files
        machine.come_to_rest()
        folder = self._run_folder.new_machine()
        try:
            if not machine.freeze_into(folder):
                self._move_memory_out_of_state(files, folder)
            if key is None:
                return self.templates.publish(folder, self._run_folder.new_place(), kind, files.image, files.hardware)
            place = self.templates.place(key)
            template = self.templates.publish(folder, place, kind, files.image, files.hardware)
            if kind == "capture":
                self.templates.evict(keep=key)
            return template
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _move_memory_out_of_state(self, files: MachineFiles, folder: Path) -> None:
        """Load a state that holds the memory into a process with shared memory, and save it again without."""
        scratch = self._run_folder.new_machine()
        apart = replace(
            files, folder=scratch, disk=scratch / "disk.qcow2", memory=folder / "memory", shared_memory=True
        )
        copy_sparse(folder / "disk.qcow2", apart.disk)
        process = self._launch(apart, incoming=True)
        try:
            process.load_state(folder / "state", with_memory=True)
            process.save_state(folder / "state")
        finally:
            process.close()
            apart.remove()

    def close(self) -> None:
        """Destroy every machine and spare that is left. May be called twice."""
        self.spares.close()
        with self._lock:
            machines = list(self._machines)
        for machine in machines:
            machine.close()
        self._run_folder.close()


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-600:] if log.exists() else "(nothing)"
