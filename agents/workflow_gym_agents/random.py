"""Acts at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workflow_gym.actions import Action, Done, GiveUp, Size
from workflow_gym.agent import Agent
from workflow_gym.errors import ActionError
from workflow_gym.spaces import action_from_sample, action_space
from workflow_gym.tasks import Task


class RandomAgent(Agent):
    """Samples the action space, but never ends the episode by itself. The same screen gives the same sequence."""

    note = "I act at random."

    def reset(self, task: Task, screen: Size) -> None:
        """Seed the sequence anew."""
        self._screen = screen
        self._space = action_space(screen)
        self._space.seed(0)

    def act(self, observation: dict[str, Any], info: dict[str, Any]) -> Sequence[Action]:
        """Return one valid random action."""
        while True:
            try:
                action = action_from_sample(self._space.sample()).to_pixels(self._screen)
            except ActionError:
                continue
            if not isinstance(action, Done | GiveUp):
                return (action,)
