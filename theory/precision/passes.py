r"""Both passes of a kernel of attention: what the forward pass saves, and how far gradients may then be off.

A forward pass saves the logarithm :math:`\hat L = m + \log l` of the sum of weights, one number a row. A backward pass
reads it, computes the means :math:`\langle g, \hat o\rangle` of slopes from outputs that were rounded to the format,
and rounds the gradients to the format. So nothing that enters its error is left to be measured: all follows from the
format, from lengths, and from the sizes of what is given.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_between, as_choice, as_scores
from theory.evidence import Interval, ball, hull, precision
from theory.precision.backward import (
    KEPT,
    GradientError,
    half_least,
    rounded_to,
    roundings,
    slope_speck,
    vanishing,
    weight_speck,
)
from theory.precision.formats import FORMATS
from theory.precision.streaming import FAR, LARGEST, ULPS, Plan, as_few, as_moderate, as_plan, state_of, stream_error

_SMALL = 60  # taken: as in gradients of saved means, factors are at least two to minus this
_ROWS = 2**20  # taken: queries and keys, more than are allowed


class PassError(NamedTuple):
    """What bounds of gradients are made of.

    ``logarithm`` is of what is saved, ``exponentials`` of all weights of a row, ``products`` of those of slopes and
    values, ``queries``, ``keys`` and ``values`` of sums and roundings of these gradients, ``specks`` of slopes of
    scores that underflow, ``vanishing`` of those in E4M3, per unit of ``spread``, and ``least`` of outputs that do.
    """

    logarithm: Interval
    exponentials: Interval
    products: Interval
    queries: Interval
    keys: Interval
    values: Interval
    specks: Interval
    vanishing: Interval
    least: Interval


def stream_logarithm(scores: ArrayLike, plan: Plan, *, form: str = "bfloat16", sink: float | None = None) -> float:
    r"""Return the logarithm of the sum of :math:`e^{s_j}` as a kernel saves it, minus infinity if it sees no key.

    Parameters
    ----------
    scores : array_like, shape (n,)
        A score of minus infinity hides its key; the others are rounded to the format of the sums.
    plan : list of sequences of int, or tuple of two plans
        As in :func:`stream_row`.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        Of which that of the sums counts: weights are summed as they were before they are rounded to it.
    sink : float, optional
        The score of a key that is merged last.

    Examples
    --------
    >>> stream_logarithm([0.0, 0.0], [[0], [1]]), math.log(2.0)
    (0.6931471824645996, 0.6931471805599453)
    """
    s = as_scores(scores)
    if s.ndim != 1:
        raise ValueError(f"scores: expected one row, got shape {s.shape}")
    as_moderate(s[np.isfinite(s)], "scores", LARGEST)
    as_plan(plan, s.size)
    most, mass, _ = state_of(s, np.zeros((s.size, 1)), plan, form, sink)
    if mass == 0.0:
        return -math.inf
    width = type(mass)
    with precision():
        own = width(float(ball(float(mass)).log().mid()))
    return float(width(most) + own)


def pass_error(
    length: int, rows: int, *, form: str, depth: int, additions: int | None = None, rises: int | None = None
) -> PassError:
    """Bound the parts of the errors of gradients, which :func:`gradient_tolerance` puts together, for every order.

    Parameters
    ----------
    length, rows : int
        How many keys, a sink among them, and how many queries there are.
    form : {"float64", "float32", "bfloat16", "float16", "e4m3"}
        Of outputs, gradients, and of weights and slopes of scores before they meet other factors; for E4M3 outputs and
        gradients are in bfloat16, and slopes of scores are multiplied by two to the power of :func:`slope_power`.
    depth : int
        The dimension of values.
    additions : int, optional
        Through how many additions a weight or a slope of a score goes at most; by default ``length - 1``.
    rises : int, optional
        As in :func:`stream_error`.

    Raises
    ------
    ValueError
        If a length or another count is more than a million.

    Examples
    --------
    >>> pass_error(1024, 1, form="bfloat16", depth=64).queries.hi < 0.01
    True
    """
    n, m, e = as_few(length, "length"), as_few(rows, "rows"), as_few(depth, "depth")
    target, outer = FORMATS[as_choice(form, "form", KEPT)], rounded_to(form)
    sums = "float64" if form == "float64" else "float32"
    c = n - 1 if additions is None else as_few(additions, "additions", least=0)
    r = n - 1 if rises is None else as_few(rises, "rises", least=0)
    with precision():
        u, speck, own = ball(FORMATS[sums].unit), half_least(FORMATS[sums]), half_least(outer)
        far = ball(2) ** -FAR[sums]
        coarse = target.unit / (1 + ball(target.unit)) if form != sums else ball(0)
        last = ball(outer.unit if form != sums else 0.0)
        power = -(1 - ULPS * u).log()
        logarithm = _logarithm(n, c, r, u, far)
        exponentials = (power + u * ball(n).log()).exp() - 1 + n * far
        queries, keys = (
            (1 + last) * (1 + coarse) * (1 + u) * (1 + roundings(steps, u)) - 1 for steps in (c + 3, m + 2)
        )
        one = (1 + coarse) * (power.exp() + far) + weight_speck(form)
        values = (1 + last) * (1 + roundings(m, u)) * one - 1 + 2**24 * speck * 2**_SMALL
        lost = n * vanishing(form) * 5 / 4
        specks = n * (slope_speck(form) + speck) * 5 / 4 + 8 * (n + _ROWS) * speck * 2**_SMALL
        least = own + 3 * n * ball(2) ** FORMATS[sums].least
        parts = (logarithm, exponentials, (1 + u) * roundings(e, u), queries, keys, values, specks, lost, least)
        return PassError(*(hull(ball(part)) for part in parts))


def gradient_tolerance(
    length: int, rows: int, *, form: str, width: int, depth: int, score: float, size: float, spread: float,
    reach: float, slope: float, additions: int | None = None, rises: int | None = None,
) -> GradientError:  # fmt: skip
    r"""Bound the errors of gradients of a kernel that saves what its own forward pass computed.

    With :math:`K, Q, G` the largest sizes of a coordinate of keys, queries and slopes, a coordinate of the gradient of
    a query is off by at most :math:`\sigma K` ``queries``, one of a key by :math:`\sigma Q` ``keys``, and one of a
    value by :math:`G` ``values``, and :math:`2^{-126}` times three times the length and half the least positive number
    of the format more, where these factors, and K and Q, are at least :math:`2^{-60}` and nothing overflows.

    Parameters
    ----------
    length, rows, form, depth, additions, rises
        As in :func:`pass_error`.
    width : int
        The dimension of queries and keys.
    score : float
        The largest :math:`\sigma\sum_k|q_kk_{jk}|`, and at least the size of a sink.
    size, spread : float
        The largest :math:`\sum_k|g_kv_{jk}|`, and half the largest range of :math:`\langle g, v_j\rangle` in a row,
        with 0 in it if there is a sink.
    reach, slope : float
        The largest :math:`\sum_k|g_k|\max_j|v_{jk}|` and :math:`\sum_k|g_k|`.

    Raises
    ------
    ValueError
        If a length or another count is more than a million.

    Examples
    --------
    >>> sizes = {"score": 4.0, "size": 1.0, "spread": 1.0, "reach": 1.0, "slope": 1.0}
    >>> gradient_tolerance(1024, 1, form="bfloat16", width=64, depth=64, **sizes).queries.hi < 0.02
    True
    """
    parts = pass_error(length, rows, form=form, depth=depth, additions=additions, rises=rises)
    d = as_few(width, "width")
    forward = stream_error(length, form=form, additions=additions, rises=rises, width=d)
    given = (("score", score), ("size", size), ("spread", spread), ("reach", reach), ("slope", slope))
    with precision():
        s, b, t, far, steep = (ball(as_between(number, name, 0.0, LARGEST)) for name, number in given)
        u = ball(FORMATS["float64" if form == "float64" else "float32"].unit)
        own = PassError(*(ball(part.hi) for part in parts))
        weights, scores, output, least = (ball(part.hi) for part in forward)
        tilt = ((1 + u) * (own.logarithm + (u * (1 + scores) + 2 * scores) * s)).exp()
        off = far * (weights + s * scores + output) + steep * least
        mean = off + own.products * (b + off) + own.least
        apart = own.products * b + (1 + u) * mean + 2 * u * t
        specks = own.specks + own.vanishing * t
        first = ((1 + own.exponentials) * tilt - 1) * (2 * t + apart) + apart
        return GradientError(
            hull(first + own.queries * (t + first) + specks),
            hull(rows * (first + own.keys * (t + first) + specks)),
            hull(rows * ((1 + own.values) * tilt - 1)),
        )


def _logarithm(n: int, c: int, r: int, u: Any, far: Any) -> Any:
    """Return the bound of a logarithm whose scores are exact, less the unit times the largest of them."""
    most = -(r + 1) * (1 - ULPS * u).log()
    mean = (ball(n - 1) / ball(1).exp()).lambertw()
    own = most + u * (most + mean) / (1 - u) + (c + r) * u / (1 - u) + n * far
    return own + u * (ULPS + 1 + ULPS * u) * (ball(n).log() + own)
