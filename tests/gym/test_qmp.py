"""The monitor client against a peer that speaks (or mis-speaks) the protocol at the other end of a real socket pair."""

from __future__ import annotations

import array
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workflow_gym.errors import MachineDiedError, MachineError, MachineTimeoutError
from workflow_gym.machines.qemu.qmp import Qmp, QmpError

GREETING = {"QMP": {"version": {"qemu": {"major": 7}}, "capabilities": []}}
EVENT = {"event": "RESUME", "timestamp": {"seconds": 1, "microseconds": 2}}


class Peer:
    """Plays QEMU in a thread: `answer` is called with each command and its file descriptors."""

    def __init__(self, answer: Callable[[Peer, dict[str, Any], list[int]], None]) -> None:
        self.ours, self._socket = socket.socketpair()
        self._answer = answer
        self.commands: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> Peer:
        self._thread.start()
        return self

    def send(self, *messages: object) -> None:
        self.send_raw(b"".join(json.dumps(message).encode() + b"\r\n" for message in messages))

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hang_up(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        buffer = b""
        descriptors: list[int] = []
        size = array.array("i").itemsize
        try:
            while True:
                data, ancillary, _, _ = self._socket.recvmsg(65536, socket.CMSG_SPACE(4 * size))
                if not data:
                    return
                for _, kind, content in ancillary:
                    assert kind == socket.SCM_RIGHTS
                    descriptors += array.array("i", content[: len(content) - len(content) % size])
                buffer += data
                while b"\n" in buffer:
                    line, buffer = buffer.split(b"\n", 1)
                    command = json.loads(line)
                    self.commands.append(command)
                    self._answer(self, command, descriptors)
                    descriptors = []
        except OSError:
            return  # The test hung up.

    def close(self) -> None:
        self._socket.close()
        self.ours.close()
        self._thread.join(5)
        assert not self._thread.is_alive()


def reply(peer: Peer, command: dict[str, Any], result: object) -> None:
    """Answer a command as QEMU does, with the id that it was given."""
    peer.send({"return": result} | ({"id": command["id"]} if "id" in command else {}))


def echo(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
    reply(peer, command, {"was": command["execute"], "with": command.get("arguments")})


Connect = Callable[..., tuple[Qmp, Peer]]


@pytest.fixture
def connect() -> Iterator[Connect]:
    peers: list[tuple[Qmp, Peer]] = []

    def connect_to(
        answer: Callable[[Peer, dict[str, Any], list[int]], None] = echo, timeout: float = 5.0
    ) -> tuple[Qmp, Peer]:
        peer = Peer(answer).start()
        peers.append((Qmp(peer.ours, timeout), peer))
        return peers[-1]

    yield connect_to
    for qmp, peer in peers:
        qmp.close()
        peer.hang_up() if peer._socket.fileno() >= 0 else None
        peer.close()


def test_the_handshake_leaves_negotiation_mode(connect: Connect) -> None:
    qmp, peer = connect()
    peer.send(GREETING)
    qmp.handshake()
    assert [command["execute"] for command in peer.commands] == ["qmp_capabilities"]


def test_a_command_goes_out_with_its_arguments_and_its_result_comes_back(connect: Connect) -> None:
    qmp, _ = connect()
    arguments = {"filename": "/tmp/größe", "n": 1, "list": [True, None]}
    assert qmp.execute("screendump", arguments) == {"was": "screendump", "with": arguments}
    assert qmp.execute("stop") == {"was": "stop", "with": None}


def test_events_are_no_answers(connect: Connect) -> None:
    def with_events(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
        peer.send(EVENT, EVENT)
        reply(peer, command, command["execute"])
        peer.send(EVENT)

    qmp, _ = connect(with_events)
    assert [qmp.execute(name) for name in ("one", "two", "three")] == ["one", "two", "three"]


def test_an_answer_may_come_in_pieces_and_be_large(connect: Connect) -> None:
    def in_pieces(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
        answer = {"return": "ü" * 200_000} | ({"id": command["id"]} if "id" in command else {})
        data = json.dumps(answer, ensure_ascii=False).encode() + b"\n"
        for start in range(0, len(data), 60_001):
            peer.send_raw(data[start : start + 60_001])

    qmp, _ = connect(in_pieces)
    assert qmp.execute("query") == "ü" * 200_000


def test_a_refused_command_says_why_and_harms_nothing(connect: Connect) -> None:
    def refuse(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
        if command["execute"] != "bad":
            return echo(peer, command, descriptors)
        identity = {"id": command["id"]} if "id" in command else {}
        peer.send({"error": {"class": "GenericError", "desc": "no such disk"}} | identity)

    qmp, _ = connect(refuse)
    with pytest.raises(QmpError, match="QEMU refused bad: no such disk"):
        qmp.execute("bad")
    assert isinstance(QmpError("x"), MachineError)
    assert qmp.execute("good")["was"] == "good"


def test_a_file_descriptor_goes_along(connect: Connect) -> None:
    def write_into(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
        for descriptor in descriptors:
            os.write(descriptor, command["execute"].encode())
            os.close(descriptor)
        reply(peer, command, len(descriptors))

    qmp, _ = connect(write_into)
    reading, writing = os.pipe()
    assert qmp.execute("getfd", {"fdname": "state"}, fd=writing) == 1
    os.close(writing)
    assert os.read(reading, 100) == b"getfd" and os.read(reading, 1) == b"", "our own copy was closed or kept"
    os.close(reading)
    assert qmp.execute("stop") == 0


def hang_up(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
    peer.hang_up()


def test_a_connection_that_ends_is_a_dead_machine(connect: Connect) -> None:
    qmp, _ = connect(hang_up)
    for _ in range(2):
        with pytest.raises(MachineDiedError):
            qmp.execute("query-status")


def test_half_an_answer_is_a_dead_machine(connect: Connect) -> None:
    def half(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
        peer.send_raw(b'{"return": {"status"')
        peer.hang_up()

    qmp, _ = connect(half)
    with pytest.raises(MachineDiedError):
        qmp.execute("query-status")


def test_a_connection_that_ends_before_the_greeting_is_a_dead_machine(connect: Connect) -> None:
    qmp, peer = connect()
    peer.hang_up()
    with pytest.raises(MachineDiedError):
        qmp.handshake()


def test_a_process_that_is_gone_without_a_word_is_a_dead_machine(connect: Connect) -> None:
    """What was sent and never read makes the kernel reset the connection instead of ending it."""
    ours, theirs = socket.socketpair()
    qmp = Qmp(ours, 2.0)
    ours.sendall(b"never read")
    theirs.close()
    with pytest.raises(MachineDiedError):
        qmp.handshake()
    with pytest.raises(MachineDiedError):
        qmp.execute("query-status")
    qmp.close()


def say_nothing(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
    pass


def test_a_machine_that_does_not_answer_in_time_is_a_timeout(connect: Connect) -> None:
    qmp, _ = connect(say_nothing, timeout=0.2)
    started = time.monotonic()
    with pytest.raises(MachineTimeoutError, match="query-status within 0.2 s"):
        qmp.execute("query-status")
    assert 0.2 <= time.monotonic() - started < 2


def test_a_machine_that_does_not_greet_in_time_is_a_timeout(connect: Connect) -> None:
    qmp, _ = connect(say_nothing, timeout=0.2)
    with pytest.raises(MachineTimeoutError):
        qmp.handshake()


def test_events_do_not_put_off_the_timeout(connect: Connect) -> None:
    """The timeout bounds the command, not the silence: a guest that reboots in a loop sends events for ever."""

    def chatter(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
        for _ in range(12):
            peer.send(EVENT)
            time.sleep(0.1)
        reply(peer, command, "late")

    qmp, _ = connect(chatter, timeout=0.3)
    with pytest.raises(MachineTimeoutError):
        qmp.execute("query-status")


def test_a_late_answer_is_not_taken_for_the_next_commands(connect: Connect) -> None:
    def late(peer: Peer, command: dict[str, Any], descriptors: list[int]) -> None:
        if command["execute"] == "slow":
            time.sleep(0.4)
        reply(peer, command, command["execute"])

    qmp, _ = connect(late, timeout=0.2)
    with pytest.raises(MachineTimeoutError):
        qmp.execute("slow")
    time.sleep(0.4)
    try:
        answer = qmp.execute("quick")
    except MachineError:
        return  # To refuse all further work is as right.
    assert answer == "quick"


@pytest.mark.parametrize("data", [b"no json\n", b"\xff\xfe\n", b"[1]\n", b'{"return": \n'])
def test_nonsense_is_a_machine_error(connect: Connect, data: bytes) -> None:
    qmp, _ = connect(lambda peer, command, descriptors: peer.send_raw(data), timeout=0.5)
    with pytest.raises(MachineError):
        qmp.execute("query-status")


def test_threads_get_their_own_answers(connect: Connect) -> None:
    qmp, _ = connect()
    wrong: list[object] = []

    def ask(number: int) -> None:
        for count in range(100):
            if qmp.execute("command", {"number": number, "count": count})["with"] != {"number": number, "count": count}:
                wrong.append((number, count))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_closing_twice_is_fine_and_a_closed_connection_is_a_dead_machine(connect: Connect) -> None:
    qmp, _ = connect()
    qmp.close()
    qmp.close()
    with pytest.raises(MachineDiedError):
        qmp.execute("query-status")
