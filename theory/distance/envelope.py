r"""Lower envelopes of cones, found without looking at all cones.

For places :math:`s_k` and heights :math:`w_k` the envelope

.. math:: f(z) = \min_k \bigl( |z - s_k| - w_k \bigr)

is 1-Lipschitz, whatever the heights are. If they are potentials of a transport problem, the smallest terms belong to
the arcs of smallest reduced cost, which are those that a plan should use.

*Ranges.* Neighbouring cones are skipped together if a lower bound of all their terms, see
:mod:`theory.distance.cones`, is above the worst term that is kept; what is found is the same.

*Rounding.* Distances :math:`C` are in a unit in which none exceeds one, and are off by at most :math:`\rho C + \eta`,
with :math:`\rho = 2(d+4)u \ge 10u`, see :mod:`theory.distance.dense`. A computed term is then off by less than
:math:`\rho (1 + \rho) + \eta + 2u(1 + |w|)`, for which

.. math:: \sigma = 2 \rho\,(1 + \max |w|) + 2 \eta

is charged. The bound of a range takes one distance, one largest height above a plane of slope at most one and a sum of
:math:`d` products that add up to at most one, each off by at most one error of this kind, as is the term with which it
is compared; eight :math:`\sigma` are charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from theory.distance.terms import smallest_terms

Places = NDArray[np.float64]

_LARGE = 480  # derived: d (2 * 2**480)**2 stays finite up to d = 2**60, times 2**40 atoms up to d = 2**20
_LOST = -510  # derived: twice 2**-511, the root of the smallest normal double


@dataclass(frozen=True, slots=True)
class Ruler:
    """How distances are computed: in a unit, and with what error."""

    unit: int
    """distances are in units of ``2**unit`` of the places, in which none exceeds one"""
    relative: float
    """bound of the relative error of a distance"""
    lost: float
    """bound of what underflow adds to it"""

    def between(self, x: Places, y: Places) -> Places:
        """Return all distances, shape (n, m)."""
        distances: Places = cdist(x, y)
        distances *= math.ldexp(1.0, -self.unit)
        return distances

    def along(self, x: Places, y: Places) -> Places:
        """Return upper bounds of the distances of ``x[k]`` and ``y[k]``."""
        difference = x - y
        length = np.sqrt(np.einsum("ij,ij->i", difference, difference)) * math.ldexp(1.0, -self.unit)
        reach: Places = length * (1.0 + self.relative) + self.lost
        return reach

    def slip(self, heights: Places) -> float:
        """Return the bound of the error of a term of the envelope."""
        return 2.0 * self.relative * (1.0 + float(np.abs(heights).max())) + 2.0 * self.lost


def measure(x: Places, y: Places) -> tuple[Ruler, int]:
    """Return what measures the places once ``2**lift`` has taken their largest coordinate to about ``2**480``."""
    lift = _LARGE - math.frexp(max(float(np.abs(x).max()), float(np.abs(y).max())))[1]
    ends = np.ldexp([np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))], lift)
    diagonal = 1.01 * math.dist(*ends.tolist())  # a hundredth pays for its rounding, and for centres off by rounding
    unit = max(math.frexp(diagonal)[1], _LOST)  # where even this is lost, everything may be
    dim = x.shape[1]
    return Ruler(unit, (dim + 4) * 2.0**-52, math.ldexp(math.isqrt(dim) + 1, _LOST - unit)), lift


def least(ruler: Ruler, z: Places, s: Places, heights: Places, count: int) -> tuple[Places, NDArray[np.int64]]:
    """Return the envelope, up to one slip, and the cones that give the smallest terms.

    Parameters
    ----------
    ruler : Ruler
        Of all places.
    z, s : ndarray, shapes (n, d) and (m, d)
        Queries and cones; quick if neighbours in the list are neighbours in space.
    heights : ndarray, shape (m,)
        Finite.
    count : int
        How many cones to name for every query, at most m of them.

    Returns
    -------
    values : ndarray, shape (n,)
    cones : ndarray of int64, shape (n, min(count, m))
    """
    return smallest_terms(
        np.ascontiguousarray(z),
        np.ascontiguousarray(s),
        np.ascontiguousarray(heights),
        min(count, len(s)),
        scale=math.ldexp(1.0, -ruler.unit),
        margin=8.0 * ruler.slip(heights),
    )
