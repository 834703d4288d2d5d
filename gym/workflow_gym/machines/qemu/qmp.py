"""A small client of the QEMU Machine Protocol over one end of a socket pair.

The socket pair needs no path and no port, so machines cannot collide, and file descriptors (device state, screenshots)
travel over it. Protocol: https://www.qemu.org/docs/master/interop/qmp-spec.html
"""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workflow_gym.deadline import Deadline
from workflow_gym.errors import MachineDiedError, MachineError, MachineTimeoutError


class QmpError(MachineError):
    """Raised when QEMU refuses a command."""


class Qmp:
    """One connection. Safe to use from several threads; commands are carried out one after another."""

    def __init__(self, connection: socket.socket, timeout: float = 30.0) -> None:
        """Take over `connection`; `timeout` bounds every command, in seconds."""
        self._socket = connection
        self._timeout = timeout
        self._buffer = b""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def handshake(self) -> None:
        """Read the greeting and leave negotiation mode. Raises as `execute`."""
        with self._lock, self._exchange("greeting") as deadline:
            self._read_message(deadline)
        self.execute("qmp_capabilities")

    def execute(self, command: str, arguments: dict[str, Any] | None = None, fd: int | None = None) -> Any:
        """Carry out one command and return its result.

        Args:
            command: such as "query-status".
            arguments: its arguments.
            fd: a file descriptor that goes along.

        Raises:
            QmpError: QEMU refused it.
            MachineDiedError: the connection is gone.
            MachineTimeoutError: no answer came in time.
        """
        message: dict[str, Any] = {"execute": command, "id": next(self._numbers)}
        if arguments:
            message["arguments"] = arguments
        data = json.dumps(message).encode() + b"\n"
        with self._lock, self._exchange(command) as deadline:
            self._socket.settimeout(self._timeout)
            if fd is None:
                self._socket.sendall(data)
            else:
                socket.send_fds(self._socket, [data], [fd])
            # Events come between answers; and an answer that comes after its command was given up is not for us.
            while (reply := self._read_message(deadline)).get("id") != message["id"]:
                pass
            if "error" in reply:
                raise QmpError(f"QEMU refused {command}: {reply['error'].get('desc')}")
            return reply["return"]

    @contextmanager
    def _exchange(self, what: str) -> Iterator[Deadline]:
        """Turn what a socket and a parser raise into errors of ours."""
        try:
            yield Deadline(self._timeout, what)
        except TimeoutError:
            raise MachineTimeoutError(f"QEMU did not answer {what} within {self._timeout:g} s") from None
        except OSError as error:
            raise MachineDiedError(f"the connection to QEMU broke during {what}: {error}") from error
        except (ValueError, KeyError, AttributeError) as error:
            raise MachineError(f"QEMU answered {what} with nonsense: {error!r}") from error

    def _read_message(self, deadline: Deadline) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            if deadline.passed:
                raise TimeoutError
            self._socket.settimeout(max(deadline.left, 0.001))
            chunk = self._socket.recv(65536)
            if not chunk:
                raise MachineDiedError("QEMU closed its monitor connection")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError(f"{line[:100]!r} is no message")
        return message

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self._socket.close()
