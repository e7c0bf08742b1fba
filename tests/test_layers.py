"""The rooms import in one direction, slow packages stay where they belong, and no comparison is thrown away.

Everything is read from the syntax trees; nothing is imported.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "theory"
MODULES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "verify").rglob("*.py")])

GROUND = {"evidence", "engine"}  # know no theorem, and not each other
OBJECT = {*GROUND, "attention"}
METRIC = {*OBJECT, "distance"}
SUBJECTS = {"maxent", "lipschitz", "particles", "diffusion", "metric", "positions", "precision"}
MAY_IMPORT = {
    "evidence": set(),
    "engine": set(),
    "attention": GROUND,
    "distance": OBJECT,
    **dict.fromkeys(SUBJECTS, METRIC),
    "metric": {*METRIC, "maxent"},  # the map from scores to weights may be entmax
    "experiments": {*METRIC, "metric", "lipschitz"},  # what was reported of it, and constants of what was trained
    "reference": {"evidence"},  # shares no formula with what is tested against it
    "report": {"evidence"},
    "figures": {*METRIC, *SUBJECTS, "experiments", "reference", "report"},
    "site": {"evidence", "report", "figures"},  # of the figures their names and titles
    "__main__": {*METRIC, *SUBJECTS, "experiments", "reference", "report", "figures", "site"},
    "__init__": METRIC,
    "_validate": set(),
    "_backend": set(),
    "_lazy": set(),
    "_extra": set(),
    "_jit": set(),
}
HOMES = {  # a package and the only places that may import it
    "numba": ("_jit.py", "engine/registers.py"),
    "llvmlite": ("engine/registers.py",),
    "finufft": ("engine/",),
    "ot": ("distance/simplex.py",),
    "matplotlib": ("figures/",),
    "sympy": ("evidence/symbolic.py", "diffusion/geometry/conformal.py"),
    "flint": ("evidence/enclosure.py",),
    "mpmath": (),
    "torch": ("metric/torch/", "experiments/", "maxent/autograd.py"),
    "sklearn": (
        "diffusion/similarity/peers.py",
        "diffusion/studies/real_sets.py",
        "maxent/studies/prediction.py",
        "experiments/",
    ),
    "trimesh": ("experiments/",),
    "num2words": ("experiments/",),
    "jinja2": ("site/",),
    "markupsafe": ("site/",),
    "math_core": ("site/",),
    "markdown_it": ("site/",),
    "mdit_py_plugins": ("site/",),
    "pybtex": ("site/", "report/csl.py"),
    "jax": (),
    "safetensors": ("lipschitz/certificate/weights_file.py",),
    "pytest": ("evidence/plugin.py",),
    "hypothesis": (),
    "verify": (),
    "tests": (),
}
UNSEEDED = {"random", "secrets", "time", "datetime", "uuid"}  # a number may depend on none of these
CLOCKS = {  # where a clock decides when a state is written, how long it took and what is left over, never what is in it
    "evidence/countdown.py": {"time"},
    "evidence/files.py": {"time"},
    "particles/dynamics/checkpoints.py": {"time"},
    "experiments/arms/experiment.py": {"time"},
}
LOADERS = ("import_module", "__import__", "extra")
READERS = ("figures", "report", "site", "__main__")  # of what was measured
DRAWERS = {"utils", "util", "tools", "helpers", "misc", "common"}


def imported(tree: ast.AST, package: str = "") -> set[str]:
    """Return the dotted names that a tree imports anywhere, also lazily, for types only, or by a constant string."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                names |= {f"{base}.{alias.name}" for alias in node.names}
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if called(node) in LOADERS:
                names.add(name)
    return names


def called(node: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    return imported(tree_of(path), ".".join(("theory", *path.relative_to(PACKAGE).parts[:-1])))


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_rooms_import_in_one_direction(path):
    rooms = {name.split(".")[1] for name in imports_of(path) if name.startswith("theory.")}
    rooms = {name for name in rooms if (PACKAGE / name).is_dir()}
    assert rooms <= MAY_IMPORT[room(path)] | {room(path)}


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_packages_stay_at_home(path):
    for name in {name.split(".")[0] for name in imports_of(path)} & set(HOMES):
        assert place(path).startswith(HOMES[name]), f"{name} is imported in {place(path)}"


@pytest.mark.parametrize("path", [p for p in MODULES if room(p) not in READERS], ids=place)
def test_instruments_depend_on_no_clock_and_no_global_generator(path):
    assert not {name.split(".")[0] for name in imports_of(path)} & (UNSEEDED - CLOCKS.get(place(path), set()))
    legacy = {"seed", "rand", "randn", "RandomState", "hash"}
    assert not {called(node) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)} & legacy


