r"""One output of a layer over N independent tokens: how it spreads, what it is off on average, how normal it is.

For tokens :math:`y_i` drawn from a density, with weights :math:`K_i = K(x, y_i) \in (0, 1]`, the output at a query is

.. math:: \hat P h = \frac{\sum_i K_i h_i}{\sum_i K_i}, \qquad c = \frac{\mathbb E[Kh]}{\mathbb EK} .

*Leading laws* (delta method): :math:`N\,\mathrm{Var}\,\hat Ph \to \mathbb E[K^2(h - c)^2]/(\mathbb EK)^2`,
:math:`N(\mathbb E\hat Ph - c) \to -\mathbb E[K^2(h - c)]/(\mathbb EK)^2`.

*For every N, without a draw.* As :math:`B^{-1} = \int_0^\infty e^{-tB}dt`, :math:`B^{-2} = \int_0^\infty te^{-tB}dt`,
with :math:`\varphi = \mathbb Ee^{-tK}` and :math:`\beta = \mathbb E[K(h - c)e^{-tK}]`,

.. math:: \mathbb E\hat Ph - c = N\int_0^\infty \beta\varphi^{N-1}dt, \qquad \mathbb E(\hat Ph - c)^2 =
   \int_0^\infty t\bigl(N\,\mathbb E[K^2(h - c)^2e^{-tK}]\,\varphi^{N-1} + N(N - 1)\beta^2\varphi^{N-2}\bigr)dt .

Its law follows from the sign of a sum of independent terms, :math:`\hat Ph \le a` if and only if
:math:`\sum_iK_i(h_i - a) \le 0`, by the inversion formula of Gil-Pelaez.

Expectations are trapezoidal sums on a periodic grid, integrals over t and over frequencies trapezoidal sums in the
logarithm. Widths are what half as many nodes change, and rounding; their kind is ``ESTIMATED``.

References
----------
J. Gil-Pelaez, Note on the inversion theorem, *Biometrika* 38 (1951).
A. Owen, *Monte Carlo theory, methods and examples*, 2013, chapter 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_generator, as_instance, as_number, as_positive, as_real, as_vector, frozen
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.limits.grid import PeriodicGrid
from theory.evidence import Interval, Kind, estimated
from theory.evidence.roundoff import gamma

Array = NDArray[np.float64]
Moments = tuple[float, float, float, float]
_ROUNDING = gamma(256)
"""derived: of a sum over the grid, pairwise, of terms of ten operations and an exponential; an exponent s is off by 8 u
of its size, and the mean of that size under the kernel's own weights is at most a few units"""
_STEP = 0.2  # taken: of the logarithm of t; its trapezoidal sum is off by exp(-pi^2 / step), below rounding
_WAVE = 0.08  # taken: of the logarithm of the frequency
_GONE = 45.0  # derived: exp(-45) is below the rounding of anything here


