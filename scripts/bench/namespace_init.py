"""The first process of a private PID namespace: runs a command, collects dead orphans, and ends with its parent.

It ends when its standard input closes, which happens however the parent ends; the kernel then ends every process of the
namespace. Before that it removes the folder that the first argument names. libvirt needs somebody to collect the dead:
it believes a process alive until it is gone from /proc, and QEMU under libvirt is an orphan.

Run as a script, with nothing but the standard library. Arguments: folder command …
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys


def main() -> None:
    """Run the command until standard input closes."""
    folder, *command = sys.argv[1:]
    if os.getpid() != 1:
        sys.exit("this must be the first process of a PID namespace: in the end it kills everybody")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = 0

    def collect(*_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) > 0:
                if pid == child:
                    os._exit(1)  # The parent reads the log, and removes the folder.

    child = subprocess.Popen(command, stdin=subprocess.DEVNULL).pid
    signal.signal(signal.SIGCHLD, collect)
    collect()
    sys.stdin.buffer.read()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
