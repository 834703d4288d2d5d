"""A small client of the QEMU Machine Protocol over one end of a socket pair.

The socket pair needs no path and no port, so machines cannot collide, and file descriptors (device state, screenshots)
travel over it. Protocol: https://www.qemu.org/docs/master/interop/qmp-spec.html
"""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

from workflow_gym.errors import MachineDiedError, MachineError, MachineTimeoutError


class QmpError(MachineError):
    """Raised when QEMU refuses a command."""


class Qmp:
    """One connection. Safe to use from several threads; commands are carried out one after another."""

    def __init__(self, connection: socket.socket, timeout: float = 30.0) -> None:
        """Take over `connection`; `timeout` bounds every command, in seconds."""
        self._socket = connection
        self._socket.settimeout(timeout)
        self._timeout = timeout
        self._buffer = b""
        self._lock = threading.Lock()

    def handshake(self) -> None:
        """Read the greeting and leave negotiation mode. Raises as `execute`."""
        with self._lock:
            self._read_message()
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
        message: dict[str, Any] = {"execute": command}
        if arguments:
            message["arguments"] = arguments
        data = json.dumps(message).encode() + b"\n"
        with self._lock:
            try:
                if fd is None:
                    self._socket.sendall(data)
                else:
                    socket.send_fds(self._socket, [data], [fd])
                while True:
                    reply = self._read_message()
                    if "return" in reply:
                        return reply["return"]
                    if "error" in reply:
                        raise QmpError(f"QEMU refused {command}: {reply['error'].get('desc')}")
            except TimeoutError:
                raise MachineTimeoutError(f"QEMU did not answer {command} within {self._timeout:g} s") from None
            except OSError as error:
                raise MachineDiedError(f"the connection to QEMU broke during {command}: {error}") from error

    def _read_message(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            chunk = self._socket.recv(65536)
            if not chunk:
                raise MachineDiedError("QEMU closed its monitor connection")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self._socket.close()
