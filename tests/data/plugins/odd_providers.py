"""Providers as third parties may write them."""

from __future__ import annotations

from workflow_gym.errors import HostError
from workflow_gym.machines.base import Capabilities
from workflow_gym.machines.fake import FakeProvider


class Counting(FakeProvider):
    """Counts how many of it are open."""

    opened = 0
    closed = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).opened += 1

    def close(self) -> None:
        super().close()
        type(self).closed += 1


class NeverPausing(FakeProvider):
    """Cannot stop its machines."""

    name = "never-pausing"
    capabilities = Capabilities(snapshot=True, pause=False)


class Failing(FakeProvider):
    """Cannot be made on this host."""

    def __init__(self) -> None:
        raise HostError("no such host")


class NoProvider:
    """Is not derived from Provider."""
