r"""The base of rotary positions: at which distances similar tokens are preferred to others.

Rotary positions turn the plane of coordinates :math:`2i, 2i + 1` of a query or key at position m by the angle
:math:`m\theta_i`, :math:`\theta_i = b^{-2i/d}`, so that scores depend on distances. What a similar key gains beside one
that is drawn independently is, on average, a multiple of the sum of cosines

.. math:: B_m(b) = \sum_{i<d/2}\cos(m\,b^{-2i/d}).

A base b is *admissible* up to the distance M if :math:`B_m(b) \ge 0` for all whole :math:`0 \le m \le M`. To rule out
every base of an interval, it is cut into cells of :math:`\log b`, on each of which one distance has a negative sum; the
sum is evaluated in balls on the whole cell, the distance is proposed by floats.

References
----------
J. Su et al., *RoFormer: enhanced transformer with rotary position embedding*, Neurocomputing 568 (2024).
X. Men et al., *Base of RoPE bounds context length*, NeurIPS 2024 (arXiv:2405.14591).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_counts, as_number, as_points
from theory.evidence import Interval, Kind, ball, exact, hull, precision

_CELLS = 100_000  # taken: at which a search gives up
_FINEST = 2.0**-40  # taken: of the logarithm of the base, where a cell is not halved any more
_MOST = 2.0**40  # taken: of a base, far above those in use
_ABOVE = (2.0**-26, 2.0**-23, 2.0**-20, 2.0**-17, 2.0**-14, 2.0**-11)  # taken: how far above its bound a base is tried


class Cell(NamedTuple):
    """All bases with logarithms from ``lo`` to ``hi``, and a distance at which none of them is admissible."""

    lo: float
    hi: float
    distance: int


def rotate(tokens: ArrayLike, positions: ArrayLike, base: float) -> Any:
    """Enclose queries or keys turned to their positions.

    Parameters
    ----------
    tokens : array_like, shape (n, d)
        Of an even dimension; coordinates are turned in pairs of neighbours.
    positions : array_like of int, shape (n,)
        Non-negative.
    base : float
        More than one.

    Returns
    -------
    Intervals, shape (n, d)

    Raises
    ------
    ValueError
        If the dimension is odd, there are not as many positions as tokens, or the base is not more than one.
    """
    x = as_points(tokens, "tokens")
    places = as_counts(positions, "positions", least=0)
    if places.shape != x.shape[:1]:
        raise ValueError(f"positions: expected shape {x.shape[:1]}, got {places.shape}")
    angles = exact(places.astype(np.float64))[:, np.newaxis] * _angles(base, _even(x.shape[1], "tokens"))
    even, odd = x[:, 0::2], x[:, 1::2]
    first = np.cos(angles) * even - np.sin(angles) * odd
    second = np.sin(angles) * even + np.cos(angles) * odd
    return np.stack([first, second], axis=-1).reshape(*x.shape)


def cosine_sums(base: float, distances: ArrayLike, dim: int) -> Any:
    r"""Enclose :math:`B_m(b)` at these distances.

    Parameters
    ----------
    base : float
        More than one.
    distances : array_like of int, shape (n,)
        Non-negative.
    dim : int
        Even.

    Returns
    -------
    Intervals, shape (n,)

    Raises
    ------
    ValueError
        If the base is not more than one, a distance is negative or the dimension is odd.
    """
    apart = exact(as_counts(distances, "distances", least=0).astype(np.float64))
    return np.cos(apart[:, np.newaxis] * _angles(base, _even(dim, "dim"))).sum(axis=1)


def least_sum(base: float, most: int, dim: int) -> Interval:
    """Enclose the least sum of cosines at distances up to ``most``; a base is admissible if it is not negative.

    Parameters
    ----------
    base : float
        More than one.
    most : int
        The largest distance.
    dim : int
        Even.

    Raises
    ------
    ValueError
        If the base is not more than one or the dimension is odd.
    """
    least: Interval = cosine_sums(base, np.arange(as_count(most, "most") + 1), dim).min()
    return least


def rule_out(lo: float, hi: float, most: int, dim: int) -> tuple[Cell, ...]:
    r"""Return cells from ``lo`` on, one after another, on each of which no base is admissible up to ``most``.

    They end at ``hi`` or, if some base before may be admissible, where a cell would be narrower than :math:`2^{-40}`.

    Parameters
    ----------
    lo, hi : float
        Bases, ``1 <= lo < hi``.
    most : int
        The largest distance.
    dim : int
        Even.

    Raises
    ------
    ValueError
        If the bases are not in order or the dimension is odd.
    RuntimeError
        If more than 100 000 cells are needed.
    """
    first = math.log(_as_base(lo, "lo", least=1.0))
    last = math.log(_as_base(hi, "hi"))
    if not first < last:
        raise ValueError(f"lo, hi: expected lo < hi, got {lo!r}, {hi!r}")
    reach = as_count(most, "most")
    even = _even(dim, "dim")
    cells: list[Cell] = []
    start = first
    while start < last:
        cell = _longest(start, last, reach, even)
        if cell is None:
            break
        cells.append(cell)
        start = cell.hi
        if len(cells) > _CELLS:
            raise RuntimeError(f"most: expected a distance for which {_CELLS} cells are enough, got {most}")
    return tuple(cells)


def least_base(hi: float, most: int, dim: int) -> Interval:
    """Enclose the least admissible base: all that are smaller are ruled out, and one just above is admissible.

    Parameters
    ----------
    hi : float
        Where to stop looking.
    most : int
        The largest distance.
    dim : int
        Even.

    Returns
    -------
    Interval
        Unbounded above if no admissible base was found right above those that are ruled out.

    Raises
    ------
    ValueError
        If ``hi`` is not more than one or the dimension is odd.
    """
    cells = rule_out(1.0, hi, most, dim)
    with precision():
        below = hull(ball(cells[-1].hi).exp()).lo if cells else 1.0
    for step in _ABOVE:
        above = below * (1.0 + step)
        if above <= hi and least_sum(above, most, dim).lo >= 0.0:
            return Interval(below, above, Kind.NUMERIC)
    return Interval(below, math.inf, Kind.NUMERIC)


def _longest(start: float, last: float, most: int, dim: int) -> Cell | None:
    """Return a cell from ``start`` that is ruled out, about as long as one distance allows; None if it is too short."""
    width = 2.0 * _proposed(start, most, dim)[1]
    while width > _FINEST:
        end = min(start + width, last)
        distance, reach = _proposed(0.5 * (start + end), most, dim)
        if reach > 0.0 and _is_negative(start, end, distance, dim):
            return Cell(start, end, distance)
        width *= 0.5
    return None


def _proposed(u: float, most: int, dim: int) -> tuple[int, float]:
    """Return the distance whose sum stays negative longest around the base exp(u), and how far by its slope."""
    orders = 2.0 * np.arange(dim // 2) / dim
    turns = np.exp(-orders * u)
    apart = np.arange(1.0, most + 1.0)
    sums: NDArray[np.float64] = np.cos(apart[:, np.newaxis] * turns).sum(axis=1)
    reach = -sums / (apart * (orders * turns).sum())
    best = int(np.argmax(reach))
    return best + 1, float(reach[best])


def _is_negative(start: float, end: float, distance: int, dim: int) -> bool:
    """Whether the sum at this distance is negative for every base with a logarithm in between."""
    with precision():
        ratio = (-2 * ball(start).union(ball(end)) / dim).exp()
        turn, total = ball(1), ball(0)
        for _ in range(dim // 2):
            total += (distance * turn).cos()
            turn *= ratio
        return bool(total < 0)


def _angles(base: float, dim: int) -> Any:
    """Enclose the angles by which the planes are turned from one position to the next."""
    with precision():
        log = ball(_as_base(base, "base")).log()
        return hull(np.array([(-2 * i * log / dim).exp() for i in range(dim // 2)], dtype=object))


def _as_base(value: float, name: str, *, least: float = math.nextafter(1.0, 2.0)) -> float:
    number = as_number(value, name)
    if not least <= number <= _MOST:
        raise ValueError(f"{name}: expected a base of more than 1 and at most 2**40, got {value!r}")
    return number


def _even(dim: int, name: str) -> int:
    size = as_count(dim, name, least=2)
    if size % 2:
        raise ValueError(f"{name}: expected an even dimension, got {dim}")
    return size