def test_kernels_are_compiled_in_one_place_without_fast_math():
    calls = [node for path in MODULES for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    compiled = [node for node in calls if re.fullmatch(r"numba(\.\w+)+", ast.unparse(node.func))]
    assert [ast.unparse(node.func) for node in compiled] == ["numba.njit"]
    options = {keyword.arg: keyword.value for keyword in compiled[0].keywords}
    assert set(options) == {"nogil", "error_model", "cache", "fastmath", "forceinline"}  # parallel is none of them
    assert ast.literal_eval(options["nogil"]) is True
    assert ast.literal_eval(options["error_model"]) == "numpy"
    assert set(flags_of(tree_of(PACKAGE / "_jit.py"), options["fastmath"])) == {"contract", "nsz", "reassoc"}
    wrapped = [node for node in calls if called(node) == "njit" and node not in compiled]
    assert wrapped
    assert {keyword.arg for node in wrapped for keyword in node.keywords} <= {"sums", "inline"}


def flags_of(tree: ast.AST, value: ast.expr) -> list[str]:
    """Return every flag that is written where the value of ``fastmath`` comes from: a name, or the value itself."""
    if isinstance(value, ast.Name):
        sources = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and any(ast.unparse(target) == value.id for target in node.targets)
        ]
        assert len(sources) == 1
        value = sources[0]
    constants = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    assert all(isinstance(constant, str) for constant in constants)  # True would be all flags at once
    return constants


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_kernels_are_plain_functions_wrapped_by_a_call(path):
    """Mutation tools skip what is decorated, and a parallel loop would need the threads of Numba."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            assert not any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)
        assert not (isinstance(node, ast.Name) and node.id == "prange")


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_modules_are_said_in_words_and_without_assertions(path):
    tree = tree_of(path)
    assert not set(path.relative_to(PACKAGE).with_suffix("").parts) & DRAWERS
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    assert ast.get_docstring(tree)
    assert undocumented(tree.body) == []


def undocumented(body: list[ast.stmt]) -> list[str]:
    """Return the public classes, functions and methods that say nothing."""
    silent = []
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
            silent += [] if ast.get_docstring(node) else [node.name]
            silent += undocumented(node.body) if isinstance(node, ast.ClassDef) else []
    return silent


def test_doors_are_quick():
    """What is slow loads on first use, so that a help text or a collection costs no second."""
    slow = {"numba", "ot", "matplotlib", "sympy", "flint", "rich", "torch", "distributed", "PIL"}
    code = (
        "import sys, theory.evidence.plugin, theory.evidence, theory.attention, theory.distance, theory.maxent\n"
        f"print(*sorted({slow} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    assert done.stdout.split() == []


# --- doors, and where widths come from ---

CHECKS = sorted((ROOT / "verify").rglob("*.py"))
FIGURES = sorted((PACKAGE / "figures").rglob("*.py"))
VOCABULARY = {"verify/conftest.py", "verify/inputs.py"}
WIDTHS = {"gamma", "within"}  # derived by an instrument, or travelling with the numbers
OPEN = {
    "evidence",
    "_lazy",
    "_validate",
    "figures",
    "report",
    "__main__",
}  # what a figure or a test of the house may look into


def in_repository(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def names_of_widths(tree: ast.AST) -> set[str]:
    """Return the words by which a tree would derive a width of its own."""
    called_so = {called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    imported_so = {name.rpartition(".")[2] for name in imported(tree)}
    return (called_so | imported_so) & WIDTHS


def around_doors(tree: ast.AST) -> set[str]:
    """Return the modules of rooms from which names are taken that a folder's door should hand out."""
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    inside = {name for name in modules if name.startswith("theory.") and name.split(".")[1] not in OPEN}
    return {name for name in inside if not PACKAGE.joinpath(*name.split(".")[1:]).is_dir()}


@pytest.mark.parametrize("path", CHECKS, ids=in_repository)
def test_checks_derive_no_width(path):
    assert names_of_widths(tree_of(path)) == set()


@pytest.mark.parametrize("path", [*CHECKS, *FIGURES], ids=in_repository)
def test_checks_and_figures_go_through_doors(path):
    assert around_doors(tree_of(path)) == set()


def test_beside_claims_there_is_one_vocabulary():
    """Definitions as they are printed stand in the textbook, inputs that several claims draw in one module."""
    beside = {in_repository(path) for path in CHECKS if not path.name.startswith("test_")}
    assert {name for name in beside if not name.startswith("verify/textbook/")} == VOCABULARY


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=place)
def test_doors_are_small(path):
    """A person reads a door: what it hands out fits on a page."""
    handed_out = [
        alias.asname
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is not None
    ]
    most = 50 if path.parent.name == "evidence" else 40  # of the evidence: every word of a check
    assert len(handed_out) <= most


# --- tests that could not fail ---

COMPARISONS = {"allclose", "isclose", "array_equal", "array_equiv", "all", "any", "isinstance", "issubclass", "differs"}
TOLERANCES = {
    "allclose": ({"rtol", "atol"}, 4),
    "isclose": ({"rtol", "atol"}, 4),
    "assert_allclose": ({"rtol", "atol"}, 4),
    "approx": ({"rel", "abs"}, 3),
}
VAGUE = {"assert_almost_equal", "assert_array_almost_equal", "assert_approx_equal", "assertAlmostEqual"}


