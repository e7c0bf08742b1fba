r"""What the normalisation of attention does to its limit: keys weighted by their density, and Sinkhorn's scaling.

With :math:`q = Kp` the smoothed density, keys weighted by :math:`q^{-\alpha}` give

.. math:: P^{(\alpha)}h = \frac{K(hpq^{-\alpha})}{K(pq^{-\alpha})}, \qquad \frac{P^{(\alpha)}h - h}\varepsilon \to
   \tfrac12\bigl(\Delta h + 2(1 - \alpha)\langle\nabla\log p, \nabla h\rangle\bigr).

Sinkhorn's symmetric scaling looks for :math:`u > 0` with :math:`u\,K(up) = 1`. Then :math:`P h = u\,K(uph)` leaves p
invariant, and since :math:`u = 1/Km` for :math:`m = up`,

.. math:: P h = \frac{K(mh)}{Km}, \qquad m\,Km = p :

doubly normalised attention to p is softmax attention to another law m, which tends to :math:`\sqrt p`. The iteration
:math:`\phi \leftarrow \frac12(\phi - \log K(e^\phi p))` for :math:`u = e^\phi` contracts at least by two near the
solution if K is positive semi-definite, whatever the bandwidth; alternating row and column sums takes some
:math:`1/\varepsilon` sweeps (:mod:`theory.attention.sinkhorn`), and after any fixed number of them the limit is still
that of :math:`\alpha = 0`.

*Error.* If :math:`uK(up) = 1 + r`, then :math:`\log u` is off by h with :math:`\int h(1 - (1 + r))\,p = \int_0^1
\langle h, \mathrm D_t h\rangle\,dt` and :math:`\mathrm D_t \ge` the row sums, because K is positive semi-definite:
:math:`\|h\|_{L^2(p)} \le \|r\|_{L^2(p)}` to first order, of which twice is charged. A value of the output moves by
:math:`\int P(x, dy)(v(y) - o(x))h(y)`, at most :math:`\frac12\mathrm{osc}(v)\,\|h\|\,(\max dP/dp)^{1/2}`.

References
----------
R. Coifman and S. Lafon, Diffusion maps, *Applied and Computational Harmonic Analysis* 21 (2006).
N. Marshall and R. Coifman, Manifold learning with bi-stochastic kernels, *IMA Journal of Applied Mathematics* 84
(2019).
P. Knight, D. Ruiz and B. Uçar, A symmetry preserving algorithm for matrix scaling, *SIAM Journal on Matrix Analysis
and Applications* 35 (2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import (
    as_count,
    as_having,
    as_instance,
    as_masses,
    as_number,
    as_points,
    as_positive,
    as_real,
    as_vector,
)
from theory.attention import Score, SquaredDistance, attend, partition_error, read, weight_error
from theory.attention.score import bounded
from theory.attention.sinkhorn import Sinkhorn, doubly_normalised, potential_error
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import convolve
from theory.evidence import Interval, Intervals, as_intervals, exact, is_enclosed, within
from theory.evidence.intervals import weakest
from theory.evidence.roundoff import EXP_ULPS, U, gamma

Array = NDArray[np.float64]
Multiplier = Callable[..., ArrayLike]
STEPS = 120  # taken: twice what a contraction by two needs to bring any score down to rounding
_LARGEST = 1e150  # taken: squares of densities stay in float64
_STILL = 16 * U  # taken: a few roundings of a potential
_STEEPEST = 709.0  # derived: its exponential stays in float64


def convolve_reweighted(
    grid: PeriodicGrid, density: ArrayLike, values: ArrayLike, multiplier: Multiplier, *, alpha: float
) -> Array:
    r"""Apply attention to keys weighted by :math:`(Kp)^{-\alpha}`, on the grid.

    Parameters
    ----------
    grid : PeriodicGrid
    density, values : array_like
        On the grid; the density positive, of any total mass.
    multiplier : callable
        The Fourier coefficients of the kernel.
    alpha : float
        Zero for softmax.

    Returns
    -------
    ndarray or Intervals
        On the grid; enclosed if the density or the values are.

    Raises
    ------
    ValueError
        If an array is not on the grid, ``alpha`` is not finite, or the smoothed density is not positive.
    """
    p = _density(grid, density)
    power = as_number(alpha, "alpha")
    with np.errstate(over="ignore"):
        law = p * _smoothed(grid, p, multiplier) ** -power
    if not np.isfinite(as_intervals(law).hi if is_enclosed(law) else law).all():
        raise ValueError(f"alpha: expected a power of the density that float64 can hold, got {power}")
    return convolve(grid, law, values, multiplier)


def balance_law(
    grid: PeriodicGrid, density: ArrayLike, multiplier: Multiplier, *, steps: int = STEPS
) -> tuple[Array, float]:
    r"""Return the law m with :math:`m\,Km = p`, to which softmax attention is Sinkhorn's attention to p.

    Parameters
    ----------
    grid, density, multiplier
        As in :func:`convolve_reweighted`; the multiplier not negative.
    steps : int, default 120

    Returns
    -------
    law : ndarray
        On the grid.
    residual : float
        The largest :math:`|m\,Km/p - 1|`, as computed.

    Raises
    ------
    ValueError
        If the density is not on the grid, or a smoothed law is not positive.
    """
    p = _density(grid, density)
    if not p.min() > 0.0:
        raise ValueError(f"density: expected one that stays positive, got {p.min()}")
    if not p.max() < _LARGEST:
        raise ValueError(f"density: expected less than {_LARGEST:g}, got {p.max()}")
    law = p / np.sqrt(_smoothed(grid, p, multiplier))
    for _ in range(as_count(steps, "steps")):
        law = np.sqrt(law * p / _smoothed(grid, law, multiplier))
    residual = float(np.abs(law * _smoothed(grid, law, multiplier) / p - 1.0).max())
    return law, residual


def sweep_law(grid: PeriodicGrid, density: ArrayLike, multiplier: Multiplier, sweeps: int) -> Array:
    r"""Return the law to which softmax attention is Sinkhorn's iteration after some sweeps from nothing, rows last.

    A sweep is :math:`v \leftarrow 1/K(up)` after :math:`u = 1/K(vp)`, from v = 1; the law is v p. Of an enclosed
    density the law is enclosed, for a positive kernel of mass one: if a law is off by a share of itself, so are its
    averages.

    Raises
    ------
    TypeError, ValueError
        If ``sweeps`` is not an integer of at least 0, or as :func:`balance_law` says.
    """
    given = _density(grid, density)
    count = as_count(sweeps, "sweeps", least=0)
    p = as_intervals(given).mid if is_enclosed(given) else given
    own = float((as_intervals(given).radius / p).max()) if is_enclosed(given) else 0.0
    own = -math.log1p(-own) if own < 1.0 else math.inf  # of a logarithm
    law, share = p, own

    def divided_by_average(values: Array) -> Array:
        nonlocal share
        mass = _smoothed(grid, values, multiplier)
        rounding = grid.rounding(values) + 64.0 * U * float(np.linalg.norm(values))
        slip = rounding / float(mass.min())
        share += own - (math.log1p(-slip) if slip < 1.0 else -math.inf) + 8.0 * U
        return p / mass

    for _ in range(count):
        law = divided_by_average(divided_by_average(law))
    rise = math.expm1(share) if share < _STEEPEST else math.inf
    return within(law, law * rise, weakest(given)) if is_enclosed(given) else law


def sinkhorn_change(grid: PeriodicGrid, density: ArrayLike, values: ArrayLike, multiplier: Multiplier) -> Any:
    """Apply Sinkhorn's attention on the grid, and bound the error of every value.

    Parameters
    ----------
    grid : PeriodicGrid
    density, values : array_like or Intervals
        On the grid; the density positive, of any total mass.
    multiplier : callable
        The Fourier coefficients of the kernel.

    Returns
    -------
    ndarray
        On the grid.
    float
        What the residual of the scaling and the transforms may do; multipliers and densities are taken to be within
        64 u of what is meant, relatively.

    If the density or the values are enclosed, the result is enclosed instead of the two.
    """
    p = _density(grid, density)
    h = as_real(values, "values")
    if is_enclosed(p, h):
        return _enclosed_change(grid, as_intervals(p), as_intervals(h), multiplier)
    return _sinkhorn_change(grid, p, h, multiplier, 0.0)


def _enclosed_change(grid: PeriodicGrid, p: Intervals, h: Intervals, multiplier: Multiplier) -> Intervals:
    """Enclose Sinkhorn's attention: what a density is off counts as a residual, and an average moves as its values."""
    least = float(p.lo.min())
    if not least > 0.0:
        raise ValueError(f"density: expected one that certainly stays positive, got {least}")
    found, error = _sinkhorn_change(grid, p.mid, h.mid, multiplier, float((p.radius / p.lo).max()))
    return within(found, error + float(h.radius.max()), weakest(p, h))  # type: ignore[no-any-return]


