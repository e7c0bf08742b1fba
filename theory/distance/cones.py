r"""The smallest of :math:`|z - s_k| - w_k` over :math:`k`, and the numbers :math:`k` that give the smallest terms.

Cones :math:`s_k` are cut in their order into nested ranges, each in a box of centre :math:`c` and half-widths
:math:`h`. With any slope :math:`g` of length at most one, :math:`t = \max_k (w_k - g \cdot (s_k - c))` over the range
and :math:`e = (z - c) / |z - c|`, convexity of the norm, :math:`|z - s| \ge |z - c| - e \cdot (s - c)`, gives

.. math:: |z - s_k| - w_k \ge |z - c| - t - \sum_i |e_i + g_i|\, h_i .

With the slope of a least-squares plane this skips ranges beside a ray along which heights fall like distances, where
a largest height alone skips none. A range is skipped for a query if its bound exceeds the worst term that is kept by
more than ``margin``, which pays for the rounding of either; what is found is the same.

The bound holds up to :math:`2\,|z - c|` for any shorter :math:`e`, since :math:`|z - s| \ge e \cdot (z - s)`; where the
length is nothing but underflow, :math:`e = 0`. Kernels take contiguous float64 arrays and trust them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from theory._jit import njit
from theory.distance.cells import Numbers, Places

_LEAF = 16  # measured: cones of a smallest range; 8 and 32 take a fifth longer on 10^5 places in the plane
_BLOCK = 32  # measured: queries that go down together; 16 take a third longer
_DEPTH = 64  # derived: ranges that wait, one a level
_FLAT = (
    1e-3  # taken: share of the spread that is added in every direction, so that a plane through a line has one slope
)
_FEW = 8  # taken: coordinates up to which a plane through a few cones says something
_TINY = 2.0**-1022
_NEAR = 2.0**-509  # derived: twice this is less than what ``margin`` has for squares that vanish; e is zero there


class _Ranges(NamedTuple):
    """Nested ranges in a heap: range ``k`` consists of ``2 k`` and ``2 k + 1``, the smallest are the last half."""

    starts: Numbers
    middle: Places
    half: Places
    slope: Places
    top: Places


def search_ranges(
    queries: Places, cones: Places, heights: Places, count: int, *, scale: float, margin: float
) -> tuple[Places, Numbers]:
    """Return the smallest terms ``scale * |z - s_k| - w_k`` of every query, and their cones.

    Parameters
    ----------
    queries, cones : ndarray, shapes (n, d) and (m, d)
        Quick if neighbours in a list are neighbours in space.
    heights : ndarray, shape (m,)
    count : int
        How many terms to name, at most m.
    scale : float
        A power of two in which no distance exceeds one.
    margin : float
        What the bounds of ranges may be off by.

    Returns
    -------
    values : ndarray, shape (n,)
    cones : ndarray of int64, shape (n, count)
        The smallest term first.
    """
    ranges = _ranges(cones, heights, scale)
    values, names = np.empty(len(queries)), np.empty((len(queries), count), dtype=np.int64)
    z, s = np.ascontiguousarray(queries.T), np.ascontiguousarray(cones.T)
    search(z, s, heights, *ranges, scale, margin, values, names)
    return values, names


def _ranges(s: Places, heights: Places, scale: float) -> _Ranges:
    """Fit a plane to the heights of every range of every level."""
    m, d = s.shape
    leaves = 1 << max(math.ceil(math.log2(m / _LEAF)), 0)
    starts = np.arange(leaves + 1) * m // leaves
    middle, half, slope = (np.zeros((2 * leaves, d)) for _ in range(3))
    top = np.zeros(2 * leaves)
    count = leaves
    while count:
        start = np.arange(count) * m // count
        size = np.diff(start, append=m)
        owner = np.repeat(np.arange(count), size)
        level = slice(count, 2 * count)
        lo, hi = np.minimum.reduceat(s, start), np.maximum.reduceat(s, start)
        middle[level] = lo / 2 + hi / 2
        half[level] = np.maximum(hi - middle[level], middle[level] - lo) * scale
        off = (s - middle[level][owner]) * scale
        slope[level] = _slopes(off, heights, start, size, owner)
        top[level] = np.maximum.reduceat(heights - (off * slope[level][owner]).sum(axis=1), start)
        count //= 2
    return _Ranges(starts, middle, half, slope, top)


def _slopes(off: Places, heights: Places, start: Numbers, size: Numbers, owner: Numbers) -> Places:
    """Return the slope of the least-squares plane of every range, no longer than one; flat in many dimensions."""
    if off.shape[1] > _FEW:
        return np.zeros((len(start), off.shape[1]))
    z = off - (np.add.reduceat(off, start) / size[:, np.newaxis])[owner]
    w = heights - (np.add.reduceat(heights, start) / size)[owner]
    square = np.add.reduceat(z[:, :, np.newaxis] * z[:, np.newaxis, :], start)
    spread = _FLAT * np.trace(square, axis1=1, axis2=2)
    usable = spread > _TINY
    square[~usable] = 0.0
    square += np.where(usable, spread, 1.0)[:, np.newaxis, np.newaxis] * np.eye(z.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        slope: Places = np.linalg.solve(square, np.add.reduceat(z * w[:, np.newaxis], start)[:, :, np.newaxis])[:, :, 0]
        length = np.sqrt((slope**2).sum(axis=1))
        slope /= np.maximum(length * (1.0 + 2.0**-40), 1.0)[:, np.newaxis]
    slope[~(np.isfinite(length) & usable)] = 0.0
    return slope


def _box_bounds(
    block: Places, box: int, middle: Places, half: Places, slope: Places, top: Places, scale: float,
    length: Places, bounds: Places, row: int,
) -> None:  # fmt: skip
    """Write into a row of ``bounds`` a lower bound of the terms of one range for every query of a block."""
    d, size = block.shape
    for q in range(size):
        length[q] = 0.0
    for i in range(d):
        for q in range(size):
            length[q] += (block[i, q] - middle[box, i]) ** 2
    for q in range(size):
        length[q] = math.sqrt(length[q])
        bounds[row, q] = length[q] * scale - top[box]
        length[q] = 1.0 / length[q] if length[q] > _NEAR else 0.0
    for i in range(d):
        for q in range(size):
            bounds[row, q] -= abs((block[i, q] - middle[box, i]) * length[q] + slope[box, i]) * half[box, i]


def _keep_least(
    block: Places, q: int, s: Places, heights: Places, start: int, stop: int, scale: float,
    terms: Places, best: Places, names: Numbers,
) -> None:  # fmt: skip
    """Sort the terms of some cones into the smallest ones of query ``q``."""
    size, last = stop - start, best.shape[1] - 1
    for j in range(size):
        terms[j] = 0.0
    for i in range(block.shape[0]):
        for j in range(size):
            terms[j] += (block[i, q] - s[i, start + j]) ** 2
    for j in range(size):
        terms[j] = math.sqrt(terms[j]) * scale - heights[start + j]
    for j in range(size):
        if terms[j] < best[q, last]:
            place = last
            while place > 0 and best[q, place - 1] > terms[j]:
                best[q, place] = best[q, place - 1]
                names[q, place] = names[q, place - 1]
                place -= 1
            best[q, place] = terms[j]
            names[q, place] = start + j


def _largest_term(query: Places, s: Places, heights: Places, scale: float, name: Numbers) -> float:
    """Return the largest term of some cones, no less than the worst that is to be kept."""
    largest = -math.inf
    for k in name:
        square = 0.0
        for i in range(query.size):
            square += (query[i] - s[i, k]) ** 2
        largest = max(largest, math.sqrt(square) * scale - heights[k])
    return largest


box_bounds = njit(_box_bounds)
keep_least = njit(_keep_least)
largest_term = njit(_largest_term)


def _search(
    z: Places, s: Places, heights: Places, starts: Numbers, middle: Places, half: Places, slope: Places, top: Places,
    scale: float, margin: float, values: Places, names: Numbers,
) -> None:  # fmt: skip
    """Go down the ranges with blocks of queries, the nearer half first; cones of one block bound the next."""
    d, n = z.shape
    leaves = starts.size - 1
    best, name = np.empty((_BLOCK, names.shape[1])), np.zeros((_BLOCK, names.shape[1]), dtype=np.int64)
    worst, block, terms = np.full(_BLOCK, np.inf), np.empty((d, _BLOCK)), np.empty(2 * _LEAF)
    stack, low, length = np.ones(_DEPTH, dtype=np.int64), np.empty((_DEPTH, _BLOCK)), np.empty(_BLOCK)
    for first in range(0, n, _BLOCK):
        size = min(_BLOCK, n - first)
        for q in range(_BLOCK):
            block[:, q] = z[:, min(first + q, n - 1)]
            worst[q] = largest_term(block[:, q], s, heights, scale, name[q]) + margin if first > 0 else math.inf
        best[:] = math.inf
        depth = 1
        stack[0] = 1
        low[0] = -math.inf
        while depth > 0:
            depth -= 1
            k = stack[depth]
            wanted = False
            for q in range(size):
                wanted |= low[depth, q] <= worst[q]
            if not wanted:
                continue
            if k >= leaves:
                for q in range(size):
                    if low[depth, q] <= worst[q]:
                        start, stop = starts[k - leaves], starts[k - leaves + 1]
                        keep_least(block, q, s, heights, start, stop, scale, terms, best, name)
                        worst[q] = min(worst[q], best[q, -1] + margin)
                continue
            box_bounds(block, 2 * k, middle, half, slope, top, scale, length, low, depth)
            box_bounds(block, 2 * k + 1, middle, half, slope, top, scale, length, low, depth + 1)
            stack[depth], stack[depth + 1] = 2 * k, 2 * k + 1
            left, right = 0.0, 0.0
            for q in range(_BLOCK):
                left += low[depth, q]
                right += low[depth + 1, q]
            if left < right:  # the last one is next
                stack[depth], stack[depth + 1] = 2 * k + 1, 2 * k
                for q in range(_BLOCK):
                    low[depth, q], low[depth + 1, q] = low[depth + 1, q], low[depth, q]
            depth += 2
        values[first : first + size] = best[:size, 0]
        names[first : first + size] = name[:size]


search = njit(_search)
