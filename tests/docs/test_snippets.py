"""Every Python block of the documentation runs as it stands, and every `workflow-gym` command in it exists."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workflow_gym.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for match in re.finditer(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL):
            line = page.read_text()[: match.start()].count("\n") + 1
            found.append((f"{page.name}:{line}", match[1]))
    return found


@pytest.mark.vm
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("code", [code for _, code in blocks("python")], ids=[name for name, _ in blocks("python")])
def test_python_blocks_run(code: str, tmp_path: Path) -> None:
    script = tmp_path / "snippet.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def commands() -> list[str]:
    lines = [line.split("#")[0].strip() for _, block in blocks("bash") for line in block.splitlines()]
    return sorted({line for line in lines if line.startswith("workflow-gym ")})


@pytest.mark.parametrize("command", commands())
def test_commands_exist(command: str) -> None:
    words = [word for word in shlex.split(command)[1:] if not word.startswith("-")]
    names = words[:2] if words and words[0] in ("image", "task") else words[:1]
    result = CliRunner().invoke(app, [*names, "--help"])
    assert result.exit_code == 0, result.output
    options = [word.split("=")[0] for word in shlex.split(command) if word.startswith("--")]
    for option in options:
        assert option in result.output, f"{' '.join(names)} has no option {option}"
