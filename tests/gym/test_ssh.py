"""Files and commands over SSH, against a real server at the other end of a real socket that behaves, or does not."""

from __future__ import annotations

import os
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import paramiko
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from workflow_gym.errors import GuestCommandError, GuestUnreachableError, MachineError, MachineTimeoutError
from workflow_gym.machines.ssh import SshShell

# Numbers of the protocol, which paramiko's stubs leave out.
AUTH_SUCCESSFUL, AUTH_FAILED, OPEN_SUCCEEDED = 0, 2, 0

Execute = Callable[[list[str]], tuple[bytes, int]]


def new_key(path: Path) -> paramiko.Ed25519Key:
    private = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    path.write_bytes(private)
    return paramiko.Ed25519Key.from_private_key_file(str(path))


class Files(paramiko.SFTPServerInterface):
    """Serves a folder of the host as the guest's root."""

    def __init__(self, server: Guest, *rest: Any, **more: Any) -> None:
        super().__init__(server, *rest, **more)
        self.root = server.root

    def lstat(self, path: str) -> Any:
        try:
            return paramiko.SFTPAttributes.from_stat(os.lstat(self.root / path.lstrip("/")))
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    stat = lstat

    def open(self, path: str, flags: int, attr: paramiko.SFTPAttributes) -> Any:
        try:
            descriptor = os.open(self.root / path.lstrip("/"), flags, 0o644)
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        handle = paramiko.SFTPHandle(flags)
        file = os.fdopen(descriptor, "wb" if flags & os.O_WRONLY else "rb")
        handle.readfile = handle.writefile = file  # type: ignore[attr-defined]
        return handle


class Guest(paramiko.ServerInterface):
    """One SSH server on a loopback port, with one host key and one key that may log in as root."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "guest"
        (self.root / "home/user").mkdir(parents=True)
        self.host_key = new_key(folder / "host_key")
        self.login = new_key(folder / "id")
        self.login_file = folder / "id"
        self.commands: list[list[str]] = []
        self.execute: Execute = lambda words: (b"", 0)
        self.answers_requests = True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections: list[paramiko.Transport] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.host_key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
            self.connections.append(transport)
            try:
                transport.start_server(server=self)
            except (paramiko.SSHException, EOFError, OSError):
                transport.close()

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        right = username == "root" and key == self.login
        return AUTH_SUCCESSFUL if right else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        while not self.answers_requests:
            time.sleep(0.02)
        # A little later, since the request must be answered before anything else is said.
        threading.Timer(0.05, self._serve, (channel, shlex.split(command.decode()))).start()
        return True

    def _serve(self, channel: paramiko.Channel, words: list[str]) -> None:
        self.commands.append(words)
        if words[0] == "install":
            (self.root / words[-1].lstrip("/")).mkdir(parents=True, exist_ok=True)
        output, status = self.execute(words)
        try:
            channel.sendall(output)
            channel.send_exit_status(status)
            channel.close()
        except OSError:
            pass  # The other side hung up.

    def lose_all_connections(self) -> None:
        for transport in list(self.connections):
            transport.close()

    def close(self) -> None:
        self.answers_requests = True
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        self.lose_all_connections()
        self._thread.join(5)


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Guest]:
    guest = Guest(tmp_path)
    yield guest
    guest.close()


@pytest.fixture
def shell(guest: Guest) -> Iterator[SshShell]:
    shell = shell_of(guest)
    yield shell
    shell.disconnect()


def shell_of(guest: Guest, connect_seconds: float = 5.0) -> SshShell:
    host_key = f"ssh-ed25519 {guest.host_key.get_base64()}"
    return SshShell(lambda: guest.port, guest.login_file, host_key, connect_seconds=connect_seconds)


# Commands


def test_a_command_gives_what_it_printed(guest: Guest, shell: SshShell) -> None:
    guest.execute = lambda words: ("Größe ✓\n".encode(), 0)
    words = ["echo", "a b", "'\"$HOME;`x`", "", "é\n"]
    assert shell.run(words) == "Größe ✓\n"
    assert shell.run(words, user="user") == "Größe ✓\n"
    assert guest.commands == [words, ["as-user", *words]]


def test_large_and_foreign_output_arrives_complete(guest: Guest, shell: SshShell) -> None:
    guest.execute = lambda words: (b"\xff" + b"x" * 3_000_000 + b"end", 0)
    text = shell.run(["cat"])
    assert len(text) == 3_000_004 and text.startswith("\ufffd") and text.endswith("xend")


def test_a_command_that_fails_says_how_and_the_connection_stays(guest: Guest, shell: SshShell) -> None:
    guest.execute = lambda words: (b"no such file\n", 3) if words == ["bad"] else (b"ok", 0)
    with pytest.raises(GuestCommandError, match="no such file") as caught:
        shell.run(["bad"])
    assert caught.value.status == 3 and not isinstance(caught.value, MachineError)
    assert shell.run(["good"]) == "ok"
    assert len(guest.connections) == 1


def forever(words: Sequence[str]) -> tuple[bytes, int]:
    time.sleep(3)
    return b"late", 0


def test_a_command_that_does_not_end_in_time_is_a_timeout(guest: Guest, shell: SshShell) -> None:
    guest.execute = forever
    started = time.monotonic()
    with pytest.raises(MachineTimeoutError, match="sleep.*0.3 s"):
        shell.run(["sleep", "600"], timeout=0.3)
    assert time.monotonic() - started < 2
    guest.execute = lambda words: (b"ok", 0)
    assert shell.run(["next"]) == "ok"


def test_a_guest_that_stops_answering_requests_is_a_timeout(guest: Guest, shell: SshShell) -> None:
    """A guest may hang after the channel is open: the request to run a command is never answered."""
    shell.run(["first"])
    guest.answers_requests = False
    outcome: list[BaseException] = []

    def run() -> None:
        try:
            shell.run(["second"], timeout=0.3)
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(3)
    assert not thread.is_alive(), "the call outlasts its timeout"
    assert isinstance(outcome[0], MachineTimeoutError)


def test_a_connection_that_breaks_during_a_command_is_an_unreachable_guest(guest: Guest, shell: SshShell) -> None:
    def lose(words: list[str]) -> tuple[bytes, int]:
        guest.lose_all_connections()
        return b"", 0

    guest.execute = lose
    with pytest.raises(GuestUnreachableError):
        shell.run(["reboot"])
    guest.execute = lambda words: (b"ok", 0)
    assert shell.run(["next"]) == "ok", "the connection was not opened anew"


# Connecting


def test_a_connection_that_died_meanwhile_is_opened_anew(guest: Guest, shell: SshShell) -> None:
    assert not shell.connected
    shell.run(["one"])
    assert shell.connected
    guest.lose_all_connections()
    end = time.monotonic() + 2
    while shell._connected_still() and time.monotonic() < end:
        time.sleep(0.01)
    shell.run(["two"])
    shell.disconnect()
    shell.disconnect()
    assert not shell.connected
    shell.run(["three"])
    assert len(guest.connections) == 3


def test_a_server_with_another_host_key_is_not_spoken_to(guest: Guest, tmp_path: Path) -> None:
    other = new_key(tmp_path / "other")
    shell = SshShell(lambda: guest.port, guest.login_file, f"ssh-ed25519 {other.get_base64()}", connect_seconds=3)
    with pytest.raises(MachineError):
        shell.run(["true"])
    assert guest.commands == []


def test_a_guest_that_refuses_the_key_is_a_machine_error(guest: Guest, tmp_path: Path) -> None:
    new_key(tmp_path / "other")
    shell = SshShell(lambda: guest.port, tmp_path / "other", f"ssh-ed25519 {guest.host_key.get_base64()}")
    with pytest.raises(MachineError, match="refuses the key"):
        shell.run(["true"])


def test_nobody_at_the_port_is_an_unreachable_guest(guest: Guest) -> None:
    guest.close()
    with pytest.raises(GuestUnreachableError, match=str(guest.port)):
        shell_of(guest).run(["true"])


def test_a_guest_that_accepts_but_never_speaks_is_an_unreachable_guest(guest: Guest) -> None:
    """This is what a guest that is still booting, or hangs, looks like from outside."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        host_key = f"ssh-ed25519 {guest.host_key.get_base64()}"
        port: int = mute.getsockname()[1]
        shell = SshShell(lambda: port, guest.login_file, host_key, connect_seconds=0.5)
        started = time.monotonic()
        with pytest.raises(GuestUnreachableError):
            shell.run(["true"])
        assert time.monotonic() - started < 3


