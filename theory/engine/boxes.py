"""A cloud cut into boxes of near points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.engine.pairs import Array


class Boxes(NamedTuple):
    """Points in the order of their boxes, and the boxes, as tight as the points allow."""

    order: NDArray[np.int64]
    """the points, box after box"""
    starts: NDArray[np.int64]
    """where the boxes start in ``order``, and where the last one ends"""
    centres: Array
    """shape (b, d)"""
    halves: Array
    """shape (b, d), half the lengths of the sides"""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The numbers of points."""
        return np.diff(self.starts)

    def members(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ranks in ``order`` of the points of some boxes."""
        sizes = self.sizes[chosen]
        ranks: NDArray[np.int64] = np.arange(sizes.sum())
        ranks += np.repeat(self.starts[chosen] - np.cumsum(sizes) + sizes, sizes)
        return ranks


def cut(points: Array, reach: float, least: int, loose: float = 4.0) -> Boxes:
    """Halve the box around a cloud until no part is wider than wanted, or few points are left in it.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Finite.
    reach : float
        Half the widest side that is wanted, positive, possibly infinite.
    least : int
        A box of so many points is not cut again.
    loose : float, default 4
        Nor is one of eight times as many points that is no wider than so many times what is wanted.

    Returns
    -------
    Boxes
    """
    n, d = points.shape
    order = np.arange(n)
    sorted_points = np.array(points.T, order="C")  # a copy, as it is written to
    starts, centres, halves = [], [], []
    open_parts = [(0, n)]
    while open_parts:
        start, stop = open_parts.pop()
        part = sorted_points[:, start:stop]
        low, high = part.min(axis=1), part.max(axis=1)
        half = 0.5 * high - 0.5 * low
        axis = int(np.argmax(half))
        wide = half[axis] / reach
        number = stop - start
        if wide <= 1.0 or number <= least or (number <= 8 * least and wide <= loose) or half[axis] == 0.0:
            centre = 0.5 * low + 0.5 * high
            starts.append(start)
            centres.append(centre)
            halves.append(np.maximum(high - centre, centre - low))  # of the rounded centre
            continue
        middle = min(0.5 * low[axis] + 0.5 * high[axis], np.nextafter(high[axis], low[axis]))  # both parts have points
        below = part[axis] <= middle
        ranks = np.concatenate([np.flatnonzero(below), np.flatnonzero(~below)])
        sorted_points[:, start:stop] = part[:, ranks]
        order[start:stop] = order[start:stop][ranks]
        turn = start + int(np.count_nonzero(below))
        open_parts += [(turn, stop), (start, turn)]
    return Boxes(order, np.array([*starts, n]), np.array(centres).reshape(-1, d), np.array(halves).reshape(-1, d))
