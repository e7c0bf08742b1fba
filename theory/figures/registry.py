"""Which figures there are: the modules of this room that assign ``TITLE``.

Names and titles are read from the syntax trees, so that a list costs no import.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from theory.evidence import Table

_HERE = Path(__file__).parent
_NEEDED = ("TITLE", "STUDY", "CLAIMS", "draw")


class Plate(Protocol):
    """What the module of a figure has."""

    TITLE: str
    STUDY: Callable[..., Table]
    CLAIMS: tuple[str, ...]

    def draw(self, table: Table) -> Figure:
        """Draw the table."""
        ...


def titles() -> dict[str, str]:
    """Return the title of every figure, by name in alphabetical order."""
    found = {path.stem: _title(path) for path in sorted(_HERE.glob("*.py"))}
    return {name: title for name, title in found.items() if title is not None}


def plate(name: str) -> Plate:
    """Import the module of the figure ``name``.

    Raises
    ------
    ValueError
        If there is no such figure, or its module lacks something.
    """
    known = titles()
    if name not in known:
        raise ValueError(f"figure: expected one of {', '.join(known)}, got {name!r}")
    module = import_module(f"theory.figures.{name}")
    missing = [attribute for attribute in _NEEDED if not hasattr(module, attribute)]
    if missing:
        raise ValueError(f"{name}: expected a figure with {', '.join(_NEEDED)}, got none of {', '.join(missing)}")
    return cast("Plate", module)


def _title(path: Path) -> str | None:
    """Return the text that a module assigns to ``TITLE``, if it does."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "TITLE" for t in node.targets):
            return str(ast.literal_eval(node.value))
    return None
