"""A closure has what a check is made of and nothing else, and its fingerprint changes with what that does."""

import ast
import shutil
import sys
import time
from pathlib import Path

import pytest

import theory
from theory.evidence import closure as module
from theory.evidence.closure import closure_of, closures, located, print_of, read

ROOT = Path(theory.__file__).resolve().parent.parent
ALWAYS = {
    f"theory/evidence/{name}.py" for name in ("claim", "interval", "judge", "runner", "streams", "sweep", "table")
}


def suite(root, **files):
    """Write files of a repository, ``a__b`` for ``a/b.py``, and return a function that follows ``checks/test_x.py``."""
    for name, text in {"checks__test_x": "", **files}.items():
        path = root.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return lambda: set(closure_of(root / "checks" / "test_x.py", root).files) - ALWAYS


def follow(root, text, **files):
    """Return what a check of this text is made of beside itself and what decides every check."""
    judged = suite(root)()
    return suite(root, checks__test_x=text, **files)() - judged


def test_what_judges_is_always_there(tmp_path):
    suite(tmp_path)
    found = set(closure_of(tmp_path / "checks" / "test_x.py", tmp_path).files)
    assert found > ALWAYS
    names = ("record/writing", "record/reading", "plugin", "board", "provenance", "closure")
    frame = {f"theory/evidence/{name}.py" for name in names}
    assert not found & (frame | {"theory/evidence/__init__.py"})


def test_a_door_leads_to_the_module_that_defines_the_name():
    door = "theory/maxent/__init__.py"
    for text in ("from theory.maxent import softmax", "from theory.maxent.gibbs.softmax import softmax"):
        found = print_closure(text)
        assert "theory/maxent/gibbs/softmax.py" in found
        assert not {door, "theory/maxent/sparse/fusedmax.py", "theory/maxent/sparse/budget.py"} & found


def print_closure(text):
    """Follow a text as if it were a check of this repository."""
    modules = module._Modules(ROOT)
    seen = set()
    open_ = [one for item in reader(text).imports for one in modules._leads_to(item, ROOT / "verify")]
    while open_:
        at = open_.pop()
        if at not in seen:
            seen.add(at)
            open_ += modules._after(at, None)
    return {path.relative_to(ROOT).as_posix() for path in seen}


def reader(text):
    made = module._Reader(ROOT / "verify" / "test_x.py")
    made.put(ast.parse(text))
    return made.source()


def test_doors_of_doors_and_modules_of_the_name_of_a_function():
    assert "theory/distance/w1.py" in print_closure("from theory import w1")
    assert "theory/attention/measure.py" in print_closure("from theory import Measure")
    assert "theory/attention/photograph.py" in print_closure("from theory.attention import photograph")
    lazy = print_closure("def f():\n    from theory.evidence import zero\n    return zero")
    assert "theory/evidence/symbolic.py" in lazy


def test_a_room_is_as_wide_as_its_use():
    narrow, wide = (print_closure(f"from theory import engine\n{use}") for use in ("engine.merge(1)", "f(engine)"))
    assert "theory/engine/streaming.py" in narrow
    assert "theory/engine/methods.py" in wide - narrow
    assert narrow < wide


def test_imports_are_followed_wherever_they_stand(tmp_path):
    text = "def f():\n    import helper.one\n    from helper.two import x\n    from helper import three as y"
    files = {"helper__one": "", "helper__two": "import beside", "helper__three": "", "helper__four": ""}
    found = follow(tmp_path, text, **files, checks__beside="import theory.maxent.sparse.budget", beside__no="")
    followed = {"helper/one.py", "helper/two.py", "helper/three.py", "checks/beside.py"}
    assert {*followed, "theory/maxent/sparse/budget.py"} <= found
    assert not {"helper/four.py", "theory/maxent/sparse/fusedmax.py"} & found


def test_what_only_a_type_checker_sees_is_not_followed(tmp_path):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from helper import x"
    assert follow(tmp_path, text, helper="") == set()


