"""A mistake in a file of ours is reported with file, field and reason, and a misspelt field with what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from workflow_gym.errors import FormatError
from workflow_gym.toml_files import read_toml


class Wheel(BaseModel):
    model_config = ConfigDict(extra="forbid")
    diameter: float
    spokes: int = 36


class Frame(BaseModel):
    model_config = ConfigDict(extra="forbid")
    colour: str = "red"


class Bicycle(BaseModel):
    model_config = ConfigDict(extra="forbid")
    brand: str
    wheels: tuple[Wheel, ...] = ()
    frame: Frame | None = None
    bare: Frame = Frame()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bicycle.toml"


def test_a_right_file_is_read(path: Path) -> None:
    path.write_text('brand = "Grün"\n[[wheels]]\ndiameter = 28\n[frame]\ncolour = "blue"\n', encoding="utf-8")
    assert read_toml(path, Bicycle) == Bicycle(brand="Grün", wheels=(Wheel(diameter=28),), frame=Frame(colour="blue"))


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ("brand = 5", "brand", "valid string"),
        ("", "brand", "required"),
        ('brnad = "a"', "brnad", "did you mean 'brand'?"),
        ('brand = "a"\n[[wheels]]\ndiametre = 3', "wheels.0.diametre", "did you mean 'diameter'?"),
        ('brand = "a"\n[[wheels]]\ndiameter = 3\n[[wheels]]\ndiameter = "x"', "wheels.1.diameter", "valid number"),
        ('brand = "a"\n[frame]\ncolor = "x"', "frame.color", "did you mean 'colour'?"),
        ('brand = "a"\n[bare]\ncolor = "x"', "bare.color", "did you mean 'colour'?"),
        ('brand = "a"\nwheels = 3', "wheels", "valid tuple"),
    ],
)
def test_a_mistake_names_file_field_and_reason(path: Path, text: str, field: str, reason: str) -> None:
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_toml(path, Bicycle)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines)
    assert any(line.startswith(f"{path}: {field}: ") and reason in line for line in lines), lines


def test_every_mistake_is_listed_and_far_names_are_not_guessed(path: Path) -> None:
    path.write_text("zzz = 1\n[[wheels]]\n")
    with pytest.raises(FormatError) as caught:
        read_toml(path, Bicycle)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert [line for line in lines if "zzz" in line] == [f"{path}: zzz: there is no such field"]


@pytest.mark.parametrize("content", [b"brand = ", b"brand = 'a'\nbrand = 'b'", b"brand = '\xff'", b"\x00"])
def test_what_is_no_toml_is_reported_with_the_file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(FormatError, match="bicycle.toml"):
        read_toml(path, Bicycle)


def test_a_file_that_is_not_there_or_is_a_folder_is_reported(path: Path) -> None:
    with pytest.raises(FormatError, match="bicycle.toml: the file does not exist"):
        read_toml(path, Bicycle)
    path.mkdir()
    with pytest.raises(FormatError, match="bicycle.toml"):
        read_toml(path, Bicycle)