@dataclass(frozen=True, eq=False)
class SampledOutput:
    """The output of attention at one query, over tokens drawn from a law on a periodic grid.

    Parameters
    ----------
    kernel : array_like
        Weights K of the nodes as keys, between 0 and 1, on a grid of even sizes.
    masses : array_like
        Of the nodes, non-negative; their sum is one.
    values : array_like
        h on the nodes.

    Raises
    ------
    ValueError
        If the shapes differ, a size is odd, a weight or a mass is out of its range, or the masses do not add up to one.
    """

    kernel: Array
    masses: Array
    values: Array

    def __post_init__(self) -> None:
        kernel = as_real(self.kernel, "kernel")
        if kernel.size == 0:
            raise ValueError(f"kernel: expected at least one weight, got shape {kernel.shape}")
        for name, least in (("kernel", 0.0), ("masses", 0.0), ("values", -math.inf)):
            array = as_real(getattr(self, name), name)
            if array.shape != kernel.shape or any(n % 2 for n in array.shape):
                raise ValueError(f"{name}: expected the even shape of kernel, {kernel.shape}, got {array.shape}")
            if array.min() < least:
                raise ValueError(f"{name}: expected non-negative numbers, got {array.min()}")
            object.__setattr__(self, name, frozen(array))
        if kernel.max() > 1.0:
            raise ValueError(f"kernel: expected weights of at most 1, got {kernel.max()}")
        total = math.fsum(self.masses.ravel().tolist())
        if abs(total - 1.0) > _ROUNDING:
            raise ValueError(f"masses: expected a sum of 1, got {total}")

    def population(self) -> Interval:
        """Enclose c, the output over infinitely many tokens."""
        return self._settled(lambda part: (part.centre, part.slip))

    def variance(self) -> Interval:
        r"""Enclose :math:`\mathbb E[K^2(h - c)^2]/(\mathbb EK)^2`, the limit of N times the variance."""
        return self._settled(lambda part: part.ratio(2))

    def bias(self) -> Interval:
        r"""Enclose :math:`-\mathbb E[K^2(h - c)]/(\mathbb EK)^2`, the limit of N times the bias."""
        negative = self._settled(lambda part: part.ratio(1))
        return -negative

    def moments(self, counts: Sequence[int], *, own: float | None = None) -> list[tuple[Interval, Interval]]:
        """Enclose the bias and the variance of the output over N tokens, for every N.

        Parameters
        ----------
        counts : sequence of int
            Numbers N of drawn tokens, each at least 2.
        own : float, optional
            The value of the query itself, if it is among the keys as well, with weight 1.
        """
        sizes = _sizes(counts)
        extra = None if own is None else as_number(own, "own")
        found, wide = _Sums(self).moments(sizes, extra)
        grid = _Sums(self, 2).moments(sizes, extra)[0]
        result = []
        for (bias, spread, error, error2), (bias2, spread2, *_), (bias3, spread3, *_) in zip(
            found, wide, grid, strict=True
        ):
            mean = _judged(bias, bias2, bias3, error)
            square = _judged(spread, spread2, spread3, error2)
            result.append((mean, square - mean**2))
        return result

    def coverage(self, counts: Sequence[int], reaches: ArrayLike) -> list[Interval]:
        r"""Enclose the probability of :math:`|\hat Ph - c| \le r` over N tokens, for every N and its reach r."""
        sizes = _sizes(counts)
        lengths = as_vector(reaches, "reaches", size=len(sizes))
        fine, grid = _Sums(self), _Sums(self, 2)
        result = []
        for n, r in zip(sizes, lengths.tolist(), strict=True):
            inside = [s.below(n, r, step) - s.below(n, -r, step) for s, step in ((fine, 1), (fine, 2), (grid, 1))]
            if not all(map(math.isfinite, inside)):
                result.append(Interval.unknown())
                continue
            value, steps, nodes = inside
            result.append(_judged(value, steps, nodes, 2.0 * _GONE**2 * _ROUNDING))
        return result

    def _settled(self, read: Callable[[_Sums], tuple[float, float]]) -> Interval:
        (value, error), (other, _) = read(_Sums(self)), read(_Sums(self, 2))
        return estimated(value, other, times=1.0) + Interval.within(0.0, error)


def _judged(value: float, steps: float, nodes: float, error: float) -> Interval:
    """Enclose an integral by what twice the step and what half the nodes change, and its rounding."""
    off = error + abs(value - steps) + abs(value - nodes)
    return Interval.within(value, off, Kind.ESTIMATED)


def _sizes(counts: Sequence[int]) -> list[int]:
    if not isinstance(counts, (list, tuple, range, np.ndarray)) or len(counts) == 0:
        raise TypeError(f"counts: expected a sequence of integers, got {counts!r}")
    return [as_count(n, "counts", least=2) for n in counts]


