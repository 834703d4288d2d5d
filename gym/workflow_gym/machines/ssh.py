"""Files and commands in a guest, over SSH and SFTP (paramiko)."""

from __future__ import annotations

import base64
import contextlib
import logging
import posixpath
import shlex
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import paramiko

from workflow_gym.deadline import Deadline
from workflow_gym.errors import GuestCommandError, GuestUnreachableError, MachineError, MachineTimeoutError
from workflow_gym.machines.base import Shell

# Every failure is raised as an error of ours; paramiko's own log repeats it with a traceback.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)

_GRACE_SECONDS = 1.0
"""How long after its deadline a call is cut off that did not notice it by itself."""

DESKTOP_USER = "user"
"""The account in the guest that owns the desktop; the agent acts as it."""


class SshShell(Shell):
    """A lazily opened SSH connection to one guest; reopened when it has died."""

    def __init__(self, port: Callable[[], int], key: Path, host_key: str, *, connect_seconds: float = 60.0) -> None:
        """Remember where the guest is.

        Args:
            port: returns the loopback port of the guest's SSH server.
            key: the private key that logs in as root.
            host_key: the server's public key, "ssh-ed25519 AAAA…", which is checked.
            connect_seconds: how long connecting may take.
        """
        self._port = port
        self._key = key
        self._host_key = host_key
        self._connect_seconds = connect_seconds
        self._transport: paramiko.Transport | None = None
        self._sftp: paramiko.SFTPClient | None = None

    @property
    def connected(self) -> bool:
        """Whether a connection is open."""
        return self._transport is not None

    def _connected(self) -> paramiko.Transport:
        if self._transport is not None and self._transport.is_active():
            return self._transport
        self.disconnect()
        deadline = Deadline(self._connect_seconds, "connecting to the guest over SSH")
        address = ("127.0.0.1", self._port())
        transport = None
        try:
            connection = socket.create_connection(address, timeout=max(deadline.left, 0.1))
            transport = paramiko.Transport(connection)
            transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = max(deadline.left, 0.1)
            options = transport.get_security_options()
            options.key_types = ("ssh-ed25519",)
            name, encoded = self._host_key.split()[:2]
            expected = paramiko.PKey.from_type_string(name, base64.b64decode(encoded))
            transport.connect(expected, "root", pkey=paramiko.Ed25519Key.from_private_key_file(str(self._key)))
        except paramiko.AuthenticationException as error:
            assert transport is not None
            transport.close()
            raise MachineError(f"the guest refuses the key of its image: {error}") from error
        except (OSError, EOFError, paramiko.SSHException) as error:
            if transport is not None:
                transport.close()
            raise GuestUnreachableError(
                f"the guest does not answer over SSH at port {address[1]}: {error!r}"
            ) from error
        self._transport = transport
        return transport

    def _connected_still(self) -> bool:
        return self._transport is not None and self._transport.is_active()

    @contextlib.contextmanager
    def _translated(self, what: str, timeout: float) -> Iterator[None]:
        """Turn what SSH raises into errors of ours, and cut off what paramiko would wait for without a deadline."""
        late = threading.Event()

        def cut() -> None:
            late.set()
            if self._transport is not None:
                self._transport.close()

        watchdog = threading.Timer(timeout + _GRACE_SECONDS, cut)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        except (TimeoutError, paramiko.SSHException, EOFError, ConnectionError) as error:
            self.disconnect()
            if isinstance(error, TimeoutError) or late.is_set():
                raise MachineTimeoutError(f"{what} did not end within {timeout:g} s in the guest") from None
            raise GuestUnreachableError(f"the SSH connection broke during {what}: {error!r}") from error
        finally:
            watchdog.cancel()

    def run(self, command: Sequence[str], *, user: str = "root", timeout: float = 60.0) -> str:
        """Run a command; see `Shell.run`."""
        words = list(command) if user == "root" else ["as-user", *command]
        line = shlex.join(words)
        with self._translated(repr(line[:200]), timeout):
            deadline = Deadline(timeout, line)
            channel = self._connected().open_session(timeout=timeout)
            try:
                channel.set_combine_stderr(True)
                channel.exec_command(line)
                output = bytearray()
                while True:
                    channel.settimeout(max(deadline.left, 0.01))
                    chunk = channel.recv(65536)
                    if not chunk:
                        break
                    output += chunk
                if not channel.status_event.wait(max(deadline.left, 0.01)):
                    raise TimeoutError
                status = channel.recv_exit_status()
            finally:
                channel.close()
            if status == -1 and not self._connected_still():
                raise EOFError("no exit status arrived")
        text = output.decode(errors="replace")
        if status != 0:
            raise GuestCommandError(line, status, text)
        return text

    def _files(self, timeout: float) -> paramiko.SFTPClient:
        transport = self._connected()  # This may open a new connection, and forget the files of the old one.
        if self._sftp is None:
            self._sftp = paramiko.SFTPClient.from_transport(transport)
            assert self._sftp is not None
        channel = self._sftp.get_channel()
        assert channel is not None
        channel.settimeout(timeout)
        return self._sftp

    def write_file(self, path: str, content: bytes, *, user: str = "root") -> None:
        """Write a file; see `Shell.write_file`."""
        folder = posixpath.dirname(path)
        self.run(["install", "-d", "-o", user, "-g", user, folder])
        with self._translated(f"writing {path}", 120), self._files(120).open(path, "wb") as file:
            file.set_pipelined(True)
            file.write(content)
        self.run(["chown", f"{user}:{user}", path])

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return a file's content; see `Shell.read_file`."""
        with self._translated(f"reading {path}", 120):
            files = self._files(120)
            entry = files.lstat(path)
            if not stat.S_ISREG(entry.st_mode or 0):
                raise FileNotFoundError(f"{path} is no regular file")
            if (entry.st_size or 0) > limit:
                raise ValueError(f"{path} has {entry.st_size} bytes, more than the {limit} that are collected")
            with files.open(path, "rb") as file:
                file.prefetch(entry.st_size or 0)
                return file.read(limit)

    def open_tunnel(self, port: int, timeout: float = 60.0) -> paramiko.Channel:
        """Return a channel to a port on the guest's loopback address. Raises `GuestUnreachableError`."""
        with self._translated(f"opening port {port}", timeout):
            return self._connected().open_channel(
                "direct-tcpip", ("127.0.0.1", port), ("127.0.0.1", 0), timeout=timeout
            )

    def disconnect(self) -> None:
        """Close the connection, if there is one; the next call opens a new one."""
        self._sftp = None
        if self._transport is not None:
            self._transport.close()
            self._transport = None
