"""Fingerprint of the code that a task's numbers come from, so that no piece is taken that other code made.

It covers the module of a function and all modules of this package that it imports, directly or not, and nothing else:
an edit elsewhere costs no run. What judges the results has no part in them; of ``theory.evidence`` only the random
streams count. A name that is taken from the door of a package counts as the module it lives in.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import theory

_HOME = Path(theory.__file__).parent.parent
_JUDGES = "theory.evidence"
STREAMS = "theory.evidence.streams"


def fingerprint_sources(function: Callable[..., object], always: tuple[str, ...] = (STREAMS,)) -> str:
    """Return the sha256 over the module of a function or a class, and over all of ``theory`` that it imports.

    ``always`` are further modules that count, with what they import.

    Raises
    ------
    ValueError
        If the function has no source file.
    """
    try:
        start = Path(inspect.getfile(function))
    except (TypeError, OSError) as error:
        raise ValueError(f"function: expected one with a source file, got {function!r}") from error
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
    plain = _HOME.joinpath(*name.split("."))
    return next((path for path in (plain.with_suffix(".py"), plain / "__init__.py") if path.is_file()), None)


def _named(path: Path) -> Iterator[str]:
    """Yield the modules of this package that a file imports, at its top or in a function."""
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [_home(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            judges = name == _JUDGES or name.startswith(f"{_JUDGES}.")
            if name == STREAMS or (name.startswith("theory.") and not judges):
                yield name


def _home(base: str, name: str) -> str:
    """Return the module of a name that is imported from ``base``, which may be the door of a package."""
    if _file(f"{base}.{name}") is not None:
        return f"{base}.{name}"
    door = _file(base)
    if door is not None and door.name == "__init__.py":
        for node in ast.walk(ast.parse(door.read_bytes(), str(door))):
            if isinstance(node, ast.ImportFrom) and name in {alias.asname or alias.name for alias in node.names}:
                return _home(str(node.module), name)
    return base
