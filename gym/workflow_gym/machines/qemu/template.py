"""Templates on disk: frozen guests, kept by content hash, bounded in size."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from workflow_gym.actions import Size
from workflow_gym.errors import HostError, InputError, TemplateError
from workflow_gym.images.build import BuiltImage
from workflow_gym.machines.base import Template
from workflow_gym.machines.qemu.command import Hardware, overlay_command
from workflow_gym.machines.qemu.qcow2 import virtual_size
from workflow_gym.paths import CachePaths, write_atomically

_LOG = logging.getLogger(__name__)

Kind = Literal["image", "capture"]


class TemplateManifest(BaseModel):
    """What is noted beside a template; its presence means that the template is whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """Name and content hash."""
    kind: Kind
    """Whether it is an image's own template, or a capture that may be thrown away when space is short."""
    image: str
    """The key of the image whose disk, kernel and SSH keys it uses."""
    host_key: str
    """The guest's public SSH key."""
    memory_mb: int
    """Guest memory in MiB."""
    processors: int
    """Guest processors."""
    screen: Size
    """Screen size in pixels."""
    machine_type: str
    """QEMU version and accelerator; device state loads only into the same."""
    disk_bytes: int
    """The length of disk.qcow2."""
    overlay_bytes: int
    """The length of overlay.qcow2."""
    state_sha256: str
    """The hash of the device state."""


@dataclass(frozen=True)
class QemuTemplate(Template):
    """A frozen guest on disk."""

    folder: Path
    """Where it lies."""
    image: BuiltImage
    """The image that it was booted from."""
    hardware: Hardware
    """What its device state fits."""

    @property
    def memory(self) -> Path:
        """The guest's memory, mapped privately by forks."""
        return self.folder / "memory"

    @property
    def state(self) -> Path:
        """The device state."""
        return self.folder / "state"

    @property
    def disk(self) -> Path:
        """The guest's disk as it was frozen."""
        return self.folder / "disk.qcow2"

    @property
    def empty_overlay(self) -> Path:
        """An empty disk over `disk`: a fork copies these few kilobytes instead of running qemu-img."""
        return self.folder / "overlay.qcow2"


