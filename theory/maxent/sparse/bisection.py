r"""Entmax by halving a bracket of its threshold: the algorithm in common use, here to be measured.

For :math:`\alpha > 1` and :math:`z = (\alpha - 1)s/\tau` the law is :math:`p_i = [z_i - \theta]_+^{1/(\alpha-1)}` with
:math:`\max z - 1 \le \theta \le \max z - n^{1-\alpha}`: the largest weight is at most 1 and at least :math:`1/n`. The
bracket is halved a given number of times, and the powers are returned at the last midpoint, which is within
:math:`(1 - n^{1-\alpha})2^{-k}` of :math:`\theta` after :math:`k` halvings.

The difference :math:`z_i - \theta` and its power are formed as they are written. Near :math:`\alpha = 1` the power
turns the rounding of a base near 1 into one of :math:`u/(\alpha - 1)`; for :math:`\alpha > 2` it is steep beside a
change of the support. :func:`theory.maxent.entmax` does neither.

References
----------
B. Peters, V. Niculae, A. Martins, *Sparse sequence-to-sequence models*, ACL 2019; M. Blondel, A. Martins, V. Niculae,
*Learning classifiers with Fenchel-Young losses*, AISTATS 2019.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_count, as_flag, as_positive, as_vector
from theory.maxent.batch import Array

_WIDEST = 2.0**40  # taken: there float64 still has twelve bits of a bracket of one


def bisect_entmax(
    scores: ArrayLike, alpha: float, halvings: int, *, tau: float = 1.0, normalised: bool = False
) -> Array:
    r"""Return the powers at the last midpoint of the bracket of the threshold.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Finite scores, dimensionless.
    alpha : float
        Order above 1.
    halvings : int
        How often the bracket is halved, at least once.
    tau : float, default 1.0
        Positive temperature.
    normalised : bool, default False
        Whether the powers are divided by their sum at the end.

    Returns
    -------
    ndarray, shape (n,)
        Non-negative numbers; their sum is 1 up to what is left of the bracket and rounding.

    Raises
    ------
    ValueError
        If a score is not finite or so large that the bracket has no digits left, ``alpha <= 1``, ``halvings < 1`` or
        ``tau`` is not positive.
    """
    s = as_vector(scores, "scores")
    order = as_positive(alpha, "alpha")
    steps = as_count(halvings, "halvings")
    temperature = as_positive(tau, "tau")
    if not order > 1.0:
        raise ValueError(f"alpha: expected a number above 1, got {order!r}")
    flag = as_flag(normalised, "normalised")
    with np.errstate(over="ignore", under="ignore"):
        z = s * (order - 1.0) / temperature
    size = float(np.abs(z).max())
    if not size < _WIDEST:
        raise ValueError(
            f"scores, alpha, tau: expected (alpha - 1) scores / tau below {_WIDEST:g}, beside which a bracket of one "
            f"has digits, got {size:g}"
        )
    low = float(z.max()) - 1.0
    width = float(z.max()) - float(s.size) ** (1.0 - order) - low
    for _ in range(steps):
        width /= 2.0
        powers = np.maximum(z - (low + width), 0.0) ** (1.0 / (order - 1.0))
        if powers.sum() >= 1.0:
            low += width
    found: Array = powers / powers.sum() if flag else powers
    return found
