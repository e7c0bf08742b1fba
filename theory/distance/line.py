r"""On the line the Wasserstein-1 distance is an integral of distribution functions, computed exactly.

For probability measures :math:`\mu, \nu` on :math:`\mathbb{R}` with distribution functions :math:`F, G`,

.. math:: W_1(\mu, \nu) = \int_{\mathbb{R}} |F(t) - G(t)|\,dt.

For the atoms :math:`z_1 \le \dots \le z_N` of both clouds together this is
:math:`\sum_k |F(z_k) - G(z_k)|\,(z_{k+1} - z_k)`; between atoms at equal places the gap is zero. The measures are
*defined* by the given doubles, as :math:`a_i / \sum a` and :math:`b_j / \sum b` in exact arithmetic, so the sum is a
rational number and nothing but its final rounding is lost.

References
----------
S. S. Vallender, Calculation of the Wasserstein distance between probability distributions on the line, *Theory of
Probability and its Applications* 18 (1974), 784-786.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from theory.attention import Measure
from theory.distance.dyadic import enclosure, grid
from theory.evidence import Interval


def require_comparable(mu: Measure, nu: Measure) -> None:
    """Refuse what has no distance: anything but two measures on the same space."""
    for name, value in (("mu", mu), ("nu", nu)):
        if not isinstance(value, Measure):
            raise TypeError(f"{name}: expected a Measure, got {type(value).__name__}")
    if nu.dim != mu.dim:
        raise ValueError(f"nu: expected dimension {mu.dim}, got {nu.dim}")


def w1_line(mu: Measure, nu: Measure) -> Interval:
    r"""Enclose the Wasserstein-1 distance of two measures on the line by the exact rational sum.

    Parameters
    ----------
    mu, nu : Measure
        Clouds of dimension one. Their weights are normalised exactly, as :math:`a_i / \sum a`.

    Returns
    -------
    Interval
        In the unit of the points, kind ``CERTIFIED``: the value itself if it is a double, else the two doubles next
        to it. The upper end is infinite if the value exceeds the range of doubles.

    Raises
    ------
    TypeError
        If an argument is no measure.
    ValueError
        If a dimension is not one.

    Examples
    --------
    >>> print(w1_line(Measure([[0.0], [1.0]]), Measure([[0.5]])))
    0.5
    """
    require_comparable(mu, nu)
    if mu.dim != 1:
        raise ValueError(f"mu: expected dimension 1, got {mu.dim}")
    supply, demand = grid(mu.weights)[0], grid(nu.weights)[0]
    total, rest = sum(supply), sum(demand)
    jumps = [a * rest for a in supply] + [-b * total for b in demand]  # of F - G, in units of 1 / (total * rest)
    places = np.concatenate([mu.points[:, 0], nu.points[:, 0]])
    order = np.argsort(places)
    heights = accumulate(jumps[k] for k in order.tolist())
    steps, e = grid(places[order])
    area = sum(abs(height) * (right - left) for height, (left, right) in zip(heights, pairwise(steps), strict=False))
    value = Fraction(area, (total * rest) << -e)
    return enclosure(value, value)
