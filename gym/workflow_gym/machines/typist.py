"""Types text that a US keyboard has no keys for, by the means of the guest's X server.

Characters are given keycodes that the keyboard leaves free (or to media keys), many in one change of the keyboard map,
and then those keycodes are pressed. A program looks its keyboard map up again some time after a change, so the map must
not change while keys are still on their way: before and after a change we wait until the guest has nothing left to do.
(Changing the map anew for every character, as is usual, turns one character into another on a busy machine.)
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
_MAX_CHUNK = 300
"""The most characters that one command types; bounds its length and its time."""
_SECONDS_PER_CHARACTER = 0.5
_NAMED = {"\n": "Return", "\t": "Tab"}
_IDLE = SettleBounds(quiet=0.2, maximum=30.0)
_MAP_FILE = "/tmp/.typed-characters.xkb"


class Typist:
    """Remembers which keycode stands for which character in one guest."""

    def __init__(self, machine: Machine) -> None:
        """Type on `machine`; nothing is asked of it yet."""
        self._machine = machine
        self._map = ""
        self._names: dict[str, str] = {}
        """The names of the keys that may be used, by keycode."""
        self._codes: dict[str, str] = {}
        """The keycodes that are in use, by character."""

    def type(self, text: str) -> None:
        """Type `text` at the keyboard focus of the running guest.

        Raises:
            ActionError: the text holds something that is no character, or the guest cannot type.
            MachineError: the guest does not answer.
        """
        if odd := [char for char in text if not char.isprintable() and char not in _NAMED and not _is_format(char)]:
            raise ActionError(f"the text holds {odd[0]!r}, which cannot be typed")
        if not self._names:
            self._map = self._run(["xkbcomp", "-w0", ":0", "-"], 60)
            self._names = usable_keys(self._map)
        for chunk in self._chunks(text):
            self._give_codes(chunk)
            command = ["xdotool", "key", "--delay", str(_DELAY_MS)]
            self._run([*command, *(self._codes[char] for char in chunk)], 30 + len(chunk) * _SECONDS_PER_CHARACTER)

    def _chunks(self, text: str) -> Iterator[str]:
        """Split text into parts that have no more different characters than there are usable keys."""
        part, different = "", set[str]()
        for char in text:
            if len(different | {char}) > len(self._names) or len(part) >= _MAX_CHUNK:
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
        if len(self._codes) + len(new) > len(self._names):
            self._codes, new = {}, list(dict.fromkeys(chunk))
        free = [code for code in self._names if code not in self._codes.values()]
        self._codes |= dict(zip(new, free, strict=False))
        symbols = {self._names[code]: _keysym(char) for char, code in self._codes.items()}
        self._machine.shell.write_file(_MAP_FILE, with_symbols(self._map, symbols).encode(), user=DESKTOP_USER)
        settle(self._machine, _IDLE)
        self._run(["xkbcomp", "-w0", _MAP_FILE, ":0"], 60)
        # Programs hear of the new map before they see its first key; let them take it up.
        time.sleep(0.1)
        settle(self._machine, _IDLE)

    def _run(self, command: list[str], seconds: float) -> str:
        try:
            return self._machine.shell.run(command, user=DESKTOP_USER, timeout=seconds)
        except GuestCommandError as error:
            raise ActionError(f"the guest cannot type this text: {error}") from error


_KEY = re.compile(r"^[ \t]*key[ \t]*<([^>]+)>[ \t]*\{([^;]*)\};[ \t]*$", re.MULTILINE | re.DOTALL)


def usable_keys(keyboard_map: str) -> dict[str, str]:
    """Return the keys of an XKB map that have no symbol, or that of a media key: their names by keycode.

    Keycodes below 10 are left out, since xdotool would take them for digits.
    """
    codes = {name: code for name, code in re.findall(r"^\s*<([^>]+)>\s*=\s*(\d+);", keyboard_map, re.MULTILINE)}
    taken = {
        name for name, body in _KEY.findall(keyboard_map) if not body.rpartition("[")[2].strip().startswith("XF86")
    }
    return {code: name for name, code in codes.items() if name not in taken and int(code) >= 10}


def with_symbols(keyboard_map: str, symbols: dict[str, str]) -> str:
    """Return an XKB map in which the named keys have these symbols, whatever they had."""

    def replaced(match: re.Match[str]) -> str:
        return "" if match[1] in symbols else match[0]

    lines = "".join(f"    key <{name}> {{ [ {symbol} ] }};\n" for name, symbol in symbols.items())
    start = keyboard_map.index("{", keyboard_map.index("xkb_symbols")) + 1
    return keyboard_map[:start] + "\n" + lines + _KEY.sub(replaced, keyboard_map[start:])


def _is_format(char: str) -> bool:
    """Whether a character is invisible but means something in text: joiners, direction marks, variation selectors."""
    return char in "\u00a0\u00ad\u034f\u061c\u3000" or "\u200b" <= char <= "\u206f" or "\ufe00" <= char <= "\ufe0f"


def _keysym(char: str) -> str:
    return _NAMED.get(char) or f"U{ord(char):04X}"