@pytest.mark.parametrize("lazily", ["", "if TYPE_CHECKING:\n    "])
def test_doors_of_both_forms(tmp_path, lazily):
    door = f"{lazily}from room.inner import thing as thing\nfrom room.other import more as more"
    (tmp_path / "room").mkdir()
    for name, text in {"__init__": door, "inner": "def thing(): 0", "other": "def more(): 0"}.items():
        (tmp_path / "room" / f"{name}.py").write_text(text)
    assert follow(tmp_path, "from room import thing") == {"room/inner.py"}
    assert follow(tmp_path, "from room import more") == {"room/other.py"}
    assert follow(tmp_path, "import room\nroom.thing()") == {"room/inner.py"}
    assert follow(tmp_path, "import room\nprint(room)") == {"room/inner.py", "room/other.py"}
    assert follow(tmp_path, "from room import own") == {"room/__init__.py", "room/inner.py", "room/other.py"} - (
        {"room/inner.py"} if lazily else set()
    )


def test_modules_that_are_imported_by_name(tmp_path):
    assert follow(tmp_path, "from importlib import import_module\nimport_module('helper')", helper="") == {"helper.py"}
    named = print_closure("from theory.figures import registry")
    assert "theory/figures/caption.py" in named


def test_fixtures_bring_their_conftest(tmp_path):
    conftest = "import helper\n@fixture\ndef tokens(): 0"
    files = {"conftest": conftest, "checks__conftest": "def other(): 0", "helper": ""}
    assert follow(tmp_path, "def test_x(run): 0", **files) == set()
    assert follow(tmp_path, "def test_x(run, tokens): 0", **files) == {"conftest.py", "helper.py"}


def test_fixtures_that_nobody_asks_for_bring_their_conftest(tmp_path):
    conftest = "import helper\n@fixture(autouse=True)\ndef tokens(): 0"
    assert follow(tmp_path, "def test_x(run): 0", conftest=conftest, helper="") == {"conftest.py", "helper.py"}


@pytest.mark.parametrize("text", ["from checks.pkg import g", "from pkg import g", "import pkg\npkg.g()"])
@pytest.mark.parametrize("door", ["from .inner import g", "from ..beside import g", "from . import inner as g"])
def test_relative_imports_are_followed(tmp_path, text, door):
    for name in ("inner", "other"):
        (tmp_path / "checks" / "pkg").mkdir(parents=True, exist_ok=True)
        (tmp_path / "checks" / "pkg" / f"{name}.py").write_text("g = 1")
    (tmp_path / "checks" / "pkg" / "__init__.py").write_text(door)
    found = follow(tmp_path, text, checks__beside="g = 2")
    assert found == {"checks/beside.py" if "beside" in door else "checks/pkg/inner.py"}


def test_relative_imports_of_a_module_are_followed(tmp_path):
    (tmp_path / "checks" / "pkg").mkdir(parents=True)
    for name, text in {
        "one": "from .two import x\nfrom . import three",
        "two": "x = 1",
        "three": "",
        "four": "",
    }.items():
        (tmp_path / "checks" / "pkg" / f"{name}.py").write_text(text)
    assert follow(tmp_path, "import pkg.one") == {f"checks/pkg/{name}.py" for name in ("one", "two", "three")}


def test_a_door_that_is_imported_by_a_dotted_name_stands_for_all_it_gives():
    found = print_closure("import theory.lipschitz\ntheory.lipschitz.displacement(1)\ntheory.w1(1)")
    assert {"theory/lipschitz/displacement.py", "theory/distance/w1.py"} <= found
    narrow = print_closure("import theory.lipschitz\ntheory.lipschitz.displacement(1)")
    assert "theory/maxent/sparse/fusedmax.py" not in narrow


