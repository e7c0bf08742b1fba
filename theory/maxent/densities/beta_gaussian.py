r"""Continuous attention: the density of largest entropy for a quadratic score (beta-Gaussians).

For :math:`f(x) = -\frac12(x - m)^\top\Sigma^{-1}(x - m)` on :math:`\mathbb R^d`, the maximiser of
:math:`\int pf + H_\alpha(p)`, :math:`H_\alpha(p) = \frac{1 - \int p^\alpha}{\alpha(\alpha-1)}`, satisfies
:math:`f - \log_\alpha p = \text{const}` on its support. With :math:`e = \alpha - 1` and its peak :math:`P = p(m)`,

.. math:: p(x) = P\,\exp_\alpha\!\big(f(x)P^{-e}\big) = [P^{e} + ef(x)]_+^{1/e}:

the Gaussian at 1, for :math:`\alpha > 1` a compactly supported density, :math:`1 - (r/R)^2` to the power
:math:`b = 1/e` in the Mahalanobis radius :math:`r`, :math:`R^2 = 2P^e/e`; for :math:`\alpha < 1` a Student density with
:math:`\frac2{1-\alpha} - d` degrees of freedom, a density iff :math:`\alpha > 1 - \frac2d`.

*Peak.* Substituting :math:`x = m + P^{e/2}\Sigma^{1/2}y`, :math:`1 = P^{1 + ed/2}|\Sigma|^{1/2}C` with
:math:`C = \int[1 - \frac e2|y|^2]_+^{1/e}dy`, which is :math:`(2\pi b)^{d/2}\Gamma(b+1)/\Gamma(b+1+\frac d2)` for
:math:`e > 0`, :math:`(2\pi a)^{d/2}\Gamma(a-\frac d2)/\Gamma(a)` for :math:`a = -b > 0`, and :math:`(2\pi)^{d/2}` at 1.

*Moments.* :math:`(r/R)^2 \sim \mathrm{Beta}(\frac d2, b + 1)` has mean :math:`d/(d + 2 + 2b)`, so the covariance is
:math:`\frac{2P^e}{2 + e(d+2)}\Sigma`, for every :math:`\alpha > \frac{d}{d+2}`. With
:math:`\int p^\alpha = \int p(P^e + ef)`, :math:`H_\alpha = \frac{d - 2\alpha\log_\alpha P}{\alpha(2 + e(d+2))}`.

*Escort.* :math:`p^{2-\alpha}` is the same density with :math:`b - 1` for :math:`b`: its mass is
:math:`P^{1-\alpha}(1 + \frac{ed}2)`, and normalised it has the covariance :math:`\frac{2P^e}{2 + ed}\Sigma`. The
product is :math:`\Sigma`: the derivative of the mean in the linear coefficient of the score, whatever :math:`\alpha`.

References
----------
A. Martins et al., *Sparse and continuous attention mechanisms*, NeurIPS 2020; *Sparse continuous distributions and
Fenchel-Young losses*, J. Mach. Learn. Res. 23 (2022), no. 257.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_count, as_generator, as_matrix, as_positive, as_real, as_vector, frozen
from theory.maxent.batch import Array
from theory.maxent.densities.enclosed import EnclosedBetaGaussian
from theory.maxent.sparse.tsallis import deformed_exp, deformed_log

_LARGE = 150.0  # taken: below it math.gamma does not overflow, above it seven terms of the series reach 2**-53
_HALF_STEP = (1.0, -1 / 8, 1 / 128, 5 / 1024, -21 / 32768, -399 / 262144, 869 / 4194304)  # taken: DLMF 5.11.13


@dataclass(frozen=True, slots=True, eq=False)
class BetaGaussian:
    r"""The density that maximises :math:`\int pf + H_\alpha(p)` for a quadratic score :math:`f`.

    Parameters
    ----------
    mean : array_like, shape (d,)
        Where the score is largest.
    scatter : array_like, shape (d, d)
        Symmetric, positive definite :math:`\Sigma`, in the square of the unit of ``mean``; the covariance only at 1.
    alpha : float
        Order, finite and above :math:`1 - 2/d`, positive.

    Raises
    ------
    ValueError
        If shapes do not fit, ``scatter`` is not symmetric positive definite, or ``alpha`` is too small.
    """

    mean: Array
    scatter: Array
    alpha: float

    def __post_init__(self) -> None:
        mean = as_vector(self.mean, "mean")
        scatter = as_matrix(self.scatter, "scatter", shape=(mean.size, mean.size))
        if not np.array_equal(scatter, scatter.T):
            raise ValueError("scatter: expected a symmetric matrix, got one that differs from its transpose")
        try:
            np.linalg.cholesky(scatter)
        except np.linalg.LinAlgError:
            raise ValueError("scatter: expected a positive definite matrix, got one that is not") from None
        if not as_positive(self.alpha, "alpha") > 1.0 - 2.0 / mean.size:
            raise ValueError(f"alpha: expected more than 1 - 2/d = {1.0 - 2.0 / mean.size!r}, got {self.alpha!r}")
        if not 2.0 + (self.alpha - 1.0) * mean.size > 0.0:
            raise ValueError(f"alpha: expected an order that float64 tells from 1 - 2/d, got {self.alpha!r}")
        object.__setattr__(self, "mean", frozen(mean))
        object.__setattr__(self, "scatter", frozen(scatter))
        object.__setattr__(self, "alpha", float(self.alpha))

    @property
    def dim(self) -> int:
        """The dimension d."""
        return self.mean.size

    @property
    def log_peak(self) -> float:
        """The logarithm of the density at its mean."""
        e = self.alpha - 1.0
        half = 0.5 * self.dim
        log_mass = half * math.log(2.0 * math.pi)
        if e != 0.0:
            b = 1.0 / abs(e)
            log_mass += half * math.log(b) - log_rising(b + 1.0 if e > 0.0 else b - half, self.dim)
        log_det = 2.0 * float(np.log(np.diag(np.linalg.cholesky(self.scatter))).sum())
        return -(0.5 * log_det + log_mass) / (1.0 + e * half)

    @property
    def radius(self) -> float:
        """The Mahalanobis radius of the support, infinite unless ``alpha > 1``."""
        e = self.alpha - 1.0
        return math.sqrt(2.0 / e) * _exp(0.5 * e * self.log_peak) if e > 0.0 else math.inf

    def density(self, x: ArrayLike) -> Array:
        """Return the density at points, (..., d), in the inverse unit of volume, as an array of shape (...)."""
        points = as_real(x, "x")
        if points.ndim == 0 or points.shape[-1] != self.dim:
            raise ValueError(f"x: expected shape (..., {self.dim}), got shape {points.shape}")
        e = np.array(self.alpha - 1.0)
        return np.asarray(_exp(self.log_peak) * deformed_exp(self._score(points) * self._flat(-1.0), e)[0])

    def covariance(self) -> Array:
        r"""Return the covariance, (d, d); ``ValueError`` unless :math:`\alpha > d/(d + 2)`."""
        e = self.alpha - 1.0
        if not 2.0 + e * (self.dim + 2) > 0.0:
            raise ValueError(f"alpha: expected more than d/(d + 2) = {self.dim / (self.dim + 2)!r}, got {self.alpha!r}")
        return self.scatter * (2.0 * self._flat(1.0) / (2.0 + e * (self.dim + 2)))

    def entropy(self) -> float:
        r"""Return :math:`H_\alpha`; ``ValueError`` unless :math:`\alpha > d/(d + 2)`."""
        self.covariance()  # refuses where the integral diverges
        e = self.alpha - 1.0
        log = float(deformed_log(np.array(_exp(self.log_peak)), np.array(e)))
        return (self.dim - 2.0 * self.alpha * log) / (self.alpha * (2.0 + e * (self.dim + 2)))

    def escort(self) -> tuple[float, Array]:
        r"""Return :math:`\int p^{2-\alpha}` and the covariance of the normalised :math:`p^{2-\alpha}`, (d, d)."""
        shrink = 1.0 + 0.5 * (self.alpha - 1.0) * self.dim
        return self._flat(-1.0) * shrink, self.scatter * (self._flat(1.0) / shrink)

    def enclosed(self) -> EnclosedBetaGaussian:
        """Return this density as it is exactly, so that what is computed of it has its rounding enclosed."""
        return EnclosedBetaGaussian(self)

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Draw ``size`` points, (size, d), from the generator."""
        count = as_count(size, "size")
        e = self.alpha - 1.0
        y = as_generator(rng).normal(size=(count, self.dim))
        if e > 0.0:
            y *= self.radius / np.sqrt((y**2).sum(axis=1, keepdims=True))
            y *= np.sqrt(rng.beta(0.5 * self.dim, 1.0 / e + 1.0, size=(count, 1)))
        elif e < 0.0:  # the scale follows from (1 + r^2 / (2 a P^e))^-a, a = 1 / (1 - alpha), 2 a = freedom + d
            y *= np.sqrt(2.0 / -e * self._flat(1.0) / rng.chisquare(2.0 / -e - self.dim, size=(count, 1)))
        return self.mean + y @ np.linalg.cholesky(self.scatter).T

    def _flat(self, power: float) -> float:
        """Return the peak to ``power`` times alpha - 1."""
        return _exp(power * (self.alpha - 1.0) * self.log_peak)

    def _score(self, points: Array) -> Array:
        whitened = np.linalg.solve(np.linalg.cholesky(self.scatter), (points - self.mean)[..., np.newaxis])[..., 0]
        return np.asarray(-0.5 * (whitened**2).sum(axis=-1))


def _exp(log: float) -> float:
    """Return the exponential; ``ValueError`` beyond the range of float64, as close to the order 1 - 2/d."""
    try:
        return math.exp(log)
    except OverflowError:
        raise ValueError(f"alpha: expected an order whose density float64 holds, got a peak of e^{log:.4g}") from None


def log_rising(x: float, steps: int) -> float:
    r"""Return :math:`\log\Gamma(x + \frac12\text{steps}) - \log\Gamma(x)` for :math:`x > 0`, without cancellation.

    Whole steps are factors :math:`x + j`. A half step is a quotient of gamma functions, or for large arguments
    :math:`\sqrt x(1 - \frac1{8x} + \frac1{128x^2} + \dots)`.
    """
    whole, half = divmod(steps, 2)
    log = math.fsum(math.log(x + j) for j in range(whole))
    if half:
        top = x + whole
        if top < _LARGE:
            return log + math.log(math.gamma(top + 0.5) / math.gamma(top))
        return log + 0.5 * math.log(top) + math.log(sum(c / top**k for k, c in enumerate(_HALF_STEP)))
    return log
