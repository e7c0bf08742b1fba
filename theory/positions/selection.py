r"""How wide a head has to be so that some query selects any k of m keys: all of them above all others.

*Enough.* Keys at angles :math:`t` on the trigonometric moment curve :math:`(\cos t, \sin t, \dots, \cos kt, \sin kt)`
are one key turned by rotary positions with the angles :math:`1, \dots, k`. For at most k angles the trigonometric
polynomial :math:`\prod_i(1 - \cos(t - t_i))` of degree at most k vanishes there and is positive elsewhere: less its
mean, with the other sign, it is a query. At rational points of the circle all of this is rational.

*Needed.* Any d + 2 points in dimension d are two sets of which the convex hulls meet (Radon). The smaller one is not
selected by any query: no score separates a point of both hulls from itself.

References
----------
J. Radon, *Mengen konvexer Körper, die einen gemeinsamen Punkt enthalten*, Math. Ann. 83 (1921).
D. Gale, *Neighborly and cyclic polytopes*, Proc. Symp. Pure Math. 7 (1963).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_counts, as_points, as_vector
from theory.evidence import Interval, ball, hull, precision

Exact = NDArray[np.object_]
Point = tuple[Fraction, Fraction]  # of the circle


class Radon(NamedTuple):
    """Two sets of points, and convex weights of each with one mean: ``weights`` are those of the second set negated."""

    fewer: tuple[int, ...]
    others: tuple[int, ...]
    weights: Exact


def least_width(keys: int, chosen: int) -> int:
    """Return the least dimension in which some keys can be selected by any set of at most so many of them.

    Parameters
    ----------
    keys : int
        How many there are.
    chosen : int
        The size of the largest sets that are to be selected, less than ``keys``.

    Raises
    ------
    ValueError
        If not less are chosen than there are keys.
    """
    m, k = _sizes(keys, chosen)
    return min(2 * k, m - 1)


def margin_ceiling(keys: int, chosen: int) -> Interval:
    r"""Enclose :math:`m/\sqrt{k(m-1)(m-k)}`, above which no k of m unit keys are all separated by unit queries.

    Parameters
    ----------
    keys, chosen : int
        m and k, of which the second is less.

    Raises
    ------
    ValueError
        If not less are chosen than there are keys.
    """
    m, k = _sizes(keys, chosen)
    with precision():
        return hull(m / (ball(k) * (m - 1) * (m - k)).sqrt())


def moment_keys(places: ArrayLike, chosen: int) -> Exact:
    r"""Return keys of squared norm k on the trigonometric moment curve, exactly.

    Parameters
    ----------
    places : array_like, shape (m,)
        Tangents of half the angles, all different.
    chosen : int
        k, so that there are 2 k coordinates.

    Returns
    -------
    ndarray of Fraction, shape (m, 2 k)

    Raises
    ------
    ValueError
        If two places are equal.
    """
    k = as_count(chosen, "chosen")
    keys = []
    for c, s in _circle(places):
        power, key = (Fraction(1), Fraction(0)), list[Fraction]()
        for _ in range(k):
            power = power[0] * c - power[1] * s, power[0] * s + power[1] * c
            key += power
        keys.append(key)
    return np.array(keys, dtype=object)


def selecting_query(places: ArrayLike, chosen: int, selected: ArrayLike) -> tuple[Exact, Fraction]:
    r"""Return a query that scores highest, and equally, at the selected keys of :func:`moment_keys`, and this score.

    Parameters
    ----------
    places : array_like, shape (m,)
        Tangents of half the angles, all different.
    chosen : int
        k, so that there are 2 k coordinates.
    selected : array_like of int, shape (r,)
        Indices of keys, at most k and at least one of them, all different.

    Returns
    -------
    query : ndarray of Fraction, shape (2 k,)
    score : Fraction

    Raises
    ------
    ValueError
        If two places or indices are equal, or there are too many indices.
    """
    k = as_count(chosen, "chosen")
    circle = _circle(places)
    which = as_counts(selected, "selected", least=0).tolist()
    if not 1 <= len(which) <= k or len(set(which)) < len(which) or max(which) >= len(circle):
        raise ValueError(f"selected: expected one to {k} different indices below {len(circle)}, got {which}")
    zero, one = Fraction(0), Fraction(1)
    upper: list[Point] = [(one, zero)]  # of the terms z^0, z^1, ...; those of z^-1, ... are conjugate
    for at in which:
        upper = _times(upper, circle[at])
    upper += [(zero, zero)] * (k + 1 - len(upper))
    query = [part for re, im in upper[1:] for part in (-2 * re, 2 * im)]
    return np.array(query, dtype=object), upper[0][0]


def radon_partition(points: ArrayLike) -> Radon:
    """Return two sets of points of which the convex hulls meet, exactly, the smaller one first.

    Parameters
    ----------
    points : array_like of float or Fraction, shape (d + 2, d)

    Raises
    ------
    ValueError
        If there are not two more points than dimensions.
    """
    x = _as_exact(points)
    size, dim = x.shape
    if size != dim + 2:
        raise ValueError(f"points: expected shape (d + 2, d), got {x.shape}")
    weights = _kernel([*x.T.tolist(), [Fraction(1)] * size])
    total = sum((weight for weight in weights if weight > 0), Fraction(0))
    above = tuple(i for i, weight in enumerate(weights) if weight > 0)
    below = tuple(i for i, weight in enumerate(weights) if weight < 0)
    if len(above) <= len(below):
        return Radon(above, below, np.array([weight / total for weight in weights], dtype=object))
    return Radon(below, above, np.array([-weight / total for weight in weights], dtype=object))


def _sizes(keys: int, chosen: int) -> tuple[int, int]:
    m, k = as_count(keys, "keys", least=2), as_count(chosen, "chosen")
    if k >= m:
        raise ValueError(f"chosen: expected less than keys, {m}, got {chosen}")
    return m, k


def _circle(places: ArrayLike) -> list[Point]:
    """Return the rational points of the circle at these tangents of half their angles."""
    tangents = [Fraction(place) for place in as_vector(places, "places").tolist()]
    if any(one == other for one, other in pairwise(sorted(tangents))):
        raise ValueError(f"places: expected different numbers, got {tangents}")
    return [((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)) for t in tangents]


def _times(upper: list[Point], centre: Point) -> list[Point]:
    """Multiply a real trigonometric polynomial by 1 - cos of the distance from a point of the circle."""
    c, s = centre
    full = [(re, -im) for re, im in reversed(upper[1:])] + upper
    zero = (Fraction(0), Fraction(0))
    padded = [zero, zero, *full, zero, zero]
    found = []
    for (fr, fi), (mr, mi), (br, bi) in zip(padded, padded[1:], padded[2:], strict=False):  # of z^(j-1), z^j, z^(j+1)
        # 1 - (z conj(a) + a / z) / 2 with a = c + is
        found.append((mr - (fr * c + fi * s + br * c - bi * s) / 2, mi - (fi * c - fr * s + bi * c + br * s) / 2))
    return found[len(found) // 2 :]


def _as_exact(points: Any) -> Exact:
    """Return points as fractions, as they are if they are fractions already."""
    if isinstance(points, np.ndarray) and points.ndim == 2 and all(isinstance(x, Fraction) for x in points.flat):
        return points
    floats = as_points(points, "points")
    return np.array([[Fraction(x) for x in row] for row in floats.tolist()], dtype=object)


def _kernel(rows: list[list[Fraction]]) -> Sequence[Fraction]:
    """Return a vector that is not zero and is orthogonal to all rows, of which there is one less than columns."""
    size = len(rows[0])
    pivots: list[int] = []
    done = 0
    for column in range(size):
        place = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if place is None:
            continue
        rows[done], rows[place] = rows[place], rows[done]
        lead = rows[done][column]
        rows[done] = [value / lead for value in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                factor = row[column]
                rows[i] = [value - factor * other for value, other in zip(row, rows[done], strict=True)]
        pivots.append(column)
        done += 1
    free = next(column for column in range(size) if column not in pivots)
    found = [Fraction(0)] * size
    found[free] = Fraction(1)
    for row, column in zip(rows, pivots, strict=False):
        found[column] = -row[free]
    return found
