"""Lower envelopes of cones: which backend finds the smallest terms."""

from __future__ import annotations

from theory.engine.dense import kernels
from theory.engine.pairs import Array, Counts, Form


def smallest_terms(
    queries: Array, cones: Array, heights: Array, count: int, *, scale: float, margin: float
) -> tuple[Array, Counts]:
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
        At least what a term and a bound of many terms may be off by together, see :mod:`theory.engine.cones`.

    Returns
    -------
    values : ndarray, shape (n,)
        The smallest terms, as computed.
    names : ndarray of int64, shape (n, count)
        The cones of the ``count`` smallest terms.
    """
    values, names = kernels(Form.DISTANCE).smallest_terms(queries, cones, heights, count, scale=scale, margin=margin)
    return values, names
