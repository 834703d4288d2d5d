"""QEMU's command lines: what keeps guests apart from the host, and templates forkable."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflow_gym.actions import Size
from workflow_gym.machines.qemu.accelerator import Accelerator
from workflow_gym.machines.qemu.command import Hardware, overlay_command, qemu_command


def command(folder: Path = Path("/cache/machines/1/m0"), shared: bool = False, incoming: bool = True) -> list[str]:
    return qemu_command(
        Hardware(1024, 2, Size(1280, 800)),
        Accelerator("tcg", "for the test"),
        disk=folder / "disk.qcow2",
        layers=3,
        kernel=folder / "vmlinuz",
        initrd=folder / "initrd.img",
        memory=folder / "memory",
        shared=shared,
        monitor_fd=7,
        incoming=incoming,
    )


def value_of(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def test_the_guest_reaches_nothing_and_is_reached_on_loopback_only() -> None:
    network = value_of(command(), "-netdev")
    assert "restrict=on" in network.split(",")
    assert "hostfwd=tcp:127.0.0.1:0-:22" in network
    assert "-nodefaults" in command() and "spawn=deny" in value_of(command(), "-sandbox")


def test_the_guest_starts_stopped_and_is_spoken_to_over_the_inherited_socket() -> None:
    assert "-S" in command() and "-no-reboot" in command()
    assert "fd=7" in value_of(command(), "-chardev")


@pytest.mark.parametrize(("shared", "word"), [(True, "share=on"), (False, "share=off")])
def test_memory_is_mapped_as_asked(shared: bool, word: str) -> None:
    backend = value_of(command(shared=shared), "-object")
    assert word in backend.split(",") and "size=1024M" in backend


def test_only_forks_wait_for_device_state() -> None:
    assert value_of(command(incoming=True), "-incoming") == "defer"
    assert "-incoming" not in command(incoming=False)
    assert "-kernel" in command(incoming=False) and "-kernel" not in command(incoming=True)


def test_no_layer_of_a_disk_is_dropped_from_the_page_cache() -> None:
    options = value_of(command(), "-drive").split(",")
    dropped = [option for option in options if option.endswith("drop-cache=off")]
    assert dropped == [f"{backing}file.drop-cache=off" for backing in ("", "backing.", "backing.backing.")]


def test_commas_in_paths_do_not_end_an_option() -> None:
    folder = Path("/a,b/with blank")
    words = command(folder, incoming=False)
    assert "file=/a,,b/with blank/disk.qcow2," in value_of(words, "-drive")
    assert "mem-path=/a,,b/with blank/memory," in value_of(words, "-object")
    assert value_of(words, "-kernel") == "/a,b/with blank/vmlinuz"


def test_the_screen_has_the_exact_size() -> None:
    assert any("xres=1280,yres=800" in word and "edid=on" in word for word in command())


def test_an_overlay_names_its_backing_file_and_format() -> None:
    words = overlay_command(Path("/o"), Path("/b"))
    assert (value_of(words, "-b"), value_of(words, "-F"), words[-1]) == ("/b", "qcow2", "/o")
