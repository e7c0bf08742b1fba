"""A study: a generator of rows that becomes a table, computed once and read by a claim, its twins and a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

from theory.evidence.interval import Kind, as_kind
from theory.evidence.table import Table


def study(
    kind: Kind, *, units: Mapping[str, str] | None = None, outcomes: Sequence[str] = ()
) -> Callable[[Callable[..., Iterable[Mapping[str, Any]]]], Callable[..., Table]]:
    """Turn a function ``(*, scale, root, ...)`` that yields rows into one that returns their table.

    Parameters
    ----------
    kind : Kind
        The weakest kind among the interval columns.
    units : mapping of str to str, optional
        Units of the columns that are no pure numbers.
    outcomes : sequence of str, optional
        Columns of what an implementation did; see :class:`~theory.evidence.table.Table`.

    Returns
    -------
    callable
        A decorator. The study keeps its name, under which its table is recorded.

    Examples
    --------
    >>> @study(Kind.CERTIFIED, units={"side": "m"})
    ... def squares(*, scale, root):
    ...     for n in range(3 if scale == "quick" else 100):
    ...         yield {"side": float(n), "area": n * n}
    >>> squares(scale="quick", root=0)["area"]
    array([0, 1, 4])
    """
    kind = as_kind(kind)

    def decorate(rows: Callable[..., Iterable[Mapping[str, Any]]]) -> Callable[..., Table]:
        @wraps(rows)
        def tabulated(*, scale: str, root: int, **parameters: Any) -> Table:
            return Table.from_rows(kind, rows(scale=scale, root=root, **parameters), units=units, outcomes=outcomes)

        return tabulated

    return decorate
