r"""The same attention as many Gaussian sums: which one to compute.

In units :math:`x = \sqrt\gamma\,(q - o)`, :math:`y = \sqrt\gamma\,(k - o')` (:math:`\gamma = 2c` and one origin for
the squared distance, :math:`\gamma = |c|` for the dot product) both scores are
:math:`\langle x, y\rangle - \tfrac\kappa2|x|^2 - \tfrac\kappa2|y|^2` up to terms linear in one token, with
:math:`\kappa = 1` and 0. For any slopes :math:`A_f > 0`, :math:`M_f = 1/A_f` and any shifts :math:`b_f`, axis by axis,

.. math:: xy = -\tfrac M2 (Ax + b - y)^2 + \tfrac A2 x^2 + bx + \tfrac M2 y^2 - Mby + \tfrac M2 b^2 .

So the attention is a Gaussian sum between :math:`X = \sqrt M(Ax + b)` and :math:`Y = \sqrt M y` over keys whose
log-weight is raised by the *tilt*, the terms in :math:`y`, and the log-partition is raised by the *rise*, the terms in
:math:`x`. At :math:`A = 1, b = 0` this is the re-weighting of keys by :math:`e^{|y|^2/2}`.

The output is the same in every gauge, the error is not: a Fourier sum is right to a share of the largest partition
:math:`P` on the box, so a row with a small :math:`P` is lost. The best gauge makes :math:`P` flat. A few are tried, and
the one is taken whose :math:`P` falls least from its peak to the faintest of a few rows known exactly:

- *plain*: :math:`b = 0`, and :math:`A = 1`, or for the dot product the ratio of the extents of keys and queries, so
  that the two boxes agree;
- *shifted*: the same slope, and the mean query on the mean of what is read;
- *flattened*: keys of law :math:`N(\mu, \sigma^2)` are tilted by :math:`e^{\theta (y - \mu)^2/2\sigma^2}`, which
  for :math:`\theta = 1` makes their density constant: :math:`A = \sigma^2/(\kappa\sigma^2 + \theta)` and
  :math:`b = \theta\mu/(\kappa\sigma^2 + \theta)`. A sample has isolated outermost keys, for which less is better, so
  several :math:`\theta` are tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.engine import spectrum
from theory.engine.pairs import Array, Form, Pairs

_FLATTENED = (0.25, 0.5, 0.625, 0.75, 0.875, 1.0)  # chosen: the values of theta


class Gauged(NamedTuple):
    """A Gaussian sum that is the attention."""

    queries: Array
    """shape (d, m), in units of the kernel's width"""
    keys: Array
    """shape (d, n), in the same units"""
    tilt: Array
    """shape (n,), added to the log-weights"""
    rise: Array
    """shape (m,), added to the log-partition"""


class Pilots(NamedTuple):
    """Rows known exactly, on which the gauges are compared."""

    queries: Array
    """shape (k, d)"""
    read: Array
    """shape (k, d), the mean key of each"""
    log_partition: Array
    """shape (k,)"""


class _Frame(NamedTuple):
    """Clouds in units of the score, axis by axis, with the terms of the score that are linear in one token."""

    kappa: float
    x: Array
    y: Array
    tilt: Array
    rise: Array
    origins: tuple[Array, Array]
    """of queries and keys, shapes (d, 1)"""
    units: tuple[float, float]
    """of queries and keys; the first has the sign of the coefficient"""
    c: float

    def seen(self, queries: Array) -> _Frame:
        """Return the frame with other queries (k, d)."""
        axes = spectrum.by_axes(queries)
        rise = np.zeros(axes.shape[1]) if self.kappa == 1.0 else (self.c * self.origins[1][:, 0]) @ axes
        return self._replace(x=self.units[0] * (axes - self.origins[0]), rise=rise)

    def as_keys(self, keys: Array) -> Array:
        """Return keys (k, d) in the units of the frame, shape (d, k)."""
        return self.units[1] * (spectrum.by_axes(keys) - self.origins[1])

    def slope(self) -> Array:
        """Return the slope of the plain gauge."""
        wide, tall = np.ptp(self.x, axis=1), np.ptp(self.y, axis=1)
        if self.kappa == 1.0:
            return np.ones_like(wide)
        slope: Array = np.ones_like(
            wide
        )  # right for two clouds without extent; one without leaves the other a unit extent
        np.divide(tall, wide, out=slope, where=(wide > 0.0) & (tall > 0.0))
        np.divide(1.0, wide * wide, out=slope, where=(wide > 0.0) & (tall == 0.0))
        np.multiply(tall, tall, out=slope, where=(wide == 0.0) & (tall > 0.0))
        return slope

    def corners(self) -> tuple[Array, Array, Array, Array]:
        """Return the corners of the boxes of both clouds, lower and upper."""
        return self.x.min(axis=1), self.x.max(axis=1), self.y.min(axis=1), self.y.max(axis=1)


def _frame(pairs: Pairs) -> _Frame:
    c = float(pairs.coefficients[0])
    keys = spectrum.by_axes(pairs.keys)
    there = spectrum.middle(keys)
    none = np.zeros((0, 0))
    if pairs.form is Form.DISTANCE:
        unit = math.sqrt(2.0 * c)
        tilt = np.zeros(keys.shape[1])
        frame = _Frame(1.0, none, unit * (keys - there), tilt, none, (there, there), (unit, unit), c)
    else:
        here = spectrum.middle(spectrum.by_axes(pairs.queries))
        unit = math.sqrt(abs(c))
        y = keys - there
        signed = math.copysign(unit, c)
        frame = _Frame(0.0, none, unit * y, (c * here[:, 0]) @ y, none, (here, there), (signed, unit), c)
    return frame.seen(pairs.queries)


