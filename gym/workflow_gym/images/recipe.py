"""The recipe of an image: `vm_images/<name>/image.toml`, plus a folder `files/` that is laid over the guest."""

from __future__ import annotations

import hashlib
import re
import stat
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from workflow_gym.actions import Size
from workflow_gym.errors import FormatError, UnknownNameError
from workflow_gym.paths import data_dir
from workflow_gym.toml_files import read_toml


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MachineSection(_Section):
    """The hardware that a guest sees."""

    memory_mb: int = Field(default=1024, ge=256, le=16384)
    """Memory in MiB."""
    processors: int = Field(default=2, ge=1, le=16)
    """Processors."""
    screen: Size = Size(1280, 800)
    """Screen size in pixels; models take 1280×800 unscaled."""

    @field_validator("screen")
    @classmethod
    def _has_pixels(cls, value: Size) -> Size:
        if min(value) < 1:
            raise ValueError("width and height must be positive")
        return value


class ApplicationSection(_Section):
    """The application that the image is for, started as the desktop user."""

    name: str
    """Its name, for people."""
    launch: tuple[str, ...] = Field(min_length=1)
    """The command that starts it."""
    open: tuple[str, ...] = ()
    """The command that starts it with a file, with "{path}" where the file goes; empty: it opens none."""
    window: str
    """A regular expression that the title of its ready window matches."""
    ready_seconds: float = Field(default=300.0, gt=0)
    """How long a start may take."""
    quiet_seconds: float = Field(default=2.0, gt=0)
    """How long the screen must be still, and the guest idle, for the application to count as ready."""

    @field_validator("open")
    @classmethod
    def _names_the_file(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value and not any("{path}" in word for word in value):
            raise ValueError('must hold "{path}", where the file goes')
        return value

    @field_validator("window")
    @classmethod
    def _is_regular_expression(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"is no regular expression: {error}") from None
        return value


class ImageRecipe(_Section):
    """What an image is made of."""

    description: str
    """One line for people."""
    suite: str | None = None
    """The Debian suite that a base image is bootstrapped from."""
    base: str | None = None
    """The image whose disk this one is layered over; exactly one of `suite` and `base` is given."""
    packages: tuple[str, ...] = ()
    """Debian packages to install (recommended packages are left out)."""
    setup: tuple[tuple[str, ...], ...] = ()
    """Commands that are run inside the guest's file system at the end, each a list of words."""
    machine: MachineSection = MachineSection()
    """The hardware."""
    application: ApplicationSection | None = None
    """The application; None for a base that only others build on."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if (self.suite is None) == (self.base is None):
            raise ValueError("give either 'suite' (a base image) or 'base' (a layer over another image)")
        return self


class Image:
    """A recipe together with its name, folder and content hash."""

    def __init__(self, folder: Path, above: tuple[str, ...] = ()) -> None:
        """Read the recipe in `folder`.

        Args:
            folder: the recipe's folder.
            above: the names of the images that are layered over this one.

        Raises:
            FormatError: the recipe is malformed.
        """
        self.name = folder.name
        self.folder = folder
        self.recipe = read_toml(folder / "image.toml", ImageRecipe)
        if self.name in above:
            raise FormatError(
                f"{folder / 'image.toml'}: base: {', '.join(above)} are layered over each other in a circle"
            )
        layers = (*above, self.name)
        self.base = Image(folder.parent / self.recipe.base, layers) if self.recipe.base else None

    @property
    def files(self) -> list[Path]:
        """The files that are laid over the guest, sorted."""
        return sorted(path for path in (self.folder / "files").rglob("*") if path.is_file())

    @property
    def key(self) -> str:
        """Name and content hash, such as "homebank-1f0c3a5b7d90": changes with the recipe, its files and its base."""
        digest = hashlib.sha256(b"workflow-gym image 1\n")
        digest.update(self.base.key.encode() if self.base else b"")
        digest.update((self.folder / "image.toml").read_bytes())
        for path in self.files:
            mode = "x" if path.stat().st_mode & stat.S_IXUSR else "-"
            digest.update(f"{path.relative_to(self.folder)} {mode}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return f"{self.name}-{digest.hexdigest()[:12]}"


def image_names() -> list[str]:
    """Return the names of all image recipes, sorted."""
    return sorted(path.parent.name for path in data_dir("vm_images").glob("*/image.toml"))


def load_image(name: str) -> Image:
    """Return the image of that name.

    Raises:
        UnknownNameError: there is none; near names are suggested.
        FormatError: its recipe is malformed.
    """
    names = image_names()
    if name not in names:
        raise UnknownNameError("image", name, names, "`workflow-gym image list` shows all.")
    return Image(data_dir("vm_images") / name)
