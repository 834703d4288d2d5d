"""Agents by name: built in, by entry point, and by "module:Name"."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflow_gym.agent import Agent, make_agent
from workflow_gym.errors import PluginError, UnknownNameError

EXPERT, NOOP = "workflow_gym_agents.expert", "workflow_gym_agents.noop"


@pytest.mark.parametrize("name", ["expert", "noop", "random", f"{NOOP}:NoopAgent", "odd_agents:Solver"])
def test_an_agent_is_made_by_name(plugins: Path, name: str) -> None:
    one, other = make_agent(name), make_agent(name)
    assert isinstance(one, Agent) and one is not other


def test_an_unknown_agent_suggests_its_neighbours() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'expert'.*module:Name"):
        make_agent("exprt")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("odd_agents:NoAgent", "subclass"),
        ("odd_agents:Unfinished", "act, reset"),
        ("odd_agents:NotThere", "NotThere"),
        ("no_such_module:Agent", "no_such_module"),
        (":Agent", "module:Name"),
    ],
)
def test_what_is_no_agent_is_a_plugin_error(plugins: Path, name: str, words: str) -> None:
    with pytest.raises(PluginError, match=words):
        make_agent(name)


def test_an_installed_package_may_bring_agents(plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "their_agents-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: their-agents\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[workflow_gym.agents]\ntheirs = odd_agents:Solver\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert type(make_agent("theirs")).__name__ == "Solver"
    with pytest.raises(UnknownNameError, match="did you mean 'theirs'"):
        make_agent("their")
