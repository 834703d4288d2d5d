"""Changes a guest disk: mounts it, installs packages, lays files over it, runs set-up commands.

Runs as a script in a mount and process namespace of its own (a user namespace too, for ordinary users), so that
nothing stays mounted however it ends; therefore it imports nothing but the standard library. It ends when its standard
input closes, since then its parent is gone. The plan comes as a JSON file; see `build.LayerPlan`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

_APT = ["apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-unsafe-io", "-o", "APT::Sandbox::User=root"]
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": "/root",
    "DEBIAN_FRONTEND": "noninteractive",
}


def say(stage: str) -> None:
    """Announce a stage to the parent."""
    print(f"## {stage}", flush=True)


def run(command: list[str], **options: Any) -> None:
    """Run a command; its output goes to the log."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)


def in_guest(root: Path, command: list[str]) -> None:
    """Run a command inside the guest's file system."""
    run(
        ["chroot", str(root), *command],
        env=_ENVIRONMENT | {k: v for k, v in os.environ.items() if "proxy" in k.lower()},
    )


def make_disk(archive: str, disk: str, work: Path) -> None:
    """Make a qcow2 disk with one ext4 file system of an archive of files."""
    tree, raw = work / "tree", work / "tree.raw"
    tree.mkdir()
    run(["tar", "-C", str(tree), "--numeric-owner", "--xattrs", "--exclude=./dev/*", "-xf", archive])
    Path(archive).unlink()
    options = ["-q", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1,root_owner=0:0", "-m", "0"]
    run(["mke2fs", *options, "-d", str(tree), str(raw), "16G"])
    shutil.rmtree(tree)
    run(["qemu-img", "convert", "-q", "-O", "qcow2", str(raw), disk])
    raw.unlink()


def mount_disk(disk: str, work: Path) -> Path:
    """Mount the file system of a qcow2 disk and return where."""
    raw, root = work / "disk.raw", work / "root"
    raw.touch()
    root.mkdir()
    command = [
        "qemu-storage-daemon",
        "--blockdev", f"driver=qcow2,node-name=disk,discard=unmap,file.driver=file,file.filename={disk}",
        "--export", f"type=fuse,id=export,node-name=disk,mountpoint={raw},writable=on",
    ]  # fmt: skip
    daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    for _ in range(500):
        if daemon.poll() is not None:
            sys.exit("qemu-storage-daemon ended early; is /dev/fuse usable?")
        if raw.stat().st_size > 0:
            break
        time.sleep(0.02)
    else:
        sys.exit("the FUSE export of the disk did not appear within 10 s")
    loop = ["mount", "-o", "loop,discard", str(raw), str(root)]
    if subprocess.run(loop, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
        return root
    # No loop device for us (an ordinary user, a container): the file system runs in user space instead.
    if shutil.which("fuse2fs") is None:
        sys.exit("cannot loop-mount the disk, and fuse2fs is not installed; run as root or install fuse2fs")
    run(["fuse2fs", "-o", "rw,fakeroot", str(raw), str(root)])
    return root


def prepare(root: Path, resolver: str) -> None:
    """Mount what packages need while they are installed."""
    run(["mount", "-t", "proc", "proc", str(root / "proc")])
    for node in ("null", "zero", "full", "random", "urandom", "tty"):
        target = root / "dev" / node
        target.touch()
        run(["mount", "--bind", f"/dev/{node}", str(target)])
    for folder in ("var/lib/apt/lists", "var/cache/apt/archives", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        run(["mount", "-t", "tmpfs", "tmpfs", str(root / folder)])
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    if resolver:
        (root / "etc/resolv.conf").unlink(missing_ok=True)
        (root / "etc/resolv.conf").write_text(resolver)


def lay_files(root: Path, files: list[list[str]]) -> None:
    """Copy files over the guest, each given as source, place in the guest, and octal mode."""
    for source, target, mode in files:
        place = root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
        place.chmod(int(mode, 8))


def main() -> None:
    """Carry out the plan that the first argument names."""
    threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
    plan = json.loads(Path(sys.argv[1]).read_text())
    work = Path(plan["work"])
    os.umask(0o022)
    if plan["archive"]:
        say("writing the base disk")
        make_disk(plan["archive"], plan["disk"], work)
    say("mounting the disk")
    root = mount_disk(plan["disk"], work)
    prepare(root, plan["resolver"])
    if plan["packages"]:
        say("reading package lists")
        in_guest(root, [*_APT, *plan["apt_options"], "update"])
        say(f"installing {len(plan['packages'])} packages and what they need")
        in_guest(root, [*_APT, *plan["apt_options"], "--no-install-recommends", "install", *plan["packages"]])
    say("laying files over it")
    lay_files(root, plan["files"])
    for command in plan["setup"]:
        in_guest(root, command)
    in_guest(root, ["chown", "-R", f"{plan['owner']}:{plan['owner']}", f"/home/{plan['owner']}"])
    say("finishing the disk")
    (root / "usr/sbin/policy-rc.d").unlink()
    for log in (root / "var/log").rglob("*.log"):
        log.write_text("")
    boot = root / "boot"
    for kind in ("vmlinuz", "initrd.img"):
        newest = max(boot.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime)
        shutil.copyfile(newest, work / kind)
    for folder in ("var/lib/apt/lists", "var/cache/apt/archives", "tmp"):
        run(["umount", str(root / folder)])
    subprocess.run(["fstrim", str(root)], stdin=subprocess.DEVNULL, capture_output=True)
    run(["umount", "--recursive", str(root)])
    run(["sync", "-f", str(work / "disk.raw")])
    run(["umount", str(work / "disk.raw")])


if __name__ == "__main__":
    main()