@pytest.mark.parametrize(
    "text",
    [
        "HERE = Path(__file__).parent\nHERE / 'b.txt'",
        "def f():\n    return HERE / 'b.txt'\nHERE: Path = Path(__file__).parent",
        "Path(__file__).resolve().parent / 'b.txt'",
        "Path(__file__).absolute().with_name('b.txt')",
        "P = Path(__file__)\nF = P.with_name('b.txt')",
        "HERE = Path(__file__).parent\nfor x in 'b': HERE / f'{x}.txt'",
        "list(Path(__file__).parent.glob('*.txt'))",
        "HERE = Path(__file__).parent\nUP = HERE.parent\nUP / 'checks' / name",
    ],
)
def test_data_is_found_however_its_path_is_written(tmp_path, text):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "b.txt").write_text("1")
    assert follow(tmp_path, f"from pathlib import Path\n{text}") == {"checks/b.txt"}


def test_data_beside_a_module_counts(tmp_path):
    table = tmp_path / "checks" / "table.csv"
    folder = tmp_path / "checks" / "data"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("1")
    table.write_text("1")
    text = "from pathlib import Path\nT = Path(__file__).parent / 'table.csv'\nD = Path(__file__).parent / 'data'"
    assert follow(tmp_path, text) == {"checks/table.csv", "checks/data/a.csv"}
    before = closure_of(tmp_path / "checks" / "test_x.py", tmp_path).fingerprint
    table.write_text("2")
    assert closure_of(tmp_path / "checks" / "test_x.py", tmp_path).fingerprint != before


def test_reported_claims_count_their_tables():
    files = closure_of(ROOT / "verify" / "experiments" / "test_reported.py", ROOT).files
    assert {
        "theory/experiments/results/arms-moons.csv",
        "theory/experiments/analysis/paired.py",
    } <= set(files)


BASE = '"""Words."""\nx = 1\n\n\ndef f(a, b=2):\n    """More words."""\n    return f"{a!r:>{b}}" + str(a * b + x)\n'
SAME = {
    "comment": lambda s: s.replace("x = 1", "x = 1  # one"),
    "layout": lambda s: s.replace("a * b", "a  *  (b)"),
    "docstring": lambda s: s.replace("More words", "Other words").replace('"""Words."""\n', ""),
    "annotation": lambda s: s.replace("(a, b=2)", "(a: int, b: int = 2) -> str"),
    "imports for types": lambda s: s + "if TYPE_CHECKING:\n    import other\n",
    "number written otherwise": lambda s: s.replace("b=2", "b=0b10"),
}
OTHER = {
    "number": lambda s: s.replace("b=2", "b=3"),
    "type of a number": lambda s: s.replace("b=2", "b=2.0"),
    "truth": lambda s: s.replace("x = 1", "x = True"),
    "operator": lambda s: s.replace("a * b", "a / b"),
    "grouping": lambda s: s.replace("a * b + x", "a * (b + x)"),
    "name": lambda s: s.replace("def f", "def g"),
    "default": lambda s: s.replace("b=2", "b"),
    "keyword only": lambda s: s.replace("a, b=2", "a, *, b=2"),
    "text": lambda s: s.replace("!r:>", "!r:<"),
    "conversion": lambda s: s.replace("!r", "!s"),
    "statement": lambda s: s + "x = 1\n",
    "decorator": lambda s: s.replace("def f", "@cache\ndef f"),
    "async": lambda s: s.replace("def f", "async def f"),
}


@pytest.mark.parametrize("change", SAME)
def test_what_does_the_same_has_the_same_fingerprint(change):
    assert SAME[change](BASE) != BASE
    assert print_of("a.py", SAME[change](BASE).encode()) == print_of("a.py", BASE.encode())


@pytest.mark.parametrize("change", OTHER)
def test_what_does_something_else_has_another(change):
    assert print_of("a.py", OTHER[change](BASE).encode()) != print_of("a.py", BASE.encode())


def test_fields_of_other_pythons_do_not_count():
    """A later Python gives a tree more fields, which are empty where they are not used."""
    text = BASE + "class A(int):\n    pass\ntype_ = lambda: (yield)\n"
    tree = ast.parse(text)
    made = module._Reader(Path("a.py"))
    for node in ast.walk(tree):
        node._fields = (*node._fields, "of_tomorrow")
        node.of_tomorrow = []
    made.put(tree)
    assert made.source().print == print_of("a.py", text.encode())


