r"""A Gaussian law as a weighted lattice, exact to rounding.

The masses :math:`\varphi(kh)` on the lattice :math:`h\mathbb{Z}` integrate :math:`e^{cz}` against the standard
normal law up to the relative error :math:`2e^{-2\pi^2/h^2}/(1 - e^{-2\pi^2/h^2})` for every real :math:`c` (Poisson
summation), and cutting at :math:`|z| \le L` drops at most :math:`2\,\bar\Phi(L - |c| - h)` of it; a polynomial
factor changes neither by more than a power of :math:`L`. With :math:`h = 1/2` and :math:`L = 12` both are below
:math:`10^{-20}` for :math:`|c| \le 2`. Attention against a Gaussian measure is thereby computed by the same code as
attention against tokens, without sampling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_matrix, as_positive, as_vector
from theory.attention.measure import Measure
from theory.evidence.roundoff import U

STEP = 0.5  # derived: 2 exp(-2 pi^2 / STEP^2) < 1e-33
REACH = 12.0  # derived: the mass beyond, tilted by up to exp(2 z), is below 1e-20
_FARTHEST = 40.0  # derived: exp(-40^2 / 2) is below the smallest positive double
ERROR = 32 * U  # derived: twice the 4 ulp of exp in the masses, their division, and the rounding of the points


def gaussian(mean: ArrayLike, root: ArrayLike, *, reach: float = REACH) -> Measure:
    r"""Return the lattice measure of :math:`N(m, LL^\top)`.

    Parameters
    ----------
    mean : array_like, shape (d,)
        :math:`m`.
    root : array_like, shape (d, d)
        :math:`L`, any square root of the covariance.
    reach : float, default 12.0
        Where the lattice of the standard normal law is cut; beyond 38 the masses vanish in float64.

    Returns
    -------
    Measure
        Atoms ``mean + root @ z`` with ``z`` on the lattice, 49**d for the default reach. An average of a function of
        size 1 against it, tilted by at most ``exp(2 |z|)``, is off by at most ``ERROR`` and its own rounding.
    """
    m = as_vector(mean, "mean")
    factor = as_matrix(root, "root", shape=(m.size, m.size))
    reach = as_positive(reach, "reach")
    if reach < REACH:
        raise ValueError(f"reach: expected at least {REACH}, below which the law is no Gaussian, got {reach!r}")
    if reach > _FARTHEST:
        raise ValueError(f"reach: expected at most {_FARTHEST}, where no mass is left, got {reach!r}")
    half = np.arange(0.0, reach + STEP / 2, STEP)
    axis = np.concatenate([-half[:0:-1], half])
    grid = np.stack(np.meshgrid(*[axis] * m.size, indexing="ij"), axis=-1).reshape(-1, m.size)
    return Measure.normalised(m + grid @ factor.T, np.exp(-0.5 * np.einsum("ij,ij->i", grid, grid)))
