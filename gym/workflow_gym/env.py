"""The environment: a professional task in a real application, as a Gymnasium environment."""

from __future__ import annotations

import enum
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

import gymnasium as gym
import numpy as np
from PIL import Image as Picture
from PIL import ImageOps

from workflow_gym.actions import Action, BaseAction, Done, GiveUp, Wait, Zoom
from workflow_gym.collecting import collect
from workflow_gym.errors import ActionError, CapabilityError, InputError, MachineError, ResetNeededError
from workflow_gym.grading import Verdict, grade
from workflow_gym.images.recipe import load_image
from workflow_gym.machines.base import Frame, Machine, Provider, Template
from workflow_gym.machines.film import Film
from workflow_gym.machines.hands import events_for, play
from workflow_gym.machines.settle import DEFAULT_BOUNDS, SettleBounds, settle
from workflow_gym.machines.view import View
from workflow_gym.providers import SharedProvider, provider_class
from workflow_gym.spaces import action_from_sample, action_space, observation_space
from workflow_gym.staging import fork_for_task
from workflow_gym.tasks import Task, load_task

Observation = dict[str, Any]
ActionLike = Action | Sequence[Action] | Mapping[str, Any]


class Outcome(enum.StrEnum):
    """How a trial ended."""

    PASSED = "passed"
    FAILED = "failed"
    GAVE_UP = "gave_up"
    OUT_OF_ROUNDS = "out_of_rounds"
    AGENT_ERROR = "agent_error"
    MACHINE_ERROR = "machine_error"
    CHECKER_ERROR = "checker_error"

    @property
    def scored(self) -> bool:
        """Whether it counts in a score; faults of machines, checkers and model APIs do not."""
        return self in (Outcome.PASSED, Outcome.FAILED, Outcome.GAVE_UP, Outcome.OUT_OF_ROUNDS)


@dataclass(frozen=True)
class Checkpoint:
    """A moment of an episode, to which `restore` goes back any number of times, in any environment of the same task."""

    task: str
    """The task's id."""
    template: Template
    """The machine as it was."""
    rounds: int
    """How many rounds had been played."""


class ResetOptions(TypedDict, total=False):
    """What `reset(options=…)` takes."""

    artifacts: str | Path
    """Keep what is collected at the end in this folder."""
    frames: int
    """Give at most so many frames seen during each step in `info["frames"]`."""
    branchable: bool
    """Spend half a second more on the reset, so that a checkpoint takes under one second instead of several."""


@dataclass
class _Episode:
    """What lasts from `reset` to the end."""

    machine: Machine
    artifacts: Path
    frame: Frame
    frames_wanted: int
    branchable: bool
    rounds: int = 0
    film: Film | None = None
    zoomed: Frame | None = None
    settled: bool = True
    ended_by: Done | GiveUp | None = None


