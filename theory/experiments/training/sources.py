"""Fingerprint of the code that a task's numbers come from, so that no run goes on under other code.

It covers the task's module and all modules of this package that it imports, directly or not, and nothing else: an
edit elsewhere stops no experiment. What judges the results has no part in them; of ``theory.evidence`` only the
random streams count. A name that is taken from the door of a package counts as the module it lives in.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import theory

_HOME = Path(theory.__file__).parent.parent
_ALWAYS = ("theory.evidence.streams", "theory.experiments.training.loop")
_JUDGES = "theory.evidence"


def fingerprint_sources(cls: Callable[..., object], always: tuple[str, ...] = _ALWAYS) -> str:
    """Return the sha256 over the module of a class or a function, and over all of ``theory`` that it imports.

    Of the package that judges, and of what goes without saying, ``always`` are the modules that count.

    Raises
    ------
    ValueError
        If the class has no source file.
    """
    try:
        start = Path(inspect.getfile(cls))
    except (TypeError, OSError) as error:
        raise ValueError(f"task: expected a class with a source file, got {cls!r}") from error
    files = {start.resolve(), *(path for path in map(_file, always) if path)}
    waiting = list(files)
    while waiting:
        fresh = {path for name in _named(waiting.pop()) if (path := _file(name))} - files
        files |= fresh
        waiting += fresh
    digest = hashlib.sha256()
    for path in sorted(files, key=_word):
        digest.update(_word(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _word(path: Path) -> str:
    """Name a file alike on every machine."""
    return path.relative_to(_HOME).as_posix() if path.is_relative_to(_HOME) else path.name


def _file(name: str) -> Path | None:
    """Return the file of a module of this package."""
    if name == _JUDGES:
        return None
    plain = _HOME.joinpath(*name.split("."))
    return next((path for path in (plain.with_suffix(".py"), plain / "__init__.py") if path.is_file()), None)


def _named(path: Path) -> Iterator[str]:
    """Yield the modules of this package that a file imports: at its top, in a function, or by a constant name."""
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        match node:
            case ast.ImportFrom(module=str(base), level=0):
                names = [_home(base, alias.name) for alias in node.names]
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.Constant(value=str(text)) if text.replace(".", "_").isidentifier():
                names = [text]
            case _:
                continue
        for name in names:
            inside = name.startswith("theory.") and not name.startswith(f"{_JUDGES}.")
            if inside or name in _ALWAYS:
                yield name


def _home(base: str, name: str) -> str:
    """Return the module of a name that is imported from ``base``, which may be the door of a package."""
    path = _file(f"{base}.{name}")
    if path is not None:
        return f"{base}.{name}"
    door = _file(base)
    if door is None or door.name != "__init__.py":
        return base
    for node in ast.walk(ast.parse(door.read_bytes(), str(door))):
        if isinstance(node, ast.ImportFrom) and name in {alias.asname or alias.name for alias in node.names}:
            return _home(str(node.module), name)
    return base


def fingerprint_folder(folder: Path) -> str:
    """Return the sha256 over the names and contents of all files in a folder of data.

    Raises
    ------
    NotADirectoryError
        If there is no such folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"data: expected a folder, got {folder}")
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix().encode()
        with path.open("rb") as file:
            digest.update(name + b"\0" + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
