"""Templates on disk: found again when whole, thrown away when damaged, bounded in size. No guest is needed for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_gym.actions import Size
from workflow_gym.errors import HostError
from workflow_gym.images.build import BuiltImage
from workflow_gym.machines.qemu.command import Hardware
from workflow_gym.machines.qemu.template import Kind, QemuTemplate, TemplateStore
from workflow_gym.paths import CachePaths

pytestmark = pytest.mark.skipif(shutil.which("qemu-img") is None, reason="qemu-img makes the overlays")

TYPE = "qemu 7.2 tcg"
HARDWARE = Hardware(memory_mb=1, processors=2, screen=Size(1280, 800))
FILES = ("memory", "state", "disk.qcow2", "overlay.qcow2", "manifest.json")


@pytest.fixture
def cache(tmp_path: Path) -> CachePaths:
    return CachePaths(tmp_path / "cache")


@pytest.fixture
def image(cache: CachePaths) -> BuiltImage:
    folder = cache.images / "homebank-1"
    folder.mkdir()
    (folder / "disk.qcow2").write_bytes(b"disk")
    return BuiltImage("homebank-1", folder, "ssh-ed25519 AAAA")


def a_store(cache: CachePaths, machine_type: str = TYPE, capture_bytes: int | None = None) -> TemplateStore:
    """A store as another process would open it, with nothing verified yet."""
    return TemplateStore(cache, machine_type, capture_bytes)


def frozen(cache: CachePaths, name: str) -> Path:
    """What freezing a guest leaves in a work folder."""
    work = cache.work / name
    work.mkdir()
    (work / "memory").write_bytes(os.urandom(1 << 20))
    (work / "state").write_bytes(os.urandom(1000))
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", work / "disk.qcow2", "64M"], check=True)
    return work


Publish = Callable[..., QemuTemplate]


@pytest.fixture
def publish(cache: CachePaths, image: BuiltImage) -> Publish:
    def put(key: str, kind: Kind = "capture", store: TemplateStore | None = None) -> QemuTemplate:
        work = frozen(cache, f"work-{time.monotonic_ns()}")
        store = store or a_store(cache)
        template = store.publish(work, store.place(key), kind, image, HARDWARE)
        store.evict(keep=key)
        return template

    return put


def test_what_is_published_is_found_again(cache: CachePaths, publish: Publish, image: BuiltImage) -> None:
    template = publish("homebank-1-abc", "image")
    assert (template.key, template.screen, template.image) == ("homebank-1-abc", Size(1280, 800), image)
    assert a_store(cache).find("homebank-1-abc") == template
    assert sorted(path.name for path in template.folder.iterdir()) == sorted(FILES)
    assert not any(cache.work.iterdir()), "something is left in the work folder"
    assert a_store(cache).find("another") is None


def test_forks_begin_with_an_empty_disk_over_the_frozen_one(publish: Publish) -> None:
    template = publish("a")
    command = ["qemu-img", "info", "--output=json", str(template.empty_overlay)]
    information = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert information["full-backing-filename"] == str(template.disk)
    assert information["virtual-size"] == 64 << 20


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", [Path.unlink, cut], ids=["gone", "cut"])
def test_a_damaged_template_is_thrown_away(
    cache: CachePaths, publish: Publish, file: str, damage: Callable[[Path], None]
) -> None:
    template = publish("a")
    damage(template.folder / file)
    assert a_store(cache).find("a") is None
    assert not template.folder.exists()
    assert a_store(cache).find("a") is None
    assert publish("a").folder == template.folder


def test_device_state_of_another_content_is_noticed(cache: CachePaths, publish: Publish) -> None:
    spoil(publish("a").state)
    assert a_store(cache).find("a") is None


@pytest.mark.parametrize("file", ["memory", "overlay.qcow2"])
def test_a_template_that_was_whole_a_moment_ago_is_looked_at_again(
    cache: CachePaths, publish: Publish, file: str
) -> None:
    store = a_store(cache)
    template = publish("a", store=store)
    assert store.find("a") is not None
    (template.folder / file).unlink()
    assert store.find("a") is None


@pytest.mark.parametrize("content", ["", "{}", '{"key": 1}', "\x00"])
def test_a_manifest_that_is_none_is_a_damaged_template(cache: CachePaths, publish: Publish, content: str) -> None:
    (publish("a").folder / "manifest.json").write_text(content)
    assert a_store(cache).find("a") is None


def test_a_template_without_its_image_is_thrown_away(cache: CachePaths, publish: Publish, image: BuiltImage) -> None:
    publish("a")
    image.disk.unlink()
    assert a_store(cache).find("a") is None


def test_device_state_of_another_machine_type_is_not_used(cache: CachePaths, publish: Publish) -> None:
    publish("a")
    assert a_store(cache, "qemu 10.0 kvm").find("a") is None


def test_publishing_again_replaces(cache: CachePaths, publish: Publish) -> None:
    old = publish("a").state.read_bytes()
    new = publish("a").state.read_bytes()
    found = a_store(cache).find("a")
    assert found is not None and old != new == found.state.read_bytes()


@pytest.mark.parametrize("file", ["state", "disk.qcow2"])
def test_what_cannot_be_published_leaves_the_old_one(
    cache: CachePaths, publish: Publish, image: BuiltImage, file: str
) -> None:
    old = publish("a").state.read_bytes()
    work = frozen(cache, "half")
    (work / file).unlink()
    with pytest.raises(HostError, match="template a"):
        a_store(cache).publish(work, cache.templates / "a", "capture", image, HARDWARE)
    found = a_store(cache).find("a")
    assert found is not None and found.state.read_bytes() == old


def test_a_discarded_template_is_gone_also_for_others(cache: CachePaths, publish: Publish) -> None:
    mine, theirs = a_store(cache), a_store(cache)
    template = publish("a", store=mine)
    assert theirs.find("a") is not None
    mine.discard(template)
    mine.discard(template)
    assert mine.find("a") is None and theirs.find("a") is None
    assert not any(cache.work.iterdir())


# The bound


def keys(cache: CachePaths) -> list[str]:
    return sorted(path.name for path in cache.templates.iterdir())


def test_captures_that_were_used_longest_ago_go_first(cache: CachePaths, publish: Publish) -> None:
    image = publish("image", "image")
    size = sum(file.stat().st_blocks * 512 for file in image.folder.iterdir())
    store = a_store(cache, capture_bytes=size * 5 // 2)  # Two captures fit, three do not.
    for number, key in enumerate(("a", "b")):
        publish(key, store=store)
        os.utime(cache.templates / key, (1000 + number,) * 2)
    assert a_store(cache).find("a") is not None, "this use makes a younger than b"
    publish("c", store=store)
    assert keys(cache) == ["a", "c", "image"]
    assert store.find("b") is None


def test_the_latest_capture_stays_however_large_it_is(cache: CachePaths, publish: Publish) -> None:
    store = a_store(cache, capture_bytes=1)
    publish("image", "image", store)
    publish("a", store=store)
    publish("b", store=store)
    assert keys(cache) == ["b", "image"]


def test_the_bound_comes_from_the_environment(
    cache: CachePaths, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKFLOW_GYM_CACHE_GB", "0.0001")
    publish("a")
    publish("b")
    assert keys(cache) == ["b"]


def test_what_is_half_written_is_neither_found_nor_in_the_way(cache: CachePaths, publish: Publish) -> None:
    (cache.templates / "half").mkdir()
    (cache.templates / "half" / "memory").touch()
    publish("a", store=a_store(cache, capture_bytes=1))
    assert a_store(cache).find("half") is None
    assert publish("half").key == "half"


def test_one_template_is_made_by_one_at_a_time(cache: CachePaths) -> None:
    inside, most = 0, 0
    guard = threading.Lock()

    def make() -> None:
        nonlocal inside, most
        with a_store(cache).lock("a"):
            with guard:
                inside += 1
                most = max(most, inside)
            time.sleep(0.02)
            with guard:
                inside -= 1

    with a_store(cache).lock("b"):
        makers = [threading.Thread(target=make) for _ in range(4)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join(20)
    assert most == 1 and not any(maker.is_alive() for maker in makers)
