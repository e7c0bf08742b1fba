r"""A Gaussian law as a weighted lattice, exact to rounding.

The masses :math:`\varphi(kh)` on the lattice :math:`h\mathbb{Z}` integrate :math:`e^{cz}` against the standard
normal law up to the relative error :math:`2e^{-2\pi^2/h^2}/(1 - e^{-2\pi^2/h^2})` for every real :math:`c` (Poisson
summation), and cutting at :math:`|z| \le L` drops at most :math:`2\,\bar\Phi(L - |c| - h)` of it; a polynomial
factor changes neither by more than a power of :math:`L`. With :math:`h = 1/2` and :math:`L = 12` both are below
:math:`10^{-20}` for :math:`|c| \le 2`. Attention against a Gaussian measure is thereby computed by the same code as
attention against tokens, without sampling.

Under a query of :class:`GaussianAttention` the coordinates of :math:`z` are independent Gaussians with centres
:math:`c` and variances :math:`p \le 1`, and what the lattice moves their means by is bounded by :func:`end_error` and
:func:`step_error`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_points, as_positive, as_vector, frozen
from theory.attention.kernel import AttentionKernel
from theory.attention.measure import EnclosedMeasure, Measure
from theory.attention.score import DotProduct, SquaredDistance
from theory.evidence import Intervals, as_intervals, within
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


def end_error(centres: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Bound by how much the end of the lattice moves the mean of each coordinate of z under a query.

    With a = reach - |c| >= 1 and variances p of at most one, the terms |z - c| exp(-(z - c)^2 / 2p) fall beyond the
    end, so that their sums lie below both integrals, together 2 phi(a), and the mass inside is above
    1 - 2 Phi(-1) > 2/3. Nearer to the end, the mean lies between both ends.
    """
    inside = reach - np.abs(centres)
    tails = 3.0 / np.sqrt(2.0 * np.pi) * np.exp(-(inside**2) / 2.0)
    return np.where(inside >= 1.0, tails, reach + np.abs(centres))


def step_error(variances: ArrayLike) -> NDArray[np.float64]:
    """Bound by how much the step h of the lattice moves the same means, for the variances p.

    Poisson summation: frequency 2 pi k / h enters the mass with q^(k^2), q = exp(-2 pi^2 p / h^2), and the mean with
    2 pi |k| p / h times that; summed, k q^(k^2) over both signs is at most 2 q / (1 - q)^2 and q^(k^2) 2 q / (1 - q).
    """
    p = np.asarray(variances, dtype=np.float64)
    q = np.exp(-2.0 * (np.pi / STEP) ** 2 * p)
    around = 2.0 * q / (1.0 - q)
    moved = 2.0 * np.pi / STEP * p * around / (1.0 - q)
    return np.where(around < 0.5, moved / (1.0 - np.minimum(around, 0.5)), np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class GaussianAttention:
    r"""Attention against :math:`N(m, LL^\top)`, enclosed.

    Parameters
    ----------
    score : DotProduct or SquaredDistance
        For a distance the columns of ``root`` must be orthogonal, as those of some root of every covariance are.
    mean : array_like, shape (d,)
        :math:`m`.
    root : array_like, shape (d, d)
        :math:`L`.
    value : array_like, shape (d_v, d), optional
        The value matrix; the identity unless given.
    reach : float, default 12.0
        Of the lattice.

    Raises
    ------
    TypeError
        If the score is another one.
    """

    score: DotProduct | SquaredDistance
    mean: NDArray[np.float64]
    root: NDArray[np.float64]
    value: NDArray[np.float64] | None = None
    reach: float = REACH

    def __post_init__(self) -> None:
        if not isinstance(self.score, (DotProduct, SquaredDistance)):
            raise TypeError(f"score: expected DotProduct or SquaredDistance, got {type(self.score).__name__}")
        mean = as_vector(self.mean, "mean")
        object.__setattr__(self, "mean", frozen(mean))
        object.__setattr__(self, "root", frozen(as_matrix(self.root, "root", shape=(mean.size, mean.size))))
        if self.value is not None:
            object.__setattr__(self, "value", frozen(as_matrix(self.value, "value", shape=(None, mean.size))))

    @property
    def tokens(self) -> Measure:
        """The lattice."""
        return gaussian(self.mean, self.root, reach=self.reach)

    def output(self, x: ArrayLike) -> Intervals:
        """Enclose the field of the Gaussian at queries ``x``, shape (m, d), as an array of shape (m, d_v)."""
        queries = as_intervals(as_points(x, "x", dim=self.mean.size))
        kernel = AttentionKernel(self.score, self.tokens, self.value)
        centres, variances = self._tilted(queries.mid)
        means = end_error(centres, self.reach) + step_error(np.broadcast_to(variances, centres.shape))
        moved = np.abs(self.root if self.value is None else self.value @ self.root)
        off = ERROR * float(np.abs(kernel.values).max()) + (means @ moved.T).max(axis=1)
        found: Intervals = kernel.output(queries) + within(np.zeros((len(off), 1)), off[:, np.newaxis])
        return found

    def push(self) -> EnclosedMeasure:
        """Enclose the law of the output for a query drawn from the same Gaussian."""
        tokens = self.tokens
        weights = within(tokens.weights, ERROR * tokens.weights)
        return EnclosedMeasure(self.output(tokens.points), weights)

    def _tilted(self, x: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centres, shape (m, d), and variances of the coordinates of z under each query."""
        pairs = self.score.pairs(x, self.mean[np.newaxis])
        beta = float(pairs.coefficients[0])
        if isinstance(self.score, DotProduct):
            return beta * pairs.queries @ self.root, np.ones(self.mean.size)
        variances = 1.0 / (1.0 + 2.0 * beta * (self.root * self.root).sum(axis=0))
        return 2.0 * beta * ((x - self.mean) @ self.root) * variances, variances
