r"""Keys and values kept in few bits: turned at random, each coordinate then rounded to the best few levels.

A unit vector that is turned at random is uniform on the sphere; a coordinate, times :math:`\sqrt d`, has variance one
and a density proportional to :math:`(1 - x^2/d)^{(d-3)/2}`, which tends to the Gaussian one. Levels are best in mean
square if each is the mean of its cell and thresholds lie in the middle between levels. Both densities are log-concave,
for which there is one such set of levels only (Fleischer 1964), and it is symmetric.

*Certificate.* The map T that takes thresholds to the middles between the means of their cells is increasing in every
threshold. If :math:`l \le T(l)` and :math:`T(h) \le h` for thresholds :math:`l < h`, which is decided in balls, T maps
the box between them to itself, and the best thresholds lie there. Means and distortion are evaluated on the box.

References
----------
J. Max, *Quantizing for minimum distortion*, IRE Transactions on Information Theory 6 (1960).
P. E. Fleischer, *Sufficient conditions for achieving minimum distortion in a quantizer*, IEEE Int. Conv. Rec. (1964).
A. Zandieh, M. Daliri, M. Hadian, V. Mirrokni, *TurboQuant: online vector quantization with near-optimal distortion
rate*, 2025 (arXiv:2504.19874).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from theory._validate import as_count, as_generator, as_instance, as_points
from theory.evidence import Interval, ball, hull
from theory.evidence.enclosure import balls, precision

_BITS = 8  # taken: more levels than these have no use here
_SPREAD = 2.0**-60  # taken: how far the two sides of the certificate lie from the thresholds that are found
_SETTLED = 2.0**-90  # taken: a step so small that the sides lie far beyond it
_FEW = 15  # measured: so many thresholds are compared one by one in less time than they are searched
_LARGEST = 1e100  # taken: of a coordinate, so that products are finite
_STEPS = 60  # taken: of Newton's method, which needs less than ten


class Codebook(NamedTuple):
    """The best levels for a coordinate of variance one, the thresholds between them, and the mean square lost."""

    levels: Any
    thresholds: Any
    distortion: Interval


def best_codebook(bits: int, dim: int | None = None) -> Codebook:
    r"""Enclose the best :math:`2^b` levels for a coordinate of a vector that is uniform on a sphere.

    Parameters
    ----------
    bits : int
        From 1 to 8.
    dim : int, optional
        The dimension, at least three; the coordinate is scaled to variance one. Without it, a Gaussian one.

    Raises
    ------
    ValueError
        If there are more than eight bits or less than three dimensions.
    RuntimeError
        If the certificate fails.
    """
    half = 2 ** (as_count(bits, "bits") - 1)
    if bits > _BITS:
        raise ValueError(f"bits: expected at most {_BITS}, got {bits}")
    with precision():
        return _certified(_Law(None if dim is None else as_count(dim, "dim", least=3)), half)


def quantise(tokens: ArrayLike, codebook: Codebook, *, rotation: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return vectors as they are read back: directions in few bits for each coordinate, lengths as they were.

    Parameters
    ----------
    tokens : array_like, shape (n, d)
        None of them zero.
    codebook : Codebook
        Of its enclosures the middles are used.
    rotation : array_like, shape (d, d), optional
        An orthogonal matrix, applied before and undone afterwards.

    Raises
    ------
    ValueError
        If a vector is zero or the matrix does not fit.
    """
    x = _as_moderate(tokens, "tokens")
    book = as_instance(codebook, "codebook", Codebook)
    sizes = np.abs(x).max(axis=1, keepdims=True)
    if not (sizes > 0.0).all():
        raise ValueError("tokens: expected vectors that are not zero")
    dim = x.shape[1]
    lengths = np.linalg.norm(x / sizes, axis=1, keepdims=True)
    turn = None if rotation is None else _as_moderate(rotation, "rotation", dim=dim, size=dim)
    units = x / sizes / lengths
    coordinates = (units if turn is None else units @ turn.T) * math.sqrt(dim)
    read = book.levels.mid[_cells_of(coordinates, book.thresholds.mid)]
    back: NDArray[np.float64] = sizes * lengths * (read if turn is None else read @ turn) / math.sqrt(dim)
    return back


