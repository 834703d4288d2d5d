"""Builds images: bootstraps the base, layers packages and files over it, and keeps the result by content hash.

An image is built in a work folder and moved to its place in one step, so an interrupted build leaves nothing that looks
finished. A lock per image makes simultaneous builds safe: the second waits and finds the result of the first.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from workflow_gym.errors import HostError, ImageBuildError, MissingDependencyError
from workflow_gym.images import layer_worker
from workflow_gym.images.recipe import Image
from workflow_gym.machines.base import Progress
from workflow_gym.machines.qemu import reaper
from workflow_gym.machines.qemu.command import overlay_command
from workflow_gym.machines.ssh import DESKTOP_USER
from workflow_gym.paths import CachePaths, write_atomically

_NEEDED_BYTES = 4 << 30


class ImageManifest(BaseModel):
    """What is noted beside a built disk; its presence means that the disk is whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """Name and content hash of the recipe."""
    host_key: str
    """The public SSH key of guests with this disk."""
    disk_bytes: int
    """The length of disk.qcow2."""


@dataclass(frozen=True)
class BuiltImage:
    """A disk that guests can boot from."""

    key: str
    """Name and content hash of the recipe."""
    folder: Path
    """Where it lies."""
    host_key: str
    """The public SSH key of guests with this disk."""

    @property
    def disk(self) -> Path:
        """The guest's disk, a qcow2 file."""
        return self.folder / "disk.qcow2"

    @property
    def kernel(self) -> Path:
        """The guest's kernel."""
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """The guest's initial ramdisk."""
        return self.folder / "initrd.img"

    @property
    def ssh_key(self) -> Path:
        """The private key that logs into guests as root."""
        return self.folder / "id_ed25519"


def find_built(image: Image, cache: CachePaths) -> BuiltImage | None:
    """Return the built form of `image` if it and its bases are in the cache and whole, else None."""
    if image.base is not None and find_built(image.base, cache) is None:
        return None
    folder = cache.images / image.key
    try:
        manifest = ImageManifest.model_validate_json((folder / "manifest.json").read_text())
        built = BuiltImage(image.key, folder, manifest.host_key)
        whole = built.disk.stat().st_size == manifest.disk_bytes
        whole = whole and all(path.stat().st_size for path in (built.kernel, built.initrd, built.ssh_key))
    except (OSError, ValidationError):
        return None
    return built if whole else None


def build_image(image: Image, cache: CachePaths, progress: Progress, *, force: bool = False) -> BuiltImage:
    """Return the built form of `image`, building it and its bases where they are missing.

    Args:
        image: what to build.
        cache: where to keep it.
        progress: told what happens.
        force: build this image (not its bases) even if it is there.

    Raises:
        MissingDependencyError: a program that is needed is not installed.
        HostError: there is too little disk space.
        ImageBuildError: a step failed; the message ends with the log's last lines.
    """
    base = build_image(image.base, cache, progress) if image.base else None
    locks = cache.root / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    progress(f"{image.name}: waiting for another build of it", "")
    with FileLock(locks / f"image-{image.key}.lock"):
        if not force and (built := find_built(image, cache)):
            return built
        _check_host(cache)
        with _work_folder(cache) as work:
            result = _build(image, base, work, lambda stage, line: progress(f"{image.name}: {stage}", line))
            final = cache.images / image.key
            if final.exists():
                shutil.rmtree(final)
            result.rename(final)
    built = find_built(image, cache)
    if built is None:
        raise ImageBuildError(f"the build of {image.name} ended, but {final} is not whole")
    return built


def _check_host(cache: CachePaths) -> None:
    for program, package in (
        ("mmdebstrap", "mmdebstrap"), ("qemu-img", "qemu-utils"), ("qemu-storage-daemon", "qemu-system-common"),
        ("mke2fs", "e2fsprogs"), ("unshare", "util-linux"),
    ):  # fmt: skip
        if shutil.which(program, path=_path()) is None:
            raise MissingDependencyError(
                f"{program} is not installed (Debian package {package}); `workflow-gym doctor` lists what is missing"
            )
    free = shutil.disk_usage(cache.images).free
    if free < _NEEDED_BYTES:
        raise HostError(
            f"building an image needs about {_NEEDED_BYTES >> 30} GiB of free space below {cache.root}, "
            f"and {free / (1 << 30):.1f} GiB are free; set WORKFLOW_GYM_CACHE to a larger disk"
        )


@contextmanager
def _work_folder(cache: CachePaths) -> Iterator[Path]:
    """A folder that is removed afterwards, also by a later build if this process dies."""
    reaper.sweep(cache.work)
    work = cache.work / f"build-{os.getpid()}-{threading.get_ident()}"
    descriptor = reaper.own(work)
    try:
        yield work
    finally:
        reaper.remove(work)
        os.close(descriptor)


