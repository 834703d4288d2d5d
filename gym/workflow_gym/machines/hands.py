"""Turns an action into input events with the pacing of a quick human. One place for all providers."""

from __future__ import annotations

from collections.abc import Iterator
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
_KEY_DOWN = 0.015
_KEY_GAP = 0.015
_BUTTON_DOWN = 0.05
_BUTTON_GAP = 0.05
_BEFORE_PRESS = 0.05
_DRAG_STEP = 0.02
_DRAG_STEP_PIXELS = 25
_WHEEL_GAP = 0.03


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
            return [event for _ in range(action.repeat) for event in _chord(action.chord, _KEY_DOWN)]
        case HoldKey():
            return list(_chord(action.chord, action.seconds))
        case TypeText():
            return list(_text(action.text))
        case Wait():
            return [Elapsed(action.seconds)]
        case _:
            return []


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


def _chord(keys: tuple[str, ...], seconds: float) -> Iterator[InputEvent]:
    for key in keys:
        yield KeyChanged(key, True)
    yield Elapsed(seconds)
    for key in reversed(keys):
        yield KeyChanged(key, False)
    yield Elapsed(_KEY_GAP)


def _text(text: str) -> Iterator[InputEvent]:
    foreign = ""
    for char in text.replace("\r\n", "\n").replace("\r", "\n"):
        keys = keys_for_character(char)
        if not keys:
            foreign += char
            continue
        if foreign:
            yield TextEntered(foreign)
            foreign = ""
        yield from _chord(keys, _KEY_DOWN)
    if foreign:
        yield TextEntered(foreign)
