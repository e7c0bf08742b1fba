r"""What stacks of equal layers forget last: stationary laws, spectra, and the slowest rates of the limit.

:func:`stationary_law` eliminates states without a subtraction (Grassmann, Taksar and Heyman), and its error is bounded
afterwards: if P to the power m brings any two rows within :math:`\tau < 1` in total variation, a law that one layer
moves by r is within :math:`mr/(1 - \tau)` of the stationary one. :func:`chain_spectrum` uses that the chain of
attention with symmetric scores is reversible, so that :math:`\sqrt{P_{ij}P_{ji}}` is symmetric and has the same
eigenvalues.

:func:`count_rates` counts eigenvalues of the limit itself. For :math:`p \propto e^{b\cos mx}` on the circle,
:math:`v = ph` turns :math:`-L` into :math:`-v'' + (p''/p)v`, which couples a frequency to those m and 2m away: a
symmetric matrix with five diagonals for each class of frequencies modulo m. As many eigenvalues lie below a level as
pivots are negative (Sylvester). Frequencies that are left out raise eigenvalues; what they lower is bounded by a Schur
complement, as the part left out is at least :math:`k^2 - bm^2` with k the first frequency. In balls, so that rates of
the size of :math:`e^{-4b}` keep their digits.

References
----------
W. Grassmann, M. Taksar and D. Heyman, Regenerative analysis and steady state distributions for Markov chains,
*Operations Research* 33 (1985).
B. Parlett, *The Symmetric Eigenvalue Problem*, SIAM 1998, chapter 3.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_instance, as_matrix, as_points
from theory.evidence import Interval, Intervals, Kind, as_intervals, ball, is_enclosed, within
from theory.evidence.enclosure import exp, hull, precision
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import U, gamma

Array = NDArray[np.float64]
_POWERS = 24  # taken: squarings of the chain after which it is taken not to mix
_TINY = 1.1e-300  # taken: what a weight that underflows is off by; the root of it is in the bound of the spectrum
_DIGITS = 30  # taken: halvings of a bracket once its ends are within a factor of two


def as_rows(rows: ArrayLike) -> tuple[Array, Array]:
    """Return a square matrix of weights, or its middle, and how far every weight may be off.

    Raises
    ------
    ValueError
        If a weight is negative or a row cannot add to one.
    """
    given = as_matrix(rows, "rows")
    given = as_matrix(given, "rows", shape=(given.shape[0], given.shape[0]))
    enclosed = as_intervals(given)
    p, radius = enclosed.mid, enclosed.radius
    off = np.abs(p.sum(axis=1) - 1.0)
    allowed = radius.sum(axis=1) + gamma(4 * p.shape[0])
    if p.min() < 0.0 or (off > allowed).any():
        raise ValueError(
            f"rows: expected weights of which every row adds to one, got {p.min()} and sums off by {off.max()}"
        )
    return p, radius


def stationary_law(rows: ArrayLike) -> Any:
    """Return the law that a layer leaves alone, shape (n,).

    Parameters
    ----------
    rows : array_like or Intervals, shape (n, n)
        Weights; every row adds to one. Enclosures give enclosures, with the bound on the distance of the laws in total
        variation as the error of every mass; infinite if the chain does not mix.

    Raises
    ------
    ValueError
        If ``rows`` are no such weights.
    """
    law, bound = _stationary(*as_rows(rows))
    return within(law, bound, weakest(rows)) if is_enclosed(rows) else law


def stationary_means(rows: ArrayLike, values: ArrayLike) -> Any:
    """Return the means of values, shape (n, k), under the law that a layer leaves alone, shape (k,).

    They are enclosed if the rows or the values are: laws that far apart in total variation have means as far apart, in
    units of the range of the values. Parameters and errors as in :func:`stationary_law`.
    """
    p, radius = as_rows(rows)
    v = as_points(values, "values", size=p.shape[0])
    law, bound = _stationary(p, radius)
    if not is_enclosed(rows, v):
        means: Array = law @ v
        return means
    reach = as_intervals(v).hi.max(axis=0) - as_intervals(v).lo.min(axis=0)
    slack = np.nextafter(bound * reach * (1.0 + 4.0 * U), np.inf)
    enclosed: Array = law @ as_intervals(v) + Intervals(-slack, slack, weakest(rows))
    return enclosed


def _stationary(p: Array, radius: Array) -> tuple[Array, float]:
    """Return a stationary law by elimination, and a bound on its distance to the truth in total variation."""
    n = p.shape[0]
    left = p.copy()
    for k in range(n - 1, 0, -1):
        out = left[k, :k].sum()
        if not out > 0.0:
            return np.full(n, 1.0 / n), math.inf  # the others are never reached from this state
        left[:k, k] /= out
        left[:k, :k] += np.outer(left[:k, k], left[k, :k])
    law = np.ones(n)
    for k in range(1, n):
        law[k] = law[:k] @ left[:k, k]
    law /= law.sum()
    error = 0.5 * float(radius.sum(axis=1).max())
    moved = 0.5 * float(np.abs(law @ p - law).sum()) + error + gamma(n + 4)
    power = p
    steps = 1
    bound = math.inf
    for _ in range(_POWERS):
        slack = steps * (error + gamma(n + 1))
        apart = max(0.5 * float(np.abs(power - row).sum(axis=1).max()) for row in power) + slack
        if apart < 1.0:
            bound = min(bound, steps * moved / (1.0 - apart))
        if apart < 0.5:
            break  # more steps bring nothing: they count twice, and what is left of one is above a half
        power, steps = power @ power, 2 * steps
    return law, bound


def chain_spectrum(rows: ArrayLike) -> Any:
    """Return the eigenvalues of a reversible chain, falling, shape (n,).

    Parameters
    ----------
    rows : array_like, shape (n, n)
        Weights that some masses balance: those of attention with symmetric scores. Enclosures give enclosures.

    Raises
    ------
    ValueError
        If ``rows`` are no weights.
    """
    p, radius = as_rows(rows)
    n = p.shape[0]
    values: Array = np.linalg.eigvalsh(np.sqrt(p * p.T))[::-1]
    if not is_enclosed(rows):
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        share = float(np.where(radius <= _TINY, 0.0, radius / p).max())
    error = share / (1.0 - share) if share < 1.0 else math.inf
    # the symmetric form of the truth is not negative and has norm one, so that what its entries are off, in units of
    # themselves, is an error of its norm; a product may underflow, and backward errors of the solver stay below 8 n u
    # (Parlett 1998)
    return within(values, error + 8.0 * n * U + n * 1e-150, weakest(rows))


def count_rates(
    level: Any, height: Fraction | int, *, wells: int = 2, sector: int = 0, modes: int | None = None
) -> tuple[int, int]:
    r"""Count the eigenvalues of :math:`-L` below a level, for :math:`p \propto e^{b\cos mx}` on the circle.

    Parameters
    ----------
    level : ball, int or Fraction
        Per squared radian.
    height : int or Fraction
        b, positive.
    wells : int, default 2
        m, the number of maxima of the density.
    sector : int, default 0
        Class of frequencies modulo m: functions that turn by that many m-th of a turn from one maximum to the next.
    modes : int, optional
        Frequencies on either side; enough that they do not matter unless given.

    Returns
    -------
    least, most : int
        Bounds on the number, equal if enough is known.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.
    """
    m = as_count(wells, "wells")
    b = _height(height)
    reach = modes
    if not hasattr(level, "is_finite") and not isinstance(level, (int, float, Fraction)):
        raise TypeError(f"level: expected a number or a ball, got {type(level).__name__}")
    shift = as_count(sector, "sector", least=0)
    if shift >= m:
        raise ValueError(f"sector: expected a number below {m}, got {sector}")
    reach = _reach(b) if reach is None else as_count(reach, "modes", least=4)
    x = _ball(level)
    near = -_ball(b) * m**2 / 2
    far = -((_ball(b) * m) ** 2) / 4
    k = [Fraction(shift + m * j) for j in range(-reach - 1, reach + 2)]
    diagonal = [_ball(f) ** 2 - 2 * far - x for f in k[1:-1]]
    beyond = _ball(min(k[0] ** 2, k[-1] ** 2)) - _ball(b) * m**2 - x  # of the part left out
    size = len(diagonal)
    most = size
    first = [near] * (size - 1)
    least = _negative(diagonal, first, far)[0]
    if beyond > 0:
        for at, step in ((0, 1), (size - 1, -1)):
            diagonal[at] = diagonal[at] - (near**2 + far**2) / beyond
            diagonal[at + step] = diagonal[at + step] - far**2 / beyond
        first[0] = first[-1] = near - near * far / beyond
        most = _negative(diagonal, first, far)[1]
    return least, most


def relaxation_rate(height: Fraction | int, index: int = 0, *, wells: int = 2, sector: int = 0) -> Interval:
    r"""Enclose an eigenvalue of :math:`-L`, by halving a bracket of :func:`count_rates`.

    Parameters
    ----------
    height, wells, sector
        As there.
    index : int, default 0
        The number of smaller ones in the sector; sector 0 starts with zero.

    Returns
    -------
    Interval
        Kind ``CERTIFIED``, relatively narrow; from zero on if it is too small to be told from it.
    """
    b = _height(height)
    count = as_count(index, "index", least=0)
    wells = as_count(wells, "wells")
    with precision(96 + math.ceil(16 * b)):
        low = -(16 + math.ceil(12 * b))
        high = 4 + 2 * math.ceil(math.log2(wells * (b + 2) * (count + 2)))
        if count_rates(_ball(2) ** low, height, wells=wells, sector=sector)[1] > count:
            return Interval(0.0, math.ldexp(1.0, low), Kind.CERTIFIED)
        while high - low > 1:
            middle = (low + high) // 2
            below = count_rates(_ball(2) ** middle, height, wells=wells, sector=sector)[0] > count
            low, high = (low, middle) if below else (middle, high)
        ends = [_ball(2) ** low, _ball(2) ** high]
        for _ in range(_DIGITS):
            middle = (ends[0] + ends[1]) / 2
            least, most = count_rates(middle, height, wells=wells, sector=sector)
            if least <= count < most:
                break  # not decided: the bracket stays as it is
            ends = [ends[0], middle] if least > count else [middle, ends[1]]
        sure = count_rates(ends[0], height, wells=wells, sector=sector)[1] <= count
        sure &= count_rates(ends[1], height, wells=wells, sector=sector)[0] > count
        return hull(ends[0].union(ends[1])) if sure else Interval.unknown(Kind.CERTIFIED)


def scale_rate(rate: Interval, height: Fraction | int, power: Fraction | int) -> Interval:
    """Return a rate times ``exp(power * height)``, rounded outward."""
    with precision():
        exponent = _fraction(power, "power") * _fraction(height, "height")
        return as_instance(rate, "rate", Interval) * hull(exp(_ball(exponent)))


def _negative(diagonal: list[Any], first: list[Any], second: Any) -> tuple[int, int]:
    """Bound the number of negative pivots of a symmetric matrix with five diagonals, its second one constant."""
    pivots: list[Any] = []
    count = 0
    sides = _ball(0)
    for at, entry in enumerate(diagonal):
        pivot = entry
        if at > 0:
            side = first[at - 1] - (second * sides if at > 1 else 0)
            sides = side / pivots[-1]
            pivot = pivot - sides * side
        if at > 1:
            pivot = pivot - second**2 / pivots[-2]
        if pivot < 0:
            count += 1
        elif not pivot > 0:
            return count, len(diagonal)  # nothing is known from here on; the leading block has that many
        pivots.append(pivot)
    return count, count


def _reach(b: Fraction) -> int:
    """Return how many modes matter: beyond, coefficients of the slow functions are below exp(-2 b) and rounding."""
    return 24 + math.ceil(3 * b)


def _height(height: Fraction | int) -> Fraction:
    b = _fraction(height, "height")
    if not b > 0:
        raise ValueError(f"height: expected a positive number, got {height}")
    return b


def _fraction(value: Any, name: str) -> Fraction:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer, Fraction)):
        raise TypeError(f"{name}: expected an integer or a Fraction, got {type(value).__name__}")
    return Fraction(int(value) if isinstance(value, np.integer) else value)


def _ball(value: Any) -> Any:
    return ball(value) if isinstance(value, (int, float, Fraction)) else value
