"""One table, two readers: a study returns a table, a claim is judged on it, and the figure plots the same one."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.evidence.interval import Interval, Kind

_RAW_DIGITS = 1e-9  # other processors may move the last digits of a raw column; intervals must overlap instead


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Named columns of equal length, with units, the kind of their widths, and a fingerprint.

    Parameters
    ----------
    kind : Kind
        The weakest kind among the interval columns.
    units : mapping of str to str
        Unit of every column; ``"1"`` for a pure number.
    columns : mapping of str to array_like
        Numbers or text; a sequence of :class:`Interval` under ``x`` is stored as ``x.lo`` and ``x.hi``.

    Raises
    ------
    ValueError
        If there is no column, the lengths differ, a unit is missing or superfluous, or a number is NaN.
    """

    kind: Kind
    units: Mapping[str, str]
    columns: Mapping[str, NDArray[Any]]

    def __init__(
        self, kind: Kind, units: Mapping[str, str], columns: Mapping[str, ArrayLike | Sequence[Interval]]
    ) -> None:
        if set(units) != set(columns) or not columns:
            raise ValueError(f"units: expected one for each of {sorted(columns)}, got {sorted(units)}")
        stored: dict[str, NDArray[Any]] = {}
        named: dict[str, str] = {}
        for name, values in columns.items():
            for part, array in _parts(name, values):
                if stored and array.size != next(iter(stored.values())).size:
                    raise ValueError(
                        f"columns: expected {next(iter(stored.values())).size} rows in {part}, got {array.size}"
                    )
                if array.dtype.kind == "f" and np.isnan(array).any():
                    raise ValueError(f"columns: expected numbers in {part}, got NaN")
                array.setflags(write=False)
                stored[part], named[part] = array, units[name]
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "units", MappingProxyType(named))
        object.__setattr__(self, "columns", MappingProxyType(stored))

    def __len__(self) -> int:
        return int(next(iter(self.columns.values())).size)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def intervals(self, name: str) -> list[Interval]:
        """Return the interval column ``name``."""
        ends = zip(self.columns[f"{name}.lo"].tolist(), self.columns[f"{name}.hi"].tolist(), strict=True)
        return [Interval(lo, hi, self.kind) for lo, hi in ends]

    def where(self, **values: Any) -> Table:
        """Return the rows in which every named column has the given value."""
        keep = np.logical_and.reduce([self.columns[name] == value for name, value in values.items()])
        return Table(self.kind, self.units, {name: column[keep] for name, column in self.columns.items()})

    def to_csv(self) -> str:
        """Return the text: a line with kind and units, the names, then the rows, floats as they round-trip."""
        out = io.StringIO()
        out.write(f"# {json.dumps({'kind': self.kind.name.lower(), 'units': dict(self.units)})}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        cells = [[repr(v) if isinstance(v, float) else v for v in c.tolist()] for c in self.columns.values()]
        writer.writerows(zip(*cells, strict=True))
        return out.getvalue()

    @classmethod
    def from_csv(cls, text: str) -> Table:
        """Read what :meth:`to_csv` wrote.

        Raises
        ------
        ValueError
            If the text is no such table.
        """
        head, _, body = text.partition("\n")
        try:
            meta = json.loads(head.removeprefix("# "))
            kind, units = Kind[meta["kind"].upper()], meta["units"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"text: expected a first line '# {{kind, units}}', got {head[:60]!r}") from error
        names, *rows = list(csv.reader(io.StringIO(body))) or [[]]
        if any(len(row) != len(names) for row in rows):
            raise ValueError(f"text: expected {len(names)} fields in every row")
        return cls(kind, units, {name: _typed([row[k] for row in rows]) for k, name in enumerate(names)})

    @property
    def sha256(self) -> str:
        """Fingerprint of :meth:`to_csv`."""
        return hashlib.sha256(self.to_csv().encode()).hexdigest()

    def differs(self, other: Table) -> str | None:
        """Tell where another run of the same study disagrees: intervals must overlap, raw columns agree to 9 digits."""
        if (
            list(self.columns) != list(other.columns)
            or dict(self.units) != dict(other.units)
            or self.kind != other.kind
        ):
            return f"columns {list(self.columns)} against {list(other.columns)}"
        if len(self) != len(other):
            return f"{len(self)} rows against {len(other)}"
        for name, mine in self.columns.items():
            theirs = other.columns[name]
            if name.endswith(".lo") and f"{name[:-3]}.hi" in self.columns:
                apart = (mine > other.columns[f"{name[:-3]}.hi"]) | (theirs > self.columns[f"{name[:-3]}.hi"])
            elif name.endswith(".hi") and f"{name[:-3]}.lo" in self.columns:
                continue
            elif mine.dtype.kind == "f":
                size = float(np.abs(mine).max(initial=0.0))
                apart = np.abs(mine - theirs) > _RAW_DIGITS * size
            else:
                apart = mine != theirs
            if apart.any():
                row = int(np.flatnonzero(apart)[0])
                return f"column {name}, row {row}: {mine[row].item()!r} against {theirs[row].item()!r}"
        return None


def _parts(name: str, values: ArrayLike | Sequence[Interval]) -> list[tuple[str, NDArray[Any]]]:
    if isinstance(values, (list, tuple)) and values and all(isinstance(v, Interval) for v in values):
        ends = [(v.lo, v.hi) for v in values if isinstance(v, Interval)]
        return [(f"{name}.lo", np.array([lo for lo, _ in ends])), (f"{name}.hi", np.array([hi for _, hi in ends]))]
    array = np.array(values)
    if array.ndim != 1 or array.dtype.kind not in "fiU":
        raise ValueError(
            f"columns: expected a flat column of numbers or text in {name}, got {array.dtype} of shape {array.shape}"
        )
    return [(name, array)]


def _typed(cells: list[str]) -> NDArray[Any]:
    for convert in (int, float):
        try:
            return np.array([convert(cell) for cell in cells])
        except ValueError:
            continue
    return np.array(cells)
