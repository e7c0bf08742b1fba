r"""Lower envelopes of cones, found without looking at all cones.

For places :math:`s_k` and heights :math:`w_k` the envelope

.. math:: f(z) = \min_k \bigl( |z - s_k| - w_k \bigr)

is 1-Lipschitz, whatever the heights are. If they are potentials of a transport problem, the smallest terms belong to
the arcs of smallest reduced cost, which are those that a plan should use.

*Blocks.* Let a block of queries lie in a ball of centre :math:`c` and radius :math:`r`, a block of cones in a ball of
centre :math:`c'` and radius :math:`r'`, and let :math:`\bar w` be the largest height there. All terms of this pair of
blocks are at least :math:`|c - c'| - r - r' - \bar w`. If :math:`b` is the :math:`k`-th smallest term at :math:`c`,
then the :math:`k`-th smallest term at a query of the block is at most :math:`b + r`. Blocks of cones above that are
skipped; what is found is the same.

*Rounding.* Distances :math:`C` are in a unit in which none exceeds one, and are off by at most :math:`\rho C + \eta`,
with :math:`\rho = 2(d+4)u \ge 10u`, see :mod:`theory.distance.dense`. A computed term is then off by less than
:math:`\rho (1 + \rho) + \eta + 2u(1 + |w|)`, for which

.. math:: \sigma = 2 \rho\,(1 + \max |w|) + 2 \eta

is charged. To skip a block takes four distances and the smallest term, at most five errors of this kind with their
sums; eight :math:`\sigma` are charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Places = NDArray[np.float64]

_LARGE = 480  # derived: d (2 * 2**480)**2 stays finite up to d = 2**60, times 2**40 atoms up to d = 2**20
_LOST = -510  # derived: twice 2**-511, the root of the smallest normal double
_BLOCK = 32  # measured: 16 to 64 are equally quick on 10^4 places, 128 takes twice as long


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
    count = min(count, len(s))
    margin = 8.0 * ruler.slip(heights)
    starts = np.arange(0, len(s), _BLOCK)
    block = np.arange(len(s)) // _BLOCK
    middle = np.stack([s[k : k + _BLOCK].mean(axis=0) for k in starts])
    radius = np.array([ruler.between(s[k : k + _BLOCK], middle[[b]]).max() for b, k in enumerate(starts)])
    reach = radius + np.maximum.reduceat(heights, starts)
    values, cones = np.empty(len(z)), np.empty((len(z), count), dtype=np.int64)
    for start in range(0, len(z), _BLOCK):
        queries = z[start : start + _BLOCK]
        centre = queries.mean(axis=0)[np.newaxis]
        r = float(ruler.between(queries, centre).max())
        bar = np.partition(ruler.between(centre, s)[0] - heights, count - 1)[count - 1] + r
        near = np.flatnonzero((ruler.between(centre, middle)[0] - reach - r <= bar + margin)[block])
        terms = ruler.between(queries, s[near]) - heights[near]
        chosen = np.argpartition(terms, count - 1, axis=1)[:, :count]
        values[start : start + _BLOCK] = np.take_along_axis(terms, chosen, axis=1).min(axis=1)
        cones[start : start + _BLOCK] = near[chosen]
    return values, cones
