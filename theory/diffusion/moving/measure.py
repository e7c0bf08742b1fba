r"""A measure of tokens that moves through layers of self-attention with Gaussian weights.

A layer of step h takes a token from x to :math:`x + h(Ax - x)`, where :math:`Ax` averages all tokens with weights
:math:`e^{-|x - y|^2/2\varepsilon}`, computed anew from the tokens as they lie: h = 1 is the averaging form, smaller
steps are residual. What has a density is represented by equidistant tokens that weigh it
(:func:`~theory.diffusion.layers.line_tokens`, :func:`plane_tokens`), so that every sum is a trapezoidal rule, or by
quantile tokens of equal weight (:func:`mixture_quantiles`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from theory._validate import as_between, as_count, as_flag, as_masses, as_points, as_positive, as_real, as_vector
from theory.diffusion.layers.self_dynamics import advance_tokens
from theory.diffusion.limits.operators import propagate
from theory.evidence import Interval, Kind, estimated, exact
from theory.evidence.interval import Number, enclose
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_BISECTIONS = 64  # derived: they halve an interval to less than an ulp of its ends
_REACH = 40.0  # derived: a normal law has no mass in float64 beyond so many standard deviations
_KERNEL = 14.0  # derived: a Gaussian is below exp(-98) beyond so many standard deviations
_TIMES = 4.0  # chosen: how many times the distance of two computations the finer one may be off
_ROUNDINGS = 64.0  # taken: units of rounding in a layer and in a sum of some thousand terms, pairwise
_MOST = 1e5  # taken: of tokens in the plane


def move_tokens(
    tokens: ArrayLike, epsilon: float, layers: int, *, weights: ArrayLike | None = None, step: float = 1.0,
    kept: bool = False,
) -> Iterator[Array]:  # fmt: skip
    """Yield tokens before and after each of some layers of self-attention.

    Parameters
    ----------
    tokens : array_like, shape (n, d)
    epsilon : float
        Positive, the variance of the weights along an axis.
    layers : int
    weights : array_like, shape (n,), optional
        Masses of the tokens; equal unless given.
    step : float, default 1
        Of a layer, at most 2: 1 averages, less is residual, more goes past the average.
    kept : bool, default False
        Whether all layers average with the weights of the first.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    cloud: Array = as_points(tokens, "tokens")
    e = as_positive(epsilon, "epsilon")
    count = as_count(layers, "layers", least=0)
    masses = None if weights is None else as_masses(weights, "weights", size=len(cloud))
    h = as_between(step, "step", 1e-6, 2.0)
    return _moved(cloud, e, count, masses, h, as_flag(kept, "kept"))


def _moved(cloud: Array, e: float, count: int, masses: Array | None, h: float, kept: bool) -> Iterator[Array]:
    start = cloud
    yield cloud
    for _ in range(count):
        averaged = propagate(start, start, cloud, e, weights=masses) if kept else advance_tokens(cloud, e, masses)
        cloud = averaged if h == 1.0 else cloud + h * (averaged - cloud)
        yield cloud


