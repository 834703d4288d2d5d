"""Where things lie."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from workflow_gym.errors import InputError
from workflow_gym.paths import CachePaths, TrialPaths, data_dir, write_atomically


def test_shipped_folders_are_found_and_others_are_not() -> None:
    assert (data_dir("vm_images") / "homebank" / "image.toml").is_file()
    with pytest.raises(InputError, match="no-such-folder"):
        data_dir("no-such-folder")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"WORKFLOW_GYM_CACHE": "{tmp}/own", "XDG_CACHE_HOME": "{tmp}/xdg"}, "{tmp}/own"),
        ({"XDG_CACHE_HOME": "{tmp}/xdg"}, "{tmp}/xdg/workflow-gym"),
        ({"HOME": "{tmp}/home"}, "{tmp}/home/.cache/workflow-gym"),
        ({"HOME": "{tmp}/home", "WORKFLOW_GYM_CACHE": "~/mine"}, "{tmp}/home/mine"),
        ({"HOME": "{tmp}/home", "WORKFLOW_GYM_CACHE": "", "XDG_CACHE_HOME": ""}, "{tmp}/home/.cache/workflow-gym"),
    ],
)
def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("WORKFLOW_GYM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    assert CachePaths.default().root == Path(expected.format(tmp=tmp_path))


def test_folders_of_the_cache_are_made_for_their_owner_only(tmp_path: Path) -> None:
    cache = CachePaths(tmp_path / "cache")
    folders = [cache.images, cache.templates, cache.machines, cache.work]
    assert len(set(folders)) == 4
    for folder in folders:
        assert folder.is_dir() and folder.stat().st_mode & 0o777 == 0o700


def test_a_trials_folder_is_fresh_and_named_by_task_and_agent(tmp_path: Path) -> None:
    names = {TrialPaths.new(tmp_path / "runs", "finance/homebank/ledger", "my.module:Agent").root for _ in range(20)}
    assert len(names) == 20
    for root in names:
        assert "-ledger-my-module-agent-" in root.name
        assert (root / "screenshots").is_dir() and (root / "artifacts").is_dir()


@pytest.mark.parametrize("agent", ["../../etc", "a/b", "", "ü:Ö", " "])
def test_a_trials_folder_never_leaves_its_parent(tmp_path: Path, agent: str) -> None:
    assert TrialPaths.new(tmp_path, "t", agent).root.parent == tmp_path


def test_readers_see_the_old_text_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    texts = {"a" * 300_000, "b" * 300_000}
    write_atomically(path, "a" * 300_000)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for text in texts:
                write_atomically(path, text)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        assert all(path.read_text() in texts for _ in range(100))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert os.listdir(tmp_path) == ["file.json"], "temporary files are left behind"


def test_a_text_that_cannot_be_written_leaves_the_old_one_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "half a character: \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.json"]


def test_texts_are_utf8_whatever_the_locale(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from workflow_gym.paths import write_atomically\n"
    code += "write_atomically(Path(sys.argv[1]), 'Gr\\xf6\\xdfe \\u2713')"
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "file")], env=environment, check=True)
    assert (tmp_path / "file").read_bytes() == "Größe ✓".encode()
