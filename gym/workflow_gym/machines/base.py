"""What every provider of machines offers: `Provider.fork` gives a `Machine`, which is seen, touched and closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from workflow_gym.actions import Size
from workflow_gym.machines.events import InputEvent

Progress = Callable[[str, str], None]
"""Called during long work with the current stage and the latest line of its log."""

Frame = NDArray[np.uint8]
"""A picture of the screen: (height, width, 3) uint8 RGB."""


@dataclass(frozen=True)
class Capabilities:
    """What a provider can do, as data, so that it is checked before a run and not deep inside it."""

    snapshot: bool
    """Running machines can be captured and forked."""
    pause: bool
    """Machines can be stopped and go on as if no time had passed."""


@dataclass(frozen=True)
class Template:
    """A frozen, running guest from which machines are forked. Providers extend it."""

    key: str
    """Name and content hash; equal keys mean equal guests."""
    screen: Size
    """The size of the guest's screen."""


class Shell(ABC):
    """Files and commands inside a guest. All calls need the machine to be running."""

    @abstractmethod
    def run(self, command: Sequence[str], *, user: str = "root", timeout: float = 60.0) -> str:
        """Run a command and return what it printed (stdout and stderr).

        Raises:
            GuestCommandError: it ended with a non-zero status.
            GuestUnreachableError: the guest does not answer.
            MachineTimeoutError: it did not end within `timeout` seconds.
        """

    @abstractmethod
    def write_file(self, path: str, content: bytes, *, user: str = "root") -> None:
        """Write a file, owned by `user`; missing folders are made. Raises as `run`."""

    @abstractmethod
    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return the content of a regular file of at most `limit` bytes.

        Raises:
            FileNotFoundError: there is no regular file at `path`.
            ValueError: it is larger than `limit`.
            GuestUnreachableError: the guest does not answer.
        """


class Machine(ABC):
    """One running guest. Forked paused; `close` destroys it and may be called twice."""

    screen: Size
    """The size of the screen in pixels."""
    paused: bool
    """Whether the guest stands still."""

    @property
    @abstractmethod
    def shell(self) -> Shell:
        """Files and commands inside the guest."""

    @abstractmethod
    def screenshot(self) -> Frame:
        """Return what the screen shows now; works whether paused or running. Raises `MachineError`."""

    @abstractmethod
    def send(self, events: Sequence[InputEvent]) -> None:
        """Play input events in order, in real time; the guest must be running. Raises `MachineError`."""

    @abstractmethod
    def busy_seconds(self) -> float:
        """Return the CPU seconds that the guest's processors have used so far. Raises `MachineError`."""

    def waiting_seconds(self) -> float:
        """Return for how long the guest's processors had work but the host no time for them; 0 where it is unknown.

        On a crowded host a guest that has much to do uses little, and would look idle without this.
        """
        return 0.0

    def disk_operations(self) -> int:
        """Return how many reads and writes of its disk the guest has made so far; 0 where it is unknown.

        A guest that waits for its disk uses no processor, and would look idle without this.
        """
        return 0

    @abstractmethod
    def pause(self) -> None:
        """Stop the guest; its time stands still. Does nothing when paused. Raises `MachineError`."""

    @abstractmethod
    def resume(self) -> None:
        """Let the guest go on. Does nothing when running. Raises `MachineError`."""

    @abstractmethod
    def capture(self, key: str | None = None) -> Template:
        """Freeze a copy of this guest as a template; the machine stays usable, paused.

        Args:
            key: what it is found by later, also by other processes; None keeps it only as long as the provider is open.

        Raises:
            CapabilityError: the provider has no snapshots.
            MachineError: it failed; nothing is kept then.
        """

    @abstractmethod
    def close(self) -> None:
        """Destroy the machine and give back all it holds."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the guest run inside the `with` block, and pause it afterwards if it was paused before."""
        was_paused = self.paused
        self.resume()
        try:
            yield
        finally:
            if was_paused:
                self.pause()

    def __enter__(self) -> Self:
        """Return the machine itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the machine."""
        self.close()


class Provider(ABC):
    """Makes machines. `close` destroys all that are left."""

    name: str
    """The word by which configuration chooses it."""
    capabilities: Capabilities
    """What it can do."""
    progress: Progress = staticmethod(lambda stage, line: None)
    """Told what happens while images are built and booted; set it to show that to people."""

    @abstractmethod
    def image_template(self, image: str) -> Template:
        """Return the template of an image, application open and ready; builds what is missing.

        Raises:
            UnknownNameError: no image has that name.
            MachineError: it could not be built or booted.
        """

    @abstractmethod
    def find_template(self, key: str) -> Template | None:
        """Return the template that was captured under `key`, or None if there is none that is whole."""

    def making(self, key: str) -> AbstractContextManager[None]:
        """Hold this while the template of that key is made, so that simultaneous processes make it once."""
        return nullcontext()

    @abstractmethod
    def discard(self, template: Template) -> None:
        """Throw a template away; machines that were forked from it live on. Does nothing if it is gone already."""

    @abstractmethod
    def fork(self, template: Template, *, branchable: bool = False) -> Machine:
        """Start a machine from a template; it is paused and shows the template's screen.

        Args:
            template: what to fork.
            branchable: pay a little more now so that `Machine.capture` is cheap.

        Raises:
            TemplateError: the template is damaged; it has been removed from the cache.
            MachineError: the machine did not start.
        """

    @abstractmethod
    def close(self) -> None:
        """Destroy every machine that is left. May be called twice."""
