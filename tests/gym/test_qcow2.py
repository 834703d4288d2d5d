from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from workflow_gym.errors import TemplateError
from workflow_gym.machines.qemu.command import overlay_command
from workflow_gym.machines.qemu.qcow2 import backing_chain, virtual_size


@pytest.fixture
def base(tmp_path: Path) -> Path:
    disk = tmp_path / "base.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", disk, "5M"], check=True)
    return disk


def test_layers_are_found_from_the_top_down(base: Path, tmp_path: Path) -> None:
    middle, top = tmp_path / "ü middle.qcow2", tmp_path / "top.qcow2"
    subprocess.run(overlay_command(middle, base), check=True)
    subprocess.run(overlay_command(top, middle), check=True)
    assert backing_chain(top) == [top, middle, base]
    assert virtual_size(top) == 5 << 20


@pytest.mark.parametrize("content", [b"", b"QFI", b"no disk at all, but long enough to be one"])
def test_what_is_no_disk_is_a_template_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "disk").write_bytes(content)
    with pytest.raises(TemplateError):
        backing_chain(tmp_path / "disk")


def test_a_circle_is_a_template_error(tmp_path: Path, base: Path) -> None:
    other = tmp_path / "other.qcow2"
    subprocess.run(overlay_command(other, base), check=True)
    subprocess.run(["qemu-img", "rebase", "-u", "-b", other, "-F", "qcow2", base], check=True)
    with pytest.raises(TemplateError, match="do not end"):
        backing_chain(other)
