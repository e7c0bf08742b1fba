r"""The product with the Jacobian, many pairs at once.

Over the keys of one tile, a query has a mass, weights :math:`p`, means :math:`o` of the values and :math:`\bar s` of
the changes of the scores, and with the tilts :math:`t_{ij} = p_{ij} (\dot s_{ij} - \bar s_i)`

.. math:: \dot o_i = \sum_j p_{ij} \dot v_j + \sum_j t_{ij} v_j - \Bigl(\sum_j t_{ij}\Bigr) o_i.

A tile joins what was gathered before as in :mod:`theory.engine.covariance`: covariances of tiles add up, and that
between them is one of their means, so that nothing is multiplied before it is centred and no weight is kept.
The tilts sum to zero but for rounding; with the last term, what the mean is off by counts no more, and a row that one
key dominates keeps the digits of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from theory._jit import njit
from theory.engine.blocks import fill
from theory.engine.exponential import LOG2E, exp2
from theory.engine.fold import in_base_two
from theory.engine.fused import ordered
from theory.engine.pairs import Array, Counts, Form, Pairs
from theory.engine.registers import STRIP, replaced
from theory.engine.strips import (
    HIGH,
    LOWEST,
    ROWS,
    TILE,
    across,
    along,
    along_keys,
    middle_of,
    multiply,
    raise_peaks,
    tiled,
    tilt,
    unordered,
    weigh,
)
from theory.engine.threads import over_rows


@cache
def kernel(form: Form, d: int, d_v: int) -> Callable[..., None]:  # noqa: PLR0915  see below
    """Return the compiled outputs and derivatives for features of width ``d`` and values of width ``d_v``.

    It takes ``(queries (m, d), d_queries (m, d), keys, values, factor, slope, stop (m,), output (m, d_v), derivative
    (m, d_v))`` and fills the last two. Rows of a tile of ``keys`` are features
    and log-weight in base two, then the tangents of features and log-weight; of ``values`` those and their tangents. A
    score in base two is ``factor <query, key>`` or ``-factor |query - key|^2`` plus the log-weight; ``slope`` is the
    coefficient in natural units, for distances twice that.
    """
    dot = form is Form.DOT
    blank, empty = (0.0,) * d, (0.0,) * d_v

    def forward(  # noqa: PLR0912, PLR0915  three passes over one tile; a call for each would cost more than they do
        queries: Array, d_queries: Array, keys: Array, values: Array, factor: float, slope: float, stop: Counts,
        output: Array, derivative: Array,
    ) -> None:  # fmt: skip
        tops, mass, mean = np.empty(ROWS), np.empty(ROWS), np.empty(ROWS)
        row, change = np.empty(TILE), np.empty(TILE)
        for first in range(0, stop.size, ROWS):
            b = min(ROWS, stop.size - first)
            for i in range(b):
                tops[i], mass[i], mean[i] = -np.inf, 0.0, 0.0
                output[first + i], derivative[first + i] = 0.0, 0.0
            for number in range(keys.shape[0]):
                tile, way = keys[number], keys[number, (d + 1) * TILE :]
                moved, going = values[number], values[number, d_v * TILE :]
                for i in range(b):
                    seen = min(TILE, stop[first + i] - number * TILE)
                    if seen <= 0:
                        continue
                    query, along, gathered = blank, blank, empty
                    for f in range(d):
                        query = replaced(query, f, queries[first + i, f])
                        along = replaced(along, f, d_queries[first + i, f])
                    peak = LOWEST
                    for j in range(seen):  # scores, and the largest
                        s = 0.0
                        for f in range(d):
                            if dot:
                                s += query[f] * tile[f * TILE + j]
                            else:
                                apart = query[f] - tile[f * TILE + j]
                                s -= apart * apart
                        s = tile[d * TILE + j] + factor * s
                        row[j] = s
                        peak = max(peak, ordered(s))
                    top = unordered(peak)
                    total, middle = 0.0, 0.0
                    for j in range(seen):  # weights, changes, and the sums of both and of the values
                        w = exp2(row[j] - top)
                        s = 0.0
                        for f in range(d):
                            if dot:
                                s += along[f] * tile[f * TILE + j] + query[f] * way[f * TILE + j]
                            else:
                                s -= (query[f] - tile[f * TILE + j]) * (along[f] - way[f * TILE + j])
                        s = way[d * TILE + j] + slope * s
                        row[j] = w
                        change[j] = s
                        total += w
                        middle += w * s
                        for c in range(d_v):
                            gathered = replaced(gathered, c, gathered[c] + w * moved[c * TILE + j])
                    middle /= total
                    gained, left = empty, 0.0
                    for j in range(seen):  # covariances
                        w = row[j]
                        tilt = w * (change[j] - middle)
                        left += tilt
                        for c in range(d_v):
                            more = w * going[c * TILE + j] + tilt * moved[c * TILE + j]
                            gained = replaced(gained, c, gained[c] + more)
                    highest = max(tops[i], top)
                    shrink, grow = exp2(tops[i] - highest), exp2(top - highest)
                    old, new = mass[i] * shrink, total * grow
                    share, away = new / (old + new), middle - mean[i]
                    for c in range(d_v):
                        out = gathered[c] / total
                        aside = out - output[first + i, c]
                        here = grow * (gained[c] - left * out) + old * share * aside * away
                        derivative[first + i, c] = shrink * derivative[first + i, c] + here
                        output[first + i, c] += share * aside
                    tops[i], mass[i] = highest, old + new
                    mean[i] += share * away
            for i in range(b):
                derivative[first + i] /= mass[i]

    return njit(forward, sums=True)


def narrow(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, tangents: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    """Return output and derivative for dot products or distances, ``WIDEST`` wide."""
    m, d = pairs.queries.shape
    n, d_v = values.shape
    along, d_keys, d_values, added = tangents
    coefficient = float(pairs.coefficients[0])
    keys = tiled(pairs.keys, (log_weights * LOG2E)[:, np.newaxis], d_keys, added[:, np.newaxis])
    moved = tiled(values, d_values)
    forward = kernel(pairs.form, d, d_v)
    output, derivative = np.empty((m, d_v)), np.empty((m, d_v))
    slope = coefficient if pairs.form is Form.DOT else 2.0 * coefficient

    def run(rows: slice) -> None:
        forward(
            pairs.queries[rows], along[rows], keys, moved, coefficient * LOG2E, slope, visible[rows], output[rows],
            derivative[rows],
        )  # fmt: skip

    over_rows(run, m, m * n, grain=ROWS)
    return output, derivative


@cache
def wide_kernel(form: Form) -> Callable[..., None]:
    """Return the compiled outputs and derivatives of any width.

    It takes ``(queries (m, d), moving (m, e), keys, ways, heavy, added, values, both, factor, stop (m,), output
    (m, d_v), derivative (m, d_v))`` and fills the last two. A score changes by the product of ``moving`` with ``ways``,
    which come across as keys do, and by ``added``; ``values`` lie along the tiles, as do ``both``, values and then
    their tangents.
    """
    dot = form is Form.DOT

    def forward(
        queries: Array, moving: Array, keys: Array, ways: Array, heavy: Array, added: Array, values: Array, both: Array,
        factor: float, stop: Counts, output: Array, derivative: Array,
    ) -> None:  # fmt: skip
        tiles, length = heavy.shape
        m, d_v = output.shape
        width = keys.shape[3]
        some, turning = np.zeros((HIGH, queries.shape[1])), np.zeros((HIGH, moving.shape[1]))
        weights, changes = np.empty((HIGH, length)), np.empty((HIGH, length))
        read, moved = np.empty((HIGH, both.shape[1] * width)), np.empty((HIGH, values.shape[1] * width))
        peaks, mass, mean, left = np.empty(HIGH, np.int64), np.empty(HIGH), np.empty(HIGH), np.empty(HIGH)
        tops, masses, means = np.full(m, -np.inf), np.zeros(m), np.zeros(m)
        output[:], derivative[:] = 0.0, 0.0
        for t in range(tiles):
            for first in range(0, m, HIGH):
                b = min(HIGH, m - first)
                strips = (b + STRIP - 1) // STRIP * STRIP
                here = slice(first, first + b)
                seen = np.minimum(stop[here] - t * length, length)
                number = seen.max()
                if number <= 0:
                    continue
                some[:b], turning[:b] = queries[here], moving[here]
                peaks[:], mass[:], mean[:], left[:] = LOWEST, 0.0, 0.0, 0.0
                fill(dot, some[:strips], keys[t], heavy[t], factor, number, weights)
                raise_peaks(weights, seen, peaks)
                multiply(turning[:strips], ways[t], turning.shape[1], (number + width - 1) // width, changes)
                for i in range(b):
                    for j in range(number):
                        changes[i, j] += added[t, j]
                weigh(weights, changes, seen, peaks, mass, mean)
                for i in range(b):
                    if seen[i] > 0:
                        mean[i] /= mass[i]
                tilt(weights, changes, seen, mean, left)
                multiply(weights[:strips], both[t], number, both.shape[1], read)
                multiply(changes[:strips], values[t], number, values.shape[1], moved)
                for i in range(b):
                    if seen[i] <= 0:
                        continue
                    k = first + i
                    top = unordered(peaks[i])
                    before = tops[k]
                    tops[k] = max(before, top)
                    shrink, grow = exp2(before - tops[k]), exp2(top - tops[k])
                    old, new = masses[k] * shrink, mass[i] * grow
                    share = new / (old + new)
                    away = mean[i] - means[k]
                    for c in range(d_v):
                        out = read[i, c] / mass[i]
                        apart = out - output[k, c]
                        more = read[i, d_v + c] + (moved[i, c] - left[i] * out)
                        derivative[k, c] = derivative[k, c] * shrink + more * grow + old * share * apart * away
                        output[k, c] += share * apart
                    means[k] += share * away
                    masses[k] = old + new
        for i in range(m):
            derivative[i] /= masses[i]

    return njit(forward, sums=True)


def wide(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, tangents: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    r"""Return output and derivative for dot products or distances of any width.

    A score changes by :math:`c \langle \dot q, k \rangle + c \langle q, \dot k \rangle`, a squared distance by twice
    that less :math:`2c \langle k, \dot k \rangle`, and by what belongs to the query alone, which no covariance sees.
    """
    m, n = visible.size, values.shape[0]
    ahead, d_keys, d_values, added = tangents
    factor = in_base_two(pairs.coefficients)
    queries = pairs.queries * factor if pairs.form is Form.DOT else pairs.queries
    middle = middle_of(pairs)
    apart = pairs.keys - middle
    slope = float(pairs.coefficients[0]) * (1.0 if pairs.form is Form.DOT else 2.0)
    moving = np.concatenate([ahead, pairs.queries - middle], axis=1) * slope
    if pairs.form is Form.DISTANCE:
        added = added - slope * np.einsum("jf,jf->j", apart, d_keys)
    keys, ways = across(pairs.keys), across(np.concatenate([apart, d_keys], axis=1))
    heavy, more = along_keys(log_weights * LOG2E), along_keys(added)
    moved, both = along(values), along(np.concatenate([values, d_values], axis=1))
    forward = wide_kernel(pairs.form)
    output, derivative = np.empty((m, values.shape[1])), np.empty((m, values.shape[1]))

    def run(rows: slice) -> None:
        forward(
            queries[rows], moving[rows], keys, ways, heavy, more, moved, both, factor, visible[rows], output[rows],
            derivative[rows],
        )  # fmt: skip

    over_rows(run, m, m * n, grain=HIGH)
    return output, derivative
