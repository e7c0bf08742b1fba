r"""How far a law can be from the best one: the Frank-Wolfe gap, in ball arithmetic.

For concave :math:`F` on the simplex :math:`\Delta` and :math:`g = \nabla F(p)`, concavity gives
:math:`F(q) - F(p) \le \langle g, q - p\rangle` for every :math:`q`, and the right side is largest at a vertex:

.. math:: \max_\Delta F - F(p) \le \max_i g_i - \langle g, p\rangle.

The bound needs neither the maximiser nor the way :math:`p` was found, and vanishes exactly at a maximiser. For
:math:`F(p) = \langle p, s\rangle + \tau H_\alpha(p)` the gradient is :math:`s - \tau\log_\alpha p` up to a constant,
which the difference does not see; at a weight that vanishes it is :math:`s + \tau/(\alpha - 1)` for
:math:`\alpha > 1` and infinite for :math:`\alpha \le 1`.

References
----------
M. Jaggi, *Revisiting Frank-Wolfe: projection-free sparse convex optimization*, ICML 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory import evidence
from theory._validate import as_positive, as_simplex, as_vector
from theory.evidence import Interval, Kind, as_intervals, is_enclosed

_BITS = 256  # taken: a gap of 1e-17 keeps its digits beside order 1, where powers of weights cancel


def frank_wolfe_gap(gradient: NDArray[np.object_], weights: ArrayLike) -> Interval:
    r"""Enclose :math:`\max_i g_i - \langle g, p\rangle`, at which a concave function can still rise from ``weights``.

    Parameters
    ----------
    gradient : ndarray of balls or Intervals, shape (n,)
        Of the function, at ``weights`` divided by its sum; a constant may be added.
    weights : array_like or Intervals, shape (n,)
        A law up to the rounding of its sum, which is divided out exactly.

    Raises
    ------
    ValueError
        If the shapes differ or ``weights`` leaves the simplex.
    """
    if is_enclosed(gradient, weights):
        slope, law = as_intervals(gradient), as_intervals(weights)
        return ((slope.max() - slope) * law).sum() / law.sum()  # type: ignore[no-any-return]
    if not isinstance(gradient, np.ndarray) or gradient.dtype != object or gradient.ndim != 1:
        raise TypeError(f"gradient: expected a vector of balls, got {type(gradient).__name__}")
    with evidence.precision(_BITS):
        p = _normalised(as_simplex(weights, "weights", size=len(gradient)))
        mean = (gradient * p).sum()
        return Interval.largest(evidence.hull(g - mean) for g in gradient)


def entmax_gap(scores: ArrayLike, weights: ArrayLike, alpha: float, *, tau: float = 1.0) -> Interval:
    r"""Enclose the Frank-Wolfe gap of :math:`\langle p, s\rangle + \tau H_\alpha(p)` at ``weights``.

    Parameters
    ----------
    scores, weights : array_like, shape (n,)
        Finite scores and a law on them.
    alpha : float
        Positive, finite order; 1 is Shannon's entropy.
    tau : float, default 1.0
        Positive temperature.

    Returns
    -------
    Interval
        Kind ``CERTIFIED``; unknown if ``alpha <= 1`` and a weight vanishes, where the gradient is infinite.

    Raises
    ------
    ValueError
        If the shapes differ, ``weights`` leaves the simplex, or ``alpha`` or ``tau`` is not positive.
    """
    s = as_vector(scores, "scores")
    p = as_simplex(weights, "weights", size=s.size)
    order = as_positive(alpha, "alpha")
    temperature = as_positive(tau, "tau")
    if order <= 1.0 and not (p > 0.0).all():
        return Interval.unknown(Kind.CERTIFIED)
    with evidence.precision(_BITS):
        slopes = np.array([_log(q, order) for q in _normalised(p)], dtype=object)
        return frank_wolfe_gap(evidence.balls(s) - evidence.balls(temperature).item() * slopes, p)


def _normalised(p: NDArray[np.float64]) -> NDArray[np.object_]:
    exact = evidence.balls(p)
    return np.asarray(exact / exact.sum(), dtype=object)


def _log(p: Any, alpha: float) -> Any:
    r"""Return :math:`\log_\alpha p = (p^{\alpha-1} - 1)/(\alpha - 1)` of a ball; at zero only for orders above 1."""
    if alpha == 1.0:
        return p.log()
    e = (p * 0 + alpha) - 1  # exact: the product with zero makes a ball of the float, which has 53 bits of the 256
    return ((p**e if p > 0 else 0) - 1) / e
