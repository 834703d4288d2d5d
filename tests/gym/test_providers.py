"""One provider of a name serves all environments of a process, and closes with the last of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from workflow_gym.errors import HostError, PluginError, UnknownNameError
from workflow_gym.machines.fake import FakeProvider
from workflow_gym.providers import SharedProvider, provider_class

COUNTING = "odd_providers:Counting"


class Counts:
    """How many providers were opened and closed since the test began."""

    def __init__(self) -> None:
        self.kind = provider_class(COUNTING)
        self.kind.opened = self.kind.closed = 0  # type: ignore[attr-defined]

    def __call__(self) -> tuple[int, int]:
        return self.kind.opened, self.kind.closed  # type: ignore[attr-defined]


@pytest.fixture
def counts(plugins: Path) -> Iterator[Counts]:
    yield Counts()


def test_providers_by_name() -> None:
    assert provider_class("fake") is FakeProvider
    assert provider_class("qemu").name == "qemu"
    assert provider_class("workflow_gym.machines.fake:FakeProvider") is FakeProvider


def test_an_unknown_provider_suggests_its_neighbours(plugins: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'qemu'"):
        provider_class("qmu")
    with pytest.raises(PluginError, match="subclass"):
        provider_class("odd_providers:NoProvider")


def test_one_provider_is_shared_and_closes_with_its_last_share(counts: Counts) -> None:
    first, second = SharedProvider(COUNTING), SharedProvider(COUNTING)
    assert first.provider is second.provider and counts() == (1, 0)
    first.close()
    first.close()
    assert counts() == (1, 0), "one share was given back twice"
    second.close()
    assert counts() == (1, 1)
    third = SharedProvider(COUNTING)
    assert third.provider is not first.provider and counts() == (2, 1)
    third.close()
    assert counts() == (2, 2)


def test_providers_of_other_names_are_not_shared(counts: Counts) -> None:
    one, other = SharedProvider(COUNTING), SharedProvider("fake")
    assert one.provider is not other.provider
    other.close()
    assert counts() == (1, 0)
    one.close()


def test_a_provider_that_cannot_be_made_is_tried_again(plugins: Path) -> None:
    for _ in range(2):
        with pytest.raises(HostError, match="no such host"):
            SharedProvider("odd_providers:Failing")


def test_threads_share_one_provider_at_a_time(counts: Counts) -> None:
    begin = threading.Barrier(8)

    def take_and_give_back() -> None:
        begin.wait()
        for _ in range(200):
            SharedProvider(COUNTING).close()

    threads = [threading.Thread(target=take_and_give_back) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    opened, closed = counts()
    assert opened == closed >= 1


def test_a_forked_process_has_a_provider_of_its_own_and_leaves_ours_alone(counts: Counts) -> None:
    ours = SharedProvider(COUNTING)
    child = os.fork()
    if child == 0:
        try:
            theirs = SharedProvider(COUNTING)
            right = theirs.provider is not ours.provider and counts() == (2, 0)
            ours.close()
            right = right and counts() == (2, 0)
            theirs.close()
            right = right and counts() == (2, 1)
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert counts() == (1, 0)
    ours.close()
    assert counts() == (1, 1)
