"""Plays a task's recorded expert procedure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workflow_gym.actions import Action, Done, Size
from workflow_gym.agent import Agent
from workflow_gym.errors import AgentError
from workflow_gym.tasks import ExpertStep, Task


class ExpertAgent(Agent):
    """Carries out one expert step per round, and says that it is done after the last."""

    def __init__(self) -> None:
        """Begin with nothing to play."""
        self._steps: list[ExpertStep] = []

    def reset(self, task: Task, screen: Size) -> None:
        """Take up the procedure of `task`."""
        self._steps = list(task.expert)

    def act(self, observation: dict[str, Any], info: dict[str, Any]) -> Sequence[Action]:
        """Return the next step of the procedure.

        Raises:
            AgentError: the previous step was refused, so the procedure is wrong.
        """
        if info["action_error"]:
            raise AgentError(f"the expert step {self.note!r} was refused: {info['action_error']}")
        if not self._steps:
            self.note = "The work is finished."
            return (Done(),)
        step = self._steps.pop(0)
        self.note = step.caption
        return (step.action,)