def thrown_away(tree: ast.AST) -> list[int]:
    """Return the lines of the comparisons that stand alone as a statement, so that their result is lost."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            value = node.value.operand if isinstance(node.value, ast.UnaryOp) else node.value
            lost = isinstance(value, (ast.Compare, ast.BoolOp)) or (
                isinstance(value, ast.Call) and called(value) in COMPARISONS
            )
            lines += [node.lineno] if lost else []
    return lines


def careless(tree: ast.AST) -> list[int]:
    """Return the lines that compare floats up to a tolerance that is not written down whole."""
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        given = {keyword.arg for keyword in node.keywords}
        if name == "isclose" and ast.unparse(node.func).startswith("math."):
            wanted = {"rel_tol", "abs_tol"}
            places = 99
        else:
            wanted, places = TOLERANCES.get(name, (set(), 0))
        if name in VAGUE or (not wanted <= given and len(node.args) < places):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_comparison_is_thrown_away_or_left_to_a_default(path):
    tree = tree_of(path)
    assert thrown_away(tree) == []
    assert careless(tree) == []


# --- the checks above can fail ---


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import ot", {"ot"}),
        ("import ot.lp as lp", {"ot.lp"}),
        ("from ot import emd", {"ot.emd"}),
        ("def f():\n    if f:\n        from theory.maxent import gibbs", {"theory.maxent.gibbs"}),
        ("if TYPE_CHECKING:\n    import numba", {"numba"}),
        ("from theory import distance", {"theory.distance"}),
        ("from ..distance import w1", {"theory.distance.w1"}),
        ("from . import measure", {"theory.attention.measure"}),
        ("import_module('ot').emd", {"ot"}),
        ("importlib.import_module('ot')", {"ot"}),
        ("__import__('ot')", {"ot"}),
        ("find_spec('matplotlib')", set()),
        ("x = 'import ot'", set()),
    ],
)
def test_imports_are_found(text, names):
    assert imported(ast.parse(text), "theory.attention") == names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from theory.evidence import gamma", {"gamma"}),
        ("from theory.evidence.roundoff import gamma as g", {"gamma"}),
        ("x = Interval.within(1.0, 0.1)", {"within"}),
        ("x = roundoff.gamma(3)", {"gamma"}),
        ("def f(within): return exact(1.0)", set()),
    ],
)
def test_widths_of_ones_own_are_found(text, found):
    assert names_of_widths(ast.parse(text)) == found


def test_ways_around_doors_are_found():
    lines = ["theory.maxent import softmax", "theory.distance.w1 import w1", "theory.evidence.enclosure import log"]
    assert around_doors(ast.parse("".join(f"from {line}\n" for line in lines))) == {"theory.distance.w1"}


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("a == b", True),
        ("not a < b", True),
        ("a and b", True),
        ("np.allclose(a, b)", True),
        ("(a == b).all()", True),
        ("def f():\n    np.array_equal(a, b)", True),
        ("assert a == b", False),
        ("c = a == b", False),
        ("check(a == b)", False),
        ("'a == b'", False),
    ],
)
def test_lost_comparisons_are_found(text, lost):
    assert bool(thrown_away(ast.parse(text))) is lost


@pytest.mark.parametrize(
    ("text", "vague"),
    [
        ("assert np.allclose(a, b)", True),
        ("assert np.allclose(a, b, atol=1e-14)", True),
        ("assert a == pytest.approx(b)", True),
        ("assert a == pytest.approx(b, rel=1e-9)", True),
        ("assert math.isclose(a, b)", True),
        ("np.testing.assert_allclose(a, b, rtol=1e-9)", True),
        ("np.testing.assert_almost_equal(a, b)", True),
        ("assert np.allclose(a, b, rtol=0, atol=1e-14)", False),
        ("assert np.allclose(a, b, 0, 1e-14)", False),
        ("assert a == pytest.approx(b, rel=1e-9, abs=0)", False),
        ("assert math.isclose(a, b, rel_tol=1e-9, abs_tol=0)", False),
    ],
)
def test_careless_tolerances_are_found(text, vague):
    assert bool(careless(ast.parse(text))) is vague


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("flags = {'contract'} if sums else {'nsz'} if inline else set()\nnjit(fastmath=flags)", ["contract", "nsz"]),
        ("njit(fastmath={'nnan'})", ["nnan"]),
    ],
)
def test_flags_are_found(text, found):
    tree = ast.parse(text)
    (option,) = [keyword.value for node in ast.walk(tree) if isinstance(node, ast.Call) for keyword in node.keywords]
    assert sorted(flags_of(tree, option)) == found


def test_silent_functions_are_found():
    text = 'def f(): pass\ndef _g(): pass\nclass C:\n    """C."""\n    def m(self): pass\n    def __len__(self): pass\n'
    assert undocumented(ast.parse(text).body) == ["f", "m"]