class _Sums:
    """Sums over the nodes, or every second one of each axis, flattened."""

    def __init__(self, output: SampledOutput, stride: int = 1) -> None:
        every = (slice(None, None, stride),) * output.kernel.ndim
        self.k, w, h = (a[every].ravel() for a in (output.kernel, output.masses, output.values))
        self.w = w / w.sum()
        self.mean = float((self.w * self.k).sum())
        self.slip = _ROUNDING * float(np.abs(h).max())
        self.centre = float((self.w * self.k * h).sum()) / self.mean
        self.off = h - self.centre

    def ratio(self, power: int) -> tuple[float, float]:
        """Return the mean of K^2 (h - c)^power over the square of that of K, and its rounding."""
        heavy = self.w * self.k**2 / self.mean**2
        size = float((heavy * np.abs(self.off) ** power).sum())
        mass = float(heavy.sum())
        moved = self.slip * mass if power == 1 else 2.0 * self.slip * math.sqrt(size * mass) + self.slip**2 * mass
        return float((heavy * self.off**power).sum()), 4.0 * _ROUNDING * size + moved

    def moments(self, counts: list[int], own: float | None) -> tuple[list[Moments], list[Moments]]:
        """Return bias, mean square and the rounding of both for every N, and again with every second t."""
        # near 0 integrands grow like t^2, or like t with the query; what is cut off is below exp(-45)
        start = (-0.5 if own is None else -1.0) * _GONE - math.log(max(counts))
        t = np.exp(np.arange(start, self._fade(min(counts), own), _STEP))
        near = self.k > _ROUNDING**1.5 / (float(t[-1]) * max(counts))  # others weigh nothing at any t
        k, w, off = self.k[near], self.w[near], self.off[near]
        change = np.expm1(-np.multiply.outer(t, k))  # e^(-tK) - 1
        weighed, lost = w * k * off, -(change @ w)
        laplace = np.log1p(-np.minimum(lost, 1.0 - _ROUNDING))
        beta = change @ weighed
        size = -(change @ np.abs(weighed)) - self.slip * (change @ (w * k))
        square = (1.0 + change) @ (weighed * k * off)
        kept = -t if own is not None else np.zeros(t.size)  # the query's own weight is 1
        results: tuple[list[Moments], list[Moments]] = ([], [])
        for n in counts:
            last, power, before = (np.exp(np.maximum(m * laplace + kept, -700.0)) * t for m in (n, n - 1, n - 2))
            bias, scale = n * beta * power, n * size * power
            if own is not None:
                bias = bias + (own - self.centre) * last
                scale = scale + abs(own - self.centre) * last
            spread = n * square * t * power + n * (n - 1) * beta**2 * t * before
            loose = spread + 2 * n * (n - 1) * size * np.abs(beta) * t * before
            for stride, result in enumerate(results, start=1):
                sums = (float(part[::stride].sum()) * stride * _STEP for part in (bias, spread, scale, loose))
                bias_sum, spread_sum, scale_sum, loose_sum = sums
                result.append((bias_sum, spread_sum, _GONE * _ROUNDING * scale_sum, _GONE * _ROUNDING * loose_sum))
        return results

    def _fade(self, n: int, own: float | None) -> float:
        """Return the logarithm of a t at which what n tokens leave is below rounding."""
        for log in np.arange(-math.log(n), _GONE / 4.0 - math.log(float(self.k.min())), 0.5).tolist():
            left = float((self.w * np.exp(-math.exp(log) * self.k)).sum())
            if left ** (n - 2) * (math.exp(-math.exp(log)) if own is not None else 1.0) < math.exp(-_GONE):
                return float(log)
        return _GONE / 4.0 - math.log(float(self.k.min()))

    def below(self, n: int, reach: float, step: int) -> float:
        """Return the probability of an output of at most c + reach; not a number if the integrand does not fade."""
        x = self.k * (self.off - reach)
        size = math.sqrt(float((self.w * x**2).sum()) * n)
        theta = np.exp(np.arange(-_GONE, 3.0 * math.log(_GONE), step * _WAVE)) / size
        total, faded = 0.0, False
        for part in np.array_split(theta, max(1, theta.size * x.size // 2**18)):
            angle = np.multiply.outer(part, x)
            wave = -2.0 * (np.sin(0.5 * angle) ** 2 @ self.w) + 1j * (np.sin(angle) @ self.w)
            power = n * np.log1p(wave)
            alive = power.real > -_GONE
            total += float((np.exp(power.real[alive]) * np.sin(power.imag[alive])).sum())
            faded = not bool(alive[-1])
            if faded:
                break
        return 0.5 - total * step * _WAVE / math.pi if faded else math.nan


def chordal_output(
    grid: PeriodicGrid, density: ArrayLike, values: ArrayLike, place: ArrayLike, epsilon: float
) -> SampledOutput:
    r"""Return the output at one place of a torus, for the weights :math:`e^{-|e^{ix} - e^{iy}|^2/2\varepsilon}`.

    The grid is of even sizes, density and function are given on it, and the query is ``place``, shape (d,).
    """
    x = as_vector(place, "place", size=as_instance(grid, "grid", PeriodicGrid).dim)
    width = as_positive(epsilon, "epsilon")
    p = as_real(density, "density")
    if p.shape != grid.shape:
        raise ValueError(f"density: expected shape {grid.shape}, got shape {p.shape}")
    apart = sum(2.0 * np.sin(0.5 * (axis - at)) ** 2 for axis, at in zip(grid.axes, x.tolist(), strict=True))
    kernel = np.broadcast_to(np.exp(-np.asarray(apart) / width), grid.shape)
    return SampledOutput(kernel, p * math.prod(2.0 * math.pi / n for n in grid.shape), as_real(values, "values"))


def draw_angles(density: CircleDensity, rng: np.random.Generator, n: int) -> Array:
    """Draw independent angles, shape (n,), of a trigonometric polynomial by rejection: fast enough for a million.

    Raises
    ------
    ValueError
        If the density is the exponential of a polynomial, which this bound does not cover.
    """
    if as_instance(density, "density", CircleDensity).logarithmic:
        raise ValueError("density: expected a trigonometric polynomial, got the exponential of one")
    size = as_count(n, "n")
    found = np.empty(0)
    chance = as_generator(rng)
    top = (1.0 + float(np.abs(density.cosines).sum() + np.abs(density.sines).sum())) / (2.0 * math.pi)
    while found.size < size:
        proposals = math.ceil(1.1 * (size - found.size) * top * 2.0 * math.pi) + 8
        angles = chance.uniform(0.0, 2.0 * math.pi, proposals)
        heights = chance.uniform(0.0, top, proposals)
        found = np.concatenate([found, angles[heights < density(angles)]])
    return found[:size]