class TemplateStore:
    """The templates in the cache folder."""

    def __init__(self, cache: CachePaths, machine_type: str, capture_bytes: int | None = None) -> None:
        """Use the cache.

        Args:
            cache: where it lies.
            machine_type: QEMU version and accelerator; templates of others are not found.
            capture_bytes: how much disk the captured templates may take together; by default
                `$WORKFLOW_GYM_CACHE_GB` GiB, or 20 GiB.
        """
        self._cache = cache
        self._machine_type = machine_type
        self._limit = capture_bytes or _cache_bytes()
        self._verified: dict[str, QemuTemplate] = {}

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the lock of one template, so that it is made once."""
        locks = self._cache.root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / f"template-{key}.lock"):
            yield

    def find(self, key: str) -> QemuTemplate | None:
        """Return the template of that key if it is there and whole; a damaged one is thrown away."""
        folder = self._cache.templates / key
        known = self._verified.get(key)
        if known is not None and self._sizes_fit(known):
            self._touch(folder)
            return known
        if not folder.exists():
            return None
        try:
            template = self._read(folder)
        except TemplateError as error:
            _LOG.warning("throwing away a damaged template: %s", error)
            self._remove(folder)
            return None
        self._verified[key] = template
        self._touch(folder)
        return template

    def _read(self, folder: Path) -> QemuTemplate:
        try:
            manifest = TemplateManifest.model_validate_json((folder / "manifest.json").read_text())
        except (OSError, ValidationError) as error:
            raise TemplateError(f"{folder}: its manifest cannot be read: {error}") from None
        if manifest.machine_type != self._machine_type:
            raise TemplateError(f"{folder}: it was made by {manifest.machine_type}, and this is {self._machine_type}")
        template = QemuTemplate(
            key=manifest.key,
            screen=manifest.screen,
            folder=folder,
            image=BuiltImage(manifest.image, self._cache.images / manifest.image, manifest.host_key),
            hardware=Hardware(manifest.memory_mb, manifest.processors, manifest.screen),
        )
        if not template.image.disk.exists():
            raise TemplateError(f"{folder}: the image {manifest.image} that it was booted from is gone")
        try:
            sizes = (template.disk.stat().st_size, template.empty_overlay.stat().st_size)
            if sizes != (manifest.disk_bytes, manifest.overlay_bytes) or not self._sizes_fit(template):
                raise TemplateError(f"{folder}: a file is missing or cut short")
            if hashlib.sha256(template.state.read_bytes()).hexdigest() != manifest.state_sha256:
                raise TemplateError(f"{folder}: its device state is damaged")
        except OSError as error:
            raise TemplateError(f"{folder}: {error}") from None
        return template

    @staticmethod
    def _sizes_fit(template: QemuTemplate) -> bool:
        try:
            memory = template.memory.stat().st_size
            return memory == template.hardware.memory_mb << 20 and template.empty_overlay.stat().st_size > 0
        except OSError:
            return False

    @staticmethod
    def _touch(folder: Path) -> None:
        try:
            os.utime(folder)
        except OSError:
            pass  # Only the order of eviction depends on it.

    def place(self, key: str) -> Path:
        """Return where the template of that key lies, or would."""
        return self._cache.templates / key

    def publish(self, work: Path, folder: Path, kind: Kind, image: BuiltImage, hardware: Hardware) -> QemuTemplate:
        """Move the template that lies in `work` (memory, state, disk) to its place `folder`, whose name is its key.

        Raises:
            HostError: the disk is full.
        """
        try:
            state = hashlib.sha256((work / "state").read_bytes()).hexdigest()
            # The overlay names its backing file by the final path, which does not exist yet: say "unsafe" (-u) so.
            command = overlay_command(work / "overlay.qcow2", folder / "disk.qcow2")
            size = virtual_size(work / "disk.qcow2")
            subprocess.run([*command[:2], "-u", *command[2:], str(size)], check=True, capture_output=True)
            manifest = TemplateManifest(
                key=folder.name,
                kind=kind,
                image=image.key,
                host_key=image.host_key,
                memory_mb=hardware.memory_mb,
                processors=hardware.processors,
                screen=hardware.screen,
                machine_type=self._machine_type,
                disk_bytes=(work / "disk.qcow2").stat().st_size,
                overlay_bytes=(work / "overlay.qcow2").stat().st_size,
                state_sha256=state,
            )
            write_atomically(work / "manifest.json", manifest.model_dump_json(indent=2))
            if folder.exists():
                self._remove(folder)
            work.rename(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            raise HostError(f"cannot keep the template {folder.name}: {error}") from error
        return self._read(folder)

    def discard(self, template: Template) -> None:
        """Throw a template away. Does nothing if it is gone already."""
        folder = template.folder if isinstance(template, QemuTemplate) else self.place(template.key)
        self._remove(folder)

    def _remove(self, folder: Path) -> None:
        self._verified.pop(folder.name, None)
        doomed = self._cache.work / f"doomed-{folder.name}-{os.getpid()}-{time.monotonic_ns()}"
        try:
            folder.rename(doomed)
        except FileNotFoundError:
            return
        shutil.rmtree(doomed, ignore_errors=True)

    def evict(self, keep: str) -> None:
        """Throw away the captures that were used longest ago until the rest fits. Forks that live are not disturbed."""
        captures = []
        for folder in self._cache.templates.iterdir():
            try:
                manifest = TemplateManifest.model_validate_json((folder / "manifest.json").read_text())
                used = sum(file.stat().st_blocks * 512 for file in folder.iterdir())
            except (OSError, ValidationError):
                continue
            if manifest.kind == "capture":
                captures.append((folder.stat().st_mtime, used, folder))
        total = sum(used for _, used, _ in captures)
        for _, used, folder in sorted(captures):
            if total <= self._limit:
                break
            if folder.name != keep:
                self._remove(folder)
                total -= used


def _cache_bytes() -> int:
    wanted = os.environ.get("WORKFLOW_GYM_CACHE_GB", "20")
    try:
        return int(float(wanted) * (1 << 30))
    except (ValueError, OverflowError):
        raise InputError(f"WORKFLOW_GYM_CACHE_GB must be a number, not {wanted!r}") from None
