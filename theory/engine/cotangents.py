r"""The transposed product with the Jacobian, many pairs at once.

With :math:`\pi_{ij} = \langle \bar o_i, v_j \rangle`, the product :math:`\langle \bar o_i, o_i \rangle` is the mean of
:math:`\pi_{ij}` under the weights, so no output is needed: a strip of queries knows its weights, their sums and these
means after one pass over the keys, and with :math:`g_{ij} = p_{ij} (\pi_{ij} - \sum_l p_{il} \pi_{il})`, centred before
it is summed, a second pass takes the four cotangents of :mod:`theory.engine.jacobian` with no further exponential.

Sums over queries are kept for ``PARTS`` fixed groups of rows, each summed by one thread, and added in order, so that
they do not depend on the number of threads. That takes up to ``PARTS`` copies of the cotangents of the keys.
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
    LOWEST,
    ROWS,
    TILE,
    across,
    add_multiplied,
    add_to_panels,
    along,
    along_keys,
    height,
    middle_of,
    multiply,
    raise_peaks,
    tiled,
    tilt,
    unordered,
    untiled,
    weigh,
    whole_strips,
)
from theory.engine.threads import over_rows

PARTS = 8  # taken
_LEAST, _LEAST_WIDE = 128, 512  # queries of a part; measured: fewer cost more to add than they save


def _add(total: Array, factors: Array, rows: Array) -> None:
    """Add eight rows of TILE numbers, each times a factor, to ``total``."""
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    e, f, g, h = factors[4], factors[5], factors[6], factors[7]
    for j in range(total.size):
        left = (a * rows[j] + b * rows[TILE + j]) + (c * rows[2 * TILE + j] + d * rows[3 * TILE + j])
        right = (e * rows[4 * TILE + j] + f * rows[5 * TILE + j]) + (g * rows[6 * TILE + j] + h * rows[7 * TILE + j])
        total[j] += left + right


def _add_apart(total: Array, queries: Array, keys: Array, rows: Array) -> None:
    """Add eight rows of TILE numbers, each times a coordinate of its query less those of the keys, to ``total``."""
    a, b, c, d = queries[0], queries[1], queries[2], queries[3]
    e, f, g, h = queries[4], queries[5], queries[6], queries[7]
    for j in range(total.size):
        x = keys[j]
        left = (a - x) * rows[j] + (b - x) * rows[TILE + j]
        left += (c - x) * rows[2 * TILE + j] + (d - x) * rows[3 * TILE + j]
        right = (e - x) * rows[4 * TILE + j] + (f - x) * rows[5 * TILE + j]
        right += (g - x) * rows[6 * TILE + j] + (h - x) * rows[7 * TILE + j]
        total[j] += left + right


add = njit(_add, inline=True)
add_apart = njit(_add_apart, inline=True)


@cache
def kernel(form: Form, d: int, d_v: int) -> Callable[..., None]:  # noqa: PLR0915  see below
    """Return the compiled cotangents for features of width ``d`` and values of width ``d_v``.

    It takes ``(queries (m, d), cotangent (m, d_v), keys, values, factor, stop (m,), strip (ROWS, n), of_queries (m, d),
    columns)``. Rows of a tile of ``keys`` are features and the log-weight in base two, of ``values`` those; a score in
    base two is ``factor <query, key>`` or ``-factor |query - key|^2`` plus the log-weight. It fills ``of_queries`` and
    adds to ``columns``, of which the rows are the cotangents of log-weight, features and values. Those of features are
    in units of the coefficient of the score, for distances of twice that.
    """
    dot = form is Form.DOT
    blank, empty = (0.0,) * d, (0.0,) * d_v

    def backward(  # noqa: PLR0912, PLR0915  passes over one strip; a call for each would cost more than they do
        queries: Array, cotangent: Array, keys: Array, values: Array, factor: float, stop: Counts, strip: Array,
        of_queries: Array, columns: Array,
    ) -> None:  # fmt: skip
        peaks, mean, share = np.empty(ROWS, np.int64), np.empty(ROWS), np.empty(ROWS)
        weights, gains = np.empty(ROWS * TILE), np.empty(ROWS * TILE)
        turned, tops = np.zeros((d + d_v + 1, ROWS)), np.empty((keys.shape[0], ROWS), np.int64)
        for first in range(0, stop.size, ROWS):
            b = min(ROWS, stop.size - first)
            weights[b * TILE :], gains[b * TILE :], turned[:, b:] = 0.0, 0.0, 0.0
            for i in range(b):
                peaks[i], mean[i], share[i] = LOWEST, 0.0, 0.0
                for f in range(d):
                    turned[f, i] = queries[first + i, f]
                for c in range(d_v):
                    turned[d + c, i] = cotangent[first + i, c]
                turned[d + d_v, i] = 1.0
                of_queries[first + i] = 0.0
            for number in range(keys.shape[0]):
                tile, moved = keys[number], values[number]
                start = number * TILE
                for i in range(b):
                    query, pulled = blank, empty
                    for f in range(d):
                        query = replaced(query, f, turned[f, i])
                    for c in range(d_v):
                        pulled = replaced(pulled, c, turned[d + c, i])
                    row = strip[i, start : start + TILE]
                    seen = min(TILE, stop[first + i] - start)
                    top = peaks[i]
                    for j in range(seen):  # scores, and the largest so far
                        s = 0.0
                        for f in range(d):
                            if dot:
                                s += query[f] * tile[f * TILE + j]
                            else:
                                apart = query[f] - tile[f * TILE + j]
                                s -= apart * apart
                        s = tile[d * TILE + j] + factor * s
                        row[j] = s
                        top = max(top, ordered(s))
                    top_score = unordered(top)
                    shrink = exp2(unordered(peaks[i]) - top_score)
                    total, gathered = 0.0, 0.0
                    for j in range(seen):  # weights, their sum, and the mean of the pulls under them
                        w = exp2(row[j] - top_score)
                        pull = 0.0
                        for c in range(d_v):
                            pull += pulled[c] * moved[c * TILE + j]
                        row[j] = w
                        total += w
                        gathered += w * pull
                    share[i] = share[i] * shrink + total
                    mean[i] = mean[i] * shrink + gathered
                    peaks[i] = tops[number, i] = top
            for i in range(b):
                mean[i] /= share[i]
                share[i] = 1.0 / share[i]
            for number in range(keys.shape[0]):
                tile, moved, total_of = keys[number], values[number], columns[number]
                start = number * TILE
                most = 0
                for i in range(b):  # gains, and what they bring to the queries
                    query, pulled, brought = blank, empty, blank
                    for f in range(d):
                        query = replaced(query, f, turned[f, i])
                    for c in range(d_v):
                        pulled = replaced(pulled, c, turned[d + c, i])
                    row = strip[i, start : start + TILE]
                    weight, gained = weights[i * TILE : (i + 1) * TILE], gains[i * TILE : (i + 1) * TILE]
                    part = share[i] * exp2(unordered(tops[number, i]) - unordered(peaks[i]))
                    centre = mean[i]
                    seen = max(0, min(TILE, stop[first + i] - start))
                    most = max(most, seen)
                    for j in range(seen):
                        w = row[j] * part
                        pull = -centre
                        for c in range(d_v):
                            pull += pulled[c] * moved[c * TILE + j]
                        gain = w * pull
                        weight[j] = w
                        gained[j] = gain
                        for f in range(d):
                            by_query = tile[f * TILE + j] if dot else tile[f * TILE + j] - query[f]
                            brought = replaced(brought, f, brought[f] + gain * by_query)
                    weight[seen:] = 0.0
                    gained[seen:] = 0.0
                    for f in range(d):
                        of_queries[first + i, f] += brought[f]
                if most == 0:
                    break
                add(total_of[:most], turned[d + d_v], gains)  # what they bring to the keys
                for f in range(d):
                    here = total_of[(1 + f) * TILE : (1 + f) * TILE + most]
                    if dot:
                        add(here, turned[f], gains)
                    else:
                        add_apart(here, turned[f], tile[f * TILE : f * TILE + most], gains)
                for c in range(d_v):
                    add(total_of[(1 + d + c) * TILE : (1 + d + c) * TILE + most], turned[d + c], weights)

    return njit(backward, sums=True)


def narrow(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, cotangent: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the cotangents of queries, keys, values and log-weights for dot products or distances, ``WIDEST`` wide."""
    m, d = pairs.queries.shape
    n, d_v = values.shape
    coefficient = float(pairs.coefficients[0])
    keys, moved = tiled(pairs.keys, (log_weights * LOG2E)[:, np.newaxis]), tiled(values)
    backward = kernel(pairs.form, d, d_v)
    of_queries = np.empty((m, d))
    size = _size(m, ROWS, _LEAST)
    columns = np.zeros((-(-m // size), keys.shape[0], (1 + d + d_v) * TILE))

    def run(parts: slice) -> None:
        strip = np.empty((ROWS, keys.shape[0] * TILE))
        for part in range(parts.start, parts.stop):
            rows = slice(part * size, min((part + 1) * size, m))
            backward(
                pairs.queries[rows], cotangent[rows], keys, moved, coefficient * LOG2E, visible[rows], strip,
                of_queries[rows], columns[part],
            )  # fmt: skip

    over_rows(run, columns.shape[0], m * n)
    found = untiled(columns.sum(axis=0), n)
    factor = coefficient if pairs.form is Form.DOT else 2.0 * coefficient
    return factor * of_queries, factor * found[:, 1 : 1 + d], found[:, 1 + d :].copy(), found[:, 0].copy()


def _size(m: int, grain: int, least: int) -> int:
    """Return how many rows a part has, if possible ``least``: multiples of ``grain``, on any number of threads."""
    return -(-max(least, -(-m // PARTS)) // grain) * grain


@cache
def wide_kernel(form: Form) -> Callable[..., None]:
    """Return the compiled cotangents of any width.

    It takes ``(queries (m, d), left (m, d + 1), cotangent (m, d_v), keys, values, right, heavy, factor, high, stop
    (m,), gathered (m, d), rest (m,), spread, of_values)``. Keys and values come across, the log-weights in base two
    ``heavy`` in tiles. The kernel fills ``gathered`` and ``rest`` with the sums over keys of gains times ``right``,
    which lies along the tiles, and of gains; to ``spread`` and ``of_values``, (tiles, panels, rows, c), it adds the
    sums over queries of gains times ``left`` and of weights times cotangents. Strips have ``high`` queries; the weights
    of a tile are relative to the largest score up to there until all are known.
    """
    dot = form is Form.DOT

    def backward(
        queries: Array, left: Array, cotangent: Array, keys: Array, values: Array, right: Array, heavy: Array,
        factor: float, high: int, stop: Counts, gathered: Array, rest: Array, spread: Array, of_values: Array,
    ) -> None:  # fmt: skip
        tiles, length = heavy.shape
        width = keys.shape[3]
        some, pulling = np.zeros((high, queries.shape[1])), np.zeros((high, cotangent.shape[1]))
        weights, pulls = np.empty((tiles, high, length)), np.empty((tiles, high, length))
        lefts, pulled = np.zeros((spread.shape[2], high)), np.zeros((of_values.shape[2], high))
        sums = np.empty((high, right.shape[1] * width))
        peaks, mass, mean = np.empty(high, np.int64), np.empty(high), np.empty(high)
        tops = np.empty((tiles, high), np.int64)
        for first in range(0, stop.size, high):
            b = min(high, stop.size - first)
            strips = (b + STRIP - 1) // STRIP * STRIP
            here = slice(first, first + b)
            seen = stop[here]
            most = seen.max()
            some[:b], pulling[:b] = queries[here], cotangent[here]
            peaks[:], mass[:], mean[:], sums[:] = LOWEST, 0.0, 0.0, 0.0
            for t in range((most + length - 1) // length):
                number = min(length, most - t * length)
                shown = np.minimum(seen - t * length, length)
                fill(dot, some[:strips], keys[t], heavy[t], factor, number, weights[t])
                multiply(pulling[:strips], values[t], pulling.shape[1], (number + width - 1) // width, pulls[t])
                tops[t] = peaks
                raise_peaks(weights[t], shown, peaks)
                for i in range(b):
                    shrink = exp2(unordered(tops[t, i]) - unordered(peaks[i]))
                    mass[i] *= shrink
                    mean[i] *= shrink
                tops[t] = peaks
                weigh(weights[t], pulls[t], shown, peaks, mass, mean)
            for i in range(b):
                mean[i] /= mass[i]
                rest[first + i] = 0.0
                for f in range(left.shape[1]):
                    lefts[f, i] = left[first + i, f] / mass[i]
                for c in range(cotangent.shape[1]):
                    pulled[c, i] = cotangent[first + i, c] / mass[i]
            for t in range((most + length - 1) // length):
                depth = min(length, most - t * length)
                number = (depth + width - 1) // width
                for i in range(b):
                    shrink = exp2(unordered(tops[t, i]) - unordered(peaks[i]))
                    if shrink < 1.0:
                        for j in range(depth):
                            weights[t, i, j] *= shrink
                tilt(weights[t], pulls[t], np.minimum(seen - t * length, length), mean, rest[here])
                add_multiplied(pulls[t, :strips], right[t], depth, right.shape[1], sums)
                add_to_panels(lefts, pulls[t], b, number, spread[t])
                add_to_panels(pulled, weights[t], b, number, of_values[t])
            for i in range(b):
                rest[first + i] /= mass[i]
                for f in range(gathered.shape[1]):
                    gathered[first + i, f] = sums[i, f] / mass[i]

    return njit(backward, sums=True)


def wide(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, cotangent: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the cotangents of queries, keys, values and log-weights for dot products or distances of any width."""
    m, d = pairs.queries.shape
    n, d_v = values.shape
    dot = pairs.form is Form.DOT
    factor = in_base_two(pairs.coefficients)
    queries = pairs.queries * factor if dot else pairs.queries
    middle = middle_of(pairs)
    left, right = np.hstack([pairs.queries - middle, np.ones((m, 1))]), pairs.keys - middle
    keys, moved, apart, heavy = across(pairs.keys), across(values), along(right), along_keys(log_weights * LOG2E)
    backward = wide_kernel(pairs.form)
    gathered, rest = np.empty((m, d)), np.empty(m)
    high = height(n)
    size = _size(m, high, _LEAST_WIDE)
    parts = -(-m // size)
    spread, of_values = (np.zeros((parts, *keys.shape[:2], whole_strips(k), keys.shape[3])) for k in (d + 1, d_v))

    def run(some: slice) -> None:
        for part in range(some.start, some.stop):
            rows = slice(part * size, min((part + 1) * size, m))
            backward(
                queries[rows], left[rows], cotangent[rows], keys, moved, apart, heavy, factor, high, visible[rows],
                gathered[rows], rest[rows], spread[part], of_values[part],
            )  # fmt: skip

    over_rows(run, parts, m * n)
    found, back = (
        part.sum(axis=0).transpose(0, 1, 3, 2).reshape(-1, part.shape[3])[:n] for part in (spread, of_values)
    )
    of_queries, of_keys, added = gathered, found[:, :d], found[:, d].copy()
    slope = float(pairs.coefficients[0])
    if not dot:
        slope *= 2.0
        of_queries = of_queries - rest[:, np.newaxis] * left[:, :d]
        of_keys = of_keys - added[:, np.newaxis] * right
    return slope * of_queries, slope * of_keys, back[:, :d_v].copy(), added