def mixture_quantiles(means: ArrayLike, variances: ArrayLike, shares: ArrayLike, levels: ArrayLike) -> Array:
    """Return the quantiles of a mixture of normal laws on the line, by bisection.

    Parameters
    ----------
    means, variances, shares : array_like, shape (k,)
        Of the parts, variances and shares positive, shares of any sum.
    levels : array_like, shape (n,)
        Between 0 and 1, both excluded.

    Returns
    -------
    ndarray, shape (n,)
        Places where the distribution function in float64 passes the levels.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    m, s, w = _parts(means, variances, shares, ("means", "variances", "shares"))
    u = as_vector(levels, "levels")
    if u.size and not 0.0 < u.min() <= u.max() < 1.0:
        raise ValueError(f"levels: expected numbers between 0 and 1, got {u.min()} to {u.max()}")
    reach = _REACH * np.sqrt(s)
    low, high = np.full(u.size, (m - reach).min()), np.full(u.size, (m + reach).max())
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        below = _distribution(middle, m, s, w) < u
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    found: Array = 0.5 * (low + high)
    return found


def _parts(
    means: ArrayLike, variances: ArrayLike, shares: ArrayLike, names: Sequence[str]
) -> tuple[Array, Array, Array]:
    m = as_vector(means, names[0])
    s = as_vector(variances, names[1], size=m.size)
    w = as_masses(shares, names[2], size=m.size)
    if not s.min() > 0.0:
        raise ValueError(f"{names[1]}: expected positive numbers, got {s.min()}")
    return m, s, w / w.sum()


def _mixture(law: Any, name: str) -> tuple[Array, Array, Array]:
    if not isinstance(law, (tuple, list)) or len(law) != 3:
        raise TypeError(f"{name}: expected means, variances and shares, got {type(law).__name__}")
    return _parts(law[0], law[1], law[2], (name, name, name))


def _distribution(x: Array, m: Array, s: Array, w: Array) -> Array:
    found: Array = ndtr((x[:, np.newaxis] - m) / np.sqrt(s)) @ w
    return found


def rearranged_distance(tokens: ArrayLike, weights: ArrayLike, start: Any, end: Any) -> Interval:
    r"""Estimate the Wasserstein-1 distance from a law that was moved monotonically to a mixture of normal laws.

    On the line :math:`W_1 = \int_0^1|Q_\mu(u) - Q_\nu(u)|\,du`. A law with distribution function F that an increasing
    map X moves has :math:`Q_\mu(F(x)) = X(x)`, so that the integral is that of :math:`|X(x) - Q_\nu(F(x))|` under the
    law before. The trapezoidal rule of equidistant tokens, which these must be, is accurate but where the difference g
    changes its sign: with a corner at the share :math:`\theta` of a step h it is off by
    :math:`-h^2s(\theta^2 - \theta + \frac16)` with the slope s of :math:`|g|\rho` (Euler and Maclaurin), which is
    added. There :math:`hs` is the change of g times the density over the step, and :math:`\theta` the share at which
    the chord vanishes. With the second difference D of g times the masses, the slope, the share and the next term are
    off by at most :math:`\frac D{12}, \frac D8` and :math:`\frac D{60}`, a quarter of D together. Twice that is the
    width.

    Parameters
    ----------
    tokens : array_like, shape (n, 2)
        Places before and after.
    weights : array_like, shape (n,)
        Masses.
    start, end : (means, variances, shares)
        The mixture before, which the masses weigh, and the one to compare with.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    pairs = as_points(tokens, "tokens", dim=2)
    masses = as_masses(weights, "weights", size=len(pairs))
    before, after = _mixture(start, "start"), _mixture(end, "end")
    level = _distribution(pairs[:, 0], *before)
    sure = (level > 1e-15) & (level < 1.0 - 1e-15)
    if not sure.any():
        raise ValueError("tokens, start: expected tokens where the mixture has its mass, got none")
    aims = mixture_quantiles(*after, level[sure])
    apart = pairs[sure, 1] - aims
    found = float(masses[sure] @ np.abs(apart) / masses.sum())
    corners, bends = _corners(apart * masses[sure] / masses.sum())
    return Interval.within(found + corners, 0.5 * bends + 64.0 * U * float(np.abs(pairs).max()), Kind.ESTIMATED)


def _corners(weighed: Array) -> tuple[float, float]:
    """Return what a sum of absolute values falls short of by changes of sign, and second differences around them."""
    change = np.diff(weighed)
    turns = np.signbit(weighed[1:]) != np.signbit(weighed[:-1])
    share = np.divide(-weighed[:-1], change, out=np.zeros_like(change), where=turns & (change != 0.0))
    short = np.abs(change) * (share * share - share + 1.0 / 6.0)
    bend = np.zeros(weighed.size)
    bend[1:-1] = np.abs(np.diff(change))
    around = np.maximum(bend[1:], bend[:-1])
    return float(short[turns].sum()), float(around[turns].sum())


