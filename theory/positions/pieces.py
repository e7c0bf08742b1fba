r"""All admissible bases of rotary positions: the pieces, and the gaps between them, which are ruled out.

Let :math:`u = \log b`. Above u the sum :math:`B_m` changes by at most :math:`m\sum_i\frac{2i}d\theta_i` times what u
does. So every base near one at which all sums are positive is admissible, and such cells are put one after another, as
those that are ruled out. Between cells of the two sorts is a window in which one sum changes its sign: its derivative
has one sign there and all other sums are positive, so that the window has exactly one end of a piece, which bisection
encloses.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from theory._validate import as_count
from theory.evidence import Interval, Kind, ball, exact, hull, precision
from theory.positions.rotary import (
    Cell,
    all_sums,
    as_base,
    as_even,
    extend,
    least_places,
    least_sum,
    longest_out,
    rooms,
)

_FINEST = (2.0**-18, 2.0**-28, 2.0**-38)  # taken: of the logarithm of the base, where cells end and a window begins
_WINDOWS = tuple(2.0**k for k in reversed(range(10)))  # taken: how many times as wide a window is, the widest first
_SURE = 1.0 - 2.0**-20  # taken: of what floats find, so that it holds
_CLOSE = 2.0**-36  # taken: of the logarithm, as which an end is enclosed


class Piece(NamedTuple):
    """An interval of admissible bases by enclosures of its ends; ``closes`` is unbounded if no end was reached."""

    opens: Interval
    closes: Interval


def admissible_bases(hi: float, most: int, dim: int) -> tuple[Piece, ...]:
    """Enclose all bases from one to ``hi`` that are admissible up to the distance ``most``: no other base is.

    Parameters
    ----------
    hi : float
        Where to stop; whether all larger bases are admissible says :func:`least_sum_beyond`.
    most, dim : int
        The largest distance, and the dimension, which is even.

    Returns
    -------
    tuple of Piece
        In order. Each encloses one interval, and every base between the inner ends of its enclosures is admissible.

    Raises
    ------
    ValueError
        If ``hi`` is not more than one or the dimension is odd.
    RuntimeError
        If more than 100 000 cells are needed, or an end is found at which more than one sum may change its sign.
    """
    top, reach, even = as_base(hi, "hi"), as_count(most, "most"), as_even(dim, "dim")
    with precision():
        last = hull(ball(top).log()).hi
    opens = Interval.exactly(1.0) if bool((_sums(0.0, reach, even).lo > 0.0).all()) else None
    place, found = 0.0, list[Piece]()
    while True:
        place, window = _next_end(place, last, reach, even, rises=opens is None)
        if window is None:
            break
        with precision():
            end = hull(ball(window.lo).union(ball(window.hi)).exp())
        found += [] if opens is None else [Piece(opens, end)]
        opens = end if opens is None else None
    return (*found, Piece(opens, Interval(top, math.inf, Kind.NUMERIC))) if opens else tuple(found)


def least_sum_beyond(base: float, most: int, dim: int) -> Interval:
    r"""Enclose the least sum of cosines at distances up to ``most``, of this base and all that are larger.

    As long as :math:`m\theta_i \le \pi` a cosine is no less than that of the largest distance at the least base, and
    the others are at least :math:`-1`.

    Parameters
    ----------
    base, most, dim
        As in :func:`~theory.positions.least_sum`.

    Raises
    ------
    ValueError
        If the base is not more than one or the dimension is odd.
    """
    planes = as_even(dim, "dim") // 2
    farthest = as_count(most, "most")
    with precision():
        log = ball(as_base(base, "base")).log()
        turned = [farthest * (-2 * i * log / dim).exp() for i in range(planes)]
        pi = 2 * ball(0).acos()
        below = hull(sum((turn.cos() if turn < pi else ball(-1) for turn in turned), ball(0)))
    return Interval(below.lo, least_sum(base, farthest, dim).hi, Kind.NUMERIC)


def longest_in(start: float, last: float, most: int, dim: int, finest: float) -> Cell | None:
    """Return a cell from ``start`` on which all sums are positive, with the one that ends it; None if too short."""
    room = rooms(start, np.arange(1, most + 1), dim)
    tried = least_places(room) + 1
    width = min(2.0 * float(room.min()), last - start)
    while width > finest:
        middle = start + width
        room = rooms(middle, tried, dim, since=start)
        reach = min(float(room.min()) * _SURE, last - start)
        if math.nextafter(middle - start, math.inf) <= reach:
            kept = _sums(middle, most, dim)[1:] - _rates(start, most, dim) * reach
            if bool((kept.lo > 0.0).all()):
                end = math.nextafter(middle + reach, -math.inf)
                return Cell(start, min(end, last), int(tried[np.argmin(room)]))
        width *= 0.75
    return None


def _next_end(place: float, last: float, most: int, dim: int, *, rises: bool) -> tuple[float, Cell | None]:
    """Go on in cells from a place to the next end of a piece, or to the last place.

    Returns where to go on, and an enclosure of the end with the distance whose sum changes its sign there.
    """
    for finest in _FINEST:
        cells = extend(longest_out if rises else longest_in, place, last, most, dim, finest)
        place = cells[-1].hi if cells else place
        if place >= last:
            return last, None
        for wider in _WINDOWS:
            beyond = place + wider * finest
            distance = _alone(place, beyond, most, dim, rises=rises)
            if distance is not None:
                return beyond, _narrowed(place, beyond, distance, dim, rises=rises)
    raise RuntimeError(f"most: expected ends at which one sum changes its sign, got more near exp({place!r})")


def _alone(place: float, beyond: float, most: int, dim: int, *, rises: bool) -> int | None:
    """Return the distance whose sum changes its sign once in a window where all others are positive, if it is so."""
    kept, lost = (beyond, place) if rises else (place, beyond)
    sums = _sums(kept, most, dim).lo
    moved = (_rates(place, most, dim) * (Interval.exactly(beyond) - place)).hi
    crossing = np.flatnonzero(~(np.nextafter(sums[1:] - moved, -np.inf) > 0.0)) + 1
    if len(crossing) != 1 or not bool((sums > 0.0).all()):
        return None
    distance = int(crossing[0])
    slope = _slope(place, beyond, distance, dim)
    return distance if (slope > 0 if rises else slope < 0) and _sum(lost, distance, dim) < 0 else None


def _narrowed(lo: float, hi: float, distance: int, dim: int, *, rises: bool) -> Cell:
    """Halve a window in which a sum rises or falls through zero, as long as its sign in the middle is certain."""
    while hi - lo > _CLOSE:
        middle = 0.5 * (lo + hi)
        value = _sum(middle, distance, dim)
        if value < 0:
            lo, hi = (middle, hi) if rises else (lo, middle)
        elif value > 0:
            lo, hi = (lo, middle) if rises else (middle, hi)
        else:
            break
    return Cell(lo, hi, distance)


def _rates(start: float, most: int, dim: int) -> Any:
    """Bound the rates at which sums at distances from one on change with the logarithm of the base, from here on."""
    orders = exact(2.0 * np.arange(dim // 2)) / dim
    return exact(np.arange(1.0, most + 1.0)) * (orders * np.exp(-orders * start)).sum()


def _slope(place: float, beyond: float, distance: int, dim: int) -> Any:
    """Enclose in a ball the derivative of a sum by the logarithm of the base, on all of a window."""
    with precision():
        log = ball(place).union(ball(beyond))
        turns = [(-2 * i * log / dim).exp() for i in range(dim // 2)]
        return sum((2 * i * turn * (distance * turn).sin() for i, turn in enumerate(turns)), ball(0)) * distance / dim


def _sum(log: float, distance: int, dim: int) -> Any:
    """Enclose in a ball the sum at one distance, at the base of this logarithm."""
    with precision():
        return sum(((distance * (-2 * i * ball(log) / dim).exp()).cos() for i in range(dim // 2)), ball(0))


def _sums(log: float, most: int, dim: int) -> Any:
    """Enclose all sums at the base of this logarithm."""
    with precision():
        turns = hull(np.array([(-2 * i * ball(log) / dim).exp() for i in range(dim // 2)], dtype=object))
    return all_sums(turns, most)
