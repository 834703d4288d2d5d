"""The canonical actions: what a person can do at a desktop, one model class per kind.

Every vendor's grammar is translated into these, every provider plays these. Coordinates carry the space they are given
in (`CoordinateSpace`) and are converted in one place, `Action.to_pixels`. A point outside its space is refused with an
`ActionError` whose text is meant for the agent; nothing is clamped.
"""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from workflow_gym.errors import ActionError
from workflow_gym.keys import MODIFIERS, canonical_key, parse_chord

MAX_TEXT = 20_000
"""The longest text, in characters, that one `TypeText` takes."""


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


Button = Literal["left", "middle", "right", "back", "forward"]
BUTTONS: tuple[Button, ...] = ("left", "middle", "right", "back", "forward")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CoordinateSpace(_Frozen):
    """The space in which coordinates are stated: `width` × `height` units stretched over the whole screen.

    `width=None` and `height=None` mean the screen's own pixels. A 0–1000 grid is (1000, 1000); a screenshot that was
    scaled before a model saw it is that picture's size.
    """

    width: int | None = Field(default=None, gt=0)
    """Units across, or None for screen pixels."""
    height: int | None = Field(default=None, gt=0)
    """Units down, or None for screen pixels."""

    def to_pixel(self, x: float, y: float, screen: Size) -> tuple[int, int]:
        """Convert a point to screen pixels.

        Raises:
            ActionError: the point is not on the screen.
        """
        width, height = self.width or screen.width, self.height or screen.height
        if not (0 <= x <= width and 0 <= y <= height) or (self.width is None and (x >= width or y >= height)):
            raise ActionError(
                f"the point ({x:g}, {y:g}) is outside the screen, which is {width} × {height} in these coordinates"
            )
        pixel_x, pixel_y = int(x * screen.width / width), int(y * screen.height / height)
        return min(pixel_x, screen.width - 1), min(pixel_y, screen.height - 1)


PIXELS = CoordinateSpace()
GRID_1000 = CoordinateSpace(width=1000, height=1000)


class Point(_Frozen):
    """A place on the screen, in the coordinate space of the action that holds it."""

    x: float
    """Units from the left edge."""
    y: float
    """Units from the top edge."""

    def to_pixels(self, space: CoordinateSpace, screen: Size) -> Point:
        """Return this point in whole screen pixels; raises `ActionError` when it is off the screen."""
        x, y = space.to_pixel(self.x, self.y, screen)
        return Point(x=x, y=y)


class BaseAction(_Frozen):
    """What all actions share."""

    def to_pixels(self, screen: Size) -> Self:
        """Return this action with every coordinate in screen pixels.

        Raises:
            ActionError: a coordinate is not on the screen.
        """
        return self


class _Spatial(BaseAction):
    space: CoordinateSpace = PIXELS
    """The space of this action's coordinates."""


class _Held(_Spatial):
    modifiers: tuple[str, ...] = ()
    """Keys held during the action, in any vendor's spelling of ctrl, shift, alt or super."""

    @field_validator("modifiers")
    @classmethod
    def _known_modifiers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        keys = tuple(dict.fromkeys(canonical_key(name) for name in value))
        if odd := [key for key in keys if key.removesuffix("_r") not in MODIFIERS and key != "meta_r"]:
            raise ActionError(
                f"{', '.join(odd)} cannot be held during a pointer action; only ctrl, shift, alt, super can"
            )
        return keys


class _AtPoint(_Held):
    point: Point | None = None
    """Where, or None for where the pointer is."""

    def to_pixels(self, screen: Size) -> Self:
        """Return this action in screen pixels."""
        if self.point is None:
            return self
        return self.model_copy(update={"point": self.point.to_pixels(self.space, screen), "space": PIXELS})


class Click(_AtPoint):
    """Press and release a mouse button, once or several times in quick succession."""

    type: Literal["click"] = "click"
    button: Button = "left"
    """Which mouse button."""
    clicks: Literal[1, 2, 3] = 1
    """2 is a double click, 3 a triple click."""


class Move(_AtPoint):
    """Move the pointer."""

    type: Literal["move"] = "move"
    point: Point
    """Where to."""


class MouseDown(_AtPoint):
    """Press a mouse button and keep it down (until `MouseUp`)."""

    type: Literal["mouse_down"] = "mouse_down"
    button: Button = "left"
    """Which mouse button."""


class MouseUp(_AtPoint):
    """Release a mouse button."""

    type: Literal["mouse_up"] = "mouse_up"
    button: Button = "left"
    """Which mouse button."""