# Files


@pytest.mark.parametrize("content", [b"", b"text\r\n", bytes(range(256)) * 2000], ids=len)
def test_files_come_back_as_they_went(guest: Guest, shell: SshShell, content: bytes) -> None:
    path = "/home/user/a folder/ünï 文.bin"
    shell.write_file(path, content)
    assert (guest.root / path.lstrip("/")).read_bytes() == content
    assert shell.read_file(path, limit=len(content)) == content
    assert guest.commands[-1] == ["chown", "root:root", path]
    shell.write_file(path, b"x")
    assert shell.read_file(path, limit=1) == b"x"


def test_what_is_no_file_or_too_large_is_refused(guest: Guest, shell: SshShell) -> None:
    home = guest.root / "home/user"
    (home / "large").write_bytes(b"12345")
    (home / "link").symlink_to("large")
    os.mkfifo(home / "pipe")
    with pytest.raises(ValueError, match="5 bytes"):
        shell.read_file("/home/user/large", limit=4)
    for name in ("none", "link", "pipe", "none/below", "large/below", ""):
        with pytest.raises(FileNotFoundError):
            shell.read_file(f"/home/user/{name}", limit=100)
    assert shell.read_file("/home/user/large", limit=5) == b"12345"
    assert len(guest.connections) == 1


def test_files_are_read_again_after_the_connection_was_lost(guest: Guest, shell: SshShell) -> None:
    shell.write_file("/home/user/x", b"1")
    guest.lose_all_connections()
    end = time.monotonic() + 2
    while shell._connected_still() and time.monotonic() < end:
        time.sleep(0.01)
    assert shell.read_file("/home/user/x", limit=10) == b"1"
