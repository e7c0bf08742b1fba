"""One table, two readers: a study returns a table, a claim is judged on it, and the figure plots the same one."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_choice, as_instance, as_text
from theory.evidence.interval import Interval, Kind, as_kind
from theory.evidence.intervals import Intervals

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
        Numbers or text; intervals under ``x`` are stored as ``x.lo`` and ``x.hi``.
    outcomes : sequence of str, optional
        Columns of what an implementation did or reports of itself, such as its rounding errors: a claim judges them,
        and another processor may have others.

    Raises
    ------
    ValueError
        If there is no column, the lengths differ, a unit is missing or superfluous, a number is NaN, or an outcome is
        no column.
    """

    kind: Kind
    units: Mapping[str, str]
    columns: Mapping[str, NDArray[Any]]
    outcomes: tuple[str, ...]
    _print: list[str] = field(repr=False)  # the fingerprint, once it was asked for

    def __init__(
        self,
        kind: Kind,
        units: Mapping[str, str],
        columns: Mapping[str, ArrayLike | Sequence[Interval] | Intervals],
        *,
        outcomes: Sequence[str] = (),
    ) -> None:
        kind = as_kind(kind)
        for name, given in (("units", units), ("columns", columns)):
            if not isinstance(given, Mapping):
                raise TypeError(f"{name}: expected a mapping by column, got {type(given).__name__}")
        if set(units) != set(columns) or not columns:
            raise ValueError(f"units: expected one for each of {sorted(columns)}, got {sorted(units)}")
        if not set(outcomes) <= set(columns):
            raise ValueError(f"outcomes: expected some of {sorted(columns)}, got {sorted(outcomes)}")
        stored: dict[str, NDArray[Any]] = {}
        named: dict[str, str] = {}
        free: list[str] = []
        for name, values in columns.items():
            weakest = max((v.kind for v in _listed(values) if isinstance(v, (Interval, Intervals))), default=kind)
            if weakest > kind:
                raise ValueError(f"kind: expected at least as weak as {name}, {weakest.name}, got {kind.name}")
            for part, array in _parts(name, values):
                if part in stored:
                    raise ValueError(f"columns: expected distinct names, got {part} twice")
                if stored and array.size != next(iter(stored.values())).size:
                    raise ValueError(
                        f"columns: expected {next(iter(stored.values())).size} rows in {part}, got {array.size}"
                    )
                if array.dtype.kind == "f" and np.isnan(array).any():
                    raise ValueError(f"columns: expected numbers in {part}, got NaN")
                array.setflags(write=False)
                stored[part], named[part] = array, units[name]
                free += [part] if name in outcomes else []
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "units", MappingProxyType(named))
        object.__setattr__(self, "columns", MappingProxyType(stored))
        object.__setattr__(self, "outcomes", tuple(free))
        object.__setattr__(self, "_print", [])

    def __len__(self) -> int:
        return int(next(iter(self.columns.values())).size)

    def __getitem__(self, name: str) -> Any:
        """Return a column: an array, or :class:`~theory.evidence.Intervals` of an interval column."""
        if name not in self.columns and f"{name}.lo" in self.columns:
            return Intervals(self.columns[f"{name}.lo"], self.columns[f"{name}.hi"], self.kind)
        return self.columns[name]

    def intervals(self, name: str) -> list[Interval]:
        """Return the interval column ``name``."""
        as_choice(name, "name", [part[:-3] for part in self.columns if part.endswith(".lo")])
        ends = zip(self.columns[f"{name}.lo"].tolist(), self.columns[f"{name}.hi"].tolist(), strict=True)
        return [Interval(lo, hi, self.kind) for lo, hi in ends]

    def middles(self, name: str) -> NDArray[np.float64]:
        """Return the middles of the interval column ``name``."""
        return np.array([interval.mid for interval in self.intervals(name)])

    def levels(self, name: str) -> list[Any]:
        """Return the values that occur in the column ``name``, each once, in order."""
        as_choice(name, "name", list(self.columns))
        return sorted(set(self.columns[name].tolist()))

    def where(self, **values: Any) -> Table:
        """Return the rows in which every named column has the given value."""
        for name in values:
            as_choice(name, "values", list(self.columns))
        keep = np.logical_and.reduce([self.columns[name] == value for name, value in values.items()])
        columns = {name: column[keep] for name, column in self.columns.items()}
        return Table(self.kind, self.units, columns, outcomes=self.outcomes)

    @classmethod
    def from_rows(
        cls,
        kind: Kind,
        rows: Iterable[Mapping[str, Any]],
        *,
        units: Mapping[str, str] | None = None,
        outcomes: Sequence[str] = (),
    ) -> Table:
        """Make the table of which every row is a mapping from the names of the columns, the same ones in one order.

        Parameters
        ----------
        kind, outcomes
            As for :class:`Table`.
        rows : iterable of mapping
            At least one; a cell is a number, a text or an :class:`Interval`.
        units : mapping of str to str, optional
            Of the columns that are no pure numbers.

        Raises
        ------
        ValueError
            If there is no row, rows differ in their names, or a unit names no column.
        """
        listed = [dict(row) for row in rows]
        if not listed:
            raise ValueError("rows: expected at least one, got none")
        names = list(listed[0])
        for number, row in enumerate(listed):
            if list(row) != names:
                raise ValueError(f"rows: expected the columns {names} in row {number}, got {list(row)}")
        given = dict(units or {})
        if strange := [name for name in given if name not in names]:
            raise ValueError(f"units: expected names of columns, {names}, got {strange}")
        columns = {name: [row[name] for row in listed] for name in names}
        return cls(kind, {**dict.fromkeys(names, "1"), **given}, columns, outcomes=outcomes)

    def to_csv(self) -> str:
        """Return the text: a line with kind and units, the names, then the rows, floats as they round-trip."""
        out = io.StringIO()
        text = [name for name, column in self.columns.items() if column.dtype.kind == "U"]
        listed = {"text": text, "outcomes": list(self.outcomes)}
        meta = {"kind": self.kind.name.lower(), "units": dict(self.units)}
        meta |= {name: columns for name, columns in listed.items() if columns}
        out.write(f"# {json.dumps(meta)}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        cells = [[repr(v) if isinstance(v, float) else v for v in c.tolist()] for c in self.columns.values()]
        writer.writerows(zip(*cells, strict=True))
        return out.getvalue()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Table, outcomes=self.outcomes), (self.kind, dict(self.units), dict(self.columns))

    @classmethod
    def from_csv(cls, text: str) -> Table:
        """Read what :meth:`to_csv` wrote.

        Raises
        ------
        ValueError
            If the text is no such table.
        """
        head, _, body = as_text(text, "text").partition("\n")
        try:
            meta = json.loads(head.removeprefix("# "))
            kind = Kind[meta["kind"].upper()]
            units = dict(meta["units"])
            words = set(meta.get("text", ()))
            outcomes = tuple(meta.get("outcomes", ()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"text: expected a first line '# {{kind, units}}', got {head[:60]!r}") from error
        names, *rows = list(csv.reader(io.StringIO(body, newline=""))) or [[]]
        if len(set(names)) < len(names) or any(len(row) != len(names) for row in rows):
            raise ValueError(f"text: expected {len(names)} distinct names and as many fields in every row")
        cells = {name: [row[k] for row in rows] for k, name in enumerate(names)}
        columns = {n: np.array(c, dtype=np.str_) if n in words else _numbers(n, c) for n, c in cells.items()}
        return cls(kind, units, columns, outcomes=outcomes)

    @property
    def sha256(self) -> str:
        """Fingerprint of :meth:`to_csv`; nothing in a table changes, so it is computed once."""
        if not self._print:
            self._print.append(hashlib.sha256(self.to_csv().encode()).hexdigest())
        return self._print[0]

    def differs(self, other: Table) -> str | None:
        """Tell where another run of the same study disagrees.

        Intervals must overlap, raw columns agree to 9 digits, and outcomes of an implementation only be there.
        """
        as_instance(other, "other", Table)
        heads = _heads(self, other)
        if heads is not None:
            return heads
        if len(self) != len(other):
            return f"{len(self)} rows against {len(other)}"
        for name, mine in self.columns.items():
            theirs = other.columns[name]
            if name in self.outcomes:
                continue
            if name.endswith(".lo") and f"{name[:-3]}.hi" in self.columns:
                apart = (mine > other.columns[f"{name[:-3]}.hi"]) | (theirs > self.columns[f"{name[:-3]}.hi"])
            elif name.endswith(".hi") and f"{name[:-3]}.lo" in self.columns:
                continue
            elif "f" in mine.dtype.kind + theirs.dtype.kind and "U" not in mine.dtype.kind + theirs.dtype.kind:
                both = np.isfinite(mine) & np.isfinite(theirs)
                size = max(float(np.abs(c).max(initial=0.0, where=both)) for c in (mine, theirs))
                moved = np.abs(np.subtract(mine, theirs, where=both, out=np.zeros(mine.size))) > _RAW_DIGITS * size
                apart = np.where(both, moved, mine != theirs)
            else:
                apart = mine != theirs
            if apart.any():
                row = int(np.flatnonzero(apart)[0])
                return f"column {name}, row {row}: {mine[row].item()!r} against {theirs[row].item()!r}"
        return None


def _heads(one: Table, other: Table) -> str | None:
    """Tell in what two tables differ before any of their rows."""
    mine, theirs = list(one.columns), list(other.columns)
    if mine != theirs:
        lone = [[name for name in here if name not in there] for here, there in ((mine, theirs), (theirs, mine))]
        first, second = (f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}" or "no other" for names in lone)
        return "its columns in another order" if lone == [[], []] else f"columns {first} against {second}"
    if one.kind != other.kind:
        return f"kind {one.kind.name.lower()} against {other.kind.name.lower()}"
    unlike = next((name for name in mine if one.units[name] != other.units[name]), None)
    if unlike is not None:
        return f"column {unlike} in units {one.units[unlike]!r} against {other.units[unlike]!r}"
    if one.outcomes != other.outcomes:
        return f"outcomes {', '.join(one.outcomes) or 'none'} against {', '.join(other.outcomes) or 'none'}"
    return None


def _parts(name: str, values: ArrayLike | Sequence[Interval] | Intervals) -> list[tuple[str, NDArray[Any]]]:
    if isinstance(values, Intervals):
        return [(f"{name}.lo", np.array(values.lo)), (f"{name}.hi", np.array(values.hi))]
    if isinstance(values, (list, tuple)) and values and all(isinstance(v, Interval) for v in values):
        ends = [(v.lo, v.hi) for v in values if isinstance(v, Interval)]
        return [(f"{name}.lo", np.array([lo for lo, _ in ends])), (f"{name}.hi", np.array([hi for _, hi in ends]))]
    array = np.array(values)
    if array.dtype.kind == "U" and any("\r" in cell for cell in array.ravel().tolist()):
        raise ValueError(f"columns: expected text without carriage returns in {name}")
    if array.ndim != 1 or array.dtype.kind not in "fiU" or array.dtype == np.longdouble != np.float64:
        raise ValueError(
            f"columns: expected a flat column of numbers or text in {name}, got {array.dtype} of shape {array.shape}"
        )
    return [(name, array)]


def _listed(values: object) -> Sequence[object]:
    return values if isinstance(values, (list, tuple)) else [values]


def _numbers(name: str, cells: list[str]) -> NDArray[Any]:
    for convert in (int, float):
        try:
            return np.array([convert(cell) for cell in cells])
        except ValueError:
            continue
    raise ValueError(f"text: expected numbers in {name}, got {cells[0]!r} and others")
