"""Mutations: changes that make a right result wrong, with which checks are proved to look closely."""

from __future__ import annotations

import copy
from pathlib import Path
from xml.etree import ElementTree

from defusedxml import ElementTree as SafeElementTree
from pydantic import Field

from workflow_gym.grading import Mutation


def _read(artifacts: Path, file: str) -> bytes:
    try:
        return (artifacts / file).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{file} is not among the artifacts") from None


class RemoveFile(Mutation):
    """The file was never saved."""

    file: str
    """The artifact."""

    def apply(self, artifacts: Path) -> None:
        """Remove it."""
        _read(artifacts, self.file)
        (artifacts / self.file).unlink()


class CutFile(Mutation):
    """The file was cut off."""

    file: str
    """The artifact."""
    keep: float = Field(default=0.5, ge=0, lt=1)
    """The share of its bytes that is kept."""

    def apply(self, artifacts: Path) -> None:
        """Cut it."""
        content = _read(artifacts, self.file)
        if not content:
            raise ValueError(f"{self.file} is empty, so nothing can be cut off")
        (artifacts / self.file).write_bytes(content[: int(len(content) * self.keep)])


class ReplaceText(Mutation):
    """Some text in the file is another."""

    file: str
    """The artifact."""
    old: str
    """Text that occurs exactly once."""
    new: str
    """What stands there instead."""

    def apply(self, artifacts: Path) -> None:
        """Replace it."""
        content, old, new = _read(artifacts, self.file), self.old.encode(), self.new.encode()
        if content.count(old) != 1:
            raise ValueError(f"{self.old!r} occurs {content.count(old)} times in {self.file}, and should occur once")
        if old == new:
            raise ValueError(f"{self.old!r} is replaced by itself")
        (artifacts / self.file).write_bytes(content.replace(old, new))


class EditXml(Mutation):
    """Exactly one element of an XML file is changed, removed, or repeated."""

    file: str
    """The artifact."""
    select: str
    """An ElementTree path (https://docs.python.org/3/library/xml.etree.elementtree.html#xpath-support)."""
    set: dict[str, str] = {}
    """Attributes to set."""
    drop: tuple[str, ...] = ()
    """Attributes to drop."""
    remove: bool = False
    """Remove the element."""
    repeat: bool = False
    """Put a second copy beside it (after `set` and `drop`, so that the copy can differ)."""

    def apply(self, artifacts: Path) -> None:
        """Change it."""
        content = _read(artifacts, self.file)
        try:
            root: ElementTree.Element = SafeElementTree.fromstring(content)
            found = root.findall(self.select)
        except (SyntaxError, TypeError, KeyError) as error:  # What ElementTree raises for bad XML and bad paths.
            raise ValueError(f"cannot select {self.select} of {self.file}: {error}") from None
        if len(found) != 1:
            raise ValueError(f"{self.select} selects {len(found)} elements of {self.file}, and should select one")
        before = ElementTree.tostring(root)
        self._edit(found[0], {child: parent for parent in root.iter() for child in parent})
        if ElementTree.tostring(root) == before:
            raise ValueError(f"{self.select} of {self.file} is as it should become already")
        ElementTree.ElementTree(root).write(artifacts / self.file, encoding="utf-8", xml_declaration=True)

    def _edit(self, element: ElementTree.Element, parents: dict[ElementTree.Element, ElementTree.Element]) -> None:
        parent = parents.get(element)
        if parent is None and (self.remove or self.repeat):
            raise ValueError(f"the root of {self.file} can neither be removed nor repeated")
        if parent is not None and self.remove:
            parent.remove(element)
            return
        if parent is not None and self.repeat:
            original, element = element, copy.deepcopy(element)
            parent.insert(list(parent).index(original) + 1, element)
        if absent := set(self.drop) - set(element.attrib):
            raise ValueError(f"{self.select} of {self.file} has no attribute {', '.join(sorted(absent))}")
        element.attrib.update(self.set)
        for name in self.drop:
            del element.attrib[name]
