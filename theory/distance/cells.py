r"""Two clouds in cells: the same halvings for both.

Level after level, every cell of :math:`n_c` atoms is cut across one coordinate into its lower and its upper half. The
coordinate is the one along which the atoms of both clouds are spread most within their cells, and it is the same for
all cells of a level. So clouds that differ by a translation are cut into cells that differ by it, and in coupled cells
the same rank means about the same relative place.

Nothing here enters a bound: cells only propose, so their centres may be rounded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.distance.coupling import Arcs

Places = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Cells(NamedTuple):
    """A cloud in order, cut into ranges."""

    names: Numbers
    """shape (n,): the cell of every atom"""
    places: Places
    """shape (c, d): barycentres of the cells"""
    masses: Places
    """shape (c,)"""


def halvings(x: Places, y: Places) -> tuple[Numbers, Numbers]:
    """Return the order of the atoms of each cloud in which every cell of every level is a range.

    Parameters
    ----------
    x, y : ndarray, shapes (n, d) and (m, d)
        Finite, small enough that n squares have a finite sum.
    """
    clouds = (x, y)
    orders = [np.arange(len(cloud)) for cloud in clouds]
    for level in range(max(len(x), len(y)).bit_length()):
        names = [cells(len(cloud), 1 << level) for cloud in clouds]
        spread = np.zeros(x.shape[1])
        for cloud, order, name in zip(clouds, orders, names, strict=True):
            z = cloud[order]
            spread += ((z - centres(z, np.full(len(z), 1.0 / len(z)), name)[0][name]) ** 2).mean(axis=0)
        axis = int(spread.argmax())
        orders = [
            order[np.lexsort((cloud[order, axis], name))]
            for cloud, order, name in zip(clouds, orders, names, strict=True)
        ]
    return orders[0], orders[1]


def cells(n: int, count: int) -> Numbers:
    """Return the cell of every rank when ``n`` atoms in order are cut into at most ``count`` ranges, none empty."""
    return np.arange(n) * min(n, count) // n


def coarsen(z: Places, masses: Places, count: int) -> Cells:
    """Cut atoms in order into at most ``count`` cells."""
    names = cells(len(z), count)
    return Cells(names, *centres(z, masses, names))


def centres(z: Places, masses: Places, cell: Numbers) -> tuple[Places, Places]:
    """Return the barycentre and the mass of every cell; every atom has mass."""
    start = np.flatnonzero(np.diff(cell, prepend=-1))
    heavy = np.add.reduceat(masses, start)
    share = masses / heavy[cell]
    return np.add.reduceat(share[:, np.newaxis] * z, start), heavy


def members(cell: Numbers, other: Numbers, rows: Numbers, columns: Numbers) -> tuple[Numbers, Numbers]:
    """Return all pairs of an atom of cell ``rows[k]`` and an atom of cell ``columns[k]`` of the other cloud."""
    first, second = (np.searchsorted(name, np.arange(name[-1] + 2)) for name in (cell, other))
    wide = np.diff(second)[columns]
    pairs = np.diff(first)[rows] * wide
    owner = np.repeat(np.arange(len(rows)), pairs)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    return first[rows[owner]] + rank // wide[owner], second[columns[owner]] + rank % wide[owner]


def staircase(first: Places, second: Places) -> tuple[Numbers, Numbers, Places]:
    """Couple two lists of masses in their order: return numbers in the first, in the second, and common masses.

    The totals may differ by their rounding, which the last entries take.
    """
    above, below = np.cumsum(first), np.cumsum(second)
    ends = np.sort(np.concatenate([above, below]))
    masses = np.diff(ends, prepend=0.0)
    ends, masses = ends[masses > 0.0], masses[masses > 0.0]
    rows = np.minimum(np.searchsorted(above, ends), len(first) - 1)
    columns = np.minimum(np.searchsorted(below, ends), len(second) - 1)
    return rows, columns, masses


def spread(plan: Arcs, a: Places, in_x: Numbers, b: Places, in_y: Numbers) -> Arcs:
    """Return a plan of the atoms of which the cells exchange what ``plan`` says, in the order of the cells."""
    if len(a) == in_x[-1] + 1 and len(b) == in_y[-1] + 1:
        return plan
    order = np.lexsort((plan.columns, plan.rows))
    targets = plan.columns[order]
    rows, arcs, masses = staircase(a, plan.masses[order])
    order = np.argsort(targets[arcs], kind="stable")  # of one cell the parts that come from neighbours stay together
    columns, pieces, masses = staircase(b, masses[order])
    keys, where = np.unique(rows[order][pieces] * len(b) + columns, return_inverse=True)
    return Arcs(keys // len(b), keys % len(b), np.bincount(where, masses).astype(np.float64))