def _bands(corners: tuple[Array, Array, Array, Array], slope: Array, shift: Array, eps: float) -> Array:
    """Return the numbers of frequencies that a gauge needs."""
    stiff = np.sqrt(1.0 / slope)
    low = np.minimum(stiff * (slope * corners[0] + shift), stiff * corners[2])
    high = np.maximum(stiff * (slope * corners[1] + shift), stiff * corners[3])
    return spectrum.line_band(high - low, eps)[1]


def plain_bands(pairs: Pairs, eps: float) -> Array:
    """Return the numbers of frequencies, axis by axis, that the plain gauge needs; possibly infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        frame = _frame(pairs)
        slope = frame.slope()
        bands = _bands(frame.corners(), slope, np.zeros_like(slope), eps)
    return np.where(np.isnan(bands), np.inf, bands)


def _tilt(frame: _Frame, slope: Array, shift: Array) -> Array:
    """Return what a gauge adds to the log-weights; ``M - kappa`` is formed without cancelling."""
    excess, pull = (1.0 - frame.kappa * slope) / slope, shift / slope
    tilt: Array = frame.tilt + (0.5 * excess) @ np.square(frame.y) - pull @ frame.y + 0.5 * float(pull @ shift)
    return tilt


def _rise(frame: _Frame, slope: Array, shift: Array) -> Array:
    """Return what a gauge adds to the log-partition."""
    rise: Array = frame.rise + (0.5 * (slope - frame.kappa)) @ np.square(frame.x) + shift @ frame.x
    return rise


def _candidates(frame: _Frame, log_weights: Array, x: Array, read: Array) -> list[tuple[Array, Array]]:
    """Return slopes and shifts to try, given the queries ``x`` (d, k) and the mean keys that they read."""
    plain = frame.slope()
    masses = np.exp(log_weights - log_weights.max())
    masses /= masses.sum()
    mean = frame.y @ masses
    spread = np.square(frame.y - mean[:, np.newaxis]) @ masses
    firm = [(frame.kappa * spread + theta, theta) for theta in _FLATTENED]
    flattened = [(np.where(spread > 0.0, spread / total, plain), theta * mean / total) for total, theta in firm]
    return [(plain, np.zeros_like(plain)), (plain, (read - plain[:, np.newaxis] * x).mean(axis=1)), *flattened]


def outward(queries: Array) -> NDArray[np.int64]:
    """Return the outermost query, the 4th, the 16th and so on: partitions fall outward."""
    x = spectrum.by_axes(queries)
    m = queries.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):  # the order of such queries does not matter
        spread = x.std(axis=1, keepdims=True)
        steps = np.divide(x - x.mean(axis=1, keepdims=True), spread, out=np.zeros_like(x), where=spread > 0.0)
        ranks = m - 4 ** np.arange(1 + int(math.log(m, 4.0)))
        rows: NDArray[np.int64] = np.argpartition(np.square(steps).sum(axis=0), ranks)[ranks]
    return rows


def choose(pairs: Pairs, log_weights: Array, pilots: Pilots, eps: float, faint: float = 0.0) -> Gauged:
    """Return the attention of a dot product or a squared distance as the Gaussian sum that loses least.

    Of two gauges that is the one with fewer faint pilots, and among equals the one with the larger least partition.

    Parameters
    ----------
    pairs : Pairs
        Of form ``DOT`` or ``DISTANCE``.
    log_weights : ndarray, shape (n,)
        Finite.
    pilots : Pilots
        Rows on which the gauges are compared.
    eps : float
        Share of the peak that may be lost.
    faint : float, default 0
        Share of the peak below which a row is computed otherwise.

    Returns
    -------
    Gauged

    Raises
    ------
    ValueError
        If every gauge needs a grid beyond ``spectrum.LIMIT``.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what overflows is passed over below
        frame = _frame(pairs)
        near = frame.seen(pilots.queries)
        read = frame.as_keys(pilots.read)
        corners = frame.corners()
        best = None
        most = (-1, -math.inf)
        points = math.inf
        for slope, shift in _candidates(frame, log_weights, near.x, read):
            grid = spectrum.fine_points(_bands(corners, slope, shift, eps)) if np.all(slope > 0.0) else math.nan
            points = min(points, grid)
            if not grid <= spectrum.LIMIT:
                continue
            tilt = _tilt(frame, slope, shift)
            partition = pilots.log_partition - _rise(near, slope, shift)
            peak = max(partition.max(), (tilt + log_weights).max())  # a key alone makes a field of its own weight
            shares = partition - peak
            held = (int((np.exp(shares) >= faint).sum()), float(shares.min()))
            if held > most:
                best = (slope, shift, tilt)
                most = held
        if best is None:
            raise spectrum.too_narrow(points)
        slope, shift, tilt = best
        stiff = np.sqrt(1.0 / slope)[:, np.newaxis]
        queries = stiff * (slope[:, np.newaxis] * frame.x + shift[:, np.newaxis])
        return Gauged(queries, stiff * frame.y, tilt, _rise(frame, slope, shift))
