"""The input-fidelity suite: what is done arrives, nothing lost and nothing changed. Runs against any provider.

A small program in the guest (image `self-check`) logs what it receives: characters, clicks with their count and
modifiers, motion, wheel clicks, keys. Each check plays actions in a fresh machine and compares the log with them.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from workflow_gym.actions import Action, Button, Click, Drag, HoldKey, Key, Move, Point, Scroll, TypeText
from workflow_gym.errors import WorkflowGymError
from workflow_gym.keys import KEYS, MODIFIERS
from workflow_gym.machines.base import Machine, Provider
from workflow_gym.machines.hands import events_for, play
from workflow_gym.machines.settle import SettleBounds, settle

IMAGE = "self-check"
_LOG, _TEXT = "/home/user/input.log", "/home/user/text.txt"
_TEXT_PLACE, _AREA_PLACE = Point(x=400, y=100), Point(x=640, y=560)
_PATIENT = SettleBounds(quiet=0.4, maximum=60.0)

TEXTS: dict[str, str] = {
    "printable ASCII": string.ascii_letters + string.digits + string.punctuation + " ",
    "Latin-1": "".join(map(chr, [*range(0xA1, 0xAD), *range(0xAE, 0x100)])),
    "Latin with accents": "Příliš žluťoučký kůň — Łódź, Ægir, ŵŷ; ½ × 3 ≠ 1,5 € “déjà vu” ß",
    "Cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю. Їжак, Ґанок",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία ΑΒΓΔ",
    "Chinese, Japanese, Korean": "你好，世界。工作流程評估。東京特許許可局ひらがなカタカナ 안녕하세요 세계",
    "emoji": "a😀b🎉c👩‍🔬d🇨🇭e❤️",
    "right to left": "שלום עולם مرحبا بالعالم",
    "combining marks": "é ñ Tiếng Việt",
    "tabs and newlines": "one\ttwo\n\tthree\n\nfour\n",
}
"""What is typed, by what it stands for."""

_WORDS = "The ledger for January shows 48 entries, of which 3 are disputed (see #17); total: 12,345.67 CHF. "
LONG_TEXT = "".join(f"{line:03}\t{_WORDS}\n" for line in range(60))[:5000]
"""5,000 characters of ordinary text."""

_BUTTON_NUMBERS: dict[Button, int] = {"left": 1, "middle": 2, "right": 3, "back": 8, "forward": 9}


@dataclass(frozen=True)
class CheckResult:
    """What one check found."""

    name: str
    """What was checked."""
    passed: bool
    """Whether all arrived as it was sent."""
    detail: str
    """Numbers, or what went wrong."""


def run_self_check(provider: Provider, names: Collection[str] | None = None) -> Iterator[CheckResult]:
    """Run checks against a provider, each in a fresh machine, yielding results as they come.

    A machine that breaks fails its check; the others go on.

    Args:
        provider: what to check.
        names: which of `check_names()`; by default all.

    Raises:
        MachineError: the self-check image cannot be had at all.
    """
    template = provider.image_template(IMAGE)
    for name, check in _checks():
        if names is not None and name not in names:
            continue
        try:
            with provider.fork(template) as machine:
                detail = check(machine)
        except _Mismatch as mismatch:
            yield CheckResult(name, False, str(mismatch))
        except WorkflowGymError as error:
            yield CheckResult(name, False, f"{type(error).__name__}: {error}")
        else:
            yield CheckResult(name, True, detail)


def check_names() -> list[str]:
    """Return the names of all checks, in order."""
    return [name for name, _ in _checks()]


Check = Callable[[Machine], str]


class _Mismatch(Exception):
    """Raised when something arrived otherwise than it was sent."""


def _checks() -> Iterator[tuple[str, Check]]:
    for name, text in TEXTS.items():
        yield f"typing: {name}", _types(text)
    yield "typing: 5,000 characters", _types(LONG_TEXT)
    yield "100 double clicks", _multiple_clicks(2, 100)
    yield "100 triple clicks", _multiple_clicks(3, 100)
    yield "every button", _every_button
    yield "clicks with held modifiers", _held_modifiers
    yield "drags along paths", _drags
    yield "pointer positions", _positions
    yield "wheel clicks", _wheel
    yield "the whole key table", _key_table
    yield "a held key", _held_key


def perform(machine: Machine, action: Action) -> None:
    """Carry out one action on a running machine and wait until it has settled."""
    play(machine, events_for(action.to_pixels(machine.screen)))
    settle(machine, _PATIENT)


def _log(machine: Machine) -> list[dict[str, Any]]:
    content = machine.shell.read_file(_LOG, limit=64 << 20).decode()
    return [json.loads(line) for line in content.splitlines()]


def _types(text: str) -> Check:
    def check(machine: Machine) -> str:
        with machine.running():
            perform(machine, Click(point=_TEXT_PLACE))
            perform(machine, TypeText(text=text))
            found = machine.shell.read_file(_TEXT, limit=1 << 20).decode()
        if found != text:
            place = next((i for i, pair in enumerate(zip(found, text, strict=False)) if pair[0] != pair[1]), len(found))
            raise _Mismatch(
                f"{len(text)} characters sent, {len(found)} arrived; first difference at {place}: "
                f"sent {text[place : place + 12]!r}, arrived {found[place : place + 12]!r}"
            )
        return f"{len(text)} characters, none lost, none changed"

    return check


def _multiple_clicks(count: int, times: int) -> Check:
    kind = {2: "double", 3: "triple"}[count]

    def check(machine: Machine) -> str:
        with machine.running():
            for number in range(times):
                # Places apart, and a pause, so that one gesture is not taken for the end of the last.
                point = Point(x=100 + 40 * (number % 25), y=400 + 60 * (number // 25 % 5))
                perform(machine, Click(point=point, clicks=count))
            log = _log(machine)
        seen = sum(entry["kind"] == kind for entry in log)
        presses = sum(entry["kind"] == "press" for entry in log)
        if (seen, presses) != (times, times * count):
            raise _Mismatch(f"{seen} of {times} seen as {kind} clicks; {presses} of {times * count} presses arrived")
        return f"{seen} of {times}"

    return check


def _every_button(machine: Machine) -> str:
    with machine.running():
        for button in _BUTTON_NUMBERS:
            perform(machine, Click(point=_AREA_PLACE, button=button))
        log = _log(machine)
    for kind in ("press", "release"):
        found = [entry["button"] for entry in log if entry["kind"] == kind]
        if found != list(_BUTTON_NUMBERS.values()):
            raise _Mismatch(f"{kind}: buttons {found} arrived, {list(_BUTTON_NUMBERS.values())} were sent")
    return ", ".join(_BUTTON_NUMBERS)


def _held_modifiers(machine: Machine) -> str:
    sent = [(), *((name,) for name in MODIFIERS if name != "alt"), ("ctrl", "shift")]
    with machine.running():
        for held in sent:
            perform(machine, Click(point=_AREA_PLACE, modifiers=held))
        perform(machine, Click(point=_AREA_PLACE))
        log = _log(machine)
    found = [set(entry["held"]) for entry in log if entry["kind"] == "press"]
    if found != [*(set(held) for held in sent), set()]:
        raise _Mismatch(f"sent {sent}, arrived {found}")
    return f"{len(found)} clicks, each with just its modifiers"


def _drags(machine: Machine) -> str:
    paths = (
        [(200, 400), (900, 620)],
        [(300, 350), (301, 351)],
        [(150, 700), (500, 400), (800, 700), (1100, 400), (1101, 700)],
        [(1200, 780), (20, 300)],
    )
    moves = 0
    for path in paths:
        with machine.running():
            start = len(_log(machine))
            perform(machine, Drag(path=tuple(Point(x=x, y=y) for x, y in path)))
            log = _log(machine)[start:]
        press = next(index for index, entry in enumerate(log) if entry["kind"] == "press")
        release = next(index for index, entry in enumerate(log) if entry["kind"] == "release")
        ends = [(log[index]["x"], log[index]["y"]) for index in (press, release)]
        if ends != [path[0], path[-1]]:
            raise _Mismatch(f"a drag from {path[0]} to {path[-1]} arrived as {ends}")
        passed = iter([(entry["x"], entry["y"]) for entry in log[press:release] if entry["kind"] == "motion"])
        if missed := [point for point in path[1:] if point not in passed]:
            raise _Mismatch(f"a drag along {path} did not pass {missed} in order")
        moves += sum(entry["kind"] == "motion" for entry in log[press:release])
    return f"{len(paths)} paths, every point passed in order, {moves} motions between press and release"


def _positions(machine: Machine) -> str:
    points = [(x, y) for x in range(7, 1280, 97) for y in range(300, 790, 61)]
    with machine.running():
        start = len(_log(machine))
        for x, y in points:
            play(machine, events_for(Move(point=Point(x=x, y=y))))
        settle(machine, _PATIENT)
        log = _log(machine)[start:]
    seen = {(entry["x"], entry["y"]) for entry in log if entry["kind"] == "motion"}
    if missed := [point for point in points if point not in seen]:
        raise _Mismatch(f"{len(missed)} of {len(points)} places were not met to the pixel, such as {missed[:3]}")
    return f"{len(points)} places, each met to the pixel"


def _wheel(machine: Machine) -> str:
    for dx, dy in ((0, 5), (0, -3), (2, 0), (-4, 0), (3, -2), (0, 30)):
        with machine.running():
            start = len(_log(machine))
            perform(machine, Scroll(point=_AREA_PLACE, dx=dx, dy=dy))
            log = [entry for entry in _log(machine)[start:] if entry["kind"] == "scroll"]
        found = (sum(entry["dx"] for entry in log), sum(entry["dy"] for entry in log))
        if found != (dx, dy) or len(log) != abs(dx) + abs(dy):
            raise _Mismatch(f"sent {(dx, dy)}, arrived {found} in {len(log)} clicks")
    return "both axes exact"


def _key_table(machine: Machine) -> str:
    wrong = []
    codes: dict[int, str] = {}
    with machine.running():
        perform(machine, Click(point=_AREA_PLACE))
        for key in KEYS:
            start = len(_log(machine))
            for _ in range(2):  # Twice, so that locks are off again.
                play(machine, events_for(Key(keys=key)))
            settle(machine)
            log = [entry for entry in _log(machine)[start:] if entry["kind"].startswith("key_")]
            kinds = [entry["kind"] for entry in log]
            found = {entry["code"] for entry in log}
            if kinds != ["key_press", "key_release"] * 2 or len(found) != 1:
                wrong.append(f"{key}: {kinds} {found}")
            elif (other := codes.setdefault(found.pop(), key)) != key:
                wrong.append(f"{key} arrives as {other}")
    if wrong:
        raise _Mismatch("; ".join(wrong))
    return f"{len(KEYS)} keys, each another, each pressed and released once"


def _held_key(machine: Machine) -> str:
    with machine.running():
        perform(machine, Click(point=_AREA_PLACE))
        start = len(_log(machine))
        perform(machine, HoldKey(keys="shift+f5", seconds=1.0))
        log = [entry for entry in _log(machine)[start:] if entry["kind"].startswith("key_") and entry["key"] == "F5"]
    if not log or log[-1]["kind"] != "key_release":
        raise _Mismatch(f"the key was not released: {log}")
    held = (log[-1]["time"] - log[0]["time"]) / 1000
    if not 0.9 <= held <= 2.0 or log[0]["held"] != ["shift"]:
        raise _Mismatch(f"held for {held:.2f} s with {log[0]['held']}, and should be 1 s with shift")
    return f"held for {held:.2f} s"
