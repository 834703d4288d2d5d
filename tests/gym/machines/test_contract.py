from __future__ import annotations

import pytest

from workflow_gym.machines.base import Provider
from workflow_gym.machines.contract import CHECKS, Check
from workflow_gym.machines.fake import FakeProvider

IMAGE = "homebank"


@pytest.fixture(params=["fake", pytest.param("qemu", marks=pytest.mark.vm)])
def provider(request: pytest.FixtureRequest) -> Provider:
    if request.param == "fake":
        return FakeProvider()
    found: Provider = request.getfixturevalue("qemu")
    return found


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(provider: Provider, check: Check) -> None:
    check(provider, provider.image_template(IMAGE))
