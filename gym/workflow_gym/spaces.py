"""The Gymnasium spaces: what `env.action_space` samples and how a sample becomes an `Action`."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from workflow_gym.actions import ACTION_TYPES, BUTTONS, Action, Size, parse_action
from workflow_gym.errors import ActionError
from workflow_gym.keys import KEYS, MODIFIERS

SAMPLED_TEXT = string.ascii_letters + string.digits + string.punctuation + " "
"""The characters that a sampled text is made of; `TypeText` itself takes any Unicode."""
MAX_SAMPLED_TEXT = 32
"""The longest sampled text, in characters."""
MAX_INSTRUCTION = 8000
"""The longest instruction, in characters."""
_INSTRUCTION_CHARACTERS = frozenset("\n\t") | frozenset(map(chr, range(0x20, 0x2500)))


def action_space(screen: Size) -> spaces.Dict:
    """Return the space of actions on a screen of that size.

    One flat dictionary serves every kind of action; `type` (an index into `ACTION_TYPES`) says which fields count:

    - `point`, `end`: (2,) int32 pixels; `end` is where a drag or a zoom region ends
    - `button`: index into `BUTTONS`; `clicks`: 1 to 3; `modifiers`: (4,) 0/1 over `MODIFIERS`
    - `scroll`: (2,) int32 wheel clicks right and down; `key`: index into `KEYS`
    - `seconds`: (1,) float32 for wait and hold_key; `text`: for type and done
    """
    corner = np.array([screen.width - 1, screen.height - 1], dtype=np.int32)
    origin = np.zeros(2, dtype=np.int32)
    return spaces.Dict(
        {
            "type": spaces.Discrete(len(ACTION_TYPES)),
            "point": spaces.Box(origin, corner, dtype=np.int32),
            "end": spaces.Box(origin, corner, dtype=np.int32),
            "button": spaces.Discrete(len(BUTTONS)),
            "clicks": spaces.Discrete(3, start=1),
            "modifiers": spaces.MultiBinary(len(MODIFIERS)),
            "scroll": spaces.Box(-10, 10, shape=(2,), dtype=np.int32),
            "key": spaces.Discrete(len(KEYS)),
            "seconds": spaces.Box(0.0, 3.0, shape=(1,), dtype=np.float32),
            "text": spaces.Text(min_length=1, max_length=MAX_SAMPLED_TEXT, charset=SAMPLED_TEXT),
        }
    )


def observation_space(screen: Size, instruction: str = "") -> spaces.Dict:
    """Return the space of observations: `screenshot` (height, width, 3) uint8 RGB, and `instruction` text.

    Instructions in European scripts share one space, so that their tasks can stand in one vector environment. The
    characters of any other `instruction` are added to its own space, since all of Unicode would be slow to hand around.
    """
    characters = _INSTRUCTION_CHARACTERS | frozenset(instruction)
    return spaces.Dict(
        {
            "screenshot": spaces.Box(0, 255, shape=(screen.height, screen.width, 3), dtype=np.uint8),
            "instruction": spaces.Text(min_length=0, max_length=MAX_INSTRUCTION, charset=characters),
        }
    )


def action_from_sample(sample: Mapping[str, Any]) -> Action:
    """Turn a member of `action_space` into the `Action` it stands for.

    Raises:
        ActionError: it is no member of the space, or names an impossible action.
    """
    try:
        fields = _fields(sample)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise ActionError(f"not a member of the action space: {error!r}") from None
    return parse_action(fields)


def _fields(sample: Mapping[str, Any]) -> dict[str, Any]:
    kind = _nth(ACTION_TYPES, sample["type"])
    point, end = _point(sample["point"]), _point(sample["end"])
    at = {
        "point": point,
        "modifiers": tuple(name for name, held in zip(MODIFIERS, sample["modifiers"], strict=True) if held),
    }
    button = _nth(BUTTONS, sample["button"])
    seconds = float(sample["seconds"][0])
    match kind:
        case "click":
            own: dict[str, Any] = {**at, "button": button, "clicks": int(sample["clicks"])}
        case "mouse_down" | "mouse_up":
            own = {**at, "button": button}
        case "move":
            own = at
        case "drag":
            own = {"path": (point, end), "modifiers": at["modifiers"], "button": button}
        case "scroll":
            own = {**at, "dx": int(sample["scroll"][0]), "dy": int(sample["scroll"][1])}
        case "key":
            own = {"keys": _nth(KEYS, sample["key"])}
        case "hold_key":
            own = {"keys": _nth(KEYS, sample["key"]), "seconds": max(seconds, 0.01)}
        case "type":
            own = {"text": str(sample["text"])}
        case "wait":
            own = {"seconds": seconds}
        case "zoom":
            own = {"top_left": point, "bottom_right": end}
        case "done":
            own = {"answer": str(sample["text"])}
        case _:
            own = {}
    return {"type": kind, **own}


def _nth[T](values: Sequence[T], index: Any) -> T:
    if int(index) < 0:
        raise IndexError(f"{index} is negative")
    return values[int(index)]


def _point(pair: Any) -> dict[str, float]:
    return {"x": float(pair[0]), "y": float(pair[1])}
