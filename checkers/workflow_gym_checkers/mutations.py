"""Mutations: changes that make a right result wrong, with which checks are proved to look closely."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from defusedxml import ElementTree as SafeElementTree
from pydantic import Field

from workflow_gym.grading import Mutation


class RemoveFile(Mutation):
    """The file was never saved."""

    file: str
    """The artifact."""

    def apply(self, artifacts: Path) -> None:
        """Remove it."""
        try:
            (artifacts / self.file).unlink()
        except FileNotFoundError:
            raise ValueError(f"{self.file} is not among the artifacts") from None


class CutFile(Mutation):
    """The file was cut off."""

    file: str
    """The artifact."""
    keep: float = Field(default=0.5, ge=0, lt=1)
    """The share of its bytes that is kept."""

    def apply(self, artifacts: Path) -> None:
        """Cut it."""
        content = (artifacts / self.file).read_bytes()
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
        path = artifacts / self.file
        content = path.read_text(encoding="utf-8")
        if content.count(self.old) != 1:
            raise ValueError(
                f"{self.old!r} occurs {content.count(self.old)} times in {self.file}, and should occur once"
            )
        path.write_text(content.replace(self.old, self.new), encoding="utf-8")


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
        path = artifacts / self.file
        root = SafeElementTree.parse(path).getroot()
        if root is None:
            raise ValueError(f"{self.file} holds no XML element")
        parents = {child: parent for parent in root.iter() for child in parent}
        found = root.findall(self.select)
        if len(found) != 1:
            raise ValueError(f"{self.select} selects {len(found)} elements of {self.file}, and should select one")
        element, parent = found[0], parents[found[0]]
        if self.remove:
            parent.remove(element)
        else:
            target = element
            if self.repeat:
                target = ElementTree.Element(element.tag, dict(element.attrib))
                parent.insert(list(parent).index(element) + 1, target)
            target.attrib.update(self.set)
            for name in self.drop:
                del target.attrib[name]
        ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