def _build(image: Image, base: BuiltImage | None, work: Path, progress: Progress) -> Path:
    log = work / "build.log"
    output = work / "image"
    output.mkdir()
    disk = output / "disk.qcow2"
    archive = None
    if base is None:
        archive = work / "root.tar"
        _run(bootstrap_command(image, archive), f"bootstrapping Debian {image.recipe.suite}", log, progress)
    else:
        _run(overlay_command(disk, base.disk), "creating the layer", log, progress)
    host_key = _make_keys(output, work / "keys")
    plan = _plan(image, work, disk, archive)
    (work / "plan.json").write_text(json.dumps(plan))
    _run(worker_command(work / "plan.json"), "preparing", log, progress)
    for name in ("vmlinuz", "initrd.img"):
        (work / name).rename(output / name)
    manifest = ImageManifest(key=image.key, host_key=host_key, disk_bytes=disk.stat().st_size)
    write_atomically(output / "manifest.json", manifest.model_dump_json(indent=2))
    log.rename(output / "build.log")
    return output


def _plan(image: Image, work: Path, disk: Path, archive: Path | None) -> dict[str, object]:
    files = [
        [str(path), "/" + str(path.relative_to(image.folder / "files")), "755" if os.access(path, os.X_OK) else "644"]
        for path in image.files
    ]
    keys = work / "keys"
    files += [
        [str(keys / "authorized_keys"), "/root/.ssh/authorized_keys", "600"],
        [str(keys / "host_key"), "/etc/ssh/ssh_host_ed25519_key", "600"],
        [str(keys / "host_key.pub"), "/etc/ssh/ssh_host_ed25519_key.pub", "644"],
    ]
    resolver = Path("/etc/resolv.conf")
    return {
        "work": str(work),
        "disk": str(disk),
        "archive": str(archive) if archive else None,
        "packages": [] if archive else list(image.recipe.packages),
        "apt_options": apt_proxy_options(),
        "files": files,
        "setup": [list(command) for command in image.recipe.setup],
        "owner": DESKTOP_USER,
        "resolver": resolver.read_text() if resolver.exists() else "",
    }


def _make_keys(output: Path, folder: Path) -> str:
    """Write a login key and a host key for one image, and return the public host key."""
    folder.mkdir()
    public = {}
    for name in ("login", "host"):
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        public[name] = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        target = output / "id_ed25519" if name == "login" else folder / "host_key"
        target.touch(mode=0o600)
        target.write_bytes(private)
    (folder / "authorized_keys").write_text(public["login"] + "\n")
    (folder / "host_key.pub").write_text(public["host"] + "\n")
    paramiko.Ed25519Key.from_private_key_file(str(output / "id_ed25519"))
    return public["host"]


def bootstrap_command(image: Image, archive: Path) -> list[str]:
    """Return the command that bootstraps a Debian system into a tar archive.

    The mirror is the bootstrap tool's default unless `$WORKFLOW_GYM_DEBIAN_MIRROR` names one.
    """
    mirror = os.environ.get("WORKFLOW_GYM_DEBIAN_MIRROR")
    proxies = [f"--aptopt={value}" for option, value in _pairs(apt_proxy_options()) if option == "-o"]
    return [
        "mmdebstrap", "--mode=auto", "--variant=minbase", "--format=tar", *proxies,
        "--aptopt=APT::Install-Recommends \"false\"", f"--include={','.join(image.recipe.packages)}",
        str(image.recipe.suite), str(archive), *([mirror] if mirror else []),
    ]  # fmt: skip


def worker_command(plan: Path) -> list[str]:
    """Return the command that runs the layer worker in namespaces of its own."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-auto", "--map-root-user"]
    namespaces = ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
    return [*namespaces, sys.executable, "-I", "-S", layer_worker.__file__, str(plan)]


def apt_proxy_options() -> list[str]:
    """Return the host's apt proxy settings as options ("-o", "Acquire::http::Proxy=…") for the apt in a guest."""
    try:
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    options: list[str] = []
    for line in dump.splitlines():
        name, _, value = line.partition(" ")
        if name.startswith("Acquire::http") and "Proxy" in name and value not in ('"";', ""):
            options += ["-o", f"{name}={value.strip(';').strip('"')}"]
    return options


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    return zip(words[::2], words[1::2], strict=True)


def _path() -> str:
    return os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


def _run(command: list[str], stage: str, log: Path, progress: Progress) -> None:
    """Run a build step with its output in `log`; ends it with everything it started when we are interrupted."""
    progress(stage, "")
    with log.open("ab") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PATH": _path(), "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            for raw in process.stdout:
                file.write(raw)
                line = raw.decode(errors="replace").strip()
                if line.startswith("## "):
                    stage, line = line[3:], ""
                progress(stage, line)
            status = process.wait()
        except BaseException:
            _end(process)
            raise
    if status != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise ImageBuildError(f"{command[0]} ended with status {status} while building; its last words:\n{tail}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a build step and its children: politely first, since mmdebstrap then unmounts what it mounted."""
    for kind, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, kind)
            process.wait(seconds)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return
