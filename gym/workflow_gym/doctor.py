"""Examines the host: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workflow_gym.machines.qemu.accelerator import choose_accelerator
from workflow_gym.paths import CachePaths

State = Literal["ok", "warning", "missing"]

PROGRAMS = (
    ("qemu-system-x86_64", "qemu-system-x86", "runs the machines"),
    ("qemu-img", "qemu-utils", "makes disks"),
    ("qemu-storage-daemon", "qemu-system-common", "opens disks while images are built"),
    ("mmdebstrap", "mmdebstrap", "bootstraps the base image"),
    ("gpg", "gpg", "lets the bootstrap check what it fetches"),
    ("mke2fs", "e2fsprogs", "makes file systems"),
    ("unshare", "util-linux", "keeps image builds apart from the host"),
)
"""Program, Debian package, what it is for."""

_DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SPACE_BYTES = 8 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    """What."""
    state: State
    """Whether it is as it should be; "missing" means that machines or builds will not work."""
    detail: str
    """What was found."""
    remedy: str = ""
    """What to do about it."""


def examine(cache: CachePaths) -> list[Finding]:
    """Return everything there is to say about this host."""
    return [
        _accelerator(),
        *(_program(*row) for row in PROGRAMS),
        _keyring(),
        _fuse(),
        _build_rights(),
        _space(cache),
        _memory(),
    ]


def missing_packages() -> list[str]:
    """Return the Debian packages that have to be installed."""
    packages = {package for program, package, _ in PROGRAMS if _which(program) is None}
    if not _DEBIAN_KEYRING.exists():
        packages.add("debian-archive-keyring")
    if os.geteuid() != 0 and _which("newuidmap") is None:
        packages.add("uidmap")
    if (os.geteuid() != 0 or not Path("/dev/loop-control").exists()) and _which("fuse2fs") is None:
        packages.add("fuse2fs")
    return sorted(packages)


def _which(program: str) -> str | None:
    return shutil.which(program, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


def _accelerator() -> Finding:
    chosen = choose_accelerator()
    return Finding("acceleration", "ok" if chosen.kind == "kvm" else "warning", f"{chosen.kind}: {chosen.reason}")


def _program(program: str, package: str, purpose: str) -> Finding:
    path = _which(program)
    if path is None:
        return Finding(program, "missing", f"{purpose}; not installed", f"apt-get install {package}")
    return Finding(program, "ok", f"{purpose}; {path}{_version(path) if program.startswith('qemu-system') else ''}")


def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ", which does not start"
    return f", {done.stdout.splitlines()[0]}" if done.stdout else ", which prints no version"


def _keyring() -> Finding:
    if _DEBIAN_KEYRING.exists():
        return Finding("Debian's keys", "ok", f"check what images are made of; {_DEBIAN_KEYRING}")
    return Finding(
        "Debian's keys", "missing", f"{_DEBIAN_KEYRING} is not there", "apt-get install debian-archive-keyring"
    )


def _fuse() -> Finding:
    device = Path("/dev/fuse")
    if os.access(device, os.R_OK | os.W_OK):
        return Finding("/dev/fuse", "ok", "lets image builds open disks")
    problem = "is not usable for you" if device.exists() else "does not exist"
    return Finding(
        "/dev/fuse", "missing", f"{problem}, so images cannot be built here", "modprobe fuse, or build as root"
    )


def _build_rights() -> Finding:
    if os.geteuid() == 0:
        if Path("/dev/loop-control").exists() or _which("fuse2fs"):
            return Finding("image builds", "ok", "run as root")
        return Finding("image builds", "missing", "no loop devices here", "apt-get install fuse2fs")
    try:
        user = Path("/etc/subuid").read_text()
    except OSError:
        user = ""
    names = (f"{os.getlogin() if os.isatty(0) else os.environ.get('USER', '')}:", f"{os.getuid()}:")
    if not any(line.startswith(names) for line in user.splitlines()):
        return Finding(
            "image builds",
            "missing",
            "you have no subordinate user ids (/etc/subuid)",
            "usermod --add-subuids, or use root",
        )
    missing = [program for program in ("newuidmap", "fuse2fs") if _which(program) is None]
    if missing:
        return Finding(
            "image builds",
            "missing",
            f"without root they need {' and '.join(missing)}",
            "apt-get install uidmap fuse2fs",
        )
    return Finding("image builds", "ok", "run without root, in a user namespace")


def _space(cache: CachePaths) -> Finding:
    folder = cache.root
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    detail = f"{free / (1 << 30):.0f} GiB free below {cache.root}"
    if free < _SPACE_BYTES:
        return Finding("disk space", "warning", detail, "set WORKFLOW_GYM_CACHE to a larger disk")
    return Finding("disk space", "ok", detail)


def _memory() -> Finding:
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
    available = int(lines["MemAvailable"].split()[0]) / (1 << 20)
    detail = f"{available:.1f} GiB available; a machine needs about 0.1 GiB, building a template 1.5 GiB"
    return Finding("memory", "ok" if available > 2 else "warning", detail)
