"""Other people's parts are reached by "module:Name", and a mistake says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflow_gym.errors import PluginError
from workflow_gym.grading import Checker
from workflow_gym.plugins import load_class, load_object, third_party


def test_an_object_is_loaded(plugins: Path) -> None:
    assert load_class("odd_checkers:AnswerIs", Checker, "checker").__name__ == "AnswerIs"  # type: ignore[type-abstract]


@pytest.mark.parametrize("spec", ["", ":", "module:", ":Name", "module", "module.Name"])
def test_a_malformed_string_says_how_it_must_look(spec: str) -> None:
    with pytest.raises(PluginError, match="module:Name"):
        load_object(spec, "checker")


def test_a_script_in_the_working_folder_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "beside_the_caller_7f3a.py").write_text("class Mine: pass\n")
    monkeypatch.chdir(tmp_path)
    assert load_object("beside_the_caller_7f3a:Mine", "agent").__name__ == "Mine"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no module named"),
        ("import no_such_dependency_of_theirs\n", "'no_such_dependency_of_theirs'"),
        ("from no_such_package_of_theirs.sub import x\n", "'no_such_package_of_theirs'"),
        ("class Name(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("class Other: pass\nclass _Hidden: pass\n", "it has Other$"),
        ("raise SystemExit(0)\n", "SystemExit"),
    ],
)
def test_what_cannot_be_imported_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, text: str | None, words: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"their_module_{request.node.callspec.indices['text']}"
    if text is not None:
        (tmp_path / f"{module}.py").write_text(text)
    with pytest.raises(PluginError, match=words) as caught:
        load_object(f"{module}:Name", "checker")
    assert str(caught.value).startswith(f"checker '{module}:Name'")


@pytest.mark.parametrize("name", ["NoChecker", "Path", "Unfinished", "__doc__"])
def test_what_is_no_usable_class_is_refused(plugins: Path, name: str) -> None:
    with pytest.raises(PluginError, match=name):
        load_class(f"odd_checkers:{name}", Checker, "checker")  # type: ignore[type-abstract]


def test_entry_points_of_installed_packages_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[workflow_gym.test_group]\none = a.b:C\ntwo = d:E\n")
    assert third_party("workflow_gym.test_group") == {}
    monkeypatch.syspath_prepend(str(tmp_path))
    assert third_party("workflow_gym.test_group") == {"one": "a.b:C", "two": "d:E"}
