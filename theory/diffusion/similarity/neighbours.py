r"""Attention to the k nearest neighbours, in the limit of many tokens, on a flat torus of dimension one or two.

A query averages over the ball around it that holds the share :math:`\kappa = k/N` of the mass. For a density and a
function with finitely many Fourier coefficients, integrals over balls are finite sums,

.. math:: \int_{|y - x| \le r}\sum_k c_ke^{i\langle k,y\rangle}dy = \sum_k c_kb(|k|, r)\,e^{i\langle k,x\rangle},
   \qquad b(s, r) = \frac{2\sin rs}s, \quad \frac{2\pi r}sJ_1(rs)

for d = 1 and 2, so that no quadrature is needed: only the radius is found, by bisection and secants.

References
----------
D. Ting, L. Huang, M. Jordan, An analysis of the convergence of graph Laplacians, ICML 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_instance, as_points, as_positive, as_real, as_vector
from theory.diffusion.limits.grid import PeriodicGrid
from theory.evidence import as_intervals, is_enclosed, within
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_LARGEST = 1e15  # taken: of a phase, which has no digits beyond
_HALVINGS = 200  # taken: at most; bisection alone needs 60


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Balls around queries that hold a share of a density.

    Parameters
    ----------
    grid : PeriodicGrid
        Of one or two dimensions; it must resolve the density, and the density times what is averaged.
    density : array_like
        Positive, on the grid, of any total mass.
    queries : array_like or Intervals, shape (m, d)
        In radians; asked with exact enclosures, radii and averages are enclosed.
    share : float
        Of the mass, positive; the balls must not meet themselves around the torus.

    Raises
    ------
    ValueError
        If the dimension is not 1 or 2, a shape does not fit, the density is not positive, or a ball is too large.
    """

    grid: PeriodicGrid
    density: Array
    queries: Array
    share: float

    def __post_init__(self) -> None:
        if as_instance(self.grid, "grid", PeriodicGrid).dim not in (1, 2):
            raise ValueError(f"grid: expected dimension 1 or 2, got {self.grid.dim}")
        p = as_real(self.density, "density")
        if p.shape != self.grid.shape:
            raise ValueError(f"density: expected shape {self.grid.shape}, got shape {p.shape}")
        if not p.min() > 0.0:
            raise ValueError(f"density: expected positive numbers, got {p.min()}")
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            law = p / self.grid.integral(p)
        if not np.isfinite(law).all():
            raise ValueError(f"density: expected one whose integral float64 can hold, got {self.grid.integral(p)}")
        object.__setattr__(self, "density", law)
        object.__setattr__(self, "queries", as_points(self.queries, "queries", dim=self.grid.dim))
        share = as_positive(self.share, "share")
        object.__setattr__(self, "share", share)
        if not (self.masses(self.density, np.full(len(self.queries), math.pi)) > share).all():
            raise ValueError(f"share: expected one that a ball of radius pi holds, got {share}")

    def masses(self, values: ArrayLike, radii: ArrayLike) -> Array:
        """Integrate a function on the grid over balls of these radii around the queries, shape (m,).

        Raises
        ------
        ValueError
            If the function is not on the grid, or there is not one non-negative radius for each query.
        """
        function = self._on(values)
        r = as_vector(radii, "radii", size=len(self.queries))
        if r.min() < 0.0:
            raise ValueError(f"radii: expected non-negative numbers, got {r.min()}")
        coefficients = np.fft.fftn(function).ravel() / self.grid.size
        kept = np.abs(coefficients) > 1e-17 * float(np.abs(coefficients).max())  # what is smaller is rounding
        if not kept.any():
            return np.zeros(len(r))
        modes = np.stack([np.broadcast_to(k, self.grid.shape).ravel() for k in self.grid.frequencies])[:, kept]
        lengths = np.sqrt((modes**2).sum(axis=0))
        factors = ball_transform(lengths[np.newaxis, :], r[:, np.newaxis], self.grid.dim)
        waves = np.exp(1j * (self._places @ modes))
        found: Array = ((waves * coefficients[kept]).real * factors).sum(axis=1)
        return found

    @property
    def _places(self) -> Array:
        return as_intervals(self.queries).mid

    def radii(self) -> Any:
        r"""Return the radii of the balls, shape (m,), in radians.

        A mass grows with the radius by at least :math:`d\,p_{\min}V_dr^{d-1}`: one that is off by a share
        :math:`\delta` of the least density times the volume of the ball moves the radius by :math:`\delta/d` of itself.
        """
        low = np.zeros(len(self.queries))
        high = np.full(len(self.queries), math.pi)
        volume = 2.0 if self.grid.dim == 1 else math.pi
        least = (self.share / (volume * float(self.density.max()))) ** (1.0 / self.grid.dim)
        r: Array = np.full(len(self.queries), min(float(least), 3.0))
        for _ in range(_HALVINGS):
            held = self.masses(self.density, r)
            low = np.where(held < self.share, r, low)
            high = np.where(held < self.share, high, r)
            step = r * (self.share / held) ** (1.0 / self.grid.dim)  # exact for a constant density
            moved = np.where((step > low) & (step < high), step, 0.5 * (low + high))
            if np.abs(moved - r).max() <= 4.0 * U * float(r.max()):
                break
            r = moved
        if not is_enclosed(self.queries):
            return r
        return within(r, r * (self._mass_error / self.grid.dim + 16.0 * U))

    def average(self, values: ArrayLike) -> Any:
        """Average a function on the grid over the balls, each by its own mass, shape (m,)."""
        h = self._on(values)
        if is_enclosed(h, self.queries):
            given = as_intervals(h)
            return within(self._average(given.mid), self.rounding(given.mid) + float(given.radius.max()))
        return self._average(h)

    def _average(self, values: Array) -> Array:
        r = as_intervals(self.radii()).mid
        found: Array = self.masses(self.density * values, r) / self.masses(self.density, r)
        return found

    def _on(self, values: ArrayLike) -> Array:
        function = as_real(values, "values")
        if function.shape != self.grid.shape:
            raise ValueError(f"values: expected shape {self.grid.shape}, got shape {function.shape}")
        return function

    def rounding(self, values: ArrayLike) -> float:
        r"""Bound the rounding error of any value of :meth:`average`.

        Every term of a sum is within 64 u of itself, transforms aside, and no larger than its coefficient times the
        ball's volume, of which the mass is at least the least density. A radius off by a share :math:`\delta` moves an
        average by :math:`d\delta` of its spread, where the mass is off by as much of itself.
        """
        h = self._on(values)
        size = float(np.abs(h).max())
        own = self._mass_error
        return self._sum_error(self.density * h) + 3.0 * (own + 16 * U) * size + 2.0 * size * (own + 16 * U)

    @property
    def _mass_error(self) -> float:
        """Bound the error of a mass, in units of the least density times the volume of the ball."""
        return self._sum_error(self.density)

    def _sum_error(self, values: Array) -> float:
        least = float(self.density.min())
        coefficients: Array = np.abs(np.fft.fftn(values)) / self.grid.size
        off = 64.0 * U * float(coefficients.sum()) + self.grid.rounding(values) / math.sqrt(self.grid.size)
        return float(off / least)


