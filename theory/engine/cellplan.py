"""The plan of attention over cells: boxes with their gauges, and what each cell of queries sees of the keys.

The mathematics is in :mod:`theory.engine.cells`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.engine import boxes, chebyshev, dense, spectrum
from theory.engine.boxes import Boxes
from theory.engine.pairs import Array, Form, Pairs

NONE, QUERIES, KEYS, BOTH = range(4)
"""Which side of a pair of boxes is interpolated."""

_REACH = 0.8  # measured: half the widest side, in widths of the kernel
_LEAST = 8  # measured: points of a box that is not cut again
_MOST = 1 << 14  # chosen: boxes of a cloud, about
HIGH = 1e3  # chosen: terms of a sum may be so much larger than its least value
_EXCESS = 1e3  # chosen: exponents may be so much larger than scores before they cancel
_PAIR, _NODE, _WAVE = 1.0, 0.2, 10.0  # measured: nanoseconds of a pair, of a sum at a node, of an exponential
_CELL, _BOUND, _TOKEN = 6e5, 30.0, 2e3  # measured: nanoseconds of a cell, of a pair of boxes and axis, of a token
_SPLIT = 2e6  # measured: pairs above which a wide cell is halved
_PILOTS = 16  # taken: cells from which the work is guessed


class Cell(NamedTuple):
    """Some queries in a box, its gauge, and the boxes of keys that may matter to them."""

    rows: NDArray[np.int64]
    centre: Array
    """shape (d,)"""
    half: Array
    """shape (d,), half the lengths of the sides"""
    level: float
    slope: Array
    """shape (d,)"""
    near: NDArray[np.int64]
    share: float
    """of the accuracy, that may be lost by reading no more than a part of these"""
    before: Array
    """shape (number of rows,): logarithm of the partition that is not read already"""


class View(NamedTuple):
    """The boxes of keys that a cell reads, how, and what is lost by it; vectors are axis by axis, (d, b)."""

    near: NDArray[np.int64]
    modes: NDArray[np.int64]
    a: Array
    b: Array
    constant: Array
    """shape (b,): the exponent at both centres"""
    dropped: float
    """what boxes that are not read bring at most"""
    lost: float
    """the same with what interpolation misses"""
    peak: float
    """what boxes that are interpolated bring at most"""
    work: float
    """a guess, in nanoseconds"""


class _Keys(NamedTuple):
    """Boxes of keys with their gauges."""

    boxes: Boxes
    slopes: Array
    """shape (d, b)"""
    levels: Array
    """shape (b,): the logarithm of the mass"""
    laws: Array
    """shape (n,), of the keys within their box"""
    means: Array
    """shape (b, d), less the centre"""
    large: NDArray[np.bool_]
    """shape (b,): which may be interpolated"""
    reaches: Array
    """shape (d, b): sizes of distances between tokens of the box, or of the tokens if scores are products"""
    own: Array
    """shape (b,): sizes of levels and slopes"""


class Plan:
    """Boxes and gauges of both clouds.

    Parameters
    ----------
    pairs : Pairs
        Of form ``DISTANCE`` or ``DOT``, in at most three dimensions.
    columns : int
        Number of sums of each row, the mass among them.
    added : ndarray, shape (n,)
        Log-weights.
    accuracy : float
        Largest error wanted.
    stands : tuple of float, default (1, 1)
        For how many queries and keys each one stands, in guesses of the work.
    """

    def __init__(
        self, pairs: Pairs, columns: int, added: Array, accuracy: float, stands: tuple[float, float] = (1.0, 1.0)
    ) -> None:
        self.pairs = pairs
        self.accuracy = accuracy
        self.stands = stands
        self.distance = pairs.form is Form.DISTANCE
        self.beta = (2.0 if self.distance else 1.0) * float(pairs.coefficients[0])
        self.d = pairs.queries.shape[1]
        self.p = _degree(accuracy)
        self._rounded = 8.0 * (self.d + 8) * 2.0**-53
        nodes = columns * self.p**self.d
        one_side = _NODE * nodes + _WAVE * self.p * self.d
        self.costs = np.array([_PAIR, one_side, one_side, _NODE * nodes * self.p * self.d])
        self.least = self.p**self.d // 8
        self.reaches = self._reaches()
        leasts = [
            max(1, int(max(_LEAST, stand * len(cloud) / _MOST) / stand))
            for cloud, stand in zip((pairs.queries, pairs.keys), stands, strict=True)
        ]
        self.queries = boxes.cut(
            pairs.queries, self.reaches[0], leasts[0], loose=math.inf
        )  # wide ones are halved later
        found = boxes.cut(pairs.keys, self.reaches[1], leasts[1])
        self.points = pairs.keys[found.order]
        self.added = added[found.order]
        self.y = self.points - np.repeat(found.centres, found.sizes, axis=0)
        self.keys = self._gauged(found, np.zeros((self.d, len(found.centres))))
        self.levels, self.slopes = self._gauges()
        if not self.distance:
            self.keys = self._gauged(found, self._read_slopes())
            self.levels, self.slopes = self._gauges()

    def _reaches(self) -> tuple[float, float]:
        """Return half the widest side of boxes of queries and of keys."""
        if self.beta == 0.0:
            return math.inf, math.inf
        width = _REACH / math.sqrt(abs(self.beta))
        if self.distance:
            return width, width
        spreads = [float(np.sqrt(cloud.var(axis=0).max())) for cloud in (self.pairs.queries, self.pairs.keys)]
        if min(spreads) == 0.0:
            return width, width
        shape = math.sqrt(spreads[0] / spreads[1])
        return width * shape, width / shape

    def _gauged(self, found: Boxes, slopes: Array) -> _Keys:
        """Return the boxes of keys with masses, laws and means at their slopes."""
        exponents = self.added + np.einsum("nf,nf->n", self.y, np.repeat(slopes.T, found.sizes, axis=0))
        if self.distance:
            exponents -= 0.5 * self.beta * np.einsum("nf,nf->n", self.y, self.y)
        tops = np.maximum.reduceat(exponents, found.starts[:-1])
        laws = np.exp(exponents - np.repeat(tops, found.sizes))
        masses = np.add.reduceat(laws, found.starts[:-1])
        laws /= np.repeat(masses, found.sizes)
        means = np.add.reduceat(laws[:, np.newaxis] * self.y, found.starts[:-1])
        large = self.stands[1] * found.sizes >= self.least
        levels = tops + np.log(masses)
        reaches = (found.halves if self.distance else np.abs(found.centres) + found.halves).T
        own = np.abs(levels) + (np.abs(slopes) * found.halves.T).sum(axis=0)
        return _Keys(found, slopes, levels, laws, means, large, np.ascontiguousarray(reaches), own)

    def _gauges(self) -> tuple[Array, Array]:
        """Return levels (b,) and slopes (d, b) of the boxes of queries, from masses and means of the boxes of keys."""
        k = self.keys
        weights = k.levels - np.einsum("bf,fb->b", k.means, k.slopes)
        if self.distance:
            weights += 0.5 * self.beta * np.einsum("bf,bf->b", k.means, k.means)
        middle = spectrum.middle(spectrum.by_axes(self.points))[:, 0] if self.distance else np.zeros(self.d)
        places = k.boxes.centres - middle + k.means
        centres = self.queries.centres - middle
        found = dense.attention(
            Pairs(self.pairs.form, centres, places, self.pairs.coefficients), places, log_weights=weights
        )
        slopes = self.beta * (found.output - (centres if self.distance else 0.0))
        return found.log_partition, np.ascontiguousarray(slopes.T)

    def _read_slopes(self) -> Array:
        """Return for every box of keys the coefficient times the mean query that reads it, shape (d, b)."""
        q = self.queries
        places = self.keys.boxes.centres + self.keys.means
        back = Pairs(Form.DOT, places, q.centres, self.pairs.coefficients)
        found = dense.attention(back, q.centres, log_weights=np.log(q.sizes) - self.levels)
        return np.ascontiguousarray(self.beta * found.output.T)

    def leaves(self, box: int) -> Iterator[tuple[Cell, View]]:
        """Yield a box of queries, or the parts that it is cut into so as to read fewer keys."""
        q = self.queries
        rows = q.order[q.starts[box] : q.starts[box + 1]]
        every = np.arange(len(self.keys.levels))
        none = np.full(len(rows), -np.inf)
        whole = Cell(
            rows, q.centres[box], q.halves[box], float(self.levels[box]), self.slopes[:, box], every, 1.0 / 16.0, none
        )
        waiting = [whole]
        while waiting:
            cell = waiting.pop()
            view = self._view(cell)
            sizes = self.keys.boxes.sizes[view.near[view.modes == NONE]]
            pairs = self.stands[0] * len(cell.rows) * self.stands[1] * float(sizes.sum())
            if pairs > _SPLIT and len(cell.rows) > 1 and cell.half.max() > 1.5 * self.reaches[0]:
                waiting += self._halved(cell, view)
            else:
                yield cell, view

    def _halved(self, cell: Cell, view: View) -> list[Cell]:
        """Return both halves of a cell, in gauges of their own."""
        axis = int(np.argmax(cell.half))
        x = self.pairs.queries[cell.rows]
        with np.errstate(divide="ignore"):
            dropped = np.log(view.dropped) + self.rounds(cell)
            before = np.logaddexp(cell.before, self.unit(cell, x - cell.centre) + dropped)
        low = x[:, axis] <= cell.centre[axis]
        parts = []
        for chosen in (low, ~low):
            if not chosen.any():
                continue
            least, most = x[chosen].min(axis=0), x[chosen].max(axis=0)
            centre = 0.5 * least + 0.5 * most
            half = np.maximum(most - centre, centre - least)
            level, slope = self._tangent(centre, view.near)
            parts.append(
                Cell(cell.rows[chosen], centre, half, level, slope, view.near, 0.5 * cell.share, before[chosen])
            )
        return parts

    def _tangent(self, centre: Array, near: NDArray[np.int64]) -> tuple[float, Array]:
        """Return level and slope at a point, from masses and means of some boxes of keys."""
        constant, a, b = self._linear(centre, near)
        mean = self.keys.means[near].T
        exponents = constant + self.keys.levels[near] + ((b - self.keys.slopes[:, near]) * mean).sum(axis=0)
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        return top + math.log(total), (a + self.beta * mean) @ (weights / total)

    def _linear(self, centre: Array, near: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """Return the score at the centres and its slopes in the query and in the key, (b,), (d, b) and (d, b)."""
        there = self.keys.boxes.centres[near].T
        here = centre[:, np.newaxis]
        if self.distance:
            away = there - here
            return -0.5 * self.beta * np.square(away).sum(axis=0), self.beta * away, -self.beta * away
        return self.beta * (here * there).sum(axis=0), self.beta * there, np.broadcast_to(self.beta * here, there.shape)

    def unit(self, cell: Cell, x: Array) -> Array:
        """Return the logarithm of the unit in which partitions of queries ``x``, less the centre, are counted."""
        own: Array = cell.level + x @ cell.slope
        if self.distance:
            own -= 0.5 * self.beta * np.einsum("nf,nf->n", x, x)
        return own

    def _view(self, cell: Cell) -> View:
        """Bound what every box of keys brings, leave out what does not matter, and choose how to sum the rest."""
        k = self.keys
        constant, a, b = self._linear(cell.centre, cell.near)
        constant = constant + k.levels[cell.near] - cell.level
        a = a - cell.slope[:, np.newaxis]
        b = b - k.slopes[:, cell.near]
        half, wide = cell.half[:, np.newaxis], k.boxes.halves[cell.near].T
        tilt, turn = half * a, self.beta * half
        high = constant + np.maximum(tilt + wide * np.abs(b + turn), wide * np.abs(b - turn) - tilt).sum(axis=0)
        slack = self._slack(cell)
        high += slack
        kept, dropped = _choice(high, cell.share * self.accuracy)
        near = cell.near[kept]
        a, b, constant, wide = a[:, kept], b[:, kept], constant[kept], wide[:, kept]
        peaks = np.exp(high[kept])
        here = chebyshev.share(half * (np.abs(a) + abs(self.beta) * wide) + slack[kept], self.p)
        there = chebyshev.share(wide * (np.abs(b) + abs(self.beta) * half) + slack[kept], self.p)
        errors = np.zeros((4, near.size))
        errors[QUERIES] = peaks * np.expm1(np.log1p(here).sum(axis=0))
        errors[KEYS] = peaks * np.expm1(np.log1p(there).sum(axis=0))
        errors[BOTH] = peaks * np.expm1(np.log1p(here + chebyshev.lebesgue(self.p) * there).sum(axis=0))
        number, sizes = self.stands[0] * len(cell.rows), self.stands[1] * k.boxes.sizes[near]
        times = np.stack([number * sizes, sizes, np.full(near.size, number), np.ones(near.size)])
        work = self.costs[:, np.newaxis] * times
        work[QUERIES:][errors[QUERIES:] > self.accuracy / (4.0 * max(near.size, 1))] = np.inf
        work[QUERIES:, peaks > HIGH] = np.inf
        work[KEYS:, ~k.large[near]] = np.inf
        work[QUERIES:, ~(self._excess(cell, near) <= _EXCESS)] = np.inf
        if number < self.least:
            work[[QUERIES, BOTH]] = np.inf
        modes = np.argmin(work, axis=0)
        every = np.arange(near.size)
        lost = dropped + float(errors[modes, every].sum())
        peak = float(peaks[modes != NONE].sum())
        return View(near, modes, a, b, constant, dropped, lost, peak, float(work[modes, every].sum()))

    def rounds(self, cell: Cell) -> float:
        """Return what rounding may change in the logarithm of the unit of any query of a cell."""
        size = abs(cell.level) + float(cell.half @ np.abs(cell.slope))
        size += 0.5 * self.beta * float(cell.half @ cell.half) if self.distance else 0.0
        return float(self._rounded * size)

    def _slack(self, cell: Cell) -> Array:
        """Return what rounding may take from the logarithms of what near boxes of keys bring at most."""
        k = self.keys
        reaches = k.reaches[:, cell.near]
        if self.distance:
            away = np.abs(k.boxes.centres[cell.near].T - cell.centre[:, np.newaxis])
            sizes = np.square(away + cell.half[:, np.newaxis] + reaches).sum(axis=0)
        else:
            sizes = (np.abs(cell.centre) + cell.half) @ reaches
        own = abs(cell.level) + float(cell.half @ np.abs(cell.slope))
        slack: Array = self._rounded * (abs(self.beta) * sizes + k.own[cell.near] + own)
        return slack

    def _excess(self, cell: Cell, near: NDArray[np.int64]) -> Array:
        """Bound by how much terms of an exponent exceed the score, as tokens are taken less their centres."""
        reaches = self.keys.reaches[:, near]
        if self.distance:
            return np.asarray(self.beta * (np.square(reaches).sum(axis=0) + float(cell.half @ cell.half)))
        return np.maximum(abs(self.beta) * (cell.half @ reaches), float(cell.half @ np.abs(cell.slope)))

    def work(self) -> float:
        """Guess the nanoseconds of all rows from those of a few cells."""
        count = len(self.levels)
        chosen = np.unique(np.linspace(0, count - 1, _PILOTS).astype(np.int64))
        views = [view for box in chosen.tolist() for _, view in self.leaves(box)]
        cells = sum(view.work for view in views) + _CELL * len(views)
        sums = cells / chosen.size + _BOUND * self.d * len(self.keys.levels)
        sizes = self.stands[0] * self.queries.sizes, self.stands[1] * self.keys.boxes.sizes
        tokens = sum(_TOKEN * of.sum() + self.costs[QUERIES] * of[of >= self.least].sum() for of in sizes)
        return float(count * sums + tokens)


def _degree(accuracy: float) -> int:
    """Return the number of nodes on each axis at which boxes that are read most are within the accuracy."""
    slope = np.array([_REACH * (_REACH + 3.0)])
    return next(p for p in range(4, 100) if chebyshev.share(slope, p)[0] <= 1e-3 * accuracy)


def _choice(high: Array, budget: float) -> tuple[NDArray[np.int64], float]:
    """Return the boxes to keep, in order, and the sum of what the others bring, at most the budget."""
    faint = high <= math.log(budget / (2.0 * high.size))
    kept = np.flatnonzero(~faint)
    shares = np.exp(np.minimum(high[kept], 1.0))
    order = np.argsort(shares, kind="stable")
    sums = np.cumsum(shares[order])
    more = int(np.searchsorted(sums, 0.5 * budget, side="right"))
    dropped = float(np.exp(high[faint]).sum()) + (float(sums[more - 1]) if more else 0.0)
    return np.sort(kept[order[more:]]), dropped
