r"""The base of rotary positions: at which distances similar tokens are preferred to others.

Rotary positions turn the plane of coordinates :math:`2i, 2i + 1` of a query or key at position m by the angle
:math:`m\theta_i`, :math:`\theta_i = b^{-2i/d}`, so that scores depend on distances. What a similar key gains beside one
that is drawn independently is, on average, a multiple of the sum of cosines

.. math:: B_m(b) = \sum_{i<d/2}\cos(m\,b^{-2i/d}).

A base b is *admissible* up to the distance M if :math:`B_m(b) \ge 0` for all whole :math:`0 \le m \le M`. To rule out
every base of an interval, it is cut into cells of :math:`\log b`, on each of which one distance has a negative sum; the
sum is evaluated in balls on the whole cell, the distance is proposed by floats. All sums at once are products of
matrices: with :math:`m = ks + r` the cosine of :math:`m\theta_i` is
:math:`\cos ks\theta_i\cos r\theta_i - \sin ks\theta_i\sin r\theta_i`.

References
----------
J. Su et al., *RoFormer: enhanced transformer with rotary position embedding*, Neurocomputing 568 (2024).
X. Men et al., *Base of RoPE bounds context length*, NeurIPS 2024 (arXiv:2405.14591).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_counts, as_number, as_points
from theory.evidence import Interval, Kind, ball, exact, hull, precision

_CELLS = 100_000  # taken: at which a search gives up
_FINEST = 2.0**-40  # taken: of the logarithm of the base, where a cell is not halved any more
_MOST = 2.0**40  # taken: of a base, far above those in use
TRIED = 64  # measured: distances that are looked at again where a cell is tried
_SIDE = 32  # measured: of matrices that make all sums, so small that no library takes threads for them
_ABOVE = (2.0**-26, 2.0**-23, 2.0**-20, 2.0**-17, 2.0**-14, 2.0**-11)  # taken: how far above its bound a base is tried


Search: TypeAlias = "Callable[[float, float, int, int, float], Cell | None]"


class Cell(NamedTuple):
    """All bases with logarithms from ``lo`` to ``hi``, and a distance that decides that all or none are admissible."""

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
    angles = exact(places.astype(np.float64))[:, np.newaxis] * _angles(base, as_even(x.shape[1], "tokens"))
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
    return np.cos(apart[:, np.newaxis] * _angles(base, as_even(dim, "dim"))).sum(axis=1)


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
    least: Interval = all_sums(_angles(base, as_even(dim, "dim")), as_count(most, "most")).min()
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
    first = math.log(as_base(lo, "lo", least=1.0))
    last = math.log(as_base(hi, "hi"))
    if not first < last:
        raise ValueError(f"lo, hi: expected lo < hi, got {lo!r}, {hi!r}")
    return extend(longest_out, first, last, as_count(most, "most"), as_even(dim, "dim"))


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


def extend(
    longest: Search, start: float, last: float, most: int, dim: int, finest: float = _FINEST
) -> tuple[Cell, ...]:
    """Return cells from ``start`` to ``last``, each found where the one before ends, until one would be too fine."""
    cells: list[Cell] = []
    while start < last and (cell := longest(start, last, most, dim, finest)):
        cells.append(cell)
        start = cell.hi
        if len(cells) > _CELLS:
            raise RuntimeError(f"most: expected a distance for which {_CELLS} cells are enough, got {most}")
    return tuple(cells)


def longest_out(start: float, last: float, most: int, dim: int, finest: float) -> Cell | None:
    """Return a cell from ``start`` that is ruled out, about as long as one distance allows; None if it is too short."""
    room = -rooms(start, np.arange(1, most + 1), dim)
    tried = least_places(-room) + 1
    width = 2.0 * float(room.max())
    while width > finest:
        end = min(start + width, last)
        room = -rooms(0.5 * (start + end), tried, dim)
        best = int(np.argmax(room))
        if room[best] > 0.0 and _is_negative(start, end, int(tried[best]), dim):
            return Cell(start, end, int(tried[best]))
        width *= 0.5
    return None


def rooms(u: float, distances: NDArray[np.int64], dim: int, since: float | None = None) -> NDArray[np.float64]:
    """Return, in floats, how far around the base exp(u) sums stay positive, or minus how far they stay negative.

    Their slopes are those at this base, or at a smaller one, ``since``.
    """
    orders = 2.0 * np.arange(dim // 2) / dim
    turns = np.exp(-orders * u)
    many = len(distances) > TRIED  # then they are all up to the largest
    sums = all_sums(turns, len(distances))[1:] if many else np.cos(distances[:, np.newaxis] * turns).sum(axis=1)
    slope = (orders * (turns if since is None else np.exp(-orders * since))).sum()
    with np.errstate(divide="ignore"):  # a single plane does not depend on the base
        found: NDArray[np.float64] = sums / (distances * slope)
    return found


def least_places(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of the least values, as many as are looked at again."""
    few: NDArray[np.int64] = np.argpartition(values, TRIED)[:TRIED] if len(values) > TRIED else np.arange(len(values))
    return few


def _is_negative(start: float, end: float, distance: int, dim: int) -> bool:
    """Whether the sum at this distance is negative for every base with a logarithm in between."""
    with precision():
        ratio = (-2 * ball(start).union(ball(end)) / dim).exp()
        turn, total = ball(1), ball(0)
        for _ in range(dim // 2):
            total += (distance * turn).cos()
            turn *= ratio
        return bool(total < 0)


def all_sums(turns: Any, most: int) -> Any:
    """Return the sums of cosines at distances up to ``most`` of planes with these angles; of enclosures, enclosures."""
    blocks = np.arange(0.0, most + 1.0, _SIDE**2)[:, np.newaxis] + _SIDE * np.arange(_SIDE)
    long = blocks[..., np.newaxis] * turns
    short = np.arange(float(_SIDE))[:, np.newaxis] * turns
    sums = np.cos(long) @ np.cos(short).T - np.sin(long) @ np.sin(short).T
    return sums.reshape(-1)[: most + 1]


def _angles(base: float, dim: int) -> Any:
    """Enclose the angles by which the planes are turned from one position to the next."""
    with precision():
        log = ball(as_base(base, "base")).log()
        return hull(np.array([(-2 * i * log / dim).exp() for i in range(dim // 2)], dtype=object))


def as_base(value: float, name: str, *, least: float = math.nextafter(1.0, 2.0)) -> float:
    """Return a base that is more than one, or not less than ``least``."""
    number = as_number(value, name)
    if not least <= number <= _MOST:
        raise ValueError(f"{name}: expected a base of more than 1 and at most 2**40, got {value!r}")
    return number


def as_even(dim: int, name: str) -> int:
    """Return an even dimension."""
    size = as_count(dim, name, least=2)
    if size % 2:
        raise ValueError(f"{name}: expected an even dimension, got {dim}")
    return size
