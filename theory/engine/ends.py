"""Both ends of a pass in double precision, compiled: what precedes it, one call for all of it, and what follows.

On few tokens NumPy spends its time between the numbers, not on them. Sums are taken in the order of NumPy, in two lanes
by ``numpy.einsum`` and in eight by ``numpy.sum``, so that a bound is the same whichever of the two has made it. What a
bound is for stands in :mod:`theory.engine.fold`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from theory._jit import njit
from theory.engine.exponential import LN2, LOG2E
from theory.engine.pairs import Array

WIDEST = 128  # features; beyond it NumPy sums the halves of a row apart
WITHIN = 64  # taken: powers of two on either side of one that values may have, far from where anything can be lost
WEIGHTED, TAME, PLAIN = 1, 2, 4
_LEAST, _MOST = 2.0**-WITHIN, 2.0 ** (WITHIN + 1)
_PLAIN = 2.0**100  # derived: the product of a scale and of two sums of 128 squares of four times it is below 2**1000


def _maximum(a: float, b: float) -> float:
    """Return the larger one or, as NumPy does, the one that is no number."""
    return b if b > a or math.isnan(b) else a


def _squares(row: Array) -> float:
    """Return the sum of the squares, in two lanes."""
    even = odd = 0.0
    first = 0
    while row.size - first >= 8:  # four of each lane in a turn, the last ones first
        for j in range(first + 6, first - 2, -2):
            even += row[j] * row[j]
            odd += row[j + 1] * row[j + 1]
        first += 8
    for j in range(first, row.size, 2):
        even += row[j] * row[j]
        if j + 1 < row.size:
            odd += row[j + 1] * row[j + 1]
    return even + odd


def _total(row: Array) -> float:
    """Return the sum of up to 128 numbers, in eight lanes."""
    whole = row.size - row.size % 8
    total = 0.0
    if whole:
        a, b, c, d = row[0], row[1], row[2], row[3]
        e, f, g, h = row[4], row[5], row[6], row[7]
        for j in range(8, whole, 8):
            a += row[j]
            b += row[j + 1]
            c += row[j + 2]
            d += row[j + 3]
            e += row[j + 4]
            f += row[j + 5]
            g += row[j + 6]
            h += row[j + 7]
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for j in range(whole, row.size):
        total += row[j]
    return total


maximum, squares, total_of = njit(_maximum), njit(_squares), njit(_total)


def _transpose(points: Array, columns: Array, low: Array, high: Array) -> None:
    """Write points coordinate by coordinate, and the ends of each, which are no numbers if one of it is none."""
    for f in range(points.shape[1]):
        least = most = points[0, f]
        strange = False
        for j in range(points.shape[0]):
            x = points[j, f]
            columns[f, j] = x
            least = min(x, least)
            most = max(x, most)
            strange = strange or math.isnan(x)
        low[f] = math.nan if strange else least
        high[f] = math.nan if strange else most


def _extend(point: Array, low: Array, high: Array) -> int:
    """Widen the ends of every coordinate; return how many of them are not finite, which make the ends worthless."""
    strange = 0
    for f in range(point.size):
        x = point[f]
        low[f] = x if x < low[f] else low[f]
        high[f] = x if x > high[f] else high[f]
        strange += not abs(x) < math.inf
    return strange


def _pack_keys(points: Array, panels: Array, low: Array, high: Array) -> int:
    """Write points as :class:`theory.engine.blocks.Tile` has keys, but for the zeros; do as ``extend`` with all."""
    width = panels.shape[2]
    low[:], high[:] = points[0], points[0]
    strange = 0
    for j in range(points.shape[0]):
        strange += extend(points[j], low, high)
    for start in range(0, points.shape[0], width):
        panel = panels[start // width]
        for f in range(points.shape[1]):
            for j in range(min(width, points.shape[0] - start)):
                panel[f, j] = points[start + j, f]
    return strange


def _pack_values(points: Array, panels: Array, low: Array, high: Array) -> int:
    """Write points as :class:`theory.engine.blocks.Tile` has values, but for the zeros; do as ``extend`` with all."""
    width = panels.shape[2]
    low[:], high[:] = points[0], points[0]
    strange = 0
    for j in range(points.shape[0]):
        strange += extend(points[j], low, high)
        for start in range(0, points.shape[1], width):
            row = panels[start // width, j]
            for c in range(min(width, points.shape[1] - start)):
                row[c] = points[j, start + c]
    return strange


def _are_tame(low: Array, high: Array) -> bool:
    """Tell whether the largest size of every column is within reach of one, nought, or no number."""
    for c in range(low.size):
        largest = maximum(abs(low[c]), abs(high[c]))
        if largest != 0.0 and math.isfinite(largest) and not _LEAST <= largest < _MOST:
            return False
    return True


transpose, are_tame, extend = njit(_transpose), njit(_are_tame), njit(_extend)
pack_keys, pack_values = njit(_pack_keys), njit(_pack_values)


def _fold_log_weights(log_weights: Array, added: Array) -> tuple[bool, float, float]:
    """Write log-weights in base two; return whether they differ, the largest of them and the largest size."""
    least = most = log_weights[0]
    for j in range(log_weights.size):
        least = min(least, log_weights[j])
        most = max(most, log_weights[j])
    top = added[0] = log_weights[0] * LOG2E
    bulk = 0.0
    for j in range(log_weights.size):
        added[j] = log_weights[j] * LOG2E
        top = max(top, added[j])
        bulk = max(bulk, abs(added[j]))
    return most - least != 0.0, top, bulk


fold_log_weights = njit(_fold_log_weights)


def _bound_dots(
    queries: Array, keys: Array, low: Array, high: Array, scale: float, moved: Array, shift: Array, size: Array
) -> None:
    """Write scaled queries, a bound of the products of each with all keys, and one of what is summed in them."""
    reach = 0.0
    for j in range(keys.shape[0]):
        reach = maximum(reach, squares(keys[j]))
    corner = np.empty(low.size)
    for i in range(queries.shape[0]):
        for f in range(low.size):
            q = queries[i, f] * scale
            moved[i, f] = q
            corner[f] = maximum(q * low[f], q * high[f])
        length = math.sqrt(squares(moved[i]) * reach)
        box = total_of(corner)
        size[i] = length
        shift[i] = length if length < box else box  # a length that overflowed is no smaller


def _bound_distances(queries: Array, low: Array, high: Array, scale: float, shift: Array, size: Array) -> None:
    """Write minus the scaled squared distance of each query to the box of the keys, and its size."""
    outside = np.empty(low.size)
    for i in range(queries.shape[0]):
        for f in range(low.size):
            outside[f] = maximum(maximum(low[f] - queries[i, f], queries[i, f] - high[f]), 0.0)
        shift[i] = -scale * squares(outside)
        size[i] = abs(shift[i])


def _are_below(numbers: Array, limit: float) -> bool:
    """Tell whether the size of every number is below a limit."""
    others = 0  # counted, which runs in vector registers
    for k in range(numbers.size):
        others += not abs(numbers[k]) < limit
    return others == 0


def _are_finite(numbers: Array) -> bool:
    total = 0.0
    for k in range(numbers.size):
        total += 0.0 * numbers[k]
    return total == 0.0


bound_dots, bound_distances = njit(_bound_dots), njit(_bound_distances)
are_below, are_finite = njit(_are_below), njit(_are_finite)


def _bound(
    dot: bool, queries: Array, keys: Array, log_weights: Array, scale: float,
    low: Array, high: Array, least: Array, most: Array, moved: Array, added: Array, shift: Array, size: Array,
) -> int:  # fmt: skip
    """Write bounds and log-weights, given the ends of keys and values; return what ``write_folded`` does."""
    if dot:
        bound_dots(queries, keys, low, high, scale, moved, shift, size)
    else:
        bound_distances(queries, low, high, scale, shift, size)
    found = 0
    if log_weights.size > 0:
        weighted, top, bulk = fold_log_weights(log_weights, added)
        if weighted:
            found += WEIGHTED
            for i in range(shift.size):
                shift[i] += top
                size[i] += bulk
    if are_tame(least, most):
        found += TAME
    finite = are_finite(least) and are_finite(most) and are_finite(log_weights)
    small = are_below(low, _PLAIN) and are_below(high, _PLAIN) and are_below(queries.ravel(), _PLAIN)
    if finite and small and abs(scale) < _PLAIN:
        found += PLAIN
    return found


bound = njit(_bound)


def _write_folded(
    dot: bool, queries: Array, keys: Array, values: Array, log_weights: Array, scale: float,
    moved: Array, columns: Array, value_columns: Array, added: Array, shift: Array, size: Array,
) -> int:  # fmt: skip
    """Write what :class:`theory.engine.fold.Folded` holds, for rows of up to ``WIDEST`` features.

    ``log_weights`` may be empty; for distances ``moved`` is not written to. Returns a sum of ``WEIGHTED``, if the
    log-weights differ, ``TAME``, if the values may stay as they are, and ``PLAIN``, if all numbers are finite and those
    of queries and keys so small that no bound of a score could overflow.
    """
    d, d_v = queries.shape[1], values.shape[1]
    low, high, least, most = np.empty(d), np.empty(d), np.empty(d_v), np.empty(d_v)
    transpose(keys, columns, low, high)
    transpose(values, value_columns, least, most)
    return bound(dot, queries, keys, log_weights, scale, low, high, least, most, moved, added, shift, size)


def _write_packed(
    dot: bool, queries: Array, keys: Array, values: Array, log_weights: Array, scale: float,
    moved: Array, panels: Array, value_panels: Array, added: Array, shift: Array, size: Array,
) -> int:  # fmt: skip
    """Do as ``write_folded``, with keys and values in panels (:class:`theory.engine.blocks.Tile`), zeros left alone."""
    d, d_v = queries.shape[1], values.shape[1]
    low, high, least, most = np.empty(d), np.empty(d), np.empty(d_v), np.empty(d_v)
    strange = pack_keys(keys, panels, low, high)
    strange += pack_values(values, value_panels, least, most)
    if strange:
        return 0
    return bound(dot, queries, keys, log_weights, scale, low, high, least, most, moved, added, shift, size)


def _are_above(numbers: Array, least: float) -> bool:
    """Tell whether no number is below ``least``, or none at all."""
    for i in range(numbers.size):  # noqa: SIM110  compiled
        if not numbers[i] >= least:
            return False
    return True


def _divide(
    sums: Array, mass: Array, logs: Array, shift: Array, size: Array, unit: float, trust: float, offset: float,
    log_partition: Array, sound: NDArray[np.bool_],
) -> bool:  # fmt: skip
    """Make outputs of ``sums``, in their place, write log-partitions, and tell which rows are sound, and if all are.

    ``logs`` holds the base-two logarithms of ``mass``. A row is sound if it can be trusted and no score of it is
    rounded by as much as one, where ``unit`` is what is rounded of the numbers that ``size`` and ``shift`` bound.
    """
    every = True
    for i in range(mass.size):
        bulk = maximum(size[i], abs(shift[i]))
        sound[i] = bulk * unit < 1.0 and mass[i] >= trust
        every = every and sound[i]
        for c in range(sums.shape[1]):
            sums[i, c] /= mass[i]
        log_partition[i] = (shift[i] + logs[i]) * LN2 + offset
    return every


write_folded, write_packed = njit(_write_folded), njit(_write_packed)
are_above, divide = njit(_are_above), njit(_divide)