def _sinkhorn_change(
    grid: PeriodicGrid, p: Array, h: Array, multiplier: Multiplier, share: float
) -> tuple[Array, float]:
    """Apply Sinkhorn's attention for a density that is off by this share of itself at most."""
    law, residual = balance_law(grid, p, multiplier)
    found = convolve(grid, law, h, multiplier)
    mass = _smoothed(grid, law, multiplier)
    rounding = grid.rounding(law) / float(mass.min())
    off = residual + share + rounding + 64 * U
    peak = float(np.sum(np.asarray(multiplier(*grid.frequencies)))) / (2.0 * math.pi) ** grid.dim  # the kernel at zero
    density_ratio = peak / float((mass * mass).min())  # u K u at most, of which P is the integral against p
    moved = float(np.ptp(h)) * off * math.sqrt(density_ratio * grid.integral(p))
    direct = 2.0 * (grid.rounding(h * law) / float(mass.min()) + (rounding + 64 * U) * float(np.abs(h).max()))
    return found, moved + direct


def balance_tokens(
    points: ArrayLike, *, score: Score, weights: ArrayLike | None = None, steps: int = STEPS
) -> Sinkhorn:
    """Normalise attention among tokens doubly, for a symmetric positive semi-definite kernel ``exp(score)``.

    Parameters
    ----------
    points : array_like, shape (n, d)
        Queries and keys.
    score : Score
        Symmetric in query and key.
    weights : array_like, shape (n,), optional
        Positive, of any total; equal unless given.
    steps : int, default 120
        Of the averaged iteration, each one pass of the engine.

    Returns
    -------
    Sinkhorn
        With the symmetric potential ``g`` of the keys; the rows are right, and ``residual`` says what the columns are.

    Raises
    ------
    ValueError
        If a shape does not fit, or a mass is not positive.
    """
    x = as_points(points, "points")
    as_having(score, "score", "matrix")
    b = np.ones(x.shape[0]) if weights is None else as_masses(weights, "weights", size=x.shape[0])
    if not b.min() > 0.0:
        raise ValueError(f"weights: expected positive ones, got {b.min()}")
    b = b / b.sum()
    nothing, phi = np.zeros((x.shape[0], 1)), np.zeros(x.shape[0])
    for _ in range(as_count(steps, "steps")):
        moved = 0.5 * (phi - read(x, x, nothing, score=score, weights=b * np.exp(phi)).log_partition)
        change = float(np.abs(moved - phi).max())
        phi = moved
        if change <= _STILL * (1.0 + float(np.abs(phi).max())):
            break
    return doubly_normalised(x, x, score=score, query_weights=b, key_weights=b, start=phi, sweeps=0)


