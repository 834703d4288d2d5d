"""Turns an action into input events with the pacing of a quick human. One place for all providers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

from workflow_gym.actions import (
    Action,
    Click,
    Drag,
    HoldKey,
    Key,
    MouseDown,
    MouseUp,
    Move,
    Point,
    Scroll,
    TypeText,
    Wait,
)
from workflow_gym.keys import keys_for_character
from workflow_gym.machines.base import Frame, Machine
from workflow_gym.machines.events import (
    ButtonChanged,
    Elapsed,
    InputEvent,
    KeyChanged,
    PointerMoved,
    TextEntered,
    WheelTurned,
)

# Seconds. Toolkits take two clicks for a double click within 0.4 to 0.5 s, and drop a drag that has no motion.
# A key goes down and up without a pause, so that providers hand both to the guest at once: whatever holds us up then,
# the guest never sees a key held, and repeats none.
_KEY_GAP = 0.012
_BUTTON_DOWN = 0.05
_BUTTON_GAP = 0.05
_BEFORE_PRESS = 0.05
_DRAG_STEP = 0.02
_DRAG_STEP_PIXELS = 25
_WHEEL_GAP = 0.03
_LOOK_EVERY = 0.1


def events_for(action: Action) -> list[InputEvent]:
    """Return the input events that carry out `action`, whose coordinates must be in pixels (`Action.to_pixels`).

    Actions that only look, wait or end the episode give no events but `Elapsed`.
    """
    match action:
        case Click():
            return [*_press(action.modifiers), *_at(action.point), *_clicks(action), *_release(action.modifiers)]
        case Move():
            return [*_press(action.modifiers), *_at(action.point), *_release(action.modifiers)]
        case MouseDown() | MouseUp():
            change = ButtonChanged(action.button, isinstance(action, MouseDown))
            return [*_press(action.modifiers), *_at(action.point), change, *_release(action.modifiers)]
        case Drag():
            return [*_press(action.modifiers), *_drag(action), *_release(action.modifiers)]
        case Scroll():
            return [*_press(action.modifiers), *_at(action.point), *_wheel(action), *_release(action.modifiers)]
        case Key():
            return [event for _ in range(action.repeat) for event in _chord(action.chord)]
        case HoldKey():
            return list(_chord(action.chord, action.seconds))
        case TypeText():
            return list(_text(action.text))
        case Wait():
            return [Elapsed(action.seconds)]
        case _:
            return []


def play(machine: Machine, events: list[InputEvent], watch: Callable[[Frame], None] | None = None) -> None:
    """Send events to a running machine; `watch` is shown the screen about ten times a second meanwhile.

    Raises:
        MachineError: the machine broke.
    """
    if watch is None:
        machine.send(events)
        return
    looked = time.monotonic()
    for part in _moments(events):
        machine.send(part)
        if time.monotonic() - looked >= _LOOK_EVERY:
            watch(machine.screenshot())
            looked = time.monotonic()


def _moments(events: list[InputEvent]) -> Iterator[list[InputEvent]]:
    """Split events into parts that each end where time passes, so that one can look in between."""
    part: list[InputEvent] = []
    for event in events:
        part.append(event)
        if isinstance(event, Elapsed):
            yield part
            part = []
    if part:
        yield part


def _press(keys: tuple[str, ...]) -> list[InputEvent]:
    return [event for key in keys for event in (KeyChanged(key, True), Elapsed(_KEY_GAP))]


def _release(keys: tuple[str, ...]) -> list[InputEvent]:
    return [event for key in reversed(keys) for event in (KeyChanged(key, False), Elapsed(_KEY_GAP))]


def _at(point: Point | None) -> list[InputEvent]:
    return [] if point is None else [PointerMoved(int(point.x), int(point.y)), Elapsed(_BEFORE_PRESS)]


def _clicks(action: Click) -> Iterator[InputEvent]:
    for _ in range(action.clicks):
        yield ButtonChanged(action.button, True)
        yield Elapsed(_BUTTON_DOWN)
        yield ButtonChanged(action.button, False)
        yield Elapsed(_BUTTON_GAP)


def _drag(action: Drag) -> Iterator[InputEvent]:
    yield from _at(action.path[0])
    yield ButtonChanged(action.button, True)
    yield Elapsed(2 * _BUTTON_DOWN)
    for start, end in pairwise(action.path):
        steps = max(4, int(max(abs(end.x - start.x), abs(end.y - start.y)) / _DRAG_STEP_PIXELS))
        for step in range(1, steps + 1):
            share = step / steps
            x, y = start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share
            yield PointerMoved(round(x), round(y))
            yield Elapsed(_DRAG_STEP)
    yield Elapsed(2 * _BUTTON_DOWN)
    yield ButtonChanged(action.button, False)


def _wheel(action: Scroll) -> Iterator[InputEvent]:
    for amount, across in ((action.dx, True), (action.dy, False)):
        sign = 1 if amount > 0 else -1
        for _ in range(abs(amount)):
            yield WheelTurned(sign, 0) if across else WheelTurned(0, sign)
            yield Elapsed(_WHEEL_GAP)


def _chord(keys: tuple[str, ...], held_seconds: float = 0.0) -> Iterator[InputEvent]:
    for key in keys:
        yield KeyChanged(key, True)
    if held_seconds:
        yield Elapsed(held_seconds)
    for key in reversed(keys):
        yield KeyChanged(key, False)
    yield Elapsed(_KEY_GAP)


def _text(text: str) -> Iterator[InputEvent]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    keys = [keys_for_character(char) for char in text]
    if not all(keys):
        # One way for the whole text: characters that came in two ways could overtake each other.
        yield TextEntered(text)
        return
    for chord in keys:
        yield from _chord(chord)
