"""Does nothing. Must score 0 on every task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workflow_gym.actions import Action, Done, Size
from workflow_gym.agent import Agent
from workflow_gym.tasks import Task


class NoopAgent(Agent):
    """Says that it is done at once."""

    note = "I do nothing."

    def reset(self, task: Task, screen: Size) -> None:
        """Do nothing."""

    def act(self, observation: dict[str, Any], info: dict[str, Any]) -> Sequence[Action]:
        """Return `Done`."""
        return (Done(),)
