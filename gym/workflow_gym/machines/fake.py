"""The `fake` provider: an in-memory desktop with one application, a text editor.

It stands in for real machines wherever the loop, agents, sweeps or reports are tested: the same actions, screenshots,
files, templates and capture, in microseconds and without a hypervisor. It is chosen by configuration, like the others.

The editor types what is typed, Backspace deletes, Ctrl+S saves, Ctrl+A selects all (the next key replaces it), a click
moves the caret to the end. The editor opens any file; what it shows is what the screenshot shows.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from PIL import Image as Picture
from PIL import ImageDraw

from workflow_gym.actions import Size
from workflow_gym.errors import GuestCommandError, MachineDiedError, TemplateError
from workflow_gym.images.recipe import load_image
from workflow_gym.keys import KEYS, keys_for_character
from workflow_gym.machines.base import Capabilities, Frame, Machine, Provider, Shell, Template
from workflow_gym.machines.events import Elapsed, InputEvent, KeyChanged, PointerMoved, TextEntered

_CHARACTERS = {keys_for_character(char): char for char in map(chr, itertools.chain([9, 10], range(32, 127)))}
_UNTITLED = "/home/user/untitled.txt"


@dataclass(frozen=True)
class Desktop:
    """The whole state of a fake guest. Immutable, so that a template is just a reference."""

    files: dict[str, bytes] = field(default_factory=dict)
    """The guest's files by path."""
    path: str = _UNTITLED
    """The file that the editor holds."""
    text: str = ""
    """The editor's text."""
    selected: bool = False
    """Whether all of it is selected."""
    pointer: tuple[int, int] = (0, 0)
    """Where the pointer is, in pixels."""
    held: frozenset[str] = frozenset()
    """The keys that are down."""
    clock: float = 0.0
    """Guest seconds since the template."""

    def after(self, event: InputEvent) -> Desktop:
        """Return the desktop after an input event."""
        match event:
            case PointerMoved(x, y):
                return replace(self, pointer=(x, y))
            case TextEntered(text):
                return self._typed(text)
            case KeyChanged(key, True):
                return replace(self, held=self.held | {key})._pressed(key)
            case KeyChanged(key, False):
                return replace(self, held=self.held - {key})
            case Elapsed(seconds):
                return replace(self, clock=self.clock + seconds)
            case _:
                return self

    def _pressed(self, key: str) -> Desktop:
        if "ctrl" in self.held:
            if key == "s":
                return replace(self, files=self.files | {self.path: self.text.encode()})
            return replace(self, selected=True) if key == "a" else self
        if key == "backspace":
            return replace(self, text="" if self.selected else self.text[:-1], selected=False)
        typed = _CHARACTERS.get(("shift", key) if "shift" in self.held else (key,))
        return self if typed is None else self._typed(typed)

    def _typed(self, text: str) -> Desktop:
        return replace(self, text=("" if self.selected else self.text) + text, selected=False)

    def picture(self, screen: Size) -> Frame:
        """Return what the screen shows, (height, width, 3) uint8."""
        image = Picture.new("RGB", screen, (236, 239, 244))
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0, screen.width, 24), fill=(46, 52, 64))
        draw.text((8, 6), f"{self.path} - Fake Editor", fill=(236, 239, 244))
        colour = (94, 129, 172) if self.selected else (46, 52, 64)
        draw.multiline_text((12, 36), self.text.encode("latin-1", "replace").decode("latin-1"), fill=colour)
        x, y = self.pointer
        draw.polygon([(x, y), (x + 10, y + 10), (x, y + 14)], fill=(191, 97, 106))
        return np.array(image)


@dataclass(frozen=True)
class FakeTemplate(Template):
    """A frozen fake desktop."""

    desktop: Desktop
    """What it looked like."""