class WorkflowGymEnv(gym.Env[Observation, ActionLike]):
    """One task in one machine.

    Observation: `screenshot` (height, width, 3) uint8 RGB, and `instruction` text.
    Action: a member of `action_space`, an `Action`, or a sequence of `Action`s that are carried out in one round.
    Reward: 0 until the episode ends, then the verdict.

    `info` holds after every step: `round` (int), `outcome` (None until the end), `carried_out` (how many actions of
    the round were), `action_error` (why the next one was refused, as text for the agent, or None), `settled` (whether
    the screen came to rest) and `seconds` (how long the step took); after a zoom also `zoom`, the enlarged region, and
    on demand (see `ResetOptions`) `frames`, a list of what was seen meanwhile, oldest first. At the end it holds
    `outcome` (see `Outcome`), `verdict` (see `workflow_gym.grading.Verdict`) and `artifacts` (the folder of collected
    files).
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - Gymnasium reads a plain dict.

    def __init__(
        self,
        task: str | Path | Task,
        provider: str | Provider = "qemu",
        reward: Literal["binary", "fraction"] = "binary",
        realtime: bool = False,
        bounds: SettleBounds = DEFAULT_BOUNDS,
        render_mode: Literal["rgb_array"] | None = None,
    ) -> None:
        """Read the task; machines are started by `reset`.

        Args:
            task: a task's id or folder, or the task itself.
            provider: where machines come from: "qemu", "fake", "module:Name", or a provider object, which you close.
            reward: "binary" gives 0 or 1 at the end; "fraction" gives the share of criteria that are met.
            realtime: let the machine run between steps, instead of standing still while the agent thinks.
            bounds: when the machine counts as settled after an action.
            render_mode: "rgb_array", or None.

        Raises:
            UnknownNameError: no task, image or provider has that name.
            FormatError: the task is malformed.
        """
        if reward not in ("binary", "fraction"):
            raise InputError(f"reward must be 'binary' or 'fraction', not {reward!r}")
        if render_mode not in (None, "rgb_array"):
            raise InputError(f"render_mode must be 'rgb_array' or None, not {render_mode!r}")
        if not isinstance(provider, str | Provider):
            raise InputError(f"provider must be a name or a Provider, not {provider!r}")
        self.task = task if isinstance(task, Task) else load_task(task)
        self.screen = load_image(self.task.spec.image).recipe.machine.screen
        self.render_mode = render_mode
        self.observation_space = observation_space(self.screen, self.task.spec.instruction)
        self.action_space = action_space(self.screen)
        self._provider_name = provider if isinstance(provider, str) else None
        self._own_provider = provider if isinstance(provider, Provider) else None
        self._share: SharedProvider | None = None
        self._reward = reward
        self._realtime = realtime
        self._bounds = bounds
        self._episode: _Episode | None = None
        self._last_frame: Frame | None = None
        self.carried_out = 0
        """How many actions of the last round were carried out, also when it raised."""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        if self._provider_name is not None:
            provider_class(self._provider_name)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Fork a fresh machine with the application open and the task's files in place.

        Args:
            seed: seeds the environment's random numbers.
            options: see `ResetOptions`.

        Raises:
            MachineError: no machine could be had.
            ResetNeededError: the environment was closed.
        """
        started = time.monotonic()
        wanted = _reset_options(options)
        super().reset(seed=seed)
        self._abandon()
        return self._begin(lambda provider, branchable: fork_for_task(provider, self.task, branchable), wanted, started)

    def _begin(
        self, fork: Callable[[Provider, bool], Machine], wanted: ResetOptions, started: float, rounds: int = 0
    ) -> tuple[Observation, dict[str, Any]]:
        if self._closed:
            raise ResetNeededError("this environment was closed; make a new one")
        branchable = wanted.get("branchable", False)
        machine = fork(self._provider(), branchable)
        try:
            frame = machine.screenshot()
            if self._realtime:
                machine.resume()
            artifacts = self._artifacts_folder(wanted)
        except BaseException:
            machine.close()
            raise
        self._episode = _Episode(machine, artifacts, frame, wanted.get("frames", 0), branchable, rounds)
        self.carried_out = 0
        self._last_frame = frame
        return self._observe(frame), self._info(self._episode, started)

    def checkpoint(self) -> Checkpoint:
        """Freeze this moment of the episode, which then goes on; `restore` comes back to it.

        The machine's memory is copied, so it takes under a second for an episode that was reset with
        `options={"branchable": True}`, and several otherwise. It holds some hundred megabytes of disk until it is
        given to `discard`, or the environment's provider closes.

        Raises:
            ResetNeededError: there is no running episode.
            CapabilityError: the provider has no snapshots.
            MachineError: the machine broke.
        """
        episode = self._running_episode()
        try:
            template = episode.machine.capture()
            if self._realtime:
                episode.machine.resume()
        except MachineError:
            self._abandon()
            raise
        return Checkpoint(self.task.id, template, episode.rounds)

    def restore(
        self, checkpoint: Checkpoint, *, options: ResetOptions | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Leave the present episode and go on from a checkpoint, in a fresh machine; returns what `reset` does.

        Args:
            checkpoint: of this or another environment of the same task and provider.
            options: as for `reset`.

        Raises:
            InputError: the checkpoint is of another task.
            MachineError: no machine could be had.
        """
        started = time.monotonic()
        wanted = _reset_options(options)
        if checkpoint.task != self.task.id:
            raise InputError(f"the checkpoint is of task {checkpoint.task}, and this is {self.task.id}")
        self._abandon()
        return self._begin(
            lambda provider, branchable: provider.fork(checkpoint.template, branchable=branchable),
            wanted,
            started,
            checkpoint.rounds,
        )

    def discard(self, checkpoint: Checkpoint) -> None:
        """Throw a checkpoint away and free its disk space."""
        self._provider().discard(checkpoint.template)

    def view(self) -> View:
        """Return a read-only view for other eyes, valid over resets; see `View`."""
        return View(lambda: self._episode.machine if self._episode else None)

    def _running_episode(self) -> _Episode:
        if self._episode is None:
            raise ResetNeededError("call reset() first: there is no running episode")
        return self._episode

    def step(self, action: ActionLike) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out one round and return (observation, reward, terminated, truncated, info).

        An action that cannot be carried out ends nothing: `info["action_error"]` says why, and the rest of the round is
        skipped.

        Raises:
            ResetNeededError: there is no running episode.
            MachineError: the machine broke; `reset` starts a new one.
            CheckerError: the result could not be graded; it is neither a pass nor a failure.
        """
        episode = self._running_episode()
        started = time.monotonic()
        self.carried_out, episode.zoomed, problem = 0, None, None
        episode.film = Film(episode.frames_wanted) if episode.frames_wanted else None
        try:
            try:
                for single in self._as_actions(action):
                    self._carry_out(single, episode)
                    self.carried_out += 1
            except ActionError as error:
                problem = str(error)
            episode.rounds += 1
            terminated = episode.ended_by is not None
            truncated = not terminated and episode.rounds >= self.task.spec.rounds
            info = self._info(episode, started, problem)
            reward = 0.0
            if terminated or truncated:
                reward = self._finish(episode, info)
        except BaseException:
            self._abandon()
            raise
        self._last_frame = episode.frame
        return self._observe(episode.frame), reward, terminated, truncated, info

    def _as_actions(self, action: ActionLike) -> Sequence[Action]:
        if isinstance(action, BaseAction):
            return (action,)
        if isinstance(action, Mapping):
            return (action_from_sample(action),)
        if isinstance(action, Sequence) and all(isinstance(single, BaseAction) for single in action):
            return action
        raise ActionError(
            f"{action!r} is neither an action, nor a sequence of actions, nor a member of the action space"
        )

    def _carry_out(self, action: Action, episode: _Episode) -> None:
        if episode.ended_by is not None:
            raise ActionError(f"{action.type} came after the action that ended the episode")
        action = action.to_pixels(self.screen)
        if isinstance(action, Done | GiveUp):
            episode.ended_by = action
            return
        if isinstance(action, Zoom):
            episode.zoomed = _zoom(episode.frame, action)
            return
        machine = episode.machine
        machine.resume()
        watch = episode.film.add if episode.film is not None else None
        play(machine, events_for(action), watch)
        if isinstance(action, Wait):
            episode.frame, episode.settled = machine.screenshot(), True
        else:
            result = settle(machine, self._bounds, watch)
            episode.frame, episode.settled = result.frame, result.settled
        if not self._realtime:
            machine.pause()
            # The guest may have drawn between the last look and the pause; the agent sees what it will act on.
            episode.frame = machine.screenshot()

    def _finish(self, episode: _Episode, info: dict[str, Any]) -> float:
        """Collect and grade, end the episode, and return the reward."""
        ended_by = episode.ended_by
        answer = ended_by.answer if isinstance(ended_by, Done) else ""
        evidence = collect(episode.machine, self.task, episode.artifacts, answer)
        verdict = grade(self.task.spec.checks, evidence)
        info["verdict"] = verdict
        info["outcome"] = _outcome(ended_by, verdict).value
        info["artifacts"] = str(episode.artifacts)
        self._abandon()
        return float(verdict.passed) if self._reward == "binary" else verdict.fraction

    def _observe(self, frame: Frame) -> Observation:
        # A copy, so that what the caller does to it shows in no later observation.
        return {"screenshot": frame.copy(), "instruction": self.task.spec.instruction}

    def _info(self, episode: _Episode, started: float, problem: str | None = None) -> dict[str, Any]:
        info: dict[str, Any] = {
            "round": episode.rounds,
            "outcome": None,
            "carried_out": self.carried_out,
            "action_error": problem,
            "settled": episode.settled,
            "seconds": time.monotonic() - started,
        }
        if episode.zoomed is not None:
            info["zoom"] = episode.zoomed
        if episode.film is not None:
            info["frames"] = episode.film.frames or [episode.frame]
        return info

    def render(self) -> Frame | None:
        """Return the last observed screen, (height, width, 3) uint8, in render mode "rgb_array"."""
        if self.render_mode is None:
            return None
        if self._last_frame is None:
            raise ResetNeededError("call reset() before render()")
        return self._last_frame.copy()

    def close(self) -> None:
        """Destroy the machine and give back what is held. May be called twice."""
        self._closed = True
        self._abandon()
        if self._share is not None:
            self._share.close()
            self._share = None
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _abandon(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.machine.close()

    def _provider(self) -> Provider:
        if self._own_provider is not None:
            provider = self._own_provider
        else:
            assert self._provider_name is not None
            self._share = self._share or SharedProvider(self._provider_name)
            provider = self._share.provider
        if not provider.capabilities.pause and not self._realtime:
            raise CapabilityError(
                f"the provider {provider.name} cannot pause machines; make the env with realtime=True"
            )
        return provider

    def _artifacts_folder(self, wanted: ResetOptions) -> Path:
        if artifacts := wanted.get("artifacts"):
            folder = Path(artifacts).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            return folder
        if self._scratch is not None:
            self._scratch.cleanup()
        self._scratch = tempfile.TemporaryDirectory(prefix="workflow-gym-")
        return Path(self._scratch.name)


def _reset_options(options: Mapping[str, Any] | None) -> ResetOptions:
    unknown = set(options or {}) - set(ResetOptions.__annotations__)
    if unknown:
        known = ", ".join(ResetOptions.__annotations__)
        raise InputError(f"reset knows no option {', '.join(sorted(unknown))}; it takes {known}")
    return cast(ResetOptions, dict(options or {}))


def _outcome(ended_by: Done | GiveUp | None, verdict: Verdict) -> Outcome:
    if ended_by is None:
        return Outcome.OUT_OF_ROUNDS
    if isinstance(ended_by, GiveUp):
        return Outcome.GAVE_UP
    return Outcome.PASSED if verdict.passed else Outcome.FAILED


def _zoom(frame: Frame, region: Zoom) -> Frame:
    """Return a region of a frame, scaled to fit the frame's size with its proportions kept, on black."""
    height, width = frame.shape[:2]
    left, top = int(region.top_left.x), int(region.top_left.y)
    right, bottom = int(region.bottom_right.x), int(region.bottom_right.y)
    part = Picture.fromarray(frame[top:bottom, left:right])
    return np.array(ImageOps.pad(part, (width, height), Picture.Resampling.LANCZOS, centering=(0, 0)))
