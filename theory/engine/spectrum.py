r"""A Gaussian kernel, on the line or on the circle, as a short Fourier series.

A fast sum needs a kernel :math:`g` on a torus of periods :math:`2\pi`, and along each axis a series
:math:`g(\theta) = \sum_{|k| \le K} \hat g_k e^{ik\theta}` with few terms. Every kernel here is a product over the axes,
is 1 at the origin and has non-negative, even coefficients.

**Circle.** :math:`e^{-z(1 - \cos\theta)}` has :math:`\hat g_k = e^{-z} I_k(z)`, the law of the difference of two
Poisson variables of mean :math:`z/2`, whose logarithmic moments are :math:`z(\cosh s - 1)`. By Chernoff's bound, at its
best :math:`s = \operatorname{arsinh}(K/z)`, the terms left out sum to at most

.. math:: \sum_{|k| > K} \hat g_k \le 2e^{-l(K)} \le \tau, \qquad
          l(K) = K\operatorname{arsinh}\frac Kz - \frac{K^2}{z + \sqrt{z^2 + K^2}} \ge \frac{K^2}{2(z + K/3)} .

The root of :math:`l(K) = \log(2/\tau)` lies below that of Bernstein's simpler bound on the right.
The coefficients are the discrete Fourier transform of :math:`N \ge 2K + 1` samples. What is left out returns as
aliases, at most :math:`\tau` once more; rounding is that of the largest coefficient, where recurrences and library
routines for :math:`I_k` lose digits in :math:`k`.

**Line.** For :math:`e^{-x^2/2}` and differences up to an extent :math:`E`, take the period :math:`L = E + r`. The
images at :math:`x + jL` add at most :math:`2\sum_{j \ge 1} e^{-j^2 r^2/2} \le 3 e^{-r^2/2}`, for :math:`r \ge 2`. The
periodic kernel has :math:`\hat g_k = \sqrt{2\pi} L^{-1} e^{-\omega_k^2/2}` at :math:`\omega_k = 2\pi k/L` (Poisson's
summation), and its terms beyond :math:`\omega_K \ge r` sum to at most
:math:`2\int_r^\infty e^{-\omega^2/2}\,d\omega/\sqrt{2\pi} \le e^{-r^2/2}`. Both together are below :math:`\tau` at
:math:`r = \sqrt{2\log(4/\tau)}`.

**How small.** A field :math:`\sum_j a_j g(x - y_j)` with :math:`a_j \ge 0` changes by at most :math:`d\tau\sum_j a_j`.
Its mean over the torus is :math:`\hat g_0^d \sum_j a_j`, and its peak is no smaller. With
:math:`\tau = \varepsilon \prod_f \hat g_{f,0} / d` the change is therefore at most :math:`\varepsilon` times the peak.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import fft
from scipy.optimize import brentq
from scipy.special import i0e

from theory.engine.pairs import Array

LIMIT = 2**26  # chosen: points of the fine grid, twice the modes per axis; 1 GiB of complex numbers for each sum


class Series(NamedTuple):
    """Two clouds on a torus and the kernel between them."""

    queries: Array
    """shape (d, m), radians"""
    keys: Array
    """shape (d, n), radians"""
    coefficients: tuple[Array, ...]
    """for each axis those of ``exp(i k theta)``, k from ``-K`` to ``K``"""


def circle_band(z: float, d: int, eps: float) -> float:
    """Return the number of frequencies that ``exp(-z (1 - cos))`` needs on each of ``d`` axes, possibly infinite."""
    flat = float(i0e(z))
    if not (z < math.inf and flat > 0.0):
        return math.inf
    level = math.log(4.0 * d / eps) - d * math.log(flat)  # two errors: cut and aliases
    simple = level / 3.0 + math.sqrt(level**2 / 9.0 + 2.0 * level * z)
    if z == 0.0 or not simple < LIMIT:
        return 0.0 if z == 0.0 else math.inf

    def excess(k: float) -> float:
        return k * math.asinh(k / z) - k * k / (z + math.hypot(z, k)) - level

    return float(math.ceil(brentq(excess, 0.0, simple)) + 1)


def line_band(extents: Array, eps: float) -> tuple[Array, Array]:
    """Return the periods and numbers of frequencies that ``exp(-x^2/2)`` needs, axis by axis, possibly infinite."""
    d = extents.size
    mean = np.log(np.sqrt(2.0 * math.pi) / (extents + 16.0))  # 16 exceeds r wherever the limit admits the box
    r = np.sqrt(2.0 * (math.log(4.0 * d / eps) - mean.sum()))
    periods = extents + r
    return periods, np.ceil(r * periods / (2.0 * math.pi))


def fine_points(bands: Array) -> float:
    """Return the number of points of the fine grid."""
    with np.errstate(over="ignore"):
        return float(np.prod(2.0 * (2.0 * bands + 1.0)))


def too_narrow(points: float) -> ValueError:
    """Return the refusal of a grid of so many points."""
    return ValueError(f"method: expected a kernel wide enough for a grid of {LIMIT} points, got {points:.3g} points")


def _demand_few(bands: Array) -> None:
    points = fine_points(bands)
    if not points <= LIMIT:
        raise too_narrow(points)


def by_axes(cloud: Array) -> Array:
    """Return the coordinates of tokens (n, d) as contiguous rows (d, n), over which minima and sums are fast."""
    return np.ascontiguousarray(cloud.T)


def middle(cloud: Array) -> Array:
    """Return the middle of the box around coordinates (d, n), shape (d, 1); it cannot overflow."""
    centre: Array = 0.5 * cloud.min(axis=1, keepdims=True) + 0.5 * cloud.max(axis=1, keepdims=True)
    return centre


def circle(queries: Array, keys: Array, z: float, eps: float) -> Series:
    """Return the series of ``exp(-z sum_f (1 - cos(q_f - k_f)))``, right to ``eps`` of the peak of any field.

    Parameters
    ----------
    queries, keys : ndarray, shapes (m, d) and (n, d)
        Radians, any real angle.
    z : float
        Concentration, not negative.
    eps : float
        Share of the peak that may be lost.

    Returns
    -------
    Series

    Raises
    ------
    ValueError
        If the grid exceeds ``LIMIT``.
    """
    d = queries.shape[1]
    frequencies = circle_band(z, d, eps)
    _demand_few(np.full(d, frequencies))
    band = int(frequencies)
    size = fft.next_fast_len(2 * band + 1, real=True)
    steps = np.arange(size)
    half = np.sin(math.pi / size * np.minimum(steps, size - steps))  # near a whole turn the sine would lose digits
    wave = fft.rfft(np.exp(-2.0 * z * half**2)).real[: band + 1] / size
    return Series(_fold(queries), _fold(keys), (np.concatenate([wave[:0:-1], wave]),) * d)


def _fold(angles: Array) -> Array:
    """Return the angles axis by axis, brought near zero where the transform would lose their digits."""
    turned = by_axes(angles)
    if np.abs(turned).max() > 3.0 * math.pi:  # the library's sine reduces by all digits of pi
        turned = np.arctan2(np.sin(turned), np.cos(turned))
    return turned


def line(queries: Array, keys: Array, eps: float) -> Series:
    """Return the series of ``exp(-|q - k|^2 / 2)``, right to ``eps`` of the peak of any field.

    Parameters
    ----------
    queries, keys : ndarray, shapes (d, m) and (d, n)
        In units of the kernel's width.
    eps : float
        Share of the peak that may be lost.

    Returns
    -------
    Series

    Raises
    ------
    ValueError
        If the grid exceeds ``LIMIT``.
    """
    low = np.minimum(queries.min(axis=1), keys.min(axis=1))
    high = np.maximum(queries.max(axis=1), keys.max(axis=1))
    periods, bands = line_band(high - low, eps)
    _demand_few(bands)
    centre = (0.5 * low + 0.5 * high)[:, np.newaxis]
    turn = 2.0 * math.pi / periods
    kernels = []
    for step, band in zip(turn, bands, strict=True):
        omega = step * np.arange(-band, band + 1.0)
        kernels.append(step / math.sqrt(2.0 * math.pi) * np.exp(-0.5 * omega**2))
    here, there = ((cloud - centre) * turn[:, np.newaxis] for cloud in (queries, keys))
    return Series(here, there, tuple(kernels))
