"""The agents that frame a score."""

from __future__ import annotations

from workflow_gym.actions import Done, GiveUp, Size
from workflow_gym.errors import ActionError
from workflow_gym.tasks import Task
from workflow_gym_agents.noop import NoopAgent
from workflow_gym_agents.random import RandomAgent

SCREEN = Size(640, 400)


def test_noop_is_done_at_once(note: Task) -> None:
    agent = NoopAgent()
    agent.reset(note, SCREEN)
    assert list(agent.act({}, {"action_error": None})) == [Done()]


def test_random_plays_the_same_actions_again_and_never_ends(note: Task) -> None:
    agent = RandomAgent()
    plays = []
    for _ in range(2):
        agent.reset(note, SCREEN)
        plays.append([action for _ in range(100) for action in agent.act({}, {"action_error": None})])
    assert plays[0] == plays[1] and len(plays[0]) == 100
    assert not any(isinstance(action, Done | GiveUp) for action in plays[0])
    assert len({action.type for action in plays[0]}) > 8


def test_random_actions_can_be_carried_out(note: Task) -> None:
    agent = RandomAgent()
    agent.reset(note, SCREEN)
    refused = []
    for _ in range(200):
        for action in agent.act({}, {"action_error": None}):
            try:
                action.to_pixels(SCREEN)
            except ActionError as error:
                refused.append(f"{action}: {error}")
    assert refused == []
