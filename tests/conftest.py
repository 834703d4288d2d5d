"""What several tests need: the note task, the fake provider, and hands to write task folders with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from workflow_gym.env import WorkflowGymEnv
from workflow_gym.machines.fake import FakeProvider, FakeTemplate
from workflow_gym.machines.qemu.provider import QemuProvider
from workflow_gym.machines.settle import SettleBounds
from workflow_gym.providers import SharedProvider
from workflow_gym.staging import task_template
from workflow_gym.tasks import Task, load_task

# The same examples in every run; `--hypothesis-profile=hunt` looks further.
settings.register_profile("suite", max_examples=60, deadline=None, derandomize=True, database=None)
settings.register_profile("hunt", max_examples=3000, deadline=None)
settings.load_profile("suite")

_DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def note_folder() -> Path:
    """The folder of the task that the fake provider plays."""
    return _DATA / "tasks" / "finance" / "editor" / "note"


@pytest.fixture(scope="session")
def note(note_folder: Path) -> Task:
    return load_task(note_folder)


@pytest.fixture
def quick() -> SettleBounds:
    """The fake guest computes nothing and its caret does not blink: it is settled as soon as it is looked at twice."""
    return SettleBounds(quiet=0.01, maximum=2.0)


@pytest.fixture(scope="session")
def note_start(note: Task) -> FakeTemplate:
    """The start of the note task. Making it takes seconds, since an application is watched until it has settled."""
    start = task_template(FakeProvider(), note)
    assert isinstance(start, FakeTemplate)
    return start


@pytest.fixture
def provider(note_start: FakeTemplate) -> Iterator[FakeProvider]:
    """A provider that has the start of the note task, and of what `write_task` makes of it."""
    provider = FakeProvider()
    for key in (note_start.key, note_start.key.replace("-note-", "-copy-")):
        provider.keep(key, note_start.screen, note_start.desktop, "homebank")
    yield provider
    provider.close()


@pytest.fixture(scope="session")
def shared_fake(note_start: FakeTemplate) -> Iterator[None]:
    """Keeps the provider that is called "fake" open in this process, with the start of the note task."""
    share = SharedProvider("fake")
    assert isinstance(share.provider, FakeProvider)
    share.provider.keep(note_start.key, note_start.screen, note_start.desktop, "homebank")
    yield
    share.close()


@pytest.fixture
def env(note: Task, provider: FakeProvider, quick: SettleBounds) -> Iterator[WorkflowGymEnv]:
    env = WorkflowGymEnv(note, provider, bounds=quick)
    yield env
    env.close()


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path with other people's agents, checkers and providers."""
    monkeypatch.syspath_prepend(str(_DATA / "plugins"))
    return _DATA / "plugins"


WriteTask = Callable[..., Path]


@pytest.fixture
def write_task(tmp_path: Path, note_folder: Path) -> WriteTask:
    """Return a function that copies the note task, with pieces of its task.toml replaced, and returns the folder."""

    def write(replacements: dict[str, str] | None = None, append: str = "") -> Path:
        folder = tmp_path / "finance" / "editor" / "copy"
        shutil.copytree(note_folder, folder)
        text = (folder / "task.toml").read_text()
        for old, new in (replacements or {}).items():
            assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the note's task.toml"
            text = text.replace(old, new)
        (folder / "task.toml").write_text(text + append)
        return folder

    return write


@pytest.fixture(scope="session")
def qemu() -> Iterator[QemuProvider]:
    """A provider of real machines, for tests marked `vm`."""
    provider = QemuProvider()
    yield provider
    provider.close()
