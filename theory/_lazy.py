"""Doors that load nothing: a room's name is loaded when it is first asked for.

A door lists its names once, as imports under ``TYPE_CHECKING``, where readers and type checkers find them;
:func:`open_lazily` takes them from there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_HOMES = "__homes__"


class _Door(ModuleType):
    """A package that knows where its names live."""

    def __getattr__(self, name: str) -> Any:
        homes = vars(self)[_HOMES]
        if name not in homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name][0]), homes[name][1])
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Bind a name; what the door lists stays what it is when a module that is called the same is loaded."""
        if isinstance(value, ModuleType) and name in vars(self)[_HOMES]:
            home, own = vars(self)[_HOMES][name]
            value = getattr(value if value.__name__ == home else import_module(home), own)
        super().__setattr__(name, value)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *vars(self)[_HOMES]})


def open_lazily(package: str) -> None:
    """Let ``package`` load, when first asked for it, what its source imports under ``TYPE_CHECKING``.

    Parameters
    ----------
    package : str
        The ``__name__`` of the door that calls.
    """
    door = sys.modules[package]
    vars(door)[_HOMES] = homes = _listed(Path(str(door.__file__)).read_text(encoding="utf-8"))
    vars(door).setdefault("__all__", sorted(homes))
    door.__class__ = _Door


def _listed(source: str) -> dict[str, tuple[str, str]]:
    """Return the home and the name there of everything that a text imports under ``TYPE_CHECKING``."""
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [
        node
        for block in blocks
        if isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
    ]
    return {alias.asname or alias.name: (node.module or "", alias.name) for node in imports for alias in node.names}
