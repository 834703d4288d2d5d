"""The guards of the layout: source roots are no packages, arrows go one way, and the wheel holds what it must."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "gym": "workflow_gym",
    "agents": "workflow_gym_agents",
    "checkers": "workflow_gym_checkers",
}
# What each package may import of the others.
ARROWS = {
    "workflow_gym": set[str](),
    "workflow_gym_agents": {"workflow_gym"},
    "workflow_gym_checkers": {"workflow_gym"},
}


def modules_of(root: str) -> list[Path]:
    found = sorted((ROOT / root / PACKAGES[root]).rglob("*.py"))
    assert found
    return found


def imported_by(path: Path) -> set[str]:
    """The top-level names that a module imports anywhere in it, also inside functions and by importlib."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name.split(".")[0] for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module.split(".")[0])
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(module)), *_]):
                names.add(module.split(".")[0])
            case _:
                pass
    return names


@pytest.mark.parametrize("folder", ["gym", "agents", "checkers", "tasks"])
def test_a_source_root_is_no_package(folder: str) -> None:
    """A package called `gym` or `agents` would shadow OpenAI's in every process started in the repository."""
    assert (ROOT / folder).is_dir()
    assert not (ROOT / folder / "__init__.py").exists()


@pytest.mark.parametrize("root", PACKAGES)
def test_every_source_root_holds_one_typed_package(root: str) -> None:
    assert [path.parent.name for path in (ROOT / root).glob("*/__init__.py")] == [PACKAGES[root]]
    assert (ROOT / root / PACKAGES[root] / "py.typed").is_file()


def test_the_guard_sees_every_way_of_importing(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "import one.sub as x, two\nfrom three.sub import y\nfrom . import z\n"
        "def f():\n    import four\n    importlib.import_module('five.sub')\n"
    )
    assert imported_by(module) == {"one", "two", "three", "four", "five"}


@pytest.mark.parametrize("root", PACKAGES)
def test_arrows_go_one_way(root: str) -> None:
    own = PACKAGES[root]
    forbidden = set(PACKAGES.values()) - ARROWS[own] - {own}
    for path in modules_of(root):
        assert not imported_by(path) & forbidden, f"{path.relative_to(ROOT)} imports {imported_by(path) & forbidden}"


@pytest.mark.parametrize("root", PACKAGES)
def test_nothing_is_imported_from_the_tests(root: str) -> None:
    for path in modules_of(root):
        assert not imported_by(path) & {"tests", "pytest", "hypothesis"}, path


def test_the_scripts_that_run_apart_need_the_standard_library_only() -> None:
    """They run with -I -S, in other namespaces or after their parent's death."""
    for name in ("machines/qemu/reaper.py", "images/layer_worker.py"):
        imported = imported_by(ROOT / "gym" / "workflow_gym" / name) - {"__future__"}
        for module in imported:
            specification = importlib.util.find_spec(module)
            assert specification is not None and "site-packages" not in (specification.origin or ""), (
                f"{name}: {module}"
            )


def test_the_wheel_holds_the_three_packages_and_the_data_and_nothing_else(tmp_path: Path) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv builds the wheel")
    command = [uv, "build", "--wheel", "--quiet", "--out-dir", str(tmp_path), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES.values())
    assert len(tops) == 4
    for root, package in PACKAGES.items():
        for path in modules_of(root):
            assert str(path.relative_to(ROOT / root)) in names
        assert f"{package}/py.typed" in names
    for kind in ("tasks", "vm_images"):
        shipped = {
            name.removeprefix(f"workflow_gym/data/{kind}/")
            for name in names
            if name.startswith(f"workflow_gym/data/{kind}/")
        }
        mine = {str(path.relative_to(ROOT / kind)) for path in (ROOT / kind).rglob("*") if path.is_file()}
        assert mine and shipped == mine
    assert not any("__pycache__" in name or name.startswith("workflow_gym/data/tests") for name in names)
