"""Checks plain text files."""

from __future__ import annotations

from collections.abc import Iterator

from workflow_gym.grading import Checker, Criterion, Evidence


class TextFile(Checker):
    """A UTF-8 text file has exactly the expected lines; blank lines at the end and trailing blanks do not count."""

    file: str
    """The name of the collected file."""
    lines: tuple[str, ...]
    """The lines it must have."""

    def check(self, evidence: Evidence) -> Iterator[Criterion]:
        """Compare line by line."""
        path = evidence.file(self.file)
        found = "" if path is None else path.read_bytes().decode("utf-8", "replace")
        yield Criterion(
            name=f"{self.file} was saved",
            met=path is not None,
            expected="a file",
            found="a file" if path else evidence.missing.get(self.file, "it was not collected"),
            kind="complete",
        )
        lines = [line.rstrip() for line in found.rstrip().split("\n")]
        yield Criterion(
            name=f"{self.file} has the right lines",
            met=path is not None and lines == list(self.lines),
            expected=" / ".join(self.lines),
            found=" / ".join(lines)[:500],
        )
