"""What to draw on a screenshot for an action, and how to call the action in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from workflow_gym.actions import (
    PIXELS,
    Action,
    Click,
    Done,
    Drag,
    GiveUp,
    HoldKey,
    Key,
    MouseDown,
    MouseUp,
    Move,
    Point,
    Screenshot,
    Scroll,
    Size,
    TypeText,
    Wait,
    Zoom,
)
from workflow_gym.errors import ActionError
from workflow_gym.keys import parse_chord

Pixel = tuple[float, float]

_SHORT = 70
"""How many characters of a text fit into a headline or a chip."""
_KEY_NAMES = {
    "ctrl_r": "Right Ctrl", "shift_r": "Right Shift", "alt_r": "AltGr", "meta_l": "Super", "meta_r": "Right Super",
    "ret": "Enter", "kp_enter": "Keypad Enter", "spc": "Space", "pgup": "Page Up", "pgdn": "Page Down",
    "minus": "-", "equal": "=", "bracket_left": "[", "bracket_right": "]", "backslash": "\\", "semicolon": ";",
    "apostrophe": "'", "grave_accent": "`", "comma": ",", "dot": ".", "slash": "/",
}  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """A shape to draw over a screenshot, in screen pixels."""

    shape: Literal["click", "move", "press", "release", "drag", "scroll", "zoom"]
    """What is drawn."""
    points: tuple[Pixel, ...]
    """Where: one point, the points of a drag, or two corners of a zoom."""
    count: int = 1
    """How many rings a click has."""
    direction: tuple[int, int] = (0, 0)
    """Where a scroll goes, in wheel clicks to the right and down."""


def mark_for(action: Action, screen: Size, pointer: Pixel | None) -> Mark | None:
    """Return what to draw for an action, or None when it has no place on the screen.

    Args:
        action: the action, in any coordinate space.
        screen: the size of the screen.
        pointer: where the pointer is, as far as is known.
    """
    try:
        action = action.to_pixels(screen)
    except ActionError:
        return None
    match action:
        case Drag():
            return Mark("drag", tuple((point.x, point.y) for point in action.path))
        case Zoom(top_left=one, bottom_right=other):
            return Mark("zoom", ((one.x, one.y), (other.x, other.y)))
        case Click() | Move() | MouseDown() | MouseUp() | Scroll():
            place = (action.point.x, action.point.y) if action.point else pointer
            return _pointer_mark(action, place, screen)
        case _:
            return None


def _pointer_mark(
    action: Click | Move | MouseDown | MouseUp | Scroll, place: Pixel | None, screen: Size
) -> Mark | None:
    if isinstance(action, Scroll):
        # A wheel turns somewhere even when nobody knows where; the arrow then says how, from the middle.
        place = place or (screen.width / 2, screen.height / 2)
        return Mark("scroll", (place,), direction=(action.dx, action.dy))
    if place is None:
        return None
    match action:
        case Click():
            return Mark("click", (place,), count=action.clicks)
        case Move():
            return Mark("move", (place,))
        case MouseDown():
            return Mark("press", (place,))
        case MouseUp():
            return Mark("release", (place,))


def pointer_after(action: Action, screen: Size, pointer: Pixel | None) -> Pixel | None:
    """Return where the pointer is after an action that was carried out."""
    try:
        action = action.to_pixels(screen)
    except ActionError:
        return pointer
    match action:
        case Drag():
            return (action.path[-1].x, action.path[-1].y)
        case Click() | Move() | MouseDown() | MouseUp() | Scroll() if action.point is not None:
            return (action.point.x, action.point.y)
        case _:
            return pointer


def headline(action: Action, screen: Size) -> str:
    """Return the action in one short line, with places in screen pixels."""
    match action:
        case Move():
            return f"{_gesture(action)} to {_place(action, action.point, screen)}"
        case Click() | MouseDown() | MouseUp() | Scroll():
            return f"{_gesture(action)} at {_place(action, action.point, screen)}"
        case Drag():
            start, end = _place(action, action.path[0], screen), _place(action, action.path[-1], screen)
            bends = len(action.path) - 2
            through = f" through {bends} point{'s' if bends > 1 else ''}" if bends else ""
            return f"{_gesture(action)} from {start} to {end}{through}"
        case Key():
            return f"Press {chord(action.keys)}" + (f" × {action.repeat}" if action.repeat > 1 else "")
        case HoldKey():
            return f"Hold {chord(action.keys)} for {action.seconds:g} s"
        case TypeText():
            return f"Type “{shorten(action.text)}”"
        case Wait():
            return f"Wait {action.seconds:g} s"
        case Screenshot():
            return "Look again"
        case Zoom():
            start, end = _place(action, action.top_left, screen), _place(action, action.bottom_right, screen)
            return f"Zoom into {start} to {end}"
        case Done():
            return "Done"
        case GiveUp():
            return "Give up"
    assert_never(action)


def chip(action: Action) -> str:
    """Return what the screenshot alone cannot show (keys, text, a special gesture), or "" when the mark says it all."""
    match action:
        case Click(button="left", clicks=1, modifiers=()) | Drag(button="left", modifiers=()) | Move() | Screenshot():
            return ""
        case Click() | MouseDown() | MouseUp() | Drag() | Scroll():
            return _gesture(action)
        case Key():
            return chord(action.keys) + (f" × {action.repeat}" if action.repeat > 1 else "")
        case HoldKey():
            return f"{chord(action.keys)} for {action.seconds:g} s"
        case TypeText():
            return shorten(action.text)
        case Wait():
            return f"Wait {action.seconds:g} s"
        case Zoom():
            return "Zoom"
        case Done():
            return f"Done: {shorten(action.answer)}" if action.answer else "Done"
        case GiveUp():
            return f"Give up: {shorten(action.reason)}" if action.reason else "Give up"
    assert_never(action)


def long_text(action: Action) -> str:
    """Return the text that an action carries, or "" when there is none or the headline holds all of it."""
    match action:
        case TypeText():
            return action.text if shorten(action.text) != action.text else ""
        case Done():
            return action.answer
        case GiveUp():
            return action.reason
        case _:
            return ""


def stated(action: Action) -> str:
    """Return the coordinates as the agent stated them, or "" when they were screen pixels or there are none."""
    match action:
        case Click() | Move() | MouseDown() | MouseUp() | Scroll():
            points: Sequence[Point] = (action.point,) if action.point else ()
        case Drag():
            points = (action.path[0], action.path[-1])
        case Zoom():
            points = (action.top_left, action.bottom_right)
        case _:
            return ""
    if not points or action.space == PIXELS:
        return ""
    places = " to ".join(f"({point.x:g}, {point.y:g})" for point in points)
    return f"{places} of {action.space.width or 'screen'} × {action.space.height or 'screen'}"


def chord(keys: str) -> str:
    """Return a chord as people write it, such as "Ctrl + Shift + S"."""
    return " + ".join(_key_name(key) for key in parse_chord(keys))


def shorten(text: str) -> str:
    """Return a text in one line that fits a headline, with line ends and tabs made visible."""
    line = text[: _SHORT + 1].replace("\r\n", "↵").replace("\n", "↵").replace("\t", "⇥")
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def _key_name(key: str) -> str:
    name = _KEY_NAMES.get(key)
    return name or key.replace("kp_", "Keypad ").replace("_", " ").title()


def _gesture(action: Click | MouseDown | MouseUp | Move | Drag | Scroll) -> str:
    """Return what the hand does, without the place: "Ctrl + double-click", "Right-click", "Scroll down 5"."""
    match action:
        case Click():
            times = {1: "click", 2: "double-click", 3: "triple-click"}[action.clicks]
            words = times if action.button == "left" else f"{action.button}-{times}"
        case MouseDown():
            words = f"press the {action.button} button"
        case MouseUp():
            words = f"release the {action.button} button"
        case Move():
            words = "move"
        case Drag():
            words = "drag" if action.button == "left" else f"{action.button}-drag"
        case Scroll():
            words = _wheel(action)
    held = " + ".join(_key_name(key) for key in action.modifiers)
    return f"{held} + {words}" if held else words[0].upper() + words[1:]


def _wheel(action: Scroll) -> str:
    ways = []
    if action.dy:
        ways.append(f"{'down' if action.dy > 0 else 'up'} {abs(action.dy)}")
    if action.dx:
        ways.append(f"{'right' if action.dx > 0 else 'left'} {abs(action.dx)}")
    return "scroll " + (" and ".join(ways) or "by nothing")


def _place(action: Click | MouseDown | MouseUp | Move | Drag | Scroll | Zoom, point: Point | None, screen: Size) -> str:
    if point is None:
        return "the pointer"
    try:
        pixel = point.to_pixels(action.space, screen)
    except ActionError:
        return f"({point.x:g}, {point.y:g}) off the screen"
    return f"({pixel.x:g}, {pixel.y:g})"
