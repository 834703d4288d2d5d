"""Makes sure that no machine outlives the process that made it, however that process ends.

Each live process owns one folder below `<cache>/machines`, with a lock that the kernel drops when the process dies. A
small child waits for the other end of a pipe to close, then kills what is left and removes the folder. A sweep at
start-up does the same for folders whose owner died together with its child (a crashed host).

Run as a script this file is the child, so it imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import sys
import time
from pathlib import Path

LOCK = "owner.lock"


def processes_of(folder: Path) -> list[int]:
    """Return the ids of the QEMU processes whose command line mentions `folder`."""
    needle, found = os.fsencode(folder) + b"/", []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes()
                if needle in words and os.path.basename(words.split(b"\0")[0]).startswith(b"qemu-"):
                    found.append(int(entry.name))
    return found


def remove(folder: Path) -> None:
    """Kill the QEMU processes of `folder`, then remove it."""
    for _ in range(50):
        left = processes_of(folder)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            break
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


def own(folder: Path) -> int:
    """Create `folder` with its lock held, and return the lock's descriptor, which must stay open."""
    folder.mkdir(parents=True, mode=0o700)
    # Locked before it bears its name, so that a sweep never finds it unlocked.
    nascent = folder / f".{LOCK}"
    descriptor = os.open(nascent, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    nascent.rename(folder / LOCK)
    return descriptor


def sweep(machines: Path, grace_seconds: float = 10.0) -> list[Path]:
    """Remove the folders below `machines` whose owner is dead, and return them.

    A folder that is younger than `grace_seconds` and has no lock file yet is left alone: its owner is being born.
    """
    removed = []
    for folder in machines.iterdir() if machines.is_dir() else ():
        try:
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - folder.stat().st_mtime > grace_seconds:
                    remove(folder)
                    removed.append(folder)
            continue
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its owner lives
        else:
            remove(folder)
            removed.append(folder)
        finally:
            os.close(descriptor)
    return removed


def main() -> None:
    """Wait until standard input closes, then remove the folder that the first argument names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sys.stdin.buffer.read()
    remove(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
