"""One trial from start to record: prepare, run, grade, record. The only loop around the environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workflow_gym.actions import Action, BaseAction, Size
from workflow_gym.agent import Agent
from workflow_gym.env import Outcome, WorkflowGymEnv
from workflow_gym.errors import AgentError, CheckerError, MachineError, WorkflowGymError
from workflow_gym.images.recipe import load_image
from workflow_gym.machines.base import Provider
from workflow_gym.paths import TrialPaths
from workflow_gym.providers import provider_class
from workflow_gym.record import Recorder, ResultRecord, TrialRecord, versions
from workflow_gym.tasks import Task

OnRound = Callable[[int, str], None]
"""Called after each round with its number and the agent's note."""


@dataclass(frozen=True)
class TrialPlan:
    """What to run."""

    task: Task
    """The task."""
    agent: Agent
    """Who plays."""
    agent_name: str
    """What the agent is called in the record."""
    provider: str | Provider = "qemu"
    """Where the machine comes from."""
    seed: int | None = None
    """The seed of the episode."""
    realtime: bool = False
    """Whether the machine runs while the agent thinks."""

    @property
    def provider_name(self) -> str:
        """The provider's name."""
        return self.provider if isinstance(self.provider, str) else self.provider.name


@dataclass
class _Progress:
    """How far a trial has come."""

    rounds: int = 0
    reward: float = 0.0
    info: dict[str, Any] | None = None


def run_trial(plan: TrialPlan, runs: Path, on_round: OnRound = lambda number, note: None) -> TrialPaths:
    """Run one trial and leave its record in a new folder below `runs`; return the folder.

    Broken machines, checkers and agents end the trial with the outcome of that name. An interrupt (Ctrl-C) is raised
    again; the record then holds all that was seen, and no result.
    """
    if isinstance(plan.provider, str):
        provider_class(plan.provider)  # A misspelt name should leave no folder behind.
    paths, recorder = _prepare(plan, runs)
    progress = _Progress()
    try:
        outcome, error = _run(plan, recorder, progress, on_round)
    except BaseException:
        recorder.close()  # No result is written: an interrupted trial has none, and starts over.
        raise
    _record(recorder, progress, outcome, error)
    return paths


def _prepare(plan: TrialPlan, runs: Path) -> tuple[TrialPaths, Recorder]:
    paths = TrialPaths.new(runs, plan.task.id, plan.agent_name)
    record = TrialRecord(
        task=plan.task.id,
        title=plan.task.spec.title,
        instruction=plan.task.spec.instruction,
        domain=plan.task.domain,
        agent=plan.agent_name,
        provider=plan.provider_name,
        seed=plan.seed,
        screen=load_image(plan.task.spec.image).recipe.machine.screen,
        started=datetime.now(UTC),
        versions=versions({"image": load_image(plan.task.spec.image).key, "task": plan.task.key}),
    )
    return paths, Recorder(paths, record)


def _run(plan: TrialPlan, recorder: Recorder, progress: _Progress, on_round: OnRound) -> tuple[Outcome, str | None]:
    env = WorkflowGymEnv(plan.task, plan.provider, realtime=plan.realtime)
    try:
        return _play(env, plan, recorder, progress, on_round), None
    except MachineError as error:
        return Outcome.MACHINE_ERROR, str(error)
    except CheckerError as error:
        return Outcome.CHECKER_ERROR, str(error)
    except AgentError as error:
        return Outcome.AGENT_ERROR, str(error)
    finally:
        env.close()


def _play(env: WorkflowGymEnv, plan: TrialPlan, recorder: Recorder, progress: _Progress, on_round: OnRound) -> Outcome:
    observation, info = env.reset(seed=plan.seed, options={"artifacts": recorder.paths.artifacts})
    recorder.add((None,), "", observation["screenshot"], info)
    _begin(plan.agent, plan.task, env.screen)
    over = False
    while not over:
        actions = list(_ask(plan.agent, observation, info))
        try:
            observation, progress.reward, terminated, truncated, info = env.step(actions)
        except WorkflowGymError as error:
            # What led there is worth having: the last picture stands for the one that never came.
            broken = {"round": info["round"] + 1, "seconds": 0.0, "settled": False, "action_error": str(error)}
            broken["carried_out"] = env.carried_out
            recorder.add(actions, plan.agent.note, observation["screenshot"], broken)
            raise
        progress.rounds, progress.info = info["round"], info
        recorder.add(actions, plan.agent.note, observation["screenshot"], info)
        on_round(progress.rounds, plan.agent.note)
        over = terminated or truncated
    return Outcome(info["outcome"])


def _begin(agent: Agent, task: Task, screen: Size) -> None:
    """Have the agent begin; only a malformed expert procedure is not its own failure."""
    try:
        agent.reset(task, screen)
    except WorkflowGymError:
        raise
    except Exception as error:
        raise AgentError(f"the agent raised {error!r}") from error


def _ask(agent: Agent, observation: dict[str, Any], info: dict[str, Any]) -> list[Action]:
    """Ask the agent for a round; whatever it raises is its own failure, not the machine's."""
    try:
        actions = list(agent.act(observation, info))
    except AgentError:
        raise
    except Exception as error:
        raise AgentError(f"the agent raised {error!r}") from error
    if not actions:
        raise AgentError("the agent returned no action")
    for action in actions:
        if not isinstance(action, BaseAction):
            raise AgentError(f"the agent returned {action!r}, which is no action")
    return actions


def _record(recorder: Recorder, progress: _Progress, outcome: Outcome, error: str | None) -> None:
    recorder.finish(
        ResultRecord(
            outcome=outcome,
            verdict=(progress.info or {}).get("verdict"),
            reward=progress.reward,
            rounds=progress.rounds,
            actions=recorder.actions,
            seconds=recorder.seconds,
            error=error,
        )
    )
