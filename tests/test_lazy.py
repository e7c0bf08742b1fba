"""Doors load nothing, list everything, and a name that a module has too stays what the door says."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import theory

PACKAGE = Path(theory.__file__).parent
DOORS = sorted(
    ".".join(("theory", *path.parent.relative_to(PACKAGE).parts))
    for path in PACKAGE.rglob("__init__.py")
    if "open_lazily(__name__)" in path.read_text(encoding="utf-8")
)


def isolated(code):
    """Return what a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    return done.stdout.strip()


def test_every_room_has_such_a_door():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"figures", "report"}  # these list nothing
    assert {f"theory.{room}" for room in rooms} <= set(DOORS)


@pytest.mark.parametrize("name", DOORS)
def test_a_door_has_all_that_it_lists_and_says_so(name):
    if name.endswith((".torch", ".arms")):
        pytest.importorskip("torch")
    door = import_module(name)
    assert door.__all__ == sorted(set(door.__all__))
    assert set(door.__all__) <= set(dir(door))
    for item in door.__all__:
        assert not isinstance(getattr(door, item), type(door)), item


@pytest.mark.parametrize("name", DOORS)
def test_what_a_door_imports_is_written_once(name):
    tree = ast.parse(Path(import_module(name).__file__).read_text(encoding="utf-8"))
    names = [alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(filter(None, names)) == import_module(name).__all__


def test_a_door_loads_nothing():
    doors = ", ".join(DOORS)
    loaded = isolated(
        f"import sys, {doors}\nprint(*sorted(m for m in sys.modules if m.startswith(('theory', 'numpy'))))"
    )
    parents = {".".join(name.split(".")[:n]) for name in DOORS for n in range(1, name.count(".") + 2)}
    assert set(loaded.split()) == {*parents, "theory._lazy"}


@pytest.mark.parametrize(
    "lines",
    [
        "from theory.evidence import judge",
        "import theory.evidence.judge\nfrom theory.evidence import judge",
        "from theory.evidence.judge import reach\nfrom theory.evidence import judge",
        "import theory.evidence as e\njudge = e.judge\nimport theory.evidence.judge\nassert e.judge is judge",
        "import theory.evidence.judge\nimport theory.evidence as e\njudge = e.judge",
        "from theory.evidence import *",
    ],
)
def test_a_function_hides_the_module_of_its_name(lines):
    assert isolated(f"{lines}\nprint(type(judge).__name__, judge.__module__)") == "function theory.evidence.judge"


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match=r"^module 'theory\.maxent' has no attribute 'nothing'$"):
        import_module("theory.maxent").nothing  # noqa: B018
    with pytest.raises(ImportError, match=r"^cannot import name 'nothing' from 'theory\.maxent'"):
        from theory.maxent import nothing  # noqa: F401, PLC0415


def test_a_name_may_be_replaced_and_comes_back(monkeypatch):
    door = import_module("theory.evidence")
    before = door.judge
    monkeypatch.setattr("theory.evidence.judge", len)
    assert door.judge is len
    monkeypatch.undo()
    assert door.judge is before
