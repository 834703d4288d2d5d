"""What an agent is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from workflow_gym.actions import Action, Size
from workflow_gym.errors import UnknownNameError
from workflow_gym.plugins import load_class, third_party
from workflow_gym.tasks import Task

_BUILT_IN = {
    "expert": "workflow_gym_agents.expert:ExpertAgent",
    "noop": "workflow_gym_agents.noop:NoopAgent",
    "random": "workflow_gym_agents.random:RandomAgent",
}
_GROUP = "workflow_gym.agents"


class Agent(ABC):
    """Plays one episode at a time: `reset` once, then `act` once per round."""

    note: str = ""
    """What the agent wants recorded with its latest actions: a thought, or a caption."""

    @abstractmethod
    def reset(self, task: Task, screen: Size) -> None:
        """Begin an episode.

        Args:
            task: what is asked; an honest agent reads no more of it than `task.spec.instruction`.
            screen: the size of the screen in pixels.
        """

    @abstractmethod
    def act(self, observation: dict[str, Any], info: dict[str, Any]) -> Sequence[Action]:
        """Return the actions of the next round, at least one.

        Args:
            observation: `screenshot` (height, width, 3) uint8 RGB, and `instruction` text.
            info: what the environment said of the last round; `action_error` says why an action was refused.

        Raises:
            AgentError: the agent or its model API failed for good.
        """


def make_agent(name: str) -> Agent:
    """Return the agent of that name, or that a "module:Name" string names.

    Raises:
        UnknownNameError: there is none of that name.
        PluginError: it cannot be loaded.
    """
    if ":" in name:
        return load_class(name, Agent, "agent")()  # type: ignore[type-abstract]
    known = third_party(_GROUP) | _BUILT_IN
    if name not in known:
        raise UnknownNameError("agent", name, known, "Your own agent is given as 'module:Name'.")
    return load_class(known[name], Agent, "agent")()  # type: ignore[type-abstract]
