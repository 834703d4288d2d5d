"""The task format: a folder `tasks/<domain>/<application>/<task>/`, read into typed models.

```
task.toml             what is asked, on which image, with which files, and how it is checked
inputs/               files that are put into the guest
expert.jsonl          atomic actions with which a person solves it, each with a caption
result/               what the expert's work left behind (written by `workflow-gym task validate --keep-result`)
mutants/mutants.toml  changes to that result, each of which the checks must refuse
```
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workflow_gym.actions import Action, parse_action
from workflow_gym.errors import ActionError, FormatError, PluginError, UnknownNameError
from workflow_gym.grading import Checker, CheckSpec, Mutation
from workflow_gym.images.recipe import image_names
from workflow_gym.paths import data_dir
from workflow_gym.plugins import load_class
from workflow_gym.spaces import MAX_INSTRUCTION
from workflow_gym.toml_files import explain, read_toml

DOMAINS = {
    "data": "Data Analysis",
    "engineering": "Engineering & Design",
    "finance": "Finance & Management",
    "geography": "Geography & Environment",
    "multimedia": "Multimedia & Creative",
    "scientific": "Scientific Computing",
}
"""The six domains of the benchmark, by the name of their folder."""

MAX_ROUNDS = 400
"""Rounds after which an episode ends, unless the task sets fewer."""
MIN_EXPERT_ACTIONS = 30
"""Tasks whose expert procedure is shorter are warm-ups."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _guest_path(value: str) -> str:
    if not value.startswith("/home/user/") or posixpath.normpath(value) != value:
        raise ValueError("must be an absolute, normal path below /home/user/")
    return value


class InputFile(_Section):
    """A file that is put into the guest before the task begins."""

    file: str
    """Its name below the task's `inputs/` folder."""
    path: str
    """Where it goes in the guest."""

    _check_path = field_validator("path")(_guest_path)

    @field_validator("file")
    @classmethod
    def _below_inputs(cls, value: str) -> str:
        if posixpath.isabs(value) or posixpath.normpath(value) != value or value.split("/")[0] == "..":
            raise ValueError("must be a normal path below the task's inputs/ folder")
        return value


class CollectedFile(_Section):
    """A file that is taken out of the guest for grading."""

    path: str
    """Where it is in the guest."""
    name: str
    """What it is called among the artifacts."""
    limit_mb: float = Field(default=64.0, gt=0, le=2048)
    """A larger file is not collected."""

    _check_path = field_validator("path")(_guest_path)

    @field_validator("name")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if not value or "/" in value or value.startswith("."):
            raise ValueError("must be a plain file name")
        return value


class TaskSpec(_Section):
    """The content of `task.toml`."""

    title: str = Field(min_length=1, max_length=100)
    """A few words for lists."""
    instruction: str = Field(min_length=20, max_length=MAX_INSTRUCTION)
    """What the agent is told: the outcome, never which menu."""
    image: str
    """The image whose application the work is done in."""
    sub_domain: str = Field(min_length=1)
    """The field of work within the domain."""
    warm_up: bool = False
    """Whether the task is shorter than the benchmark's tasks are."""
    rounds: int = Field(default=MAX_ROUNDS, ge=1, le=MAX_ROUNDS)
    """Rounds after which an episode ends."""
    open: str | None = None
    """The file that is open in the application at the start; None starts it without a file."""
    inputs: tuple[InputFile, ...] = ()
    """Files that are put into the guest."""
    collect: tuple[CollectedFile, ...] = ()
    """Files that are taken out of the guest for grading."""
    checks: tuple[CheckSpec, ...] = Field(min_length=1)
    """How the result is graded."""

    _check_open = field_validator("open")(lambda value: value if value is None else _guest_path(value))


class ExpertStep(_Section):
    """One line of `expert.jsonl`."""

    caption: str = Field(min_length=1)
    """What the step is for, for tutorials."""
    action: Action
    """What is done."""


class MutationSpec(BaseModel):
    """One `[[mutants.edits]]` table: which mutation, and its parameters."""

    model_config = ConfigDict(frozen=True, extra="allow")

    use: str
    """The mutation class, "module:Name"."""

    def build(self) -> Mutation:
        """Return the mutation; raises `PluginError` or `ValidationError`."""
        return load_class(self.use, Mutation, "mutation").model_validate(self.model_extra or {})  # type: ignore[type-abstract]


class Mutant(_Section):
    """A wrong result, made of the right one, that the checks must refuse."""

    name: str
    """A short name."""
    breaks: str
    """Which requirement of the instruction it breaks."""
    edits: tuple[MutationSpec, ...] = ()
    """What is changed in the collected files."""
    answer: str | None = None
    """The wrong answer, where it is the answer that is wrong."""


class MutantFile(_Section):
    """The content of `mutants/mutants.toml`."""

    mutants: tuple[Mutant, ...] = Field(min_length=1)
    """The mutants."""


