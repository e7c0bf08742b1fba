r"""Weights without an entropy: the vertices of largest mean score, and the law at the smallest angle to the scores.

*Mean score.* :math:`\langle p, s\rangle \le \max s`, with equality iff :math:`p` vanishes off :math:`\arg\max s`; the
simplex method finds a vertex of that face, and a second linear program the one farthest in a given direction.

*Angle.* Laws are the rays of the cone :math:`x \ge 0`. If some score is positive, the cosine between :math:`x` and
:math:`s` is largest on the ray of the projection of :math:`s` on the cone, which non-negative least squares finds. If
none is, the laws with :math:`\cos \le t \le 0` satisfy :math:`\langle p, s\rangle - t\|s\|\|p\| \le 0`, a convex
inequality: the cosine is quasi-convex, hence largest at a vertex.

References
----------
G. Dantzig, *Linear Programming and Extensions*, 1963; C. Lawson, R. Hanson, *Solving Least Squares Problems*, 1974.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, nnls

from theory._validate import as_simplex, as_vector
from theory.evidence import Interval, Intervals, as_intervals, is_enclosed, norm, within
from theory.evidence.roundoff import SUBNORMAL, gamma, total

Array = NDArray[np.float64]
_PIVOTS = 16  # taken: roundings of a weight at a vertex of two equations, with entries of at most one


def linear_law(scores: ArrayLike, *, towards: ArrayLike | None = None) -> Array:
    r"""Return a law of largest mean score, by the dual simplex method.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Finite scores, dimensionless; of exact enclosures the law is enclosed. The solver tells scores apart that differ
        by more than 1e-7 of their range.
    towards : array_like, shape (n,), optional
        Among the laws of largest mean score take one that maximises :math:`\langle p, c\rangle` for this direction.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        If a number is not finite or the shapes differ.
    ArithmeticError
        If the solver gives up.
    """
    if isinstance(scores, Intervals):
        vertex = linear_law(_exactly(scores), towards=towards)
        return within(vertex, gamma(_PIVOTS))  # type: ignore[no-any-return]
    s = as_vector(scores, "scores")
    goal = _unitless(s)
    equal = [np.ones(s.size)]
    sides = [1.0]
    best = _program(goal, equal, sides)
    if towards is None:
        return best
    direction = _unitless(as_vector(towards, "towards", size=s.size))
    return _program(direction, [*equal, goal], [*sides, float(goal @ best)])


def _unitless(s: Array) -> Array:
    """Return the distances below the largest entry as shares of the range, so that no unit matters to a solver."""
    half = s / 2.0  # the range of finite numbers may overflow, that of their halves does not
    gaps: Array = half - half.max()
    return gaps / max(-float(gaps.min()), SUBNORMAL)


def _program(goal: Array, equal: list[Array], sides: list[float]) -> Array:
    """Maximise ``goal`` over non-negative vectors under equations."""
    found = linprog(-goal, A_eq=np.array(equal), b_eq=np.array(sides), bounds=(0.0, None), method="highs-ds")
    if found.x is None:
        raise ArithmeticError(f"linear program: expected a solution, got {found.message}")
    return np.asarray(found.x, dtype=np.float64)


def cosine_law(scores: ArrayLike) -> Array:
    """Return a law at the smallest angle to ``scores``, shape (n,), which must not all vanish; ``ValueError`` if so.

    Of exact enclosures it is enclosed.
    """
    if isinstance(scores, Intervals):
        law = cosine_law(_exactly(scores))
        return within(law, gamma(law.size + 8) * np.ones(law.size))  # type: ignore[no-any-return]
    s = _direction(scores)
    given = as_vector(scores, "scores")
    top = float(given.max())
    if not top > 0.0:
        vertex: Array = np.eye(s.size)[int(given.argmax())]
        return vertex
    with np.errstate(over="ignore"):  # how far below zero an entry lies does not move the ray, only its rounding
        s = np.maximum(given / top, -1.0)
    x = np.asarray(nnls(np.eye(s.size), s)[0], dtype=np.float64)
    return np.asarray(x / x.sum(), dtype=np.float64)


def cosine(weights: ArrayLike, scores: ArrayLike) -> Interval:
    r"""Enclose :math:`\langle p, s\rangle/(\|p\|\,\|s\|)`.

    Parameters
    ----------
    weights, scores : array_like, shape (n,)
        A law, and finite scores that do not all vanish.

    Returns
    -------
    Interval
        Kind ``NUMERIC``; the rounding of every summand is charged to its width.

    Raises
    ------
    ValueError
        If the shapes differ, ``weights`` leaves the simplex or the scores vanish.
    """
    if is_enclosed(weights, scores):
        law, way = as_intervals(weights), as_intervals(scores)
        return (law * way).sum() / (norm(law) * norm(way))  # type: ignore[no-any-return]
    s = _direction(scores)
    p = as_simplex(weights, "weights", size=s.size)
    reward = p * s
    own = p * p
    other = s * s
    # the scores were rounded once where their size was divided out
    norms = total(own, gamma(1) * own + SUBNORMAL).sqrt() * total(other, gamma(3) * other + SUBNORMAL).sqrt()
    return total(reward, gamma(2) * np.abs(reward) + SUBNORMAL) / norms


def _exactly(scores: Intervals) -> Array:
    """Return scores that are known exactly; what solvers do with others is not known."""
    if not scores.is_exact:
        raise ValueError("scores: expected exactly known scores, got some with a width")
    return scores.mid


def _direction(scores: ArrayLike) -> Array:
    """Return the scores in units of the largest."""
    s = as_vector(scores, "scores")
    size = float(np.abs(s).max())
    if size == 0.0:
        raise ValueError(f"scores: expected a vector that is not zero, got {s.size} zeros")
    return s / size
