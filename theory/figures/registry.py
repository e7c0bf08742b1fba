"""Which figures there are: the modules of this room that assign ``TITLE``.

Names and titles are read from the syntax trees, so that a list costs no import; so are the data files that a figure
needs beside the code, by which a command says at once what is missing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from theory.evidence import Table

_HERE = Path(__file__).parent
_PACKAGE = _HERE.parent
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
    """Return the title of every figure, by name in alphabetical order.

    Raises
    ------
    ValueError
        If two figures have one title, or names that differ only in case, which share their files on some disks.
    """
    found = {path.stem: _assigned(path, "TITLE") for path in sorted(_HERE.glob("*.py"))}
    known = {name: str(title) for name, title in found.items() if title is not None}
    _distinct({name: name.casefold() for name in known})
    _distinct(known)
    return known


def _distinct(values: Mapping[str, str]) -> None:
    owners: dict[str, str] = {}
    for name, value in values.items():
        if owners.setdefault(value, name) != name:
            raise ValueError(
                f"figures: expected names and titles of their own, got {value!r} in {owners[value]} and {name}"
            )


def data(name: str) -> list[Path]:
    """Return the files beside the package's modules that the study of a figure reads: what it assigns to ``DATA``."""
    return [_PACKAGE / place for place in _assigned(_HERE / f"{name}.py", "DATA") or ()]


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


def _assigned(path: Path, name: str) -> Any:
    """Return the literal that a module assigns to a name, ``None`` if it assigns none.

    Raises
    ------
    ValueError
        If it assigns two.
    """
    found = [
        node.value
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    if len(found) > 1:
        raise ValueError(f"{path.name}: expected one {name}, got {len(found)}")
    return ast.literal_eval(found[0]) if found else None
