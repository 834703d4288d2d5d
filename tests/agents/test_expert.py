"""The expert plays its procedure, one step a round, and stops when a step is refused."""

from __future__ import annotations

import pytest

from workflow_gym.actions import Done, Size
from workflow_gym.errors import AgentError
from workflow_gym.tasks import Task
from workflow_gym_agents.expert import ExpertAgent

OK = {"action_error": None}


def test_every_step_is_played_in_order_with_its_caption(note: Task) -> None:
    agent = ExpertAgent()
    for _ in range(2):
        agent.reset(note, Size(1280, 800))
        for step in note.expert:
            assert list(agent.act({}, OK)) == [step.action]
            assert agent.note == step.caption
        assert list(agent.act({}, OK)) == [Done()]
        assert agent.note
    assert len(note.expert) == 4, "playing a procedure used it up"


def test_a_refused_step_is_an_agent_error_that_names_it(note: Task) -> None:
    agent = ExpertAgent()
    agent.reset(note, Size(1280, 800))
    agent.act({}, OK)
    with pytest.raises(AgentError, match="Put the caret into the note.*off the screen"):
        agent.act({}, {"action_error": "off the screen"})