class FakeShell(Shell):
    """Files of a fake desktop, and the few commands that the harness itself uses."""

    def __init__(self, machine: FakeMachine) -> None:
        """Work on `machine`."""
        self._machine = machine

    def run(self, command: Sequence[str], *, user: str = "root", timeout: float = 60.0) -> str:
        """Run `start-app … [path]` or `wmctrl -l`; see `Shell.run`."""
        desktop = self._machine.desktop
        match list(command):
            case ["start-app", *words]:
                path = next((word for word in words if word.startswith("/")), _UNTITLED)
                text = desktop.files.get(path, b"").decode("utf-8", "replace")
                self._machine.desktop = replace(desktop, path=path, text=text, selected=False)
                return ""
            case ["wmctrl", "-l"]:
                title = load_image(self._machine.image).recipe.application
                return f"0x1 0 desktop {desktop.path} - {title.name if title else 'Fake Editor'}\n"
            case ["true"]:
                return ""
        raise GuestCommandError(" ".join(command), 127, "the fake guest has no such command")

    def write_file(self, path: str, content: bytes, *, user: str = "root") -> None:
        """Write a file; see `Shell.write_file`."""
        desktop = self._machine.desktop
        self._machine.desktop = replace(desktop, files=desktop.files | {path: content})

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return a file's content; see `Shell.read_file`."""
        content = self._machine.desktop.files.get(path)
        if content is None:
            raise FileNotFoundError(f"{path} is no regular file")
        if len(content) > limit:
            raise ValueError(f"{path} has {len(content)} bytes, more than the {limit} that are collected")
        return content


class FakeMachine(Machine):
    """One fake desktop. `break_down` makes it fail as a killed hypervisor would."""

    def __init__(self, provider: FakeProvider, template: FakeTemplate, image: str) -> None:
        """Start from a template."""
        self._provider = provider
        self._desktop = template.desktop
        self._broken = False
        self._shell = FakeShell(self)
        self.image = image
        self.screen = template.screen
        self.paused = True

    @property
    def desktop(self) -> Desktop:
        """The current state. Raises `MachineDiedError` when broken or closed."""
        if self._broken:
            raise MachineDiedError("the fake machine is gone")
        return self._desktop

    @desktop.setter
    def desktop(self, value: Desktop) -> None:
        if self._broken:
            raise MachineDiedError("the fake machine is gone")
        self._desktop = value

    def break_down(self) -> None:
        """Fail from now on."""
        self._broken = True

    @property
    def shell(self) -> FakeShell:
        """Files of the desktop."""
        return self._shell

    def screenshot(self) -> Frame:
        """Return what the screen shows."""
        return self.desktop.picture(self.screen)

    def send(self, events: Sequence[InputEvent]) -> None:
        """Play input events, in no time."""
        for event in events:
            if isinstance(event, KeyChanged) and event.key not in KEYS:
                raise ValueError(f"no such key: {event.key}")
            self.desktop = self.desktop.after(event)

    def busy_seconds(self) -> float:
        """Return 0: a fake guest computes nothing."""
        assert self.desktop
        return 0.0

    def pause(self) -> None:
        """Stop the guest's time."""
        assert self.desktop
        self.paused = True

    def resume(self) -> None:
        """Let the guest's time go on."""
        assert self.desktop
        self.paused = False

    def capture(self, key: str | None = None) -> FakeTemplate:
        """Keep the desktop as a template."""
        self.pause()
        return self._provider.keep(key or f"passing-{secrets.token_hex(8)}", self.screen, self.desktop, self.image)

    def close(self) -> None:
        """Forget everything."""
        self._broken = True
        self._provider.live.discard(self)


class FakeProvider(Provider):
    """Makes fake desktops. Any image will do: its application is played by the text editor."""

    name = "fake"
    capabilities = Capabilities(snapshot=True, pause=True)

    def __init__(self) -> None:
        """Begin with no templates and no machines."""
        self._templates: dict[str, tuple[FakeTemplate, str]] = {}
        self.live: set[FakeMachine] = set()

    def image_template(self, image: str) -> FakeTemplate:
        """Return an editor with an empty file."""
        recipe = load_image(image)
        return self.keep(recipe.key, recipe.recipe.machine.screen, Desktop(), image)

    def keep(self, key: str, screen: Size, desktop: Desktop, image: str) -> FakeTemplate:
        """Keep a desktop under `key`."""
        template = FakeTemplate(key, screen, desktop)
        self._templates[key] = (template, image)
        return template

    def find_template(self, key: str) -> FakeTemplate | None:
        """Return what was captured under `key`."""
        return self._templates[key][0] if key in self._templates else None

    def discard(self, template: Template) -> None:
        """Forget a template."""
        self._templates.pop(template.key, None)

    def fork(self, template: Template, *, branchable: bool = False) -> FakeMachine:
        """Start a desktop from a template."""
        if template.key not in self._templates:
            raise TemplateError(f"the fake provider has no template {template.key}")
        kept, image = self._templates[template.key]
        machine = FakeMachine(self, kept, image)
        self.live.add(machine)
        return machine

    def close(self) -> None:
        """Close every desktop."""
        for machine in list(self.live):
            machine.close()
        self._templates.clear()
