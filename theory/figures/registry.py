"""Which figures there are: the modules in the folders of this room that assign ``TITLE``.

Names and titles are read from the syntax trees, so that a list costs no import; so are the data files that a figure
needs besides the code, so that a command can say at once what is missing.
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


class FigureModule(Protocol):
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
    found = {path: _read_assignment(path, "TITLE") for path in _modules()}
    known = {path: str(title) for path, title in found.items() if title is not None}
    _distinct({path: path.stem.casefold() for path in known})
    _distinct(known)
    return {path.stem: title for path, title in known.items()}


def _modules() -> list[Path]:
    """Return the modules in the folders of this room, by name in alphabetical order."""
    return sorted(_HERE.glob("*/*.py"), key=lambda path: (path.stem, path.parent.name))


def _module(name: str) -> Path:
    """Return the module of the figure ``name``."""
    return next(path for path in _modules() if path.stem == name)


def _distinct(values: Mapping[Path, str]) -> None:
    owners: dict[str, Path] = {}
    for path, value in values.items():
        owner = owners.setdefault(value, path)
        if owner != path:
            raise ValueError(
                f"figures: expected names and titles of their own, got {value!r} in {_place(owner)} and {_place(path)}"
            )


def _place(path: Path) -> str:
    return path.relative_to(_HERE).with_suffix("").as_posix()


def data_files(name: str) -> list[Path]:
    """Return the data files of the package that the study of a figure reads: what it assigns to ``DATA``."""
    return [_PACKAGE / place for place in _read_assignment(_module(name), "DATA") or ()]


def figure_module(name: str) -> FigureModule:
    """Import the module of the figure ``name``.

    Raises
    ------
    ValueError
        If there is no such figure, or its module lacks something.
    """
    known = titles()
    if name not in known:
        raise ValueError(f"figure: expected one of {', '.join(known)}, got {name!r}")
    module = import_module(f"theory.figures.{_module(name).parent.name}.{name}")
    missing = [attribute for attribute in _NEEDED if not hasattr(module, attribute)]
    if missing:
        raise ValueError(f"{name}: expected a figure with {', '.join(_NEEDED)}, got none of {', '.join(missing)}")
    return cast("FigureModule", module)


def _read_assignment(path: Path, name: str) -> Any:
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
