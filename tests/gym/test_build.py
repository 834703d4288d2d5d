"""Built images: found only when whole, with all that they stand on. Nothing is built here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_gym.images.build import ImageManifest, bootstrap_command, find_built, worker_command
from workflow_gym.images.recipe import Image, load_image
from workflow_gym.paths import CachePaths

FILES = ("disk.qcow2", "vmlinuz", "initrd.img", "id_ed25519", "manifest.json")


def put(image: Image, cache: CachePaths) -> Path:
    """What a build of `image` leaves in the cache, in small."""
    folder = cache.images / image.key
    folder.mkdir()
    for name in FILES:
        (folder / name).write_bytes(b"content")
    manifest = ImageManifest(key=image.key, host_key="ssh-ed25519 AAAA", disk_bytes=7)
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    return folder


@pytest.fixture
def image() -> Image:
    return load_image("homebank")


@pytest.fixture
def cache(tmp_path: Path, image: Image) -> CachePaths:
    """A cache that holds the image and its base."""
    cache = CachePaths(tmp_path)
    assert image.base is not None
    put(image.base, cache)
    put(image, cache)
    return cache


def test_what_is_whole_is_found(cache: CachePaths, image: Image) -> None:
    built = find_built(image, cache)
    assert built is not None and built.key == image.key and built.host_key == "ssh-ed25519 AAAA"
    assert all(path.is_file() for path in (built.disk, built.kernel, built.initrd, built.ssh_key))


def empty(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("of_the_base", [False, True])
@pytest.mark.parametrize("damage", [Path.unlink, empty], ids=["gone", "empty"])
@pytest.mark.parametrize("file", FILES)
def test_what_is_not_whole_is_not_found(
    cache: CachePaths, image: Image, file: str, damage: Callable[[Path], None], of_the_base: bool
) -> None:
    owner = image.base if of_the_base else image
    assert owner is not None
    damage(cache.images / owner.key / file)
    assert find_built(image, cache) is None


def test_the_base_is_bootstrapped_with_its_packages(
    image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = image.base
    assert base is not None
    monkeypatch.delenv("WORKFLOW_GYM_DEBIAN_MIRROR", raising=False)
    command = bootstrap_command(base, tmp_path / "root.tar")
    assert command[0] == "mmdebstrap" and command[-2:] == [str(base.recipe.suite), str(tmp_path / "root.tar")]
    assert f"--include={','.join(base.recipe.packages)}" in command
    monkeypatch.setenv("WORKFLOW_GYM_DEBIAN_MIRROR", "http://mirror.example/debian")
    assert bootstrap_command(base, tmp_path / "root.tar") == [*command, "http://mirror.example/debian"]


def test_layers_are_made_in_namespaces_that_end_with_the_worker(tmp_path: Path) -> None:
    command = worker_command(tmp_path / "plan.json")
    assert {"--mount", "--pid", "--fork", "--kill-child"} <= set(command)
    assert ("--user" in command) == (os.geteuid() != 0)
    assert command[-4:-2] == ["-I", "-S"] and command[-1] == str(tmp_path / "plan.json")
