"""Agents as third parties may write them: one good, the others broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workflow_gym.actions import Action, Click, Done, Key, Point, Screenshot, Size, TypeText
from workflow_gym.agent import Agent
from workflow_gym.errors import AgentError
from workflow_gym.tasks import Task


class _Agent(Agent):
    def reset(self, task: Task, screen: Size) -> None:
        self.rounds = 0

    def act(self, observation: dict[str, Any], info: dict[str, Any]) -> Sequence[Action]:
        self.rounds += 1
        return self.play(info)

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        return (Done(),)


class Solver(_Agent):
    """Solves the note in two rounds of several actions each."""

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        self.note = "Überlege … ✓"
        if self.rounds == 1:
            return [Key(keys="ctrl+a"), TypeText(text="Invoice 17\ntotal 245\npaid: 4 January\n")]
        return [Key(keys="ctrl+s"), Done()]


class Stubborn(_Agent):
    """Looks, and never ends."""

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        return (Screenshot(),)


class Missing(_Agent):
    """Clicks off the screen, is told so, and fails with what it was told."""

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        if info["action_error"]:
            raise AgentError(info["action_error"])
        return [Click(point=Point(x=5000, y=5)), TypeText(text="never typed")]


class RaisingInReset(_Agent):
    def reset(self, task: Task, screen: Size) -> None:
        raise ConnectionError("no model at this address")


class RaisingLater(_Agent):
    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        if self.rounds == 1:
            return (Screenshot(),)
        raise ZeroDivisionError("in the adapter")


class Refused(_Agent):
    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        raise AgentError("the model API says: quota exceeded")


class Interrupted(_Agent):
    """The user presses Ctrl-C in the second round."""

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        if self.rounds == 1:
            return (Key(keys="ctrl+a"),)
        raise KeyboardInterrupt


class Idle(_Agent):
    """Returns no action."""

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        return ()


class ReturningNone(_Agent):
    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        return None  # type: ignore[return-value]


class ReturningText(_Agent):
    """Returns the model's words instead of actions."""

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        return ["click(10, 20)"]  # type: ignore[list-item]


class ReturningMappings(_Agent):
    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        return [{"type": "done"}]  # type: ignore[list-item]


class BrokenNote(_Agent):
    """Notes a thought that a tokenizer has cut in the middle of a character."""

    def play(self, info: dict[str, Any]) -> Sequence[Action]:
        if self.rounds == 2:
            raise AgentError("that was all")
        self.note = "half a character: \ud83d"
        return (Screenshot(),)


class Unfinished(Agent):
    """Has no methods yet."""


class NoAgent:
    """Is not derived from Agent."""
