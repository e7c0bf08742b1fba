"""What a check is made of: its file and every module that it imports, however deep, read from syntax trees.

A *door* (a package's ``__init__``) only passes names on, so a name that is imported through one leads to the module
that defines it and not to the whole room. Nothing is imported and nothing is executed. Two sources are the same if
they do the same: comments, docstrings, annotations and layout do not count, formulas and data files do.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import theory

JUDGED_BY = "theory.evidence.runner"  # runs every check and decides it
_RECORDED_BY = ("record", "record.locators", "record.reading", "record.writing")
_FRAME = frozenset(
    f"theory.evidence.{name}" for name in ("board", "cited", "closure", "files", "plugin", "provenance", *_RECORDED_BY)
)
_IDLE = frozenset({"kind", "ctx", "type_comment", "annotation", "returns", "type_params", "type_ignores"})
_BODIES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BELOW = ":"  # stands between a folder and the module that is named from there, as relative imports do
_DOORS = 20  # far more than any name passes through


@dataclass(frozen=True, slots=True)
class Import:
    """A name that a module imports: ``name`` of ``module``, or the module itself; ``uses`` are its attributes."""

    module: str
    name: str | None
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Source:
    """What is read of one file.

    ``print`` is its fingerprint, ``gives`` the names that it imports from elsewhere at its top, as a door does;
    ``asks`` are the names of all parameters, among which a fixture may be, and ``data`` the files beside it.
    """

    print: str
    imports: tuple[Import, ...]
    gives: Mapping[str, tuple[str, str | None]]
    asks: frozenset[str]
    defines: frozenset[str]
    data: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Closure:
    """The files that decide a claim, by their names from the root, and the fingerprint of each."""

    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits over all names and contents."""
        text = "\n".join(f"{name} {content}" for name, content in sorted(self.files.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def located(folder: Path, test: str) -> tuple[Path, Path] | None:
    """Return where the test file of a record in ``folder`` is, and the root from which it is named.

    ``None`` where there are no tests, as in a wheel.
    """
    if PurePosixPath(test).is_absolute():
        return None
    roots = (root for root in folder.resolve().parents if (root / test).is_file())
    return next(((root / test, root) for root in roots), None)


def closure_of(path: Path, root: Path) -> Closure:
    """Follow the imports of one test file; parameters as in :func:`closures`."""
    return closures([path], root)[path]


def closures(paths: Iterable[Path], root: Path) -> dict[Path, Closure]:
    """Follow the imports of test files.

    Parameters
    ----------
    paths : iterable of Path
        Files of claims.
    root : Path
        The folder from which their repository is imported and its files are named.

    Returns
    -------
    dict
        For every file its closure: the file, the modules that judge, what these import from ``theory`` and from the
        repository, the data that one of them names by ``Path(__file__)``, and each ``conftest.py`` of which it takes
        a fixture, asked for or not.

    Raises
    ------
    SyntaxError
        If one of the files is no Python.
    """
    modules = _Modules(root)
    return {path: modules.closure(path) for path in paths}


class _Modules:
    """Where modules lie: the package itself, and for the checks their repository and the folder of the test."""

    def __init__(self, root: Path) -> None:
        self._package = Path(theory.__file__).resolve().parent
        self._root = root
        self._sources: dict[Path, Source] = {}
        self._contents: dict[Path, str] = {}
        self._found: dict[tuple[str, Path | None], Path | None] = {}
        self._next: dict[tuple[Path, Path | None], list[Path]] = {}

    def closure(self, path: Path) -> Closure:
        """Return the closure of one test file."""
        seen: dict[Path, str] = {}
        open_ = [path, *self._conftests(path), *self._leads_to(Import(JUDGED_BY, None, frozenset()), None)]
        while open_:
            at = open_.pop()
            if at not in seen:
                source = self._read(at)
                seen[at] = source.print
                seen |= {data: self._content(data) for data in source.data}
                open_ += self._after(at, None if at.is_relative_to(self._package) else path.parent)
        return Closure({self._named(at): content for at, content in seen.items()})

    def _read(self, path: Path) -> Source:
        if path not in self._sources:
            self._sources[path] = read(path)
        return self._sources[path]

    def _content(self, path: Path) -> str:
        if path not in self._contents:
            self._contents[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._contents[path]

    def _conftests(self, path: Path) -> Iterator[Path]:
        """Yield every ``conftest.py`` above a test file with a fixture that the file asks for, or that nobody need."""
        asked = self._read(path).asks
        for folder in (parent for parent in path.parents if parent.is_relative_to(self._root)):
            beside = folder / "conftest.py"
            if beside.is_file() and (asked & self._read(beside).defines or b"autouse" in beside.read_bytes()):
                yield beside

    def _named(self, path: Path) -> str:
        """Return the name of a file from the root, or from beside the package where that lies elsewhere."""
        top = next(p for p in (self._root, self._package.parent, path.parent) if path.is_relative_to(p))
        return path.relative_to(top).as_posix()

    def _after(self, path: Path, beside: Path | None) -> list[Path]:
        """Return the files that one file leads to."""
        key = path, beside
        if key not in self._next:
            wanted = self._read(path).imports
            self._next[key] = list(dict.fromkeys(file for item in wanted for file in self._leads_to(item, beside)))
        return self._next[key]

    def _find(self, module: str, beside: Path | None) -> Path | None:
        """Return the file of a module, or ``None`` if it is foreign or a folder without one."""
        key = module, beside
        if key not in self._found:
            self._found[key] = next(self._candidates(module, beside), None)
        return self._found[key]

    def _candidates(self, module: str, beside: Path | None) -> Iterator[Path]:
        folder, _, dotted = module.rpartition(_BELOW)
        parts = dotted.split(".") if dotted else []
        if folder:
            places: tuple[Path, ...] = (Path(folder),)
        elif parts[0] == "theory":
            places = (self._package.parent,)
        else:
            places = () if beside is None else (self._root, beside)
        for place in places:
            stem = place.joinpath(*parts)
            files = (stem.with_suffix(".py"), stem / "__init__.py") if parts else (stem / "__init__.py",)
            yield from (path for path in files if path.is_file())

    def _leads_to(self, wanted: Import, beside: Path | None) -> list[Path]:
        """Return the files in which the things lie that an import means."""
        home = (wanted.module, None) if wanted.name is None else self._home(wanted.module, wanted.name, beside)
        homes = {home[0]}
        path = self._find(home[0], beside)
        if home[1] is None and path is not None and path.name == "__init__.py":
            names = wanted.uses or self._read(path).gives  # a door that is used as a whole stands for all it gives
            homes = {self._home(home[0], name, beside)[0] for name in names if not name.startswith("__")}
        found = (self._find(home, beside) for home in sorted(homes - _FRAME))
        return [file for file in found if file is not None]

    def _home(self, module: str, name: str, beside: Path | None) -> tuple[str, str | None]:
        """Return the module that defines a name, and the name there; that is ``None`` if it is a module itself."""
        for _ in range(_DOORS):
            path = self._find(module, beside)
            if path is None or path.name != "__init__.py":
                return (_inner(module, name), None) if path is None else (module, name)
            if name not in (gives := self._read(path).gives):
                inside = _inner(module, name)
                return (inside, None) if self._find(inside, beside) is not None else (module, name)
            module, passed = gives[name]
            if passed is None:
                return module, None
            name = passed
        return module, name


def print_of(name: str, content: bytes) -> str:
    """Return the fingerprint of a file of this name, were this its content."""
    if not name.endswith(".py"):
        return hashlib.sha256(content).hexdigest()
    reader = _Reader(Path(name))
    try:
        reader.put(ast.parse(content, name))
    except SyntaxError:
        return ""
    return reader.source().print


def read(path: Path) -> Source:
    """Read one file; what was read stays as long as size and time of the file do."""
    about = path.stat()
    return _read(path, about.st_size, about.st_mtime_ns)


@cache
def _read(path: Path, _size: int, _time: int) -> Source:
    reader = _Reader(path)
    reader.put(ast.parse(path.read_bytes(), str(path)))
    return reader.source()


class _Reader:
    """One pass over a syntax tree: its canonical text, and what it imports."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text: list[str] = []
        self._bound: list[tuple[str, str, str | None]] = []  # alias, module, name
        self._typed: list[tuple[str, str, str | None]] = []  # the same, for type checkers only
        self._uses: dict[str, set[str]] = {}
        self._bare: set[str] = set()
        self._asks: set[str] = set()
        self._defines: set[str] = set()
        self._places: dict[str, set[Path]] = {}
        self._paths: list[ast.AST] = []  # expressions that may name data; names may be bound below them

    def source(self) -> Source:
        """Return what was read."""
        imports = tuple(found for bound in self._bound for found in self._imports(*bound))
        door = self._path.name == "__init__.py"
        gives = {alias: (module, name) for alias, module, name in (*self._bound, *self._typed) if alias} if door else {}
        digest = hashlib.sha256("\0".join(self._text).encode("utf-8", "surrogatepass")).hexdigest()
        return Source(
            digest, imports, gives, frozenset(self._asks), frozenset(self._defines), tuple(sorted(self._data()))
        )

    def _imports(self, alias: str, module: str, name: str | None) -> Iterator[Import]:
        """Yield what a bound name leads to; ``import a.b`` binds ``a`` and may be used for all of ``a.b``."""
        uses = frozenset() if alias in self._bare else frozenset(self._uses.get(alias, ()))
        if name is not None or not module.startswith(f"{alias}."):
            yield Import(module, name, uses)
            return
        yield Import(module, None, frozenset())
        if alias in self._bare or uses:
            yield Import(alias, None, uses)

    def put(self, node: ast.AST) -> None:
        """Append the text of a node, and note what it says of other files.

        Fields that are empty are left out, so that a Python whose trees have more of them gives the same text.
        """
        note = _NOTES.get(type(node))
        if note is not None and note(self, node):
            return
        self._text.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if name in _IDLE or value is None or value == []:
                continue
            self._text.append(name)
            if isinstance(value, ast.AST):
                self.put(value)
            elif isinstance(value, list):
                for part in _said(node, value) if name == "body" else value:
                    self.put(part) if isinstance(part, ast.AST) else self._text.append(repr(part))
            else:
                self._text.append(repr(value))
        self._text.append(")")

    def on_constant(self, node: ast.Constant) -> bool:
        self._text += ("=", type(node.value).__name__, repr(node.value))
        return True

    def on_name(self, node: ast.Name) -> bool:
        self._bare.add(node.id)
        self._text += ("$", node.id)
        return True

    def on_attribute(self, node: ast.Attribute) -> bool:
        if not isinstance(node.value, ast.Name):
            return False
        self._uses.setdefault(node.value.id, set()).add(node.attr)
        self._text += (".", node.value.id, node.attr)
        return True

    def on_argument(self, node: ast.arg) -> bool:
        self._asks.add(node.arg)
        return False

    def on_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        self._defines.add(node.name)
        return False

    def on_import(self, node: ast.Import) -> bool:
        self._bound += [(a.asname or a.name.partition(".")[0], a.name, None) for a in node.names]
        return False

    def on_import_from(self, node: ast.ImportFrom) -> bool:
        self._bound += _imported(node, self._path)
        return False

    def on_if(self, node: ast.If) -> bool:
        """Pass over what only a type checker sees, of which a door's reader needs the names."""
        test = node.test.attr if isinstance(node.test, ast.Attribute) else getattr(node.test, "id", None)
        if test != "TYPE_CHECKING" or node.orelse:
            return False
        for part in node.body:
            self._typed += _imported(part, self._path) if isinstance(part, ast.ImportFrom) else []
        return True

    def on_call(self, node: ast.Call) -> bool:
        """Note ``import_module("a.b")``, and of ``import_module(f"a.{name}")`` every module of that folder."""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if called in ("with_name", "glob", "iterdir"):
            self._paths.append(node)
        if called == "import_module" and node.args:
            given = node.args[0]
            first = given.values[0] if isinstance(given, ast.JoinedStr) and given.values else given
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                whole = first is given
                names = [first.value] if whole else _inside(first.value, Path(theory.__file__).resolve().parent)
                self._bound += [("", name, None) for name in names]
        return False

    def on_joined(self, node: ast.JoinedStr) -> bool:
        """Put an f-string as one text between its fields, which not every Python cuts alike."""
        text = ""
        parts: list[ast.AST | str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value)
            else:
                parts += [text, part]
                text = ""
        self._text.append("JoinedStr")
        for piece in (*parts, text):
            self.put(piece) if isinstance(piece, ast.AST) else self._text.append(repr(piece))
        self._text.append(")")
        return True

    def on_binary(self, node: ast.BinOp) -> bool:
        """Note what may be ``Path(__file__).parent / "name"``, the data beside a module."""
        if isinstance(node.op, ast.Div):
            self._paths.append(node)
        return False

    def on_assign(self, node: ast.Assign | ast.AnnAssign) -> bool:
        """Note ``HERE = Path(__file__).parent``, wherever it stands."""
        places = set() if node.value is None else self._places_of(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
            if isinstance(target, ast.Name) and places:
                self._places[target.id] = self._places.get(target.id, set()) | places
        return False

    def _data(self) -> set[Path]:
        """Return the files that paths beside the module name; a folder without modules stands for its files."""
        found: set[Path] = set()
        for place in {place for node in self._paths for place in self._places_of(node)}:
            if place.is_file():
                found.add(place)
            elif place.is_dir() and not any(place.glob("*.py")):
                found |= {path for path in place.iterdir() if path.is_file()}
        return {path for path in found if not _is_made(path)}

    def _places_of(self, node: ast.AST) -> set[Path]:
        """Return the paths that an expression such as ``Path(__file__).parent / "data"`` may mean."""
        if isinstance(node, ast.Name):
            return self._places.get(node.id, set())
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return _below(self._places_of(node.left), node.right)
        if isinstance(node, ast.Attribute) and node.attr == "parent":
            return {place.parent for place in self._places_of(node.value)}
        return self._places_of_call(node) if isinstance(node, ast.Call) else set()

    def _places_of_call(self, node: ast.Call) -> set[Path]:
        if node.args and getattr(node.args[0], "id", None) == "__file__":
            return {self._path}
        if not isinstance(node.func, ast.Attribute):
            return set()
        places = self._places_of(node.func.value)
        called = node.func.attr
        if called == "with_name" and node.args:
            return _below({place.parent for place in places}, node.args[0])
        if called in ("glob", "iterdir"):
            return _below(places, node)  # whichever are there
        return places if called in ("resolve", "absolute") and not node.args else set()


_NOTES: dict[type[ast.AST], Callable[[_Reader, Any], bool]] = {  # each takes what it is filed under
    ast.Constant: _Reader.on_constant, ast.Name: _Reader.on_name, ast.Attribute: _Reader.on_attribute,
    ast.arg: _Reader.on_argument, ast.FunctionDef: _Reader.on_function, ast.AsyncFunctionDef: _Reader.on_function,
    ast.Import: _Reader.on_import, ast.ImportFrom: _Reader.on_import_from, ast.If: _Reader.on_if,
    ast.Call: _Reader.on_call, ast.JoinedStr: _Reader.on_joined, ast.BinOp: _Reader.on_binary,
    ast.Assign: _Reader.on_assign, ast.AnnAssign: _Reader.on_assign,
}  # fmt: skip


def _said(node: ast.AST, body: list[ast.AST]) -> Iterable[ast.AST]:
    """Return a body without its docstring, and without a text that stands for one later on."""
    if not isinstance(node, _BODIES):
        return body
    return [part for part in body if not _is_text(part)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imported(node: ast.ImportFrom, path: Path) -> list[tuple[str, str, str | None]]:
    """Return alias, module and name of everything that a file imports from a module."""
    module = node.module or ""
    if node.level:
        module = f"{path.parents[min(node.level, len(path.parents)) - 1]}{_BELOW}{module}"
    return [(a.asname or a.name, module, None if a.name == "*" else a.name) for a in node.names]


def _inner(module: str, name: str) -> str:
    """Return the name of a module inside another."""
    return f"{module}{name}" if module.endswith(_BELOW) else f"{module}.{name}"


def _inside(prefix: str, package: Path) -> list[str]:
    """Return the modules of the package whose names begin with ``prefix``, a package's name and a dot."""
    if not prefix.startswith("theory.") or not prefix.endswith("."):
        return []
    folder = package.parent.joinpath(*prefix.split("."))
    return [f"{prefix}{path.stem}" for path in sorted(folder.glob("*.py")) if path.stem != "__init__"]


def _below(folders: set[Path], name: ast.AST) -> set[Path]:
    """Return the paths of this name in folders, or their files except modules where the name is only known later."""
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        return {folder / name.value for folder in folders}
    return {path for folder in folders if folder.is_dir() for path in folder.iterdir() if _is_data(path)}


def _is_made(path: Path) -> bool:
    """Tell what a run leaves behind, such as bytecode, from what somebody wrote."""
    return path.name.startswith(".") or "__pycache__" in path.parts


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix != ".py"