def corrected_products(
    queries: ArrayLike, keys: ArrayLike, coded: ArrayLike, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Return inner products of queries and keys, estimated from coded keys and the signs of their residuals.

    With :math:`r = k - \hat k` and d independent Gaussian rows :math:`s_i`, drawn anew for each pair, the estimate is

    .. math:: \langle y, \hat k\rangle + \sqrt{\pi/2}\,\frac{|r|}d\sum_i\langle s_i, y\rangle
              \operatorname{sign}\langle s_i, r\rangle.

    Of each row only its two coordinates in the plane of y and r are drawn, for the others do not occur.

    Parameters
    ----------
    queries, keys, coded : array_like, shape (n, d)
        Pairs, row by row.
    rng : numpy.random.Generator
        Draws the rows.
    """
    y = _as_moderate(queries, "queries")
    k = _as_moderate(keys, "keys", dim=y.shape[1], size=y.shape[0])
    r = k - _as_moderate(coded, "coded", dim=y.shape[1], size=y.shape[0])
    size = np.linalg.norm(r, axis=1)
    along = (y * r).sum(axis=1) / np.where(size > 0.0, size, 1.0)
    across = np.sqrt(np.maximum((y**2).sum(axis=1) - along**2, 0.0))
    one, other = as_generator(rng).normal(size=(2, *y.shape))
    seen = along * np.abs(one).mean(axis=1) + across * np.where(one < 0.0, -other, other).mean(axis=1)
    found: NDArray[np.float64] = (y * (k - r)).sum(axis=1) + math.sqrt(math.pi / 2.0) * size * seen
    return found


def _cells_of(coordinates: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how many thresholds lie below each coordinate."""
    if len(thresholds) > _FEW:
        return np.searchsorted(thresholds, coordinates)
    below = np.zeros(coordinates.shape, dtype=np.intp)
    for threshold in thresholds:
        below += coordinates > threshold
    return below


def _as_moderate(value: ArrayLike, name: str, **shape: int) -> NDArray[np.float64]:
    points = as_points(value, name, **shape)
    if not (np.abs(points) <= _LARGEST).all():
        raise ValueError(f"{name}: expected entries of at most {_LARGEST:g} in size, got {np.abs(points).max():g}")
    return points


def _certified(law: _Law, half: int) -> Codebook:
    """Return the best symmetric levels, ``half`` of them positive."""
    t, slope = _solve(law, half)
    away = balls(_SPREAD * _slowest(slope))
    low, high = t - away, t + away
    for ends, inside in ((low, 1), (high, -1)):
        moved = _middles(_means(law, ends))
        if not all((new - old) * inside >= 0 for new, old in zip(moved, ends, strict=True)):
            raise RuntimeError(f"bits: expected levels that can be certified, got none for {2 * half} levels")
    box = np.array([lo.union(hi) for lo, hi in zip(low, high, strict=True)], dtype=object)
    masses, moments = _cells(law, box)
    means = moments / masses
    lost = 1 - 2 * (moments**2 / masses).sum()
    thresholds = np.concatenate([-box[::-1], balls(np.zeros(1)), box])
    return Codebook(hull(np.concatenate([-means[::-1], means])), hull(thresholds), hull(lost))


class _Law:
    """Masses and first moments of a coordinate between zero and a threshold, in balls."""

    def __init__(self, dim: int | None) -> None:
        self.dim = dim
        if dim is not None:
            self._whole = 2 * _cosine_integral(dim - 2, ball(0), ball(1), ball(0).acos())
            self._root = ball(dim).sqrt()

    def mass(self, t: Any) -> Any:
        """Return the probability of [0, t]."""
        if self.dim is None:
            return (t / ball(2).sqrt()).erf() / 2
        z = t / self._root
        cosine = (1 - z * z).sqrt()
        return _cosine_integral(self.dim - 2, cosine, z, (z / cosine).atan()) / self._whole

    def rest(self, t: Any) -> Any:
        """Return the first moment of what lies above t."""
        return self.density(t) * (1 if self.dim is None else (self.dim - t * t) / (self.dim - 1))

    def density(self, t: Any) -> Any:
        """Return the density at t."""
        if self.dim is None:
            return (-t * t / 2).exp() / (2 * ball(0).acos() * 2).sqrt()
        z = t / self._root
        return ((1 - z * z) ** (ball(self.dim - 3) / 2) if self.dim > 3 else ball(1)) / (self._whole * self._root)

    def start(self, half: int) -> NDArray[np.float64]:
        """Return thresholds whose density is the cube root of that of the coordinate."""
        share = 0.5 + 0.5 * np.arange(1, half) / half
        if self.dim is None:
            return np.asarray(math.sqrt(3.0) * ndtri(share))
        order = (self.dim - 3) / 6.0 + 1.0
        return np.asarray(math.sqrt(self.dim) * (2.0 * betaincinv(order, order, share) - 1.0))


def _cosine_integral(power: int, cosine: Any, sine: Any, angle: Any) -> Any:
    """Return the integral of a power of the cosine from zero to an angle, by its recurrence."""
    total = sine if power % 2 else angle
    for n in range(2 + power % 2, power + 1, 2):
        total = (cosine ** (n - 1) * sine + (n - 1) * total) / n
    return total


def _cells(law: _Law, thresholds: Any) -> tuple[Any, Any]:
    """Return masses and first moments of the cells from zero on."""
    inner = [law.mass(t) for t in thresholds]
    above = [law.rest(ball(0)), *(law.rest(t) for t in thresholds), ball(0)]
    masses = [after - before for before, after in zip([ball(0), *inner], [*inner, ball(1) / 2], strict=True)]
    moments = [before - after for before, after in pairwise(above)]
    return np.array(masses, dtype=object), np.array(moments, dtype=object)


def _means(law: _Law, thresholds: Any) -> list[Any]:
    masses, moments = _cells(law, thresholds)
    return list(moments / masses)


def _middles(means: list[Any]) -> list[Any]:
    return [(before + after) / 2 for before, after in pairwise(means)]


def _solve(law: _Law, half: int) -> tuple[Any, NDArray[np.float64]]:
    """Return thresholds very near the best, as exact balls, and the derivative of T there, by Newton's method."""
    t = balls(law.start(half))
    slope = np.zeros((half - 1, half - 1))
    for _ in range(_STEPS if half > 1 else 0):
        masses, moments = _cells(law, t)
        means = moments / masses
        heights = [law.density(place) / 2 for place in t]
        for k in range(half - 1):  # threshold k lies between the cells k and k + 1
            row = {k: (t[k] - means[k]) / masses[k] + (means[k + 1] - t[k]) / masses[k + 1]}
            if k > 0:
                row[k - 1] = (means[k] - t[k - 1]) / masses[k]
            if k + 2 < half:
                row[k + 1] = (t[k + 1] - means[k + 1]) / masses[k + 1]
            for column, value in row.items():
                slope[k, column] = float((heights[column] * value).mid())
        missed = [float((new - old).mid()) for new, old in zip(_middles(list(means)), t, strict=True)]
        step = np.linalg.solve(np.eye(half - 1) - slope, missed)
        t = np.array([(old + ball(float(by))).mid() for old, by in zip(t, step, strict=True)], dtype=object)
        if not (np.abs(step) > _SETTLED).any():
            break
    return t, slope


def _slowest(slope: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the positive direction in which T contracts least, of largest entry one."""
    if not slope.size:
        return np.zeros(0)
    values, vectors = np.linalg.eig(slope)
    direction = np.abs(np.real(vectors[:, int(np.argmax(np.real(values)))]))
    found: NDArray[np.float64] = direction / direction.max()
    return found
