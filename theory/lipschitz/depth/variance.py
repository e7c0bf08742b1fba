r"""The variance between tokens, and what one layer of attention leaves of it.

For laws :math:`\nu` on queries and :math:`\pi` on keys, :math:`V_\pi(H) = \sum_j\pi_j|h_j - \pi(h)|^2`. If no row
:math:`p_i` of a stochastic matrix S has a ratio :math:`p_{ij}/\pi_j` of which the logarithm oscillates by more than
:math:`\delta`, then :math:`V_\nu(SH) \le \rho(\delta)V_\pi(H)` with

.. math:: \rho(\delta) = \tanh^2(\delta/2) \text{ if } e^\delta \le 3, \qquad \tfrac18(e^\delta - 1) \text{ otherwise,}

which is attained; so the variance may grow as soon as :math:`e^\delta > 9`. With a skip connection, and one law,
:math:`V(H + SH) \ge (1 - \tanh(\delta/2))^2V(H)` for every :math:`\delta`, which is attained as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_masses, as_points
from theory.evidence import Interval, exact
from theory.lipschitz._numbers import expm1, exponential, finite, like, nonnegative, smaller


def token_variance(tokens: ArrayLike, masses: ArrayLike | None = None) -> Interval:
    """Enclose the mean squared distance of tokens from their mean.

    Parameters
    ----------
    tokens : array_like or Intervals, shape (n, d)
        Floats are exact.
    masses : array_like or Intervals, shape (n,), optional
        Of the tokens, not negative, in any unit; all alike unless given.

    Returns
    -------
    Interval
        In the squared unit of the tokens.

    Raises
    ------
    ValueError
        If the shapes do not fit, a mass is negative or all of them vanish.
    """
    cloud = exact(as_points(tokens, "tokens"))
    given = np.ones(len(cloud)) if masses is None else as_masses(masses, "masses", size=len(cloud))
    weights = exact(given)[:, np.newaxis]
    total = weights.sum()
    size = 2.0 ** np.frexp(max(float(abs(cloud).max().hi), np.finfo(float).tiny))[1]  # so that squares are not lost
    scaled = cloud / size
    offsets = scaled - (weights * scaled).sum(axis=0) / total
    variance: Interval = size * (size * ((weights * np.square(offsets)).sum() / total))
    return variance


def variance_bound(spread: float) -> float:
    r"""Return :math:`\rho(\delta)`, the largest factor of the variance between tokens in one layer.

    Parameters
    ----------
    spread : float
        By how much scores of one query differ, in nat, not negative.

    Raises
    ------
    ValueError
        If the spread is negative or the factor leaves float64.
    """
    reach = expm1(nonnegative(spread, "spread"))
    share = smaller(reach / 2.0, like(1.0, reach))
    return finite(reach * share / (2.0 * (1.0 + share) ** 2), "spread")


def variance_floor(spread: float) -> float:
    r"""Return :math:`(1 - \tanh(\delta/2))^2`, the least factor with a skip connection.

    Parameters and errors as in :func:`variance_bound`; where the factor is below what float64 holds it is 0.
    """
    ratio = exponential(-nonnegative(spread, "spread"))
    return (2.0 * ratio / (1.0 + ratio)) ** 2  # 1 - tanh would cancel
