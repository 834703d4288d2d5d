"""Input events: the few primitive things that a keyboard and a mouse can report, and pauses between them."""

from __future__ import annotations

from dataclasses import dataclass

from workflow_gym.actions import Button


@dataclass(frozen=True)
class PointerMoved:
    """The pointer is now at this pixel."""

    x: int
    y: int


@dataclass(frozen=True)
class ButtonChanged:
    """A mouse button went down or up."""

    button: Button
    down: bool


@dataclass(frozen=True)
class WheelTurned:
    """The wheel moved by one click: dx is -1, 0 or 1 (right), dy is -1, 0 or 1 (down)."""

    dx: int
    dy: int


@dataclass(frozen=True)
class KeyChanged:
    """A key (canonical name, see `workflow_gym.keys`) went down or up."""

    key: str
    down: bool


@dataclass(frozen=True)
class TextEntered:
    """Text that the keyboard map cannot type arrives at the keyboard focus by the guest's own means."""

    text: str


@dataclass(frozen=True)
class Elapsed:
    """The guest runs for this many seconds."""

    seconds: float


InputEvent = PointerMoved | ButtonChanged | WheelTurned | KeyChanged | TextEntered | Elapsed
