r"""The smallest of :math:`|z - s_k| - w_k` over :math:`k`: a choice of backends, and the oracle, which skips none."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from theory._backend import backend
from theory.distance.cells import Numbers, Places

_BLOCK = 256  # queries; taken


def smallest_terms(
    queries: Places, cones: Places, heights: Places, count: int, *, scale: float, margin: float
) -> tuple[Places, Numbers]:
    """Return the smallest terms ``scale * |z - s_k| - w_k`` of every query ``z``, and the cones that give them.

    Parameters
    ----------
    queries, cones : ndarray, shapes (n, d) and (m, d)
        Contiguous float64, such that squares of distances do not overflow; quick if neighbours in a list are
        neighbours in space.
    heights : ndarray, shape (m,)
        Contiguous float64, finite.
    count : int
        How many terms to look for, at most m.
    scale : float
        A power of two; no distance is above one in this unit.
    margin : float
        At least what a term and a bound of many terms may be off by together, see :mod:`theory.distance.cones`.

    Returns
    -------
    values : ndarray, shape (n,)
        The smallest terms, as computed.
    names : ndarray of int64, shape (n, count)
        The cones of the ``count`` smallest terms.
    """
    if backend() == "reference":
        return all_terms(queries, cones, heights, count, scale=scale)
    from theory.distance.cones import search_ranges  # noqa: PLC0415  loads Numba

    return search_ranges(queries, cones, heights, count, scale=scale, margin=margin)


def all_terms(queries: Places, cones: Places, heights: Places, count: int, *, scale: float) -> tuple[Places, Numbers]:
    """Return the same from all terms, none of which is skipped; the cones of a query are in no order."""
    values = np.empty(len(queries))
    names = np.empty((len(queries), count), dtype=np.int64)
    for start in range(0, len(queries), _BLOCK):
        rows = slice(start, start + _BLOCK)
        terms = cdist(queries[rows], cones) * scale - heights
        names[rows] = np.argpartition(terms, count - 1, axis=1)[:, :count]
        values[rows] = terms.min(axis=1)
    return values, names
