r"""One tile of keys, wide problems: scores of a few queries, their exponentials in place, sums of values.

``ROWS`` queries and a tile of ``TILE`` keys make a rectangle of scores that stays in the first cache. Both products
keep a block of results in registers (:mod:`theory.engine.registers`); keys come as the panels of a right factor with a
row per coordinate, values as those of one with a row per key. Squared distances are summed coordinate by coordinate
from differences, never from the expanded square, which loses all digits where two tokens are close.

Every score is summed in one order, so equal keys have equal scores wherever they stand, on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from theory._jit import njit
from theory.engine.exponential import exp2, exp2_single
from theory.engine.fold import Folded
from theory.engine.pairs import Array, Counts, Form
from theory.engine.registers import STRIP, columns_of_panel, products, squares

ROWS = 2 * STRIP  # measured, as is TILE: a rectangle of scores fills three quarters of the first cache
TILE = 384  # taken: a multiple of the columns of a panel


class Tile(NamedTuple):
    """Some keys from number ``start`` on, in panels, and zeros up to a whole panel of them."""

    start: int
    number: int
    keys: Array
    """shape (p, d, c): coordinate ``f`` of the keys ``c k`` to ``c (k + 1)`` is ``keys[k, f]``"""
    values: Array
    """shape (q, p c, c): columns ``c k`` to ``c (k + 1)`` of the values of key ``j`` are ``values[k, j]``"""
    log_weights: Array
    """shape (p c,), or empty"""


def tiles(problem: Folded) -> list[Tile]:
    """Cut the keys of a problem into tiles."""
    n, d = problem.keys.shape
    width = columns_of_panel(problem.keys.dtype)
    columns = _whole(problem.values.shape[1], width)
    found = []
    for start in range(0, n, TILE):
        part = slice(start, min(start + TILE, n))
        number = part.stop - start
        length = _whole(number, width)
        keys = _filled(problem.keys[part], (length, d)).reshape(-1, width, d).transpose(0, 2, 1)
        values = _filled(problem.values[part], (length, columns)).reshape(length, -1, width).transpose(1, 0, 2)
        added = np.empty(0, keys.dtype) if problem.log_weights is None else problem.log_weights[part]
        weights = _filled(added, (length,)) if added.size else added
        found.append(Tile(start, number, np.ascontiguousarray(keys), np.ascontiguousarray(values), weights))
    return found


def panels(n: int, d: int, d_v: int) -> tuple[Array, Array]:
    """Return room for the keys and the values of one tile in double precision, filled with zeros."""
    width = columns_of_panel(np.dtype(np.float64))
    length = _whole(n, width)
    return np.zeros((length // width, d, width)), np.zeros((_whole(d_v, width) // width, length, width))


def _whole(number: int, unit: int) -> int:
    """Return the first multiple of ``unit`` that is no less."""
    return -(-number // unit) * unit


def _filled(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of that shape with zeros where there was nothing."""
    if array.shape == shape:
        return array
    whole = np.zeros(shape, array.dtype)
    whole[tuple(slice(size) for size in array.shape)] = array
    return whole


def _weigh(scores: Array, shift: Array, stop: Counts, mass: Array) -> None:
    """Replace scores by ``2^(score - shift)``, by zero from ``stop`` on, and add each row to its mass."""
    for i in range(scores.shape[0]):
        row = scores[i]
        top = shift[i]
        total = 0.0
        for j in range(stop[i]):
            w = exp2(row[j] - top)
            row[j] = w
            total += w
        row[stop[i] :] = 0.0
        mass[i] += total


def _weigh_single(scores: Array, shift: Array, stop: Counts, mass: Array) -> None:
    """Do as ``_weigh`` in single precision."""
    for i in range(scores.shape[0]):
        row = scores[i]
        top = shift[i]
        total = np.float32(0.0)
        for j in range(stop[i]):
            w = exp2_single(row[j] - top)
            row[j] = w
            total += w
        row[stop[i] :] = 0.0
        mass[i] += total


def _fill(
    dot: bool, queries: Array, keys: Array, log_weights: Array, factor: float, number: int, scores: Array
) -> None:  # fmt: skip
    """Fill the rows of ``scores`` for whole strips of queries, up to key ``number`` and to the end of its panel."""
    d, width = queries.shape[1], keys.shape[2]
    for panel in range((number + width - 1) // width):
        for row in range(0, queries.shape[0], STRIP):
            if dot:
                products(queries, row, keys, panel, d, scores, panel * width)
            else:
                squares(queries, row, keys, panel, d, scores, panel * width)
    if dot and log_weights.size == 0:
        return
    for i in range(queries.shape[0]):
        line = scores[i]
        if not dot:
            for j in range(number):
                line[j] *= -factor
        if log_weights.size > 0:
            for j in range(number):
                line[j] += log_weights[j]


def _peaks(
    dot: bool, queries: Array, keys: Array, log_weights: Array, factor: float, stop: Counts, peak: Array
) -> None:  # fmt: skip
    """Raise ``peak`` (m,) to the largest score of each row: of the very scores that are summed."""
    some = np.zeros((ROWS, queries.shape[1]), queries.dtype)
    scores = np.empty((ROWS, keys.shape[0] * keys.shape[2]), queries.dtype)
    for start in range(0, queries.shape[0], ROWS):
        rows = min(ROWS, queries.shape[0] - start)
        some[:rows] = queries[start : start + rows]
        fill(dot, some, keys, log_weights, factor, stop[start : start + rows].max(), scores)
        for i in range(rows):
            for j in range(stop[start + i]):
                peak[start + i] = max(peak[start + i], scores[i, j])


weigh = njit(_weigh, sums=True)
weigh_single = njit(_weigh_single, sums=True)
fill = njit(_fill, sums=True)
peaks = njit(_peaks)


@cache
def kernel(form: Form, *, single: bool) -> Callable[..., None]:
    """Return the compiled sums of one tile, of any width.

    It takes ``(queries (m, d), keys, values, log_weights, factor, shift (m,), stop (m,), sums (m, d_v), mass (m,))``
    and adds to them as :func:`theory.engine.fused.kernel` does; keys and values come as in :class:`Tile`.
    """
    dot = form is Form.DOT

    def tile_sums(
        queries: Array, keys: Array, values: Array, log_weights: Array, factor: float, shift: Array, stop: Counts,
        sums: Array, mass: Array,
    ) -> None:  # fmt: skip
        d_v, width = sums.shape[1], values.shape[2]
        some = np.zeros((ROWS, queries.shape[1]), queries.dtype)
        scores = np.empty((ROWS, values.shape[1]), queries.dtype)
        gathered = np.empty((ROWS, values.shape[0] * width), queries.dtype)
        for start in range(0, queries.shape[0], ROWS):
            rows = min(ROWS, queries.shape[0] - start)
            strips = (rows + STRIP - 1) // STRIP * STRIP
            here = slice(start, start + rows)
            some[:rows] = queries[here]
            number = stop[here].max()
            fill(dot, some[:strips], keys, log_weights, factor, number, scores)
            if single:
                weigh_single(scores[:rows], shift[here], stop[here], mass[here])
            else:
                weigh(scores[:rows], shift[here], stop[here], mass[here])
            for panel in range(values.shape[0]):
                for row in range(0, strips, STRIP):
                    products(scores, row, values, panel, number, gathered, panel * width)
            for i in range(rows):
                for c in range(d_v):
                    sums[start + i, c] += gathered[i, c]

    return njit(tile_sums, sums=True)