def agreed_mean(coarse: Number, fine: Number, *, size: float, layers: int) -> Interval:
    """Return a mean over moved tokens, judged from tokens at two distances.

    They share neither places nor rounding: the finer one is off by at most four times what they are apart, and by the
    rounding of the sum and of a few operations in each layer, which two computations may happen to share. That rounding
    grows through the layers is left to the difference.

    Parameters
    ----------
    coarse, fine : Interval or real
        What two computations find.
    size : float
        Bound on the mean of the absolute values.
    layers : int

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    other, value = enclose(coarse, "coarse"), enclose(fine, "fine")
    bound = as_positive(size, "size")
    count = as_count(layers, "layers", least=0)
    slip = _ROUNDINGS * (count + 1) * U * bound
    return estimated(value, other, times=_TIMES) + Interval.within(0.0, slip, Kind.ESTIMATED)


def plane_tokens(
    means: ArrayLike, covariances: ArrayLike, shares: ArrayLike, step: float, *, least: float = 1e-12
) -> tuple[Array, Array]:
    """Return tokens on a square lattice in the plane that weigh what a mixture of normal laws puts there.

    Parameters
    ----------
    means : array_like, shape (k, 2)
    covariances : array_like, shape (k, 2, 2)
        Positive definite.
    shares : array_like, shape (k,)
        Positive.
    step : float
        Of the lattice.
    least : float, default 1e-12
        Tokens that weigh less than this share of the heaviest one are left out.

    Returns
    -------
    tokens : ndarray, shape (n, 2)
    masses : ndarray, shape (n,)
        With sum one.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or tokens were more than 100 000.
    """
    m = as_points(means, "means", dim=2)
    c = as_real(covariances, "covariances")
    if c.shape != (len(m), 2, 2):
        raise ValueError(f"covariances: expected shape ({len(m)}, 2, 2), got shape {c.shape}")
    w = as_masses(shares, "shares", size=len(m))
    if not np.array_equal(c, c.transpose(0, 2, 1)) or not np.linalg.eigvalsh(c).min() > 0.0:
        raise ValueError("covariances: expected symmetric positive definite matrices, got others")
    h = as_positive(step, "step")
    cut = as_between(least, "least", 1e-40, 0.5)
    reach = math.sqrt(-2.0 * math.log(cut) + 8.0) * np.sqrt(np.diagonal(c, axis1=1, axis2=2))
    low, high = np.floor((m - reach).min(axis=0) / h), np.ceil((m + reach).max(axis=0) / h)
    if not float(np.prod(high - low + 1.0)) < 16.0 * _MOST:
        raise ValueError(f"step, means, covariances: expected fewer tokens, got a step of {h}")
    axes = [h * np.arange(a, b + 1.0) for a, b in zip(low, high, strict=True)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    masses = np.zeros(len(nodes))
    for mean, covariance, share in zip(m, c, w, strict=True):
        away = nodes - mean
        inside = (away @ np.linalg.inv(covariance) * away).sum(axis=1)
        masses += share * np.exp(-0.5 * inside) / math.sqrt(float(np.linalg.det(covariance)))
    kept = masses > cut * masses.max()
    return nodes[kept], masses[kept] / masses[kept].sum()


def lattice_growth(period: int, turns: int, spacing: float, amplitude: float, *, kept: bool = False) -> Interval:
    r"""Enclose by how much a layer multiplies a small wave on an endless lattice of tokens.

    Tokens lie at :math:`a(j + \delta\cos\frac{2\pi mj}N)`; a layer with :math:`\varepsilon = 1` is asked at those
    of one period, with all keys within 14 standard deviations of it. What it returns, less the lattice, is projected
    on the wave.

    Parameters
    ----------
    period : int
        N, of the wave in tokens.
    turns : int
        m, of the wave in a period, from 0 to N.
    spacing : float
        a, in standard deviations of the weights.
    amplitude : float
        :math:`\delta`, in spacings, below 1/2.
    kept : bool, default False
        Whether the weights are those of the lattice without the wave.

    Returns
    -------
    Interval
        The amplitude after the layer over the one before.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """
    n = as_count(period, "period", least=2)
    m = as_count(turns, "turns", least=0)
    if m > n:
        raise ValueError(f"turns: expected at most {n}, got {m}")
    a = as_between(spacing, "spacing", 1e-2, 4.0)
    size = as_between(amplitude, "amplitude", 1e-12, 0.49)
    frozen = as_flag(kept, "kept")
    images = math.ceil(_KERNEL / (a * n)) + 1
    at = np.arange(-images * n, (images + 1) * n)
    wave = np.cos(2.0 * np.pi * m * (at % n) / n)
    lattice = a * at
    tokens = lattice + a * size * wave
    places = lattice if frozen else tokens
    keys = places[:, np.newaxis]
    middle = slice(images * n, (images + 1) * n)
    found = propagate(exact(keys[middle]), keys, exact(tokens), 1.0)
    moved = found - exact(lattice[middle])
    before = exact(tokens[middle]) - exact(lattice[middle])
    share: Interval = (moved * wave[middle]).sum() / (before * wave[middle]).sum()
    return share
