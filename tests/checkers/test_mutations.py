"""A mutation makes exactly the change it is for, or says that there is nothing to change."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pydantic import ValidationError

from workflow_gym.grading import Mutation
from workflow_gym_checkers.mutations import CutFile, EditXml, RemoveFile, ReplaceText

XML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<ledger title="Größe">'
    '<entry key="1" amount="-5.00" memo="rent"/><entry key="2" amount="7.50"><part of="a"/>text</entry></ledger>'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "note.txt").write_bytes("Größe 5\r\ntotal 245\r\n".encode())
    (tmp_path / "ledger.xml").write_text(XML, encoding="utf-8")
    (tmp_path / "other.txt").write_text("untouched")
    return tmp_path


def test_a_file_is_removed_and_no_other(folder: Path) -> None:
    RemoveFile(file="note.txt").apply(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["ledger.xml", "other.txt"]


@pytest.mark.parametrize(("keep", "length"), [(0.5, 5), (0.0, 0), (0.99, 9)])
def test_a_file_is_cut(folder: Path, keep: float, length: int) -> None:
    (folder / "note.txt").write_bytes(b"0123456789")
    CutFile(file="note.txt", keep=keep).apply(folder)
    assert (folder / "note.txt").read_bytes() == b"0123456789"[:length]


@pytest.mark.parametrize("keep", [1.0, -0.1])
def test_a_cut_that_keeps_all_is_refused(keep: float) -> None:
    with pytest.raises(ValidationError):
        CutFile(file="note.txt", keep=keep)


def test_a_text_is_replaced_and_every_other_byte_is_kept(folder: Path) -> None:
    ReplaceText(file="note.txt", old="245", new="244 ✓").apply(folder)
    assert (folder / "note.txt").read_bytes() == "Größe 5\r\ntotal 244 ✓\r\n".encode()


def edited(folder: Path, **fields: Any) -> ElementTree.Element:
    EditXml(file="ledger.xml", **fields).apply(folder)
    return ElementTree.parse(folder / "ledger.xml").getroot()


def test_attributes_are_set_and_dropped(folder: Path) -> None:
    root = edited(folder, select="entry[@key='1']", set={"amount": "-6.00", "new": "é"}, drop=("memo",))
    assert root[0].attrib == {"key": "1", "amount": "-6.00", "new": "é"}
    assert root[1].attrib == {"key": "2", "amount": "7.50"} and root.attrib == {"title": "Größe"}


def test_an_element_is_removed(folder: Path) -> None:
    root = edited(folder, select="entry[@key='1']", remove=True)
    assert [child.get("key") for child in root] == ["2"]


def test_an_element_is_repeated_with_all_it_holds_and_the_copy_may_differ(folder: Path) -> None:
    root = edited(folder, select="entry[@key='2']", repeat=True, set={"key": "3"})
    assert [child.attrib for child in root] == [
        {"key": "1", "amount": "-5.00", "memo": "rent"},
        {"key": "2", "amount": "7.50"},
        {"key": "3", "amount": "7.50"},
    ]
    assert [[part.tag for part in child] for child in root] == [[], ["part"], ["part"]]


def test_the_root_can_be_changed(folder: Path) -> None:
    assert edited(folder, select=".", set={"title": "other"}).attrib == {"title": "other"}


NOTHING_TO_CHANGE: list[Mutation] = [
    RemoveFile(file="gone.txt"),
    CutFile(file="gone.txt"),
    CutFile(file="empty.txt"),
    ReplaceText(file="gone.txt", old="a", new="b"),
    ReplaceText(file="note.txt", old="no such text", new="b"),
    ReplaceText(file="note.txt", old="5", new="6"),
    ReplaceText(file="note.txt", old="245", new="245"),
    EditXml(file="gone.xml", select="entry", remove=True),
    EditXml(file="note.txt", select="entry", remove=True),
    EditXml(file="ledger.xml", select="none", remove=True),
    EditXml(file="ledger.xml", select="entry", remove=True),
    EditXml(file="ledger.xml", select=".", remove=True),
    EditXml(file="ledger.xml", select=".", repeat=True),
    EditXml(file="ledger.xml", select="entry[@key='1']", drop=("absent",)),
    EditXml(file="ledger.xml", select="entry[@key='1']", set={"memo": "rent"}),
    EditXml(file="ledger.xml", select="entry[@key='1']"),
    EditXml(file="ledger.xml", select="entry[", remove=True),
]


@pytest.mark.parametrize("mutation", NOTHING_TO_CHANGE, ids=repr)
def test_a_mutation_that_changes_nothing_says_so_and_proves_nothing(folder: Path, mutation: Mutation) -> None:
    (folder / "empty.txt").touch()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError):
        mutation.apply(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "bomb", ['<!DOCTYPE a [<!ENTITY b "cc">]><a>&b;</a>', '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>']
)
def test_entities_are_not_followed(folder: Path, bomb: str) -> None:
    (folder / "ledger.xml").write_text(bomb)
    mutation = EditXml(file="ledger.xml", select="entry", remove=True)
    with pytest.raises(ValueError):
        mutation.apply(folder)