def ball_transform(lengths: ArrayLike, radii: ArrayLike, dim: int) -> Array:
    """Return the integral of a wave of this wave number over a ball around its crest, in one or two dimensions."""
    if as_count(dim, "dim") > 2:
        raise ValueError(f"dim: expected 1 or 2, got {dim}")
    s, r = as_real(lengths, "lengths"), as_real(radii, "radii")
    for name, given in (("lengths", s), ("radii", r)):
        if given.size == 0:
            raise ValueError(f"{name}: expected at least one number, got shape {given.shape}")
    if not np.abs(s).max() * max(np.abs(r).max(), 1.0) ** 2 < _LARGEST or not np.abs(r).max() ** 2 < _LARGEST:
        raise ValueError(
            f"lengths, radii: expected products below {_LARGEST:g}, got {np.abs(s).max()}, {np.abs(r).max()}"
        )
    s, r = np.broadcast_arrays(s, r)
    phase = s * r
    small = phase < 1e-3  # there two terms of the series are right to the last digit but one
    safe = np.where(small, 1.0, phase)
    if dim == 1:
        return np.asarray(2.0 * r * np.where(small, 1.0 - phase**2 / 6.0 + phase**4 / 120.0, np.sin(safe) / safe))
    from scipy.special import j1  # noqa: PLC0415  slow to load

    return np.asarray(2.0 * math.pi * r**2 * np.where(small, 0.5 - phase**2 / 16.0 + phase**4 / 768.0, j1(safe) / safe))