def balance_error(found: Sinkhorn, values: ArrayLike, queries: ArrayLike | None = None) -> Array:
    r"""Bound how far averages under what :func:`balance_tokens` found are from the limit's, rounding of sums aside.

    Parameters
    ----------
    found : Sinkhorn
    values : array_like, shape (n, d_v)
    queries : array_like, shape (m, d), optional
        Any points, which average with the potential of the keys; the tokens unless given.

    Returns
    -------
    ndarray, shape (m,)
        Of every coordinate: :math:`2\|r\|_{L^2(p)}\,(\mathrm{Var}_{P(x)}(v)\max_y dP(x)/dp)^{1/2}`, first order in r.
    """
    v = as_points(values, "values", size=as_instance(found, "found", Sinkhorn).keys.shape[0])
    x = found.keys
    score = bounded(found.score)
    size = float(max(np.abs(found.f).max(), np.abs(found.g).max()))
    off = np.abs(np.expm1(found.g - found.f)) + gamma(4 * EXP_ULPS) * (1.0 + size)
    off += 2.0 * partition_error(x, x, score, found.log_weights)
    norm = math.sqrt(float(found.key_weights @ off**2))
    scores = score.matrix(found.queries if queries is None else as_points(queries, "queries"), x)
    ratio = np.exp(scores + found.g - scores.max(axis=1, keepdims=True))
    ratio /= (ratio @ found.key_weights)[:, np.newaxis]
    rows = ratio * found.key_weights
    centre = rows @ v
    spread = np.sqrt(np.maximum(0.0, rows @ v**2 - centre**2 + 64 * U * rows @ v**2).max(axis=1))
    bound: Array = 2.0 * norm * spread * np.sqrt(ratio.max(axis=1))
    if np.isnan(bound).any():
        raise ValueError("values: expected ones whose squares float64 can hold, got an overflow")
    return bound


def average_balanced(
    queries: ArrayLike, points: ArrayLike, values: ArrayLike, *, score: Score, weights: ArrayLike | None = None
) -> Intervals:
    """Enclose what doubly normalised attention of tokens to each other averages, at any queries.

    Parameters
    ----------
    queries : array_like, shape (m, d)
        Any points, which average with the potential of the keys.
    points : array_like, shape (n, d)
        The tokens.
    values : array_like or Intervals, shape (n, d_v)
    score : BoundedScore
        Symmetric, :math:`e^a` positive semi-definite.
    weights : array_like, shape (n,), optional
        Positive; equal unless given.

    Returns
    -------
    Intervals, shape (m, d_v)
    """
    x = as_points(points, "points")
    asked = as_points(queries, "queries", dim=x.shape[1])
    v = as_points(values, "values", size=x.shape[0])
    found = balance_tokens(x, score=score, weights=weights)
    law = found.key_weights * np.exp(found.g)
    averages: Any = attend(exact(asked), x, v, score=score, weights=law)
    bound = balance_error(found, as_intervals(v).mid, asked)[:, np.newaxis]
    return averages + within(0.0 * averages.mid, bound)  # type: ignore[no-any-return]


