r"""A Gaussian law as a weighted lattice, exact to rounding.

The masses :math:`h\,\varphi(kh)` on the lattice :math:`h\mathbb{Z}` integrate :math:`e^{cz}` against the standard
normal law up to the relative error :math:`\vartheta - 1 \le 2e^{-2\pi^2/h^2}/(1 - e^{-2\pi^2/h^2})` for real
:math:`c` (Poisson summation), and cutting at :math:`|z| \le L` drops at most :math:`2\,\bar\Phi(L - |c| - h)`. With
:math:`h = 1/2` and :math:`L = 12` both are below :math:`10^{-20}` for :math:`|c| \le 2`, together with two polynomial
factors. Attention against a Gaussian measure is thereby computed by the same code as attention against tokens,
without sampling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_matrix, as_vector
from theory.attention.measure import Measure

STEP = 0.5  # derived: 2 exp(-2 pi^2 / STEP^2) < 1e-33
REACH = 12.0  # derived: the mass beyond, tilted by up to exp(2 z), is below 1e-20
TILT = 2.0  # the largest tilt |c| for which the two bounds were derived
ERROR = 1e-15  # derived: above lattice, cut and the rounding of exp in the masses (4 ulp), relative


def gaussian(mean: ArrayLike, root: ArrayLike) -> Measure:
    r"""Return the lattice measure of :math:`N(m, LL^\top)`.

    Parameters
    ----------
    mean : array_like, shape (d,)
        :math:`m`.
    root : array_like, shape (d, d)
        :math:`L`, any square root of the covariance.

    Returns
    -------
    Measure
        49**d atoms ``mean + root @ z`` with ``z`` on the lattice.
    """
    m = as_vector(mean, "mean")
    factor = as_matrix(root, "root", shape=(m.size, m.size))
    axis = np.arange(-REACH, REACH + STEP, STEP)
    grid = np.stack(np.meshgrid(*[axis] * m.size, indexing="ij"), axis=-1).reshape(-1, m.size)
    return Measure.normalised(m + grid @ factor.T, np.exp(-0.5 * np.einsum("ij,ij->i", grid, grid)))
