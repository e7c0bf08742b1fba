r"""Gradients of softmax attention that is read in tiles, as backward kernels compute them, and a bound of their error.

A backward pass reads, for each query, the logarithm L of the sum of weights and the mean D of the output against the
slope g, both as they were saved, rounded. With :math:`p_j = e^{s_j - L}` and :math:`r_j = \langle g, v_j\rangle` the
slope of a score is :math:`p_j(r_j - D)`; it and :math:`p_j` are rounded to the format before they meet keys, queries
and slopes. Sums are in float32 (in float64 for that format). In E4M3 weights are multiplied by 256 for that, and slopes
of scores by a power of two; what is beyond its largest number becomes that number.

*Bound.* What is saved is the weak point: a score that is large costs :math:`u|L|`, which the forward pass never pays,
and a mean that is off by :math:`\eta` moves the gradient of a query by :math:`\eta` in the direction of the mean key.
All other terms are proportional to T, half the range of :math:`r_j`. As :math:`p(1-p) \le 1/4`, a slope of a score is
at most T/2: a factor that brings T to 896 cuts only what is too large, and then nearer to the truth.

References
----------
T. Dao, *FlashAttention-2*, 2023 (arXiv:2307.08691).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_choice, as_count, as_flags, as_points, as_vector
from theory.evidence import Interval, ball, hull, precision
from theory.precision.formats import FORMATS, Format, nearest
from theory.precision.streaming import (
    FAR,
    LARGEST,
    OUTPUTS,
    ROOT,
    ULPS,
    WEIGHTS,
    Plan,
    as_few,
    as_moderate,
    as_plan,
    exponentials,
    working,
)

_SMALL = 60  # taken: factors of gradients, with and without that of scores, are at least two to minus this
_ABOVE = 16.0  # taken: a score that exceeds the saved logarithm by more is another row's
KEPT = ("float64", "float32", "bfloat16", "float16", "e4m3")  # formats of weights and slopes of scores
POWER = 100  # taken: slopes of scores are multiplied by two to at most this power, which sums in float32 hold


class Gradients(NamedTuple):
    """The gradients of queries, keys and values, in the format of the sums."""

    queries: NDArray[np.float64]
    keys: NDArray[np.float64]
    values: NDArray[np.float64]


class GradientError(NamedTuple):
    """Bounds of errors: of queries per unit of scaled keys, of keys per unit of scaled queries, of values of slopes."""

    queries: Interval
    keys: Interval
    values: Interval


def stream_gradients(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, slopes: ArrayLike, partitions: ArrayLike, means: ArrayLike,
    plan: Plan, *, form: str = "bfloat16", scale: float | None = None, mask: ArrayLike | None = None, power: int = 0,
) -> Gradients:  # fmt: skip
    r"""Return the gradients of :math:`\sum_i\langle g_i, o_i\rangle` as a backward kernel computes them.

    Parameters
    ----------
    queries, keys, values, slopes : array_like, shapes (m, d), (n, d), (n, e) and (m, e)
        Numbers of the format; the slopes are :math:`g_i`.
    partitions, means : array_like, shape (m,)
        What was saved: the logarithm of the sum of weights of each row, a sink's among them, and the mean of the
        output against the slope. Of a query that sees no key they do not matter.
    plan : list of sequences of int, or tuple of two plans
        As in :func:`stream_row`, the order in which gradients of queries are summed.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        To which weights and slopes of scores are rounded.
    scale : float, optional
        The factor of scores, by default one over the root of the dimension.
    mask : array_like of bool, shape (m, n), optional
        True where a query sees a key.
    power : int, optional
        Slopes of scores are multiplied by two to this power, up to 100 in size, to be rounded: :func:`slope_power`.

    Examples
    --------
    >>> two = [[1.0], [-1.0]]
    >>> stream_gradients([[0.0]], two, two, [[1.0]], [0.6931471805599453], [0.0], [[0], [1]]).queries.tolist()
    [[1.0]]
    """
    q = as_moderate(as_points(queries, "queries"), "queries", ROOT)
    k = as_moderate(as_points(keys, "keys", dim=q.shape[1]), "keys", ROOT)
    v = as_moderate(as_points(values, "values", size=len(k)), "values", ROOT)
    g = as_moderate(as_points(slopes, "slopes", dim=v.shape[1], size=len(q)), "slopes", ROOT)
    kind = np.dtype(working(as_choice(form, "form", KEPT)))
    width = kind.type
    saved = as_moderate(as_vector(partitions, "partitions", size=len(q)), "partitions", LARGEST).astype(kind)
    mean = as_moderate(as_vector(means, "means", size=len(q)), "means", LARGEST).astype(kind)
    factor = width(1.0 / math.sqrt(q.shape[1]) if scale is None else as_between(scale, "scale", 1.0 / ROOT, ROOT))
    seen = np.ones((len(q), len(k)), dtype=bool) if mask is None else as_flags(mask, "mask", shape=(len(q), len(k)))
    as_plan(plan, len(k))
    q, k, v, g = (part.astype(kind) for part in (q, k, v, g))
    weights = np.zeros((len(q), len(k)), dtype=kind)
    moved = np.zeros_like(weights)
    for i, sees in enumerate(seen):
        if sees.any():
            scores = np.add.accumulate(q[i] * k[sees], axis=1)[:, -1] * factor
            gaps = scores - saved[i]
            if gaps.max() > _ABOVE:
                raise ValueError(
                    f"partitions: expected at least the scores, up to {_ABOVE}, got {saved[i]} below {scores.max()}"
                )
            weights[i, sees] = exponentials(gaps, form)
            moved[i, sees] = weights[i, sees] * (np.add.accumulate(g[i] * v[sees], axis=1)[:, -1] - mean[i])
    weights, moved = _kept(weights, form, WEIGHTS.get(form, 0)), _kept(moved, form, _as_power(power))
    found = (
        np.stack([_along(row, k, plan) for row in moved]) * factor,
        np.add.accumulate(moved[:, :, np.newaxis] * q[:, np.newaxis], axis=0)[-1] * factor,
        np.add.accumulate(weights[:, :, np.newaxis] * g[:, np.newaxis], axis=0)[-1],
    )
    return Gradients(*(part.astype(np.float64) for part in found))


def slope_power(spread: float) -> int:
    r"""Return the power of two by which slopes of scores are multiplied for E4M3: the largest that is sure to serve.

    A slope :math:`p_j(r_j - D)` is at most half of ``spread``, so that two to this power times ``spread`` may be 896,
    twice the largest number of E4M3.

    Parameters
    ----------
    spread : float
        Half the largest range of :math:`\langle g, v_j\rangle` in a row, with 0 in it if there is a sink.

    Examples
    --------
    >>> slope_power(1.0), slope_power(3.5), slope_power(3.75)
    (9, 8, 7)
    """
    share, exponent = math.frexp(as_between(spread, "spread", 0.0, LARGEST))
    return min(POWER, 10 - exponent - (share > 0.875)) if share else POWER


def gradient_error(
    length: int, rows: int, *, form: str, depth: int, size: float, spread: float, partition: float = 0.0,
    mean: float = 0.0, score: float = 0.0,
) -> GradientError:  # fmt: skip
    r"""Bound the errors of :func:`stream_gradients`, for every order of keys.

    With :math:`K, Q, G` the largest sizes of a coordinate of keys, queries and slopes, a coordinate of the gradient of
    a query is off by at most :math:`\sigma K` ``queries``, one of a key by :math:`\sigma Q` ``keys``, and one of a
    value by :math:`G` ``values``, where these factors, and K and Q, are at least :math:`2^{-60}` and nothing overflows.

    Parameters
    ----------
    length, rows : int
        How many keys, a sink among them, and how many queries there are.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        As in :func:`stream_gradients`, in E4M3 with the power of :func:`slope_power`.
    depth : int
        The dimension of values.
    size : float
        The largest :math:`\sum_k|g_kv_{jk}|`.
    spread : float
        Half the largest range of :math:`\langle g, v_j\rangle` in a row, with 0 in it if there is a sink.
    partition, mean : float
        How far what was saved may be from its definition, at most.
    score : float
        How far a score may be off, at most.

    Raises
    ------
    ValueError
        If there are more than a million keys.

    Examples
    --------
    >>> gradient_error(1024, 1, form="bfloat16", depth=64, size=1.0, spread=1.0, mean=2.0**-8).queries.hi < 0.01
    True
    """
    n, m, e = as_few(length, "length"), as_few(rows, "rows"), as_few(depth, "depth")
    base, target = FORMATS[working(as_choice(form, "form", KEPT))], FORMATS[form]
    given = (("size", size), ("spread", spread), ("partition", partition), ("mean", mean), ("score", score))
    with precision():
        b, t, away, eta, delta = (ball(as_between(number, name, 0.0, LARGEST)) for name, number in given)
        u, speck = ball(base.unit), half_least(base)
        far = ball(2) ** -FAR[working(form)]
        tilt = (1 + u) * (away + 2 * delta) - (1 - ULPS * u).log()
        all_weights = (tilt + u * ball(n).log()).exp() - 1 + n * far
        one_weight = tilt.exp() - 1 + far
        apart = (1 + u) * (roundings(e, u) * b + 2 * e * speck + eta) + 2 * u * t
        first = all_weights * (2 * t + apart) + apart
        whole = (1 + u) * (t + first)
        coarse = target.unit / (1 + ball(target.unit)) if form != working(form) else ball(0)
        specks = n * (slope_speck(form) + vanishing(form) * t + speck)
        off = first + u * (t + first) + coarse * whole + specks
        summed = whole * (1 + coarse) + specks
        tiny = 4 * (n + m) * speck * 2**_SMALL
        value = one_weight + coarse * (1 + one_weight) + weight_speck(form)
        return GradientError(
            hull(off + roundings(n + 2, u) * summed + tiny),
            hull(m * (off + roundings(m + 2, u) * summed) + tiny),
            hull(m * (value + roundings(m, u) * (1 + value)) + tiny),
        )


def half_least(target: Format) -> Any:
    """Return half the least positive number of a format, which no float64 is for that format."""
    return ball(2) ** (target.least - target.bits)


def weight_speck(form: str) -> Any:
    """Return what a weight below the normal numbers of a format is off at most."""
    return half_least(FORMATS[form]) / 2 ** WEIGHTS.get(form, 0)


def slope_speck(form: str) -> Any:
    """Return what a slope of a score below the normal numbers is off at most, in E4M3 after the largest power."""
    return half_least(FORMATS[form]) / 2 ** (POWER if form == "e4m3" else 0)


def vanishing(form: str) -> Any:
    """Return what it is off more in E4M3, per unit of half the range: with :func:`slope_power` that is above 448."""
    return half_least(FORMATS[form]) / ball(FORMATS[form].largest) if form == "e4m3" else ball(0)


def rounded_to(form: str) -> Format:
    """Return the format to which outputs and gradients are rounded."""
    return FORMATS[OUTPUTS.get(form, form)]


def roundings(steps: int, u: Any) -> Any:
    """Return what so many roundings cost at most."""
    return steps * u / (1 - steps * u)


def _as_power(power: int) -> int:
    found = as_count(power, "power", least=-POWER)
    if found > POWER:
        raise ValueError(f"power: expected at most {POWER}, got {power}")
    return found


def _kept(numbers: Any, form: str, power: int) -> Any:
    """Return numbers as they meet other factors: what is beyond the largest of the format is that one."""
    if form == working(form):
        return numbers
    target = FORMATS[form]
    coded = nearest(np.ldexp(numbers.astype(np.float64), power), target)
    return np.ldexp(np.clip(coded, -target.largest, target.largest), -power).astype(numbers.dtype)


def _along(row: Any, keys: Any, plan: Plan) -> Any:
    """Return the sum of keys, each times its number, tile by tile."""
    if isinstance(plan, tuple):
        return _along(row, keys, plan[0]) + _along(row, keys, plan[1])
    total = np.zeros(keys.shape[1], dtype=keys.dtype)
    for tile in plan:
        at = np.asarray(tile, dtype=np.int64)
        if at.size:
            total = total + np.add.accumulate(row[at, np.newaxis] * keys[at], axis=0)[-1]
    return total