def enclose_rows(found: Sinkhorn) -> Intervals:
    """Enclose the weights of doubly normalised attention: of the limit, or of as many sweeps as were made.

    Weights of the limit are within ``tanh(error / 4)`` in total variation, by the error of the potentials. A sweep that
    is made exactly has the sums of two normalisations, each as accurate as a weight.

    Parameters
    ----------
    found : Sinkhorn
        Of positive masses, with a score that bounds its rounding.

    Returns
    -------
    Intervals, shape (m, n)
    """
    as_instance(found, "found", Sinkhorn)
    relative = weight_error(found.queries, found.keys, bounded(found.score), found.log_weights)
    if found.converged:
        off = math.tanh(potential_error(found) / 4.0) + relative
    else:
        off = (2.0 + 2.0 * found.sweeps) * (relative + 8.0 * U)
    return within(found.rows(), off * (1.0 + 8.0 * U))  # type: ignore[no-any-return]


def sweep_shift(places: ArrayLike, variance: float, epsilon: float, sweeps: int) -> Intervals:
    r"""Enclose the mean shift over :math:`\varepsilon` for a normal law on the line, after some sweeps of Sinkhorn's.

    By the trapezoidal rule up to nine standard deviations, through the engine. A sweep moves no potential by more than
    the one before it was off, and adds two errors of its sums: their rounding, of numbers below 50, and what the rule
    misses of normal laws (Poisson's formula).

    Parameters
    ----------
    places : array_like, shape (m,)
    variance, epsilon : float
        Positive.
    sweeps : int

    Returns
    -------
    Intervals, shape (m,)
    """
    s = as_positive(variance, "variance")
    width = as_positive(epsilon, "epsilon")
    x = as_vector(places, "places")
    count = as_count(sweeps, "sweeps", least=0)
    if not 1e-8 < width / s < 1e8:
        raise ValueError(f"epsilon, variance: expected a quotient between 1e-8 and 1e8, got {width / s}")
    if not np.abs(x).max() <= 9.0 * math.sqrt(s):
        raise ValueError(f"places: expected at most nine standard deviations, got {np.abs(x).max()}")
    number = max(121, math.ceil(2 * 9 * math.sqrt(s / width) / 0.7) | 1)
    nodes = 9.0 * math.sqrt(s) * np.linspace(-1.0, 1.0, number)[:, np.newaxis]
    law = np.exp(-0.5 * nodes[:, 0] ** 2 / s)
    score = SquaredDistance(0.5 / width)
    found = doubly_normalised(
        nodes, nodes, score=score, query_weights=law, key_weights=law, sweeps=count, tolerance=0.0
    )
    spacing = float(nodes[1, 0] - nodes[0, 0])
    rule = 4.0 * math.exp(-2.0 * math.pi**2 * width * s / (s + width) / spacing**2)
    off = 2.0 * count * (partition_error(nodes, nodes, score, np.log(law)) + 64 * U * 50.0 + rule)
    moved: Any = attend(exact(x)[:, np.newaxis], nodes, nodes, score=score, weights=law * np.exp(found.g))[:, 0]
    return (moved - x + Interval.within(0.0, 4.0 * off * math.sqrt(width))) / width  # type: ignore[no-any-return]


def _density(grid: PeriodicGrid, density: ArrayLike) -> Array:
    """Return positive numbers on a grid."""
    p = as_real(density, "density")
    if p.shape != as_instance(grid, "grid", PeriodicGrid).shape:
        raise ValueError(f"density: expected shape {grid.shape}, got shape {p.shape}")
    with np.errstate(over="ignore"):
        total = (as_intervals(p).hi if is_enclosed(p) else p).sum()
    if not np.isfinite(total):
        raise ValueError(f"density: expected one whose sum float64 can hold, got {total}")
    return p


def _smoothed(grid: PeriodicGrid, law: Array, multiplier: Multiplier) -> Array:
    mass = grid.multiply(law, multiplier)
    least = (as_intervals(mass).lo if is_enclosed(mass) else mass).min()
    if not least > 0.0:
        raise ValueError(f"density: expected one that stays positive when smoothed, got {least}")
    return mass
