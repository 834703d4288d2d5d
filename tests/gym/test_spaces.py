"""What the action space samples is an action or an `ActionError`; what is no member of it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow_gym.actions import (
    ACTION_TYPES,
    BUTTONS,
    Click,
    Done,
    Drag,
    Key,
    Point,
    Scroll,
    Size,
    TypeText,
    Wait,
    Zoom,
)
from workflow_gym.errors import ActionError
from workflow_gym.keys import KEYS, MODIFIERS
from workflow_gym.spaces import MAX_INSTRUCTION, action_from_sample, action_space, observation_space

SCREEN = Size(320, 200)


def sample_of(kind: str, **fields: Any) -> dict[str, Any]:
    space = action_space(SCREEN)
    space.seed(1)
    plain = {"modifiers": np.zeros(len(MODIFIERS), dtype=np.int8), "clicks": np.int64(1), "button": np.int64(0)}
    return {**space.sample(), **plain, "type": np.int64(ACTION_TYPES.index(kind)), **fields}


@given(st.integers(0, 2**32 - 1))
def test_samples_are_actions_or_action_errors(seed: int) -> None:
    space = action_space(SCREEN)
    space.seed(seed)
    sample = space.sample()
    assert space.contains(sample)
    action = action_from_sample(sample)
    assert action.type == ACTION_TYPES[int(sample["type"])]
    try:
        action.to_pixels(SCREEN)
    except ActionError:
        assert isinstance(action, Zoom), "only a zoom region can be empty; every sampled point lies on the screen"


def test_every_kind_of_action_can_be_sampled() -> None:
    assert {action_from_sample(sample_of(kind)).type for kind in ACTION_TYPES} == set(ACTION_TYPES)


def test_fields_arrive_in_the_action() -> None:
    point, end = np.array([3, 4], dtype=np.int32), np.array([319, 199], dtype=np.int32)
    held = np.array([1, 0, 0, 1], dtype=np.int8)
    common = {"point": point, "end": end, "modifiers": held}
    at, modifiers = Point(x=3, y=4), ("ctrl", "meta_l")
    assert action_from_sample(sample_of("click", **common, button=np.int64(2), clicks=np.int64(3))) == Click(
        point=at, modifiers=modifiers, button=BUTTONS[2], clicks=3
    )
    assert action_from_sample(sample_of("drag", **common)) == Drag(path=(at, Point(x=319, y=199)), modifiers=modifiers)
    assert action_from_sample(sample_of("zoom", **common)) == Zoom(top_left=at, bottom_right=Point(x=319, y=199))
    wheel = np.array([-2, 7], dtype=np.int32)
    assert action_from_sample(sample_of("scroll", **common, scroll=wheel)) == Scroll(
        point=at, modifiers=modifiers, dx=-2, dy=7
    )
    assert action_from_sample(sample_of("key", key=np.int64(5))) == Key(keys=KEYS[5])
    assert action_from_sample(sample_of("type", text="a b")) == TypeText(text="a b")
    assert action_from_sample(sample_of("wait", seconds=np.array([1.5], dtype=np.float32))) == Wait(seconds=1.5)
    assert action_from_sample(sample_of("done", text="42")) == Done(answer="42")


def test_holding_a_key_for_no_time_is_still_a_press() -> None:
    action_from_sample(sample_of("hold_key", seconds=np.zeros(1, dtype=np.float32)))


@pytest.mark.parametrize(
    "fields",
    [
        {"type": len(ACTION_TYPES)},
        {"type": -1},
        {"type": "click"},
        {"type": None},
        {"button": len(BUTTONS)},
        {"button": -1},
        {"clicks": 0},
        {"clicks": 4},
        {"modifiers": np.zeros(3, dtype=np.int8)},
        {"point": np.zeros(1, dtype=np.int32)},
        {"point": None},
        {"point": np.array([1000.0, np.nan])},
    ],
    ids=str,
)
def test_what_is_no_member_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ActionError):
        action_from_sample({**sample_of("click"), **fields}).to_pixels(SCREEN)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("key", {"key": -1}),
        ("key", {"key": len(KEYS)}),
        ("scroll", {"scroll": np.array([np.inf, 0.0])}),
        ("scroll", {"scroll": np.array([np.nan, 0.0])}),
        ("scroll", {"scroll": np.array([1000, 0])}),
        ("wait", {"seconds": np.array([np.nan])}),
        ("wait", {"seconds": 1.0}),
        ("hold_key", {"seconds": np.array([np.inf])}),
        ("type", {"text": ""}),
    ],
    ids=str,
)
def test_impossible_values_are_refused(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ActionError):
        action_from_sample(sample_of(kind, **fields))


@pytest.mark.parametrize("field", sorted(action_space(SCREEN).spaces))
def test_a_sample_that_lacks_a_field_is_refused(field: str) -> None:
    kind = {"key": "key", "scroll": "scroll", "text": "type", "clicks": "click", "end": "drag"}.get(field, "click")
    sample = sample_of(kind)
    del sample[field]
    with pytest.raises(ActionError, match=field):
        action_from_sample(sample)


def test_observations_have_the_screens_shape_and_any_instruction() -> None:
    space = observation_space(SCREEN)
    frame = np.zeros((200, 320, 3), dtype=np.uint8)
    assert space.contains({"screenshot": frame, "instruction": "Größe: 5 µm → “ok”\n\t"})
    assert not space.contains({"screenshot": frame.transpose(1, 0, 2), "instruction": ""})
    assert not space.contains({"screenshot": frame, "instruction": "x" * (MAX_INSTRUCTION + 1)})
