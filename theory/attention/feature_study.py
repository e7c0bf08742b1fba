r"""How far random features are off: mean and variance of one estimate, and the bias of attention with them.

Two unit vectors at an angle :math:`\theta` have the kernel :math:`K = e^{\cos\theta}`. The estimate by one frequency
is measured twice: by drawing, and by putting the nodes of a lattice into the very same features, whose weighted sum
over nodes of step 1/2 is the Gaussian mean to rounding (:mod:`theory.attention.lattice`).

The normalised output with :math:`m` frequencies is :math:`\sum_i n_i / \sum_i d_i` with independent pairs
:math:`(n_i, d_i)` and :math:`d_i > 0`. As :math:`1/x = \int_0^\infty e^{-tx}\,dt`, its mean is

.. math:: m\int_0^\infty \mathbb{E}[n\,e^{-td}]\,\bigl(\mathbb{E}\,e^{-td}\bigr)^{m-1}\,dt,

a number for every :math:`m` without a draw: trapezoidal sums over the frequency and over :math:`\log t`, which
converge faster than any power of the step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from theory.attention.lattice import gaussian
from theory.attention.output import attend, rounding
from theory.attention.score import Array, DotProduct
from theory.attention.variants.features import PositiveFeatures, TrigonometricFeatures, gaussian_frequencies
from theory.evidence import Interval, Kind, Table, batch_mean, stream
from theory.evidence.roundoff import EXP_ULPS, gamma, total

MAPS = ("positive", "paired", "trigonometric")
ANGLES = tuple(range(0, 181, 15))  # degrees
DRAWN = {"positive": (150, 165), "paired": (150, 165), "trigonometric": (15, 45, 90, 135, 165)}
"""Where the estimate is also drawn: at smaller angles the positive ones have tails too heavy for a mean of draws."""
# of the normalised output, in one dimension
QUERY = 0.25
KEYS = (1.0, -0.5, 0.25)
VALUES = (1.0, 0.0, -1.0)
COUNTS = tuple(2**power for power in range(13))
DRAWN_COUNTS = (4, 16, 64)
_STATISTICS = 2 * sum(map(len, DRAWN.values())) + len(DRAWN_COUNTS)
REACH = 20.0  # of the lattice: squares are tilted by at most exp(4 |z|), so that what is cut is below 1e-40
_LOG_TIMES = (-40.0, 40.0)  # beyond, the integrand is below the smallest size that rounding leaves
_STEPS = (1.0 / 32.0, 1.0 / 16.0)  # of the frequency and of the logarithm of time, halved once more to see the change


def terms(name: str, frequencies: Array, query: Array, keys: Array) -> Array:
    """Return the estimates of the kernel by each frequency alone, shape (n, m)."""
    if name == "trigonometric":
        left, right = (TrigonometricFeatures(frequencies)(x) for x in (query, keys))
    else:
        left, right = (PositiveFeatures(frequencies, paired=name == "paired")(x) for x in (query, keys))
    m = frequencies.shape[0]
    estimates: Array = (left * right).reshape(keys.shape[0], -1, m).sum(axis=1) * m
    return estimates


def moments(each: Array, mass: Array, envelope: float) -> tuple[Interval, Interval]:
    r"""Enclose mean and variance of one-frequency estimates over nodes with these masses.

    Exponents and angles of size up to 64 round, features and masses too; waves at the size of their ``envelope``
    :math:`e^{(|q|^2 + |k|^2)/2}`. The lattice itself is off by less than one of these 592 roundings: nothing to speak
    of for exponentials, and for squared waves, of frequency :math:`2|q - k| \le 4` if :math:`|q|, |k| \le 1`, by
    :math:`e^{-(4\pi - 4)^2/2} \approx 10^{-16}` of their envelope squared.
    """
    size = np.maximum(np.abs(each), envelope)
    error = gamma(64 * 8 + 4 * EXP_ULPS + 64) * size
    mean = total(mass * each, 2.0 * mass * error)
    squares = total(mass * each**2, 4.0 * mass * error * size)
    return mean, squares - mean**2


def expected(counts: Sequence[int], query: Array, keys: Array, values: Array) -> list[Interval]:
    """Enclose the mean of attention with so many positive features in one dimension, by the integral over time."""
    fine, coarse = (_integrals(counts, query, keys, values, factor) for factor in (1.0, 2.0))
    size = 2.0 * gamma(8000) * float(np.abs(values).max())
    # an error of the terms moves a quotient of sums by twice of it; one of the masses of the nodes, and of the sums
    # over them, counts for every feature
    return [
        Interval.within(near, m * size + abs(near - far), Kind.TREND)
        for m, near, far in zip(counts, fine, coarse, strict=True)
    ]


def _integrals(counts: Sequence[int], query: Array, keys: Array, values: Array, factor: float) -> list[float]:
    space, pace = (factor * step for step in _STEPS)
    nodes = np.arange(-12.0, 12.0 + space / 2, space)
    mass = np.exp(-0.5 * nodes * nodes) * (space / math.sqrt(2.0 * math.pi))
    each = terms("positive", nodes[:, np.newaxis], query, keys)
    numerator = values @ each
    denominator = each.sum(axis=0)
    times = np.exp(np.arange(*_LOG_TIMES, pace))
    decay = np.exp(-times[:, np.newaxis] * denominator)
    first, other = (decay @ (mass * numerator)) * times, decay @ mass
    return [m * pace * math.fsum((first * other ** (m - 1)).tolist()) for m in counts]


def random_features(*, scale: str, root: int) -> Table:
    """Return means and variances of one-frequency estimates by angle, and mean outputs by number of frequencies.

    ``part`` is ``mean``, ``variance`` or ``output``; ``method`` is ``lattice``, ``integral``, ``drawn``, or ``exact``
    for the attention that the outputs estimate.
    """
    pairs = 64 * (1_500 if scale == "quick" else 20_000)
    draws = 64 * (400 if scale == "quick" else 1_200)
    rows: dict[str, list[object]] = {name: [] for name in ("part", "features", "angle", "m", "method", "value")}

    def add(*row: object) -> None:
        for name, entry in zip(rows, row, strict=True):
            rows[name].append(entry)

    nodes = gaussian(np.zeros(2), np.eye(2), reach=REACH)
    frequencies = gaussian_frequencies(2 * pairs, 2, stream("studies.random_features", 0, root=root))
    for name in MAPS:
        for angle in ANGLES:
            query, key = _pair(angle)
            each = terms(name, nodes.points, query, key)[0]
            for part, value in zip(("mean", "variance"), moments(each, nodes.weights, math.e), strict=True):
                add(part, name, angle, 1, "lattice", value)
            if angle in DRAWN[name]:
                drawn = terms(name, frequencies, query, key)[0]
                apart = drawn[:pairs] - drawn[pairs:]
                add("mean", name, angle, 1, "drawn", batch_mean(drawn, among=_STATISTICS))
                add("variance", name, angle, 1, "drawn", batch_mean(apart * apart / 2.0, among=_STATISTICS))
    query = np.array([[QUERY]])
    keys = np.array(KEYS)[:, np.newaxis]
    values = np.array(VALUES)
    for m, value in zip(COUNTS, expected(COUNTS, query, keys, values), strict=True):
        add("output", "positive", -1, m, "integral", value)
    for case, m in enumerate(DRAWN_COUNTS, start=1):
        omega = gaussian_frequencies(m * draws, 1, stream("studies.random_features", case, root=root))
        each = terms("positive", omega, query, keys).reshape(keys.shape[0], -1, m).sum(axis=2)
        add("output", "positive", -1, m, "drawn", batch_mean((values @ each) / each.sum(axis=0), among=_STATISTICS))
    plain = DotProduct(scale=1.0)
    column = values[:, np.newaxis]
    error = rounding(query, keys, column, score=plain)
    exact = Interval.within(float(attend(query, keys, column, score=plain)[0, 0]), error)
    add("output", "softmax", -1, 0, "exact", exact)
    units = dict.fromkeys(rows, "1") | {"angle": "degree"}
    return Table(Kind.STATISTICAL, units, rows)  # type: ignore[arg-type]


def _pair(angle: float) -> tuple[Array, Array]:
    turn = math.radians(angle)
    return np.array([[1.0, 0.0]]), np.array([[math.cos(turn), math.sin(turn)]])
