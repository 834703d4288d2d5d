"""Types text that a US keyboard has no keys for, by the means of the guest's X server.

Characters are given keycodes that the keyboard leaves free, many in one change of the keyboard map, and then those
keycodes are pressed. A program looks its keyboard map up again some time after a change, so the map must not change
while keys are still on their way: between two changes we wait until the guest has nothing left to do. (Changing the map
anew for every character, as is usual, turns one character into another on a busy machine.)
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from workflow_gym.errors import ActionError, GuestCommandError
from workflow_gym.machines.base import Machine
from workflow_gym.machines.settle import SettleBounds, settle
from workflow_gym.machines.ssh import DESKTOP_USER

_DELAY_MS = 12
_MAX_CHUNK = 400
"""The most characters that one command types; bounds its length and its time."""
_NAMED = {"\n": "Return", "\t": "Tab"}
_IDLE = SettleBounds(quiet=0.2, maximum=20.0)


class Typist:
    """Remembers which free keycode stands for which character in one guest."""

    def __init__(self, machine: Machine) -> None:
        """Type on `machine`; nothing is asked of it yet."""
        self._machine = machine
        self._free: list[str] = []
        self._codes: dict[str, str] = {}

    def type(self, text: str) -> None:
        """Type `text` at the keyboard focus of the running guest.

        Raises:
            ActionError: the text holds something that is no character.
            MachineError: the guest does not answer.
        """
        if odd := [char for char in text if not char.isprintable() and char not in _NAMED and not _is_format(char)]:
            raise ActionError(f"the text holds {odd[0]!r}, which cannot be typed")
        if not self._free:
            self._free = self._free_keycodes()
        for chunk in self._chunks(text):
            self._give_codes(chunk)
            command = ["xdotool", "key", "--clearmodifiers", "--delay", str(_DELAY_MS)]
            self._run([*command, *(self._codes[char] for char in chunk)], 30 + len(chunk) * 0.5)

    def _chunks(self, text: str) -> Iterator[str]:
        """Split text into parts that have no more different characters than there are free keycodes."""
        part, different = "", set[str]()
        for char in text:
            if len(different | {char}) > len(self._free) or len(part) >= _MAX_CHUNK:
                yield part
                part, different = "", set()
            part += char
            different.add(char)
        if part:
            yield part

    def _give_codes(self, chunk: str) -> None:
        new = [char for char in dict.fromkeys(chunk) if char not in self._codes]
        if not new:
            return
        if len(self._codes) + len(new) > len(self._free):
            self._codes = {}
            new = list(dict.fromkeys(chunk))
        settle(self._machine, _IDLE)
        unused = [code for code in self._free if code not in self._codes.values()]
        self._codes |= dict(zip(new, unused, strict=False))
        expressions = [word for char in new for word in ("-e", f"keycode {self._codes[char]} = {_keysym(char)}")]
        self._run(["xmodmap", *expressions], 60)
        # Programs hear of the new map before they see its first key; let them take it up.
        time.sleep(0.1)
        settle(self._machine, _IDLE)

    def _free_keycodes(self) -> list[str]:
        listing = self._run(["xmodmap", "-pke"], 60)
        # Not 8 and 9: xdotool would take those for the digits.
        free = re.findall(r"^keycode\s+(\d\d+) =\s*$", listing, re.MULTILINE)
        if len(free) < 8:
            raise ActionError("the guest's keyboard map leaves too few keycodes free to type this text")
        return free

    def _run(self, command: list[str], seconds: float) -> str:
        try:
            return self._machine.shell.run(command, user=DESKTOP_USER, timeout=seconds)
        except GuestCommandError as error:
            raise ActionError(f"the guest cannot type this text: {error}") from error


def _is_format(char: str) -> bool:
    """Whether a character is invisible but means something in text: joiners, direction marks, variation selectors."""
    return char in "\u00a0\u00ad\u034f\u061c\u3000" or "\u200b" <= char <= "\u206f" or "\ufe00" <= char <= "\ufe0f"


def _keysym(char: str) -> str:
    return _NAMED.get(char) or f"U{ord(char):04X}"