class Drag(_Held):
    """Press at the first point, move through all the others with intermediate motion, release at the last."""

    type: Literal["drag"] = "drag"
    path: tuple[Point, ...] = Field(min_length=2, max_length=1000)
    """The points, in order."""
    button: Button = "left"
    """Which mouse button."""

    def to_pixels(self, screen: Size) -> Self:
        """Return this action in screen pixels."""
        path = tuple(point.to_pixels(self.space, screen) for point in self.path)
        return self.model_copy(update={"path": path, "space": PIXELS})


class Scroll(_AtPoint):
    """Turn the mouse wheel."""

    type: Literal["scroll"] = "scroll"
    dx: int = Field(default=0, ge=-100, le=100)
    """Wheel clicks to the right (negative: left)."""
    dy: int = Field(default=0, ge=-100, le=100)
    """Wheel clicks down (negative: up)."""


class _Chord(BaseAction):
    keys: str
    """The keys pressed together, joined by "+", in any vendor's spelling."""

    @field_validator("keys")
    @classmethod
    def _known_keys(cls, value: str) -> str:
        parse_chord(value)
        return value

    @property
    def chord(self) -> tuple[str, ...]:
        """The canonical names of the keys, in the order of pressing."""
        return parse_chord(self.keys)


class Key(_Chord):
    """Press keys together, such as "ctrl+shift+s", and release them."""

    type: Literal["key"] = "key"
    repeat: int = Field(default=1, ge=1, le=100)
    """How many times."""


class HoldKey(_Chord):
    """Hold keys down together for a while."""

    type: Literal["hold_key"] = "hold_key"
    seconds: float = Field(default=1.0, gt=0, le=60)
    """How long."""


class TypeText(BaseAction):
    """Type text at the keyboard focus; newline and tab are the keys of that name."""

    type: Literal["type"] = "type"
    text: str = Field(min_length=1, max_length=MAX_TEXT)
    """The text, any Unicode but control characters, which no keyboard types."""

    @field_validator("text")
    @classmethod
    def _can_be_typed(cls, value: str) -> str:
        if odd := [char for char in value if unicodedata.category(char) == "Cc" and char not in "\n\r\t"]:
            raise ActionError(f"the control character {odd[0]!r} cannot be typed; press keys such as 'esc' instead")
        return value


class Wait(BaseAction):
    """Let the machine run for a while without touching it."""

    type: Literal["wait"] = "wait"
    seconds: float = Field(default=1.0, ge=0, le=120)
    """Guest seconds."""


class Screenshot(BaseAction):
    """Do nothing but look again."""

    type: Literal["screenshot"] = "screenshot"


class Zoom(_Spatial):
    """Look at a part of the screen, scaled to the size of the observation with its proportions kept."""

    type: Literal["zoom"] = "zoom"
    top_left: Point
    """One corner of the region."""
    bottom_right: Point
    """The opposite corner."""

    def to_pixels(self, screen: Size) -> Self:
        """Return this action in screen pixels."""
        corners = (self.top_left.to_pixels(self.space, screen), self.bottom_right.to_pixels(self.space, screen))
        if corners[1].x <= corners[0].x or corners[1].y <= corners[0].y:
            raise ActionError("the zoom region is empty: bottom_right must lie below and to the right of top_left")
        return self.model_copy(update={"top_left": corners[0], "bottom_right": corners[1], "space": PIXELS})


class Done(BaseAction):
    """Declare the task finished; ends the episode."""

    type: Literal["done"] = "done"
    answer: str = Field(default="", max_length=MAX_TEXT)
    """The answer, where the task asks for one."""


class GiveUp(BaseAction):
    """Declare the task infeasible; ends the episode."""

    type: Literal["give_up"] = "give_up"
    reason: str = Field(default="", max_length=MAX_TEXT)
    """Why."""


Action = (
    Click | Move | MouseDown | MouseUp | Drag | Scroll | Key | HoldKey | TypeText | Wait | Screenshot | Zoom
    | Done | GiveUp
)  # fmt: skip
ACTION_TYPES: tuple[str, ...] = (
    "click", "move", "mouse_down", "mouse_up", "drag", "scroll", "key", "hold_key", "type", "wait", "screenshot",
    "zoom", "done", "give_up",
)  # fmt: skip

_ADAPTER: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="type")])


def parse_action(data: object) -> Action:
    """Make an action of a mapping such as {"type": "click", "point": {"x": 10, "y": 20}}.

    Raises:
        ActionError: it is no valid action; the message says which field and why.
    """
    try:
        return _ADAPTER.validate_python(data)
    except ValidationError as error:
        raise ActionError("; ".join(_explain(problem) for problem in error.errors()[:3])) from None


def _explain(problem: object) -> str:
    assert isinstance(problem, dict)
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place or 'action'}: {problem['msg']}"


def click(x: float, y: float, button: Button = "left", clicks: Literal[1, 2, 3] = 1) -> Click:
    """Return a click at (x, y) in screen pixels."""
    return Click(point=Point(x=x, y=y), button=button, clicks=clicks)