def test_an_empty_piece_of_text_in_an_f_string_does_not_count():
    tree = ast.parse(BASE)
    made = module._Reader(Path("a.py"))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = [piece for value in node.values for piece in (ast.Constant(""), value)]
    made.put(tree)
    assert made.source().print == print_of("a.py", BASE.encode())


@pytest.mark.skipif(sys.version_info[:2] < (3, 11), reason="older trees are not supported")
def test_fingerprint_is_that_of_every_python():
    """Taken on Python 3.11; another number here would make all evidence old on another version."""
    assert print_of("a.py", BASE.encode())[:16] == "c39560d6f1f2a059"


def test_names_and_contents_count(tmp_path):
    prints = set()
    for name in ("one", "two"):
        for number in (1, 2):
            root = tmp_path / f"{name}{number}"
            suite(root, checks__test_x=f"import {name}", **{name: f"x = {number}"})
            prints.add(closure_of(root / "checks" / "test_x.py", root).fingerprint)
    assert len(prints) == 4


def test_place_is_irrelevant(tmp_path):
    shutil.copytree(ROOT / "verify", tmp_path / "verify", ignore=shutil.ignore_patterns("evidence", "__pycache__"))
    test = Path("verify", "maxent", "test_softmax_temperature.py")
    here, there = (closure_of(root / test, root) for root in (ROOT, tmp_path))
    assert here == there


def test_file_that_is_no_python_is_named(tmp_path):
    suite(tmp_path, checks__test_x="import helper", helper="def")
    with pytest.raises(SyntaxError) as error:
        closure_of(tmp_path / "checks" / "test_x.py", tmp_path)
    assert error.value.filename == str(tmp_path / "helper.py")


def test_tests_are_found_above_their_evidence(tmp_path):
    suite(tmp_path)
    (tmp_path / "checks" / "evidence").mkdir()
    found = located(tmp_path / "checks" / "evidence", "checks/test_x.py")
    assert found == (tmp_path.resolve() / "checks" / "test_x.py", tmp_path.resolve())
    assert located(tmp_path / "checks" / "evidence", "checks/test_y.py") is None
    assert located(tmp_path / "checks" / "evidence", str(tmp_path / "checks" / "test_x.py")) is None


def test_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("x = 1")
    before = read(path).print
    path.write_text("x = 100")
    assert read(path).print != before


def test_all_claims_take_no_time():
    module._read.cache_clear()
    paths = sorted((ROOT / "verify").rglob("test_*.py"))
    start = time.process_time()
    found = closures(paths, ROOT)
    assert time.process_time() - start < 6.0  # 1.3 s where this was written, of the process and not of the clock
    assert len(found) == len(paths) > 100
    assert all("theory/evidence/judge.py" in closure.files for closure in found.values())
    assert not [name for closure in found.values() for name in closure.files if name.startswith("theory/figures")]


def test_what_a_run_leaves_behind_is_no_data(tmp_path):
    text = 'HERE = Path(__file__).parent\nCACHE = HERE / "__pycache__"\nDATA = HERE / "data"\n'
    text += "open(CACHE / name)\nopen(DATA / name)\n"
    for name in ("__pycache__/test_x.pyc", "data/a.csv", "data/.a.csv.lock"):
        path = tmp_path / "checks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1", encoding="utf-8")
    found = {name for name in suite(tmp_path, checks__test_x=text)() if not name.endswith(".py")}
    assert found == {"checks/data/a.csv"}


@pytest.mark.parametrize("path", sorted((ROOT / "verify").rglob("test_*.py")), ids=lambda path: path.stem)
def test_closures_of_the_suite_have_no_file_that_was_not_written(path):
    files = closure_of(path, ROOT).files
    assert not [name for name in files if "__pycache__" in name or name.endswith((".pyc", ".nbi", ".nbc"))]
