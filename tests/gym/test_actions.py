"""Coordinates are never off the screen and never clamped; whatever comes in is an action or an `ActionError`."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from workflow_gym.actions import (
    ACTION_TYPES,
    GRID_1000,
    MAX_TEXT,
    PIXELS,
    Action,
    Click,
    CoordinateSpace,
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
    click,
    parse_action,
)
from workflow_gym.errors import ActionError

SCREEN = Size(1280, 800)
_AT = Point(x=10, y=20)
EXAMPLES: list[Action] = [
    Click(point=_AT, button="right", clicks=3, modifiers=("ctrl", "shift")),
    Click(),
    Move(point=_AT),
    MouseDown(point=_AT, button="middle"),
    MouseUp(),
    Drag(path=(_AT, Point(x=500, y=600), Point(x=0, y=0)), modifiers=("alt",)),
    Scroll(point=_AT, dx=-3, dy=100),
    Key(keys="ctrl+shift+s", repeat=2),
    HoldKey(keys="shift+right", seconds=0.5),
    TypeText(text="Grüße, 世界 🎉\n\t"),
    Wait(seconds=120),
    Screenshot(),
    Zoom(top_left=Point(x=1, y=2), bottom_right=Point(x=3, y=4)),
    Done(answer="42"),
    GiveUp(reason="no such file"),
]

sizes = st.builds(Size, st.integers(1, 8000), st.integers(1, 8000))
spaces = st.one_of(
    st.just(PIXELS),
    st.just(GRID_1000),
    st.builds(CoordinateSpace, width=st.integers(1, 5000), height=st.integers(1, 5000)),
)
any_float = st.floats(allow_nan=True, allow_infinity=True)
shares = st.floats(0, 1, exclude_max=True)


@given(any_float | st.floats(-10, 9000), any_float | st.floats(-10, 9000), spaces, sizes)
def test_a_point_is_either_on_the_screen_or_refused(x: float, y: float, space: CoordinateSpace, screen: Size) -> None:
    width, height = space.width or screen.width, space.height or screen.height
    outside = math.isnan(x) or math.isnan(y) or x < 0 or y < 0 or x > width or y > height
    try:
        pixel_x, pixel_y = space.to_pixel(x, y, screen)
    except ActionError as error:
        assert outside or (space == PIXELS and (x == width or y == height)), "a point on the screen was refused"
        assert f"{width} × {height}" in str(error)
    else:
        assert not outside, "a point off the screen was taken"
        assert 0 <= pixel_x < screen.width and 0 <= pixel_y < screen.height
        assert isinstance(pixel_x, int) and isinstance(pixel_y, int)


@given(shares, shares, spaces, sizes)
def test_a_point_lands_in_the_pixel_that_covers_it(
    across: float, down: float, space: CoordinateSpace, screen: Size
) -> None:
    x, y = across * (space.width or screen.width), down * (space.height or screen.height)
    pixel_x, pixel_y = space.to_pixel(x, y, screen)
    assert abs(pixel_x + 0.5 - across * screen.width) <= 0.5 + 1e-6
    assert abs(pixel_y + 0.5 - down * screen.height) <= 0.5 + 1e-6


@given(st.integers(0, 1279), st.integers(0, 799))
def test_screen_pixels_are_taken_as_they_are(x: int, y: int) -> None:
    assert PIXELS.to_pixel(x, y, SCREEN) == (x, y)


@pytest.mark.parametrize(
    ("x", "y"), [(1280, 0), (0, 800), (-1, 0), (0, -0.001), (1e308, 0), (math.inf, 0), (math.nan, 5), (5, math.nan)]
)
def test_pixels_outside_are_refused_not_clamped(x: float, y: float) -> None:
    with pytest.raises(ActionError, match="outside the screen"):
        PIXELS.to_pixel(x, y, SCREEN)


def test_the_far_corner_of_a_grid_is_the_last_pixel() -> None:
    assert GRID_1000.to_pixel(1000, 1000, SCREEN) == (1279, 799)
    assert GRID_1000.to_pixel(0, 0, SCREEN) == (0, 0)
    assert GRID_1000.to_pixel(500, 500, SCREEN) == (640, 400)
    with pytest.raises(ActionError):
        GRID_1000.to_pixel(1000.01, 0, SCREEN)


def test_the_examples_show_every_kind_of_action() -> None:
    assert {example.type for example in EXAMPLES} == set(ACTION_TYPES)
    assert {kind.__name__ for kind in get_args(Action)} == {type(example).__name__ for example in EXAMPLES}
    assert len(ACTION_TYPES) == len(set(ACTION_TYPES)) == len(get_args(Action))


@pytest.mark.parametrize("action", EXAMPLES, ids=lambda action: action.type)
def test_an_action_survives_json(action: Action) -> None:
    assert parse_action(json.loads(action.model_dump_json())) == action
    assert parse_action(action.model_dump()) == action


@pytest.mark.parametrize("action", EXAMPLES, ids=lambda action: action.type)
def test_an_action_is_frozen_and_unknown_fields_are_refused(action: Action) -> None:
    field = "type"
    with pytest.raises(ValidationError):
        setattr(action, field, "click")
    with pytest.raises(ActionError, match="no_such_field"):
        parse_action(action.model_dump() | {"no_such_field": 1})


@pytest.mark.parametrize("action", EXAMPLES, ids=lambda action: action.type)
def test_pixels_of_an_action_in_pixels_are_the_same(action: Action) -> None:
    assert action.to_pixels(SCREEN) == action


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "click", "point": {"x": 500, "y": 500}},
        {"type": "move", "point": {"x": 500, "y": 500}},
        {"type": "mouse_down", "point": {"x": 500, "y": 500}},
        {"type": "mouse_up", "point": {"x": 500, "y": 500}},
        {"type": "scroll", "point": {"x": 500, "y": 500}, "dy": 1},
    ],
    ids=lambda fields: str(fields["type"]),
)
def test_every_pointer_action_is_converted_once(fields: dict[str, Any]) -> None:
    action = parse_action(fields | {"space": {"width": 1000, "height": 1000}}).to_pixels(SCREEN)
    data = action.model_dump()
    assert data["point"] == {"x": 640, "y": 400}
    assert action.to_pixels(SCREEN) == action


def test_drag_and_zoom_are_converted_at_every_point() -> None:
    path = (Point(x=0, y=0), Point(x=500, y=500), Point(x=1000, y=1000))
    drag = Drag(path=path, space=GRID_1000).to_pixels(SCREEN)
    assert drag.path == (Point(x=0, y=0), Point(x=640, y=400), Point(x=1279, y=799))
    assert drag.space == PIXELS
    zoom = Zoom(top_left=path[0], bottom_right=path[1], space=GRID_1000).to_pixels(SCREEN)
    assert (zoom.top_left, zoom.bottom_right, zoom.space) == (path[0], Point(x=640, y=400), PIXELS)


@pytest.mark.parametrize("where", [0, 1, 2])
def test_one_bad_point_refuses_the_whole_drag(where: int) -> None:
    path = [Point(x=1, y=1), Point(x=2, y=2), Point(x=3, y=3)]
    path[where] = Point(x=1280, y=1)
    with pytest.raises(ActionError, match="outside the screen"):
        Drag(path=tuple(path)).to_pixels(SCREEN)


@pytest.mark.parametrize("corner", [(5, 5), (4, 9), (9, 4), (5, 9)])
def test_an_empty_zoom_is_refused(corner: tuple[int, int]) -> None:
    zoom = Zoom(top_left=Point(x=5, y=5), bottom_right=Point(x=corner[0], y=corner[1]))
    with pytest.raises(ActionError, match="zoom region is empty"):
        zoom.to_pixels(SCREEN)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (None, "action"),
        ([], "action"),
        ("click", "action"),
        ({}, "type"),
        ({"type": "klick"}, "klick"),
        ({"type": ["click"]}, "type"),
        ({"type": "click", "button": "fourth"}, "click.button"),
        ({"type": "click", "clicks": 4}, "click.clicks"),
        ({"type": "click", "point": {"x": 1}}, "click.point.y"),
        ({"type": "click", "point": {"x": "left", "y": 1}}, "click.point.x"),
        ({"type": "click", "point": [1, 2]}, "click.point"),
        ({"type": "click", "modifiers": ["a"]}, "held"),
        ({"type": "click", "modifiers": ["ctrl", "hypr"]}, "hypr"),
        ({"type": "click", "space": {"width": 0, "height": 5}}, "space.width"),
        ({"type": "move"}, "move.point"),
        ({"type": "drag", "path": [{"x": 1, "y": 1}]}, "drag.path"),
        ({"type": "drag", "path": [{"x": 1, "y": 1}] * 1001}, "drag.path"),
        ({"type": "scroll", "dy": 101}, "scroll.dy"),
        ({"type": "scroll", "dx": 0.5}, "scroll.dx"),
        ({"type": "key"}, "key.keys"),
        ({"type": "key", "keys": ""}, "empty"),
        ({"type": "key", "keys": "ctrl+"}, "ctrl++"),
        ({"type": "key", "keys": "ctrl+nokey"}, "nokey"),
        ({"type": "key", "keys": "a", "repeat": 0}, "key.repeat"),
        ({"type": "key", "keys": "a", "repeat": 101}, "key.repeat"),
        ({"type": "hold_key", "keys": "a", "seconds": 0}, "hold_key.seconds"),
        ({"type": "hold_key", "keys": "a", "seconds": math.nan}, "hold_key.seconds"),
        ({"type": "type", "text": ""}, "type.text"),
        ({"type": "type", "text": "x" * (MAX_TEXT + 1)}, "type.text"),
        ({"type": "type", "text": "\ud800"}, "type.text"),
        ({"type": "type", "text": "a\x00b"}, "control character '\\x00'"),
        ({"type": "type", "text": "\x1b"}, "'esc'"),
        ({"type": "type", "text": "\x7f"}, "control character"),
        ({"type": "wait", "seconds": -1}, "wait.seconds"),
        ({"type": "wait", "seconds": 121}, "wait.seconds"),
        ({"type": "wait", "seconds": math.nan}, "wait.seconds"),
        ({"type": "wait", "seconds": math.inf}, "wait.seconds"),
        ({"type": "done", "answer": None}, "done.answer"),
    ],
    ids=str,
)
def test_what_is_no_action_is_refused_and_named(fields: object, words: str) -> None:
    with pytest.raises(ActionError) as caught:
        parse_action(fields)
    assert words in str(caught.value)


words = st.text("xyctrl+1é世\ud800 ", max_size=8)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | any_float | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
field_names = st.sampled_from(
    ["point", "path", "keys", "text", "seconds", "button", "clicks", "modifiers", "dx", "dy", "space", "repeat", "x"]
)


@given(st.sampled_from(ACTION_TYPES), st.dictionaries(field_names, json_values, max_size=3))
def test_whatever_a_model_says_is_an_action_or_an_action_error(kind: str, fields: dict[str, Any]) -> None:
    try:
        action = parse_action(fields | {"type": kind}).to_pixels(SCREEN)
    except ActionError as error:
        assert str(error)
    else:
        assert action.type == kind


@given(json_values)
def test_arbitrary_json_never_escapes_as_another_error(data: object) -> None:
    with pytest.raises(ActionError):
        parse_action(data)


def test_modifiers_are_kept_once_in_canonical_spelling() -> None:
    assert Click(modifiers=("Control", "ctrl_l", "Cmd")).modifiers == ("ctrl", "meta_l")
    assert Click(modifiers=("AltGr", "rwin")).modifiers == ("alt_r", "meta_r")


def test_text_may_hold_line_breaks_tabs_and_any_script() -> None:
    text = "a\tb\nc\r\nd — é 世界 🎉 \u00a0\u2028\u200d"
    assert TypeText(text=text).text == text


def test_click_is_a_click_in_pixels() -> None:
    assert click(3, 4, "right", 2) == Click(point=Point(x=3, y=4), button="right", clicks=2)
