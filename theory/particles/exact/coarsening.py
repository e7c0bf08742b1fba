r"""A run of clusters that meet two by two until one is left.

Stage by stage the closest pair is followed (:mod:`theory.particles.exact.merging`), while all clusters interact. A pair
nearer than ``JOINED`` becomes one cluster at its centre of mass, which by then moves as a point does up to
:math:`(\beta\cdot\text{JOINED})^2`, relatively.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_masses, as_points, as_positive, as_vector
from theory.particles.exact.merging import Approach, approach, shortfall

Array = NDArray[np.float64]
JOINED = 1e-6  # chosen: the angle in radians below which a pair is one cluster


def coarsening(
    points: ArrayLike, masses: ArrayLike, beta: float, stops: Callable[[float], ArrayLike]
) -> Iterator[Approach]:
    r"""Yield the approaches of closest pairs, each joined at its end, until one cluster is left.

    Parameters
    ----------
    points, masses, beta
        As for :class:`Pair`, in any order.
    stops : callable
        Where to look: from the exponent :math:`\beta(1 - \cos\varphi)` of a pair at the start of its stage to smaller
        ones, decreasing, shape (T,). The last angle of each approach is ``JOINED``.

    Raises
    ------
    ValueError
        As for :func:`approach`.
    ArithmeticError
        If a pair is pulled apart, or the next one is about to meet when one is joined.
    """
    x, m, beta = as_points(points, "points"), as_masses(masses, "masses"), as_positive(beta, "beta")
    as_callable(stops, "stops")
    while len(x) > 1:
        missing = _apart(x)
        i, j = sorted(int(k) for k in np.unravel_index(int(missing.argmin()), missing.shape))
        order = [i, j, *(k for k in range(len(x)) if k not in (i, j))]
        x, m = x[order], m[order]
        exponents = as_vector(stops(beta * float(missing[i, j])), "stops")
        found = approach(x, m, beta, np.append(2.0 * np.arcsin(np.sqrt(exponents / (2.0 * beta))), JOINED))
        yield found
        x = found.pair.positions(found.trajectory.last)
        x, m = np.vstack([m[:2] @ x[:2], x[2:]]), np.append(m[0] + m[1], m[2:])
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        if len(x) > 1 and not beta * _apart(x).min() > 1.0:
            raise ArithmeticError("points: expected pairs that meet one after the other, got two at once")


def _apart(x: Array) -> Array:
    """Return what overlaps lack to one, infinite for a cluster and itself."""
    lacking: Array = shortfall(x) + np.diag(np.full(len(x), np.inf))
    return lacking