class Task:
    """A task folder, read and checked."""

    def __init__(self, folder: Path, task_id: str) -> None:
        """Read `folder`.

        Raises:
            FormatError: something in it is malformed; names file, field and reason.
        """
        self.id = task_id
        self.folder = folder
        self._file = folder / "task.toml"
        self.spec = read_toml(self._file, TaskSpec)
        domain = task_id.split("/")[0]
        if domain not in DOMAINS:
            raise FormatError(f"{folder}: a task lies below one of the domain folders {', '.join(DOMAINS)}")
        self.domain = DOMAINS[domain]
        self._check_files()
        self._check_checkers()

    def _check_files(self) -> None:
        for index, entry in enumerate(self.spec.inputs):
            if not (self.inputs / entry.file).is_file():
                raise FormatError(f"{self._file}: inputs.{index}.file: {self.inputs / entry.file} does not exist")
        if len({entry.path for entry in self.spec.inputs}) < len(self.spec.inputs):
            raise FormatError(f"{self._file}: inputs: two files go to the same path")
        names = [entry.name for entry in self.spec.collect]
        if len(set(names)) < len(names):
            raise FormatError(f"{self._file}: collect: two files have the same name")
        if self.spec.image not in (known := image_names()):
            raise FormatError(f"{self._file}: image: {UnknownNameError('image', self.spec.image, known)}")

    def _check_checkers(self) -> None:
        for index, spec in enumerate(self.spec.checks):
            try:
                spec.build()
            except PluginError as error:
                raise FormatError(f"{self._file}: checks.{index}.use: {error}") from None
            except ValidationError as error:
                checker: type[Checker] = load_class(spec.use, Checker, "checker")  # type: ignore[type-abstract]
                message = explain(self._file, error, checker)
                raise FormatError(message.replace(f"{self._file}: ", f"{self._file}: checks.{index}.")) from None

    @property
    def inputs(self) -> Path:
        """The folder of input files."""
        return self.folder / "inputs"

    @property
    def result(self) -> Path:
        """The folder of what the expert's work left behind."""
        return self.folder / "result"

    @property
    def key(self) -> str:
        """A hash of everything that decides how the task begins."""
        digest = hashlib.sha256(b"workflow-gym task 1\n")
        digest.update(repr((self.spec.image, self.spec.open)).encode())
        for entry in self.spec.inputs:
            content = hashlib.sha256((self.inputs / entry.file).read_bytes()).hexdigest()
            digest.update(f"{entry.path} {content}\n".encode())
        return digest.hexdigest()[:12]

    @cached_property
    def expert(self) -> tuple[ExpertStep, ...]:
        """The expert procedure. Raises `FormatError`."""
        return tuple(_read_steps(self.folder / "expert.jsonl"))

    @cached_property
    def mutants(self) -> tuple[Mutant, ...]:
        """The mutants. Raises `FormatError`."""
        path = self.folder / "mutants" / "mutants.toml"
        mutants = read_toml(path, MutantFile).mutants
        for index, mutant in enumerate(mutants):
            if not mutant.edits and mutant.answer is None:
                raise FormatError(f"{path}: mutants.{index}: it changes nothing")
            for number, edit in enumerate(mutant.edits):
                try:
                    edit.build()
                except (PluginError, ValidationError) as error:
                    raise FormatError(f"{path}: mutants.{index}.edits.{number}: {error}") from None
        return mutants


def _read_steps(path: Path) -> list[ExpertStep]:
    try:
        # Not splitlines(), which also cuts at characters that JSON allows inside a string.
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: {error}") from None
    steps = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data: Any = json.loads(line)
            action = parse_action(data.pop("action", None))
            steps.append(ExpertStep(action=action, **data))
        except (ValueError, TypeError, AttributeError, ActionError) as error:
            raise FormatError(f"{path}: line {number}: {error}") from None
    if not steps:
        raise FormatError(f"{path}: it holds no steps")
    return steps


def task_ids(root: Path | None = None) -> list[str]:
    """Return the ids of all tasks, "<domain>/<application>/<task>", sorted."""
    root = root or data_dir("tasks")
    return sorted(str(path.parent.relative_to(root)) for path in root.glob("*/*/*/task.toml"))


def load_task(name: str | Path) -> Task:
    """Return a task by its id, or by the path of its folder.

    Raises:
        UnknownNameError: there is none; near names are suggested.
        FormatError: it is malformed.
    """
    folder = Path(os.path.expanduser(name))
    if (folder / "task.toml").is_file() and len(folder.resolve().parts) > 3:
        folder = folder.resolve()
        return Task(folder, "/".join(folder.parts[-3:]))
    ids = task_ids()
    if str(name) not in ids:
        raise UnknownNameError("task", str(name), ids, "`workflow-gym task list` shows all.")
    return Task(data_dir("tasks") / str(name), str(name))
