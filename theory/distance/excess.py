r"""The Wasserstein-1 distance sees nothing but the difference of two measures.

By duality :math:`W_1(\mu, \nu) = \sup_{\mathrm{Lip}(f) \le 1} \int f \, d(\mu - \nu)`, so what both measures have in
one place may stay there: with the Jordan decomposition :math:`\mu - \nu = \mu' - \nu'` into measures without a common
atom, and :math:`t` the mass of either,

.. math:: W_1(\mu, \nu) = t \, W_1(\mu' / t, \nu' / t), \qquad W_1(\mu, \nu) = 0 \text{ if } t = 0.

Masses are integers here, :math:`a_i S_b` and :math:`b_j S_a` in units of :math:`1 / (S_a S_b)` with :math:`S` the sums,
so that the difference is exact and equal measures are found to be equal.

References
----------
C. Villani, *Optimal Transport: Old and New*, Springer 2009, particular case 5.16.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.attention import Measure
from theory.distance.dyadic import grid


class Excess(NamedTuple):
    """What one measure has more than the other, and the reverse; no place is on both sides."""

    x: NDArray[np.float64]
    """shape (n, d): different places where the first measure is heavier"""
    supply: list[int]
    """how much heavier, positive; the sum of ``demand``"""
    y: NDArray[np.float64]
    """shape (m, d): different places where the second measure is heavier"""
    demand: list[int]
    """how much heavier, positive"""
    share: Fraction
    """the mass of either side, at most one"""


def excess(mu: Measure, nu: Measure) -> Excess:
    r"""Return :math:`\mu'` and :math:`\nu'`, both empty if the measures are equal.

    Parameters
    ----------
    mu, nu : Measure
        Clouds in the same dimension. Their weights are normalised exactly, as :math:`a_i / \sum a`.
    """
    supply, demand = grid(mu.weights)[0], grid(nu.weights)[0]
    total, rest = sum(supply), sum(demand)
    masses = [a * rest for a in supply] + [-b * total for b in demand]
    points = np.concatenate([mu.points, nu.points]) + 0.0  # minus zero is the same place as zero
    order = np.lexsort(points.T)
    new = np.ones(len(order), dtype=bool)
    new[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    places = points[order[new]]
    differences = [0] * len(places)
    for group, atom in zip((np.cumsum(new) - 1).tolist(), order.tolist(), strict=True):
        differences[group] += masses[atom]
    heavier = [k for k, mass in enumerate(differences) if mass > 0]
    lighter = [k for k, mass in enumerate(differences) if mass < 0]
    more = [differences[k] for k in heavier]
    less = [-differences[k] for k in lighter]
    return Excess(places[heavier], more, places[lighter], less, Fraction(sum(more), total * rest))
