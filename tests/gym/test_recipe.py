"""Image recipes: shipped ones are right, mistakes are named, and the key changes with the content."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflow_gym.errors import FormatError, UnknownNameError
from workflow_gym.images.recipe import Image, image_names, load_image

BASE = 'description = "the base"\nsuite = "trixie"\npackages = ["openbox"]\n'
LAYER = 'description = "a layer"\nbase = "base"\n'
APPLICATION = '[application]\nname = "App"\nlaunch = ["app"]\nopen = ["app", "{path}"]\nwindow = "App$"\n'


@pytest.fixture
def write_image(tmp_path: Path) -> WriteImage:
    return WriteImage(tmp_path)


class WriteImage:
    """Writes recipes side by side."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, name: str, text: str) -> Path:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        (folder / "image.toml").write_text(text)
        return folder


@pytest.mark.parametrize("name", image_names())
def test_shipped_recipes_are_right(name: str) -> None:
    image = load_image(name)
    assert image.name == name and image.key.startswith(f"{name}-")
    assert (image.base is None) == (image.recipe.suite is not None)
    if image.recipe.application and image.recipe.application.open:
        assert any("{path}" in word for word in image.recipe.application.open)


def test_a_layer_knows_its_base(write_image: WriteImage) -> None:
    base = Image(write_image("base", BASE))
    image = Image(write_image("app", LAYER + APPLICATION))
    assert image.base is not None and image.base.key == base.key
    assert image.recipe.machine.screen == (1280, 800)
    assert image.recipe.application is not None and image.recipe.application.window == "App$"


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        (BASE.replace("suite", "siute"), "siute", "did you mean 'suite'?"),
        (BASE + 'base = "base"\n', "(whole file)", "either 'suite'"),
        ('description = "x"\n', "(whole file)", "either 'suite'"),
        (BASE + "[machine]\nmemory_mb = 10\n", "machine.memory_mb", "256"),
        (BASE + "[machine]\nmemroy_mb = 1024\n", "machine.memroy_mb", "did you mean 'memory_mb'?"),
        (BASE + "[machine]\nscreen = [1280]\n", "machine.screen", ""),
        (BASE + "[machine]\nscreen = [0, 800]\n", "machine.screen", ""),
        (BASE + "[machine]\nscreen = [1280, -800]\n", "machine.screen", ""),
        (BASE + APPLICATION.replace("App$", "App("), "application.window", "regular expression"),
        (BASE + APPLICATION.replace('["app"]', "[]"), "application.launch", "at least 1"),
        (BASE + APPLICATION.replace("{path}", "{file}"), "application.open", "{path}"),
        (BASE + 'setup = ["locale-gen"]\n', "setup.0", "tuple"),
    ],
)
def test_a_mistake_names_file_field_and_reason(write_image: WriteImage, text: str, field: str, reason: str) -> None:
    folder = write_image("wrong", text)
    with pytest.raises(FormatError) as caught:
        Image(folder)
    lines = str(caught.value).splitlines()
    assert any(line.startswith(f"{folder / 'image.toml'}: {field}") and reason in line for line in lines), lines


def test_a_base_that_is_not_there_is_reported(write_image: WriteImage) -> None:
    with pytest.raises(FormatError, match="base/image.toml"):
        Image(write_image("app", LAYER))


def test_bases_that_go_in_a_circle_are_reported(write_image: WriteImage) -> None:
    write_image("one", LAYER.replace('"base"', '"two"'))
    with pytest.raises(FormatError, match="one|two"):
        Image(write_image("two", LAYER.replace('"base"', '"one"')))


def test_an_unknown_image_suggests_its_neighbours() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'homebank'"):
        load_image("hombank")
    with pytest.raises(UnknownNameError):
        load_image("../vm_images/homebank")


def test_the_key_changes_with_recipe_files_modes_and_base(write_image: WriteImage) -> None:
    write_image("base", BASE)
    folder = write_image("app", LAYER + APPLICATION)
    keys = [Image(folder).key]
    assert Image(folder).key == keys[0]
    script = folder / "files" / "usr" / "local" / "bin" / "start"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    keys.append(Image(folder).key)
    script.chmod(0o755)
    keys.append(Image(folder).key)
    script.write_text("#!/bin/sh\ntrue\n")
    keys.append(Image(folder).key)
    script.rename(script.with_name("begin"))
    keys.append(Image(folder).key)
    write_image("app", LAYER + APPLICATION + "ready_seconds = 60\n")
    keys.append(Image(folder).key)
    write_image("base", BASE.replace("openbox", "icewm"))
    keys.append(Image(folder).key)
    assert len(set(keys)) == len(keys)
