"""The record of one trial: models, and the recorder that writes them as the trial happens."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal

from PIL import Image as Picture
from pydantic import BaseModel, ConfigDict, ValidationError

from workflow_gym.actions import Action, Size, Zoom
from workflow_gym.env import Outcome
from workflow_gym.errors import ActionError, FormatError
from workflow_gym.grading import Verdict
from workflow_gym.machines.base import Frame
from workflow_gym.paths import TrialPaths, write_atomically


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class TrialRecord(_Frozen):
    """What was run: `trial.json`."""

    task: str
    """The task's id."""
    title: str
    """The task's title."""
    instruction: str
    """What the agent was told."""
    domain: str
    """The task's domain."""
    agent: str
    """The agent's name as it was given."""
    provider: str
    """Where the machine came from."""
    seed: int | None
    """The seed of the episode."""
    screen: Size
    """Screen size in pixels."""
    started: datetime
    """When."""
    versions: dict[str, str]
    """Versions of everything that may matter."""


class StepRecord(_Frozen):
    """One action and what came of it: a line of `steps.jsonl`."""

    number: int
    """0 is the reset, actions count from 1."""
    round: int
    """The round that the action belongs to."""
    action: Action | None
    """What was done; None for the reset."""
    note: str
    """The agent's thought, or the expert's caption."""
    screenshot: str
    """The observation that followed, relative to the trial's folder."""
    at: float
    """Seconds since the trial began, when the observation was there."""
    seconds: float
    """How long the environment took for the round."""
    settled: bool
    """Whether the screen came to rest."""
    state: Literal["done", "refused", "skipped"] = "done"
    """Whether the action was carried out; after a refused one, the rest of its round is skipped."""
    error: str | None = None
    """Why the action was refused, or what broke while it was carried out."""
    zoom: str | None = None
    """The enlarged region that a zoom showed, relative to the trial's folder."""


class ResultRecord(_Frozen):
    """How it ended: `result.json`."""

    outcome: Outcome
    """The outcome."""
    verdict: Verdict | None
    """What the checks said, if they were run."""
    reward: float
    """The reward of the last step."""
    rounds: int
    """Rounds that were played."""
    actions: int
    """Actions that were carried out."""
    seconds: float
    """Wall time of the whole trial."""
    error: str | None
    """What went wrong, for the outcomes that are errors."""


class Trial(_Frozen):
    """A trial as it can be read back, also after a crash."""

    record: TrialRecord
    """What was run."""
    steps: tuple[StepRecord, ...]
    """What happened; a half-written last line is left out."""
    result: ResultRecord | None
    """How it ended; None when the trial was cut off."""


def versions(extra: dict[str, str] | None = None) -> dict[str, str]:
    """Return the versions of our package, of what it stands on, and of the host."""
    names = ("workflow-gym", "gymnasium", "numpy", "paramiko", "pillow", "pydantic")
    found = {name: version(name) for name in names}
    return found | {"python": platform.python_version(), "host": platform.platform()} | (extra or {})


class Recorder:
    """Writes a trial's folder as the trial happens, so that a crash loses nothing that was seen."""

    def __init__(self, paths: TrialPaths, record: TrialRecord) -> None:
        """Write what is run."""
        self.paths = paths
        self._start = datetime.now(UTC)
        self._count = 0
        self.actions = 0
        """How many actions have been carried out."""
        self._steps = paths.steps.open("a", encoding="utf-8", buffering=1)
        write_atomically(paths.trial, record.model_dump_json(indent=2))

    @property
    def seconds(self) -> float:
        """Seconds since the trial began."""
        return (datetime.now(UTC) - self._start).total_seconds()

    def add(self, actions: Sequence[Action | None], note: str, frame: Frame, info: dict[str, Any]) -> None:
        """Record one round: its actions, and the observation that followed all of them.

        Args:
            actions: the actions; (None,) for the reset.
            note: thought or caption.
            frame: the observation, (height, width, 3) uint8.
            info: what the environment said.
        """
        screenshot = self._save(f"{self._count + len(actions) - 1:04d}", frame)
        zoom = self._save(f"{self._count + len(actions) - 1:04d}-zoom", info["zoom"]) if "zoom" in info else None
        carried_out = len(actions) if actions[0] is None else info["carried_out"]
        zooms = [index for index, action in enumerate(actions[:carried_out]) if isinstance(action, Zoom)]
        shown = zooms[-1] if zooms else None  # Only the last region of a round is seen.
        for index, action in enumerate(actions):
            refused = index == carried_out
            step = StepRecord(
                number=self._count,
                round=info["round"],
                action=action,
                note=note.encode(errors="replace").decode(),  # Half a character, cut off by a tokenizer, is no text.
                screenshot=screenshot,
                at=self.seconds,
                seconds=info["seconds"],
                settled=info["settled"],
                state="done" if index < carried_out else "refused" if refused else "skipped",
                error=info["action_error"] if refused else None,
                zoom=zoom if index == shown else None,
            )
            self._steps.write(step.model_dump_json() + "\n")
            self._count += 1
        self.actions += carried_out if actions[0] is not None else 0

    def _save(self, name: str, frame: Frame) -> str:
        path = f"screenshots/{name}.png"
        Picture.fromarray(frame).save(self.paths.root / path, compress_level=1)
        return path

    def close(self) -> None:
        """Close the files."""
        self._steps.close()

    def finish(self, result: ResultRecord) -> None:
        """Write how it ended and close the files."""
        self.close()
        write_atomically(self.paths.result, result.model_dump_json(indent=2))


def read_trial(paths: TrialPaths) -> Trial:
    """Read a trial's folder, finished or not.

    Raises:
        FormatError: it holds no trial.
    """
    try:
        record = TrialRecord.model_validate_json(paths.trial.read_text(encoding="utf-8"))
        result = None
        if paths.result.exists():
            result = ResultRecord.model_validate_json(paths.result.read_text(encoding="utf-8"))
        lines = paths.steps.read_bytes().split(b"\n") if paths.steps.exists() else []
        whole = lines[:-1]  # Every whole line ends in a newline; what follows the last one was cut off by a crash.
        steps = tuple(StepRecord.model_validate_json(line) for line in whole if line)
    except (OSError, UnicodeDecodeError, ValidationError, ActionError) as error:
        raise FormatError(f"{paths.root} holds no readable trial: {error}") from None
    return Trial(record=record, steps=steps, result=result)
