"""Where things lie: shipped data, the cache of images and templates, live machines, and run folders."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workflow_gym.errors import InputError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]


def data_dir(name: str) -> Path:
    """Return the shipped folder `name` ("tasks" or "vm_images"), from the wheel or the checkout.

    Raises:
        InputError: neither holds it.
    """
    for root in (_PACKAGE / "data", _CHECKOUT):
        if (root / name).is_dir():
            return root / name
    raise InputError(f"no data folder {name!r} beside {_PACKAGE} or in {_CHECKOUT}")


@dataclass(frozen=True)
class CachePaths:
    """The cache folder.

    ```
    <root>/                  $WORKFLOW_GYM_CACHE, else $XDG_CACHE_HOME/workflow-gym, else ~/.cache/workflow-gym
      images/<name>-<key>/   a built guest disk: disk.qcow2, kernel, initrd, ssh key, manifest.json
      templates/<name>-<key>/  a frozen running guest: memory, state, disk.qcow2, manifest.json
      machines/<id>/         one folder per live process; goes when the process ends
      work/                  half-built things; nothing here counts as built
    ```
    """

    root: Path
    """The cache folder itself."""

    @classmethod
    def default(cls) -> CachePaths:
        """Return the cache folder that the environment asks for."""
        if own := os.environ.get("WORKFLOW_GYM_CACHE"):
            return cls(Path(own).expanduser().resolve())
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        return cls(Path(base).expanduser().resolve() / "workflow-gym")

    def _sub(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    @property
    def images(self) -> Path:
        """Built guest disks."""
        return self._sub("images")

    @property
    def templates(self) -> Path:
        """Frozen running guests."""
        return self._sub("templates")

    @property
    def machines(self) -> Path:
        """Folders of live processes."""
        return self._sub("machines")

    @property
    def work(self) -> Path:
        """Half-built things."""
        return self._sub("work")


@dataclass(frozen=True)
class TrialPaths:
    """The folder of one trial, written as it happens.

    ```
    <root>/
      trial.json         task, agent, settings, versions: written first
      steps.jsonl        one line per action: action, timing, screenshot, caption or thought
      screenshots/       NNNN.png exactly as the agent saw them (0000 is the reset)
      artifacts/         the collected files
      result.json        outcome, verdict, totals: written last, in one piece
      report.html        self-contained page for people
      video.mp4          the screens in order, where it was asked for
    ```
    """

    root: Path
    """The folder itself."""

    @classmethod
    def new(cls, parent: Path, task: str, agent: str) -> TrialPaths:
        """Create a fresh folder below `parent` that is named by time, task and agent."""
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        slug = re.sub(r"[^A-Za-z0-9]+", "-", f"{task.rsplit('/', 1)[-1]}-{agent}").strip("-").lower()
        root = parent / f"{stamp}-{slug}-{secrets.token_hex(2)}"
        paths = cls(root)
        paths.screenshots.mkdir(parents=True)
        paths.artifacts.mkdir()
        return paths

    @property
    def trial(self) -> Path:
        """What was run, with what."""
        return self.root / "trial.json"

    @property
    def steps(self) -> Path:
        """One JSON line per action."""
        return self.root / "steps.jsonl"

    @property
    def screenshots(self) -> Path:
        """The folder of observations."""
        return self.root / "screenshots"

    @property
    def artifacts(self) -> Path:
        """The folder of collected files."""
        return self.root / "artifacts"

    @property
    def result(self) -> Path:
        """Outcome and verdict."""
        return self.root / "result.json"

    @property
    def report(self) -> Path:
        """The page for people."""
        return self.root / "report.html"

    @property
    def video(self) -> Path:
        """The screens in order, as a video."""
        return self.root / "video.mp4"


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` in one piece: readers see the old file or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(3)}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
