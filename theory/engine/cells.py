r"""Attention over cells: near tokens are summed by polynomial interpolation, tokens that do not matter are not read.

A Fourier sum is right to a share of the *largest* partition. Here every row is right to a share of its *own*, however
uneven the clouds are: each cell of queries has its own centre, gauge and list of keys that matter to it.

**Gauges.** Let :math:`x = q - c` and :math:`y = k - c'` be a query and a key in boxes :math:`Q, K` with these centres,
and :math:`D = c' - c`. Both scores are, with own terms :math:`r(x), r'(y)` of either token,

.. math:: s(q, k) = s_0 + \langle x, A\rangle + \langle y, B\rangle + \beta\langle x, y\rangle + r(x) + r'(y):

the dot product with :math:`s_0 = \beta\langle c, c'\rangle, A = \beta c', B = \beta c, r = r' = 0`, minus
:math:`\tfrac\beta2` times the squared distance with :math:`s_0 = -\tfrac\beta2|D|^2, A = -B = \beta D`,
:math:`r(x) = -\tfrac\beta2|x|^2`. A box of keys has a slope :math:`g'`, and the law
:math:`\omega_k \propto e^{a_k + r'(y) + \langle g', y\rangle}` of mass :math:`e^{\mu}`; a box of queries has a level
:math:`R` and a slope :math:`g`, and its partitions are counted in units of :math:`e^{R + r(x) + \langle g, x\rangle}`.
In these units the keys of :math:`K` bring the partition of :math:`x` the mean under :math:`\omega` of

.. math:: \varphi(x, y) = e^{s_0 + \mu - R}\, e^{\langle x, a\rangle + \langle y, b\rangle + \beta\langle x, y\rangle},
          \qquad a = A - g,\ b = B - g',

which is at most its maximum :math:`e^U` on :math:`Q \times K`, attained at corners, axis by axis. The partition is log-convex
in :math:`x` without its own term. So if :math:`R` is the log-partition at the centre and :math:`\beta`
times the mean key read there is :math:`g` (less the centre for distances), every row of :math:`Q` has a partition of at
least one. By Jensen's inequality masses and means of the boxes of keys give both from below.

**Errors.** Of the mass of a row, in its units,

- keys that are not read bring at most the sum of their :math:`e^U`;
- interpolation on :math:`K` in :math:`y` errs along one axis by :math:`\varepsilon(t')` of the maximum, with the slope
  :math:`t' = h'(|b| + |\beta| h)` (:mod:`theory.engine.chebyshev`), where :math:`h, h'` are halves of the sides; on
  :math:`Q` in :math:`x` by :math:`\varepsilon(t)` with :math:`t = h(|a| + |\beta| h')`; on both by
  :math:`\varepsilon(t) + \Lambda \varepsilon(t')`. As :math:`\varphi` is a product over the axes, it errs by at most
  :math:`e^U (\prod_f (1 + \varepsilon_f) - 1)`.

Values are taken about the middle of their range, in units of half of it, so that the numerator errs by no more. With
:math:`\eta` for the sum of all these, and :math:`\tilde P` for the mass that is found,

.. math:: |\delta\,\text{output}| \le \frac{2\eta}{\tilde P - \eta}\max|v|, \qquad
          |\delta \log P| \le -\log\Bigl(1 - \frac\eta{\tilde P}\Bigr) .

That is what is reported. Which pairs of boxes are interpolated is chosen so that it keeps the promise, and a cell that
fails all the same is computed over all keys. The bound is one of truncation; rounding is that of the exponents, as for
every method, and of sums whose terms are at most ``_HIGH`` times larger than the result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.engine import boxes, chebyshev, dense, spectrum
from theory.engine.boxes import Boxes
from theory.engine.demands import demand
from theory.engine.pairs import Array, AttentionResult, Form, Pairs
from theory.engine.threads import over_rows, quiet_blas

FORMS = (Form.DISTANCE, Form.DOT)
DIMENSIONS = 3
ACCURACY = (1e-13, 1e-1)
_REACH = 0.8  # half a side, in widths of the kernel
_LEAST = 8  # points
_MOST = 1 << 14  # boxes
_HIGH = 1e3
_PAIR, _NODE, _WAVE = 1.0, 0.2, 10.0  # measured: nanoseconds of a pair, of a product and sum at a node, of an exponential
_PILOTS = 16  # taken: cells from which the cost is guessed
_FEW = 1 << 14  # taken: tokens from which the cost is guessed
_CELL, _BOUND, _TOKEN = 6e5, 30.0, 2e3  # measured: nanoseconds of a cell, of a pair of boxes and axis, of a token
_BATCH = 1 << 22  # numbers of the moments that are carried at once


def attention(
    pairs: Pairs, values: Array, *, log_weights: Array | None = None, accuracy: float = 1e-12
) -> AttentionResult:
    """Average the values of the keys under the softmax of the scores, to a certified accuracy.

    Parameters
    ----------
    pairs : Pairs
        Scores of m queries with n keys in at most three dimensions, of form ``DISTANCE`` or ``DOT``.
    values : ndarray, shape (n, d_v)
        Finite float64.
    log_weights : ndarray, shape (n,), optional
        Finite; added to every query's scores. Zero unless given.
    accuracy : float, default 1e-12
        Largest error beyond rounding: of an output in units of the largest size of a value, and of a log-partition.
        From 1e-13 to 0.1.

    Returns
    -------
    AttentionResult
        ``error`` is the largest bound of the error of an output.

    Raises
    ------
    ValueError
        If an argument is not as above, or a score or an average leaves the range of float64.
    """
    added = np.zeros(pairs.keys.shape[0]) if log_weights is None else log_weights
    demand(pairs, values, added, accuracy, method="cells", forms=FORMS, within=ACCURACY, dimensions=DIMENSIONS)
    columns = spectrum.by_axes(values)
    centre = spectrum.middle(columns)
    half = 0.5 * columns.max(axis=1, keepdims=True)
    half -= 0.5 * columns.min(axis=1, keepdims=True)
    relative = np.divide(columns - centre, half, out=np.zeros_like(columns), where=half > 0.0)
    try:
        with quiet_blas():
            sums = _Sums(pairs, np.ascontiguousarray(relative.T), added, accuracy)
            sums.prepare()
            work = pairs.queries.shape[0] * 1024
            over_rows(sums.run, sums.queries.starts.size - 1, work)
    except (ValueError, OverflowError):  # an overflow; the dense method names the query
        exact = dense.attention(pairs, values, log_weights=log_weights)
        return AttentionResult(exact.output, exact.log_partition, "cells", 0.0)
    output = np.ascontiguousarray((centre + half * sums.output.T).T)
    return AttentionResult(output, sums.log_partition, "cells", float(sums.errors.max()))


class _Cloud(NamedTuple):
    """Boxes of tokens, each with its slope and level."""

    boxes: Boxes
    slopes: Array
    """shape (d, b)"""
    levels: Array
    """shape (b,): log-mass of a box of keys, log-partition of one of queries"""
    large: NDArray[np.bool_]
    """which have more points than nodes"""

    @property
    def starts(self) -> NDArray[np.int64]:
        return self.boxes.starts


class _Sums:
    """The plan of a call, and its results cell by cell."""

    def __init__(
        self, pairs: Pairs, relative: Array, added: Array, accuracy: float, stands: tuple[float, float] = (1.0, 1.0)
    ) -> None:
        self.pairs = pairs
        self.stands = stands  # for so many queries and keys each one stands, in an estimate of the work
        self.accuracy = accuracy
        self.distance = pairs.form is Form.DISTANCE
        self.beta = (2.0 if self.distance else 1.0) * float(pairs.coefficients[0])
        self.d = pairs.queries.shape[1]
        self.p = _degree(accuracy)
        nodes = self.p**self.d * (relative.shape[1] + 1)
        self.costs = np.array([_PAIR, _NODE * nodes + _WAVE * self.p * self.d, 0.0, _NODE * nodes * self.p * self.d])
        self.costs[_KEYS] = self.costs[_QUERIES]
        self.least = self.p**self.d // 8
        reaches = self._reaches()
        q, k = (
            boxes.cut(cloud, reach, max(1, int(max(_LEAST, stand * len(cloud) / _MOST) / stand)))
            for cloud, reach, stand in zip((pairs.queries, pairs.keys), reaches, stands, strict=True)
        )
        self.points = pairs.keys[k.order]
        self.relative = relative[k.order]
        self.added = added[k.order]
        self.y = self.points - np.repeat(k.centres, k.sizes, axis=0)
        self.keys, self.laws = self._gauged(k, np.zeros((self.d, len(k.centres))))
        self.queries = self._gauge(q)
        if not self.distance:
            self.keys, self.laws = self._gauged(k, self._read_slopes())
            self.queries = self._gauge(q)
        m = pairs.queries.shape[0]
        self.seats = np.cumsum(self.keys.large) - 1
        self.output = np.empty((m, relative.shape[1]))
        self.log_partition = np.empty(m)
        self.errors = np.zeros(len(q.centres))

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

    def _gauged(self, k: Boxes, slopes: Array) -> tuple[_Cloud, Array]:
        """Return the boxes of keys with their slopes and masses, and the law of every key in its box."""
        exponents = self.added + np.einsum("nf,nf->n", self.y, np.repeat(slopes.T, k.sizes, axis=0))
        if self.distance:
            exponents -= 0.5 * self.beta * np.einsum("nf,nf->n", self.y, self.y)
        tops = np.maximum.reduceat(exponents, k.starts[:-1])
        laws = np.exp(exponents - np.repeat(tops, k.sizes))
        sums = np.add.reduceat(laws, k.starts[:-1])
        laws /= np.repeat(sums, k.sizes)
        return _Cloud(k, slopes, tops + np.log(sums), self.stands[1] * k.sizes >= self.least), laws

    def _means(self) -> Array:
        """Return the mean key of every box, less its centre."""
        return np.add.reduceat(self.laws[:, np.newaxis] * self.y, self.keys.starts[:-1])

    def _gauge(self, q: Boxes) -> _Cloud:
        """Return the boxes of queries with slopes and levels, from masses and means of the boxes of keys."""
        k = self.keys
        mean = self._means()
        weights = k.levels - np.einsum("bf,fb->b", mean, k.slopes)
        if self.distance:
            weights += 0.5 * self.beta * np.einsum("bf,bf->b", mean, mean)
        middle = spectrum.middle(spectrum.by_axes(self.points))[:, 0] if self.distance else np.zeros(self.d)
        places = k.boxes.centres - middle + mean
        centres = q.centres - middle
        coarse = Pairs(self.pairs.form, centres, places, self.pairs.coefficients)
        found = dense.attention(coarse, places, log_weights=weights)
        slopes = self.beta * (found.output - (centres if self.distance else 0.0))
        return _Cloud(q, np.ascontiguousarray(slopes.T), found.log_partition, self.stands[0] * q.sizes >= self.least)

    def _read_slopes(self) -> Array:
        """Return for every box of keys the coefficient times the mean query that reads it."""
        q = self.queries
        places = self.keys.boxes.centres + self._means()
        back = Pairs(Form.DOT, places, q.boxes.centres, self.pairs.coefficients)
        found = dense.attention(back, q.boxes.centres, log_weights=np.log(q.boxes.sizes) - q.levels)
        return np.ascontiguousarray(self.beta * found.output.T)

    def prepare(self) -> None:
        """Gather the laws of the large boxes of keys, and the sums of values under them, on their nodes."""
        columns = np.concatenate([np.ones((len(self.laws), 1)), self.relative], axis=1) * self.laws[:, np.newaxis]
        found = np.empty((int(self.keys.large.sum()), self.p ** (self.d - 1), columns.shape[1], self.p))
        for seat, box in enumerate(np.flatnonzero(self.keys.large)):
            rows = slice(self.keys.starts[box], self.keys.starts[box + 1])
            found[seat] = chebyshev.gather(self._lagrange(self.y[rows], self.keys.boxes.halves[box]), columns[rows])
        self.moments = found

    def work(self) -> float:
        """Guess the nanoseconds of all rows from those of a few cells."""
        q, k = self.queries, self.keys
        chosen = np.unique(np.linspace(0, len(q.levels) - 1, _PILOTS).astype(np.int64))
        cells = sum(self._view(cell, q.levels[cell], q.slopes[:, cell]).work for cell in chosen.tolist())
        tokens = [stand * len(cloud.boxes.order) for stand, cloud in zip(self.stands, (q, k), strict=True)]
        large = [
            stand * cloud.boxes.sizes[cloud.large].sum() for stand, cloud in zip(self.stands, (q, k), strict=True)
        ]
        fixed = len(q.levels) * (_CELL + _BOUND * self.d * len(k.levels)) + _TOKEN * sum(tokens)
        return float(cells * len(q.levels) / chosen.size + self.costs[_QUERIES] * sum(large) + fixed)

    def _lagrange(self, places: Array, halves: Array) -> list[Array]:
        return [
            chebyshev.basis(np.divide(z, h) if h > 0.0 else np.zeros_like(z), self.p)
            for z, h in zip(places.T, halves, strict=True)
        ]

    def run(self, cells: slice) -> None:
        """Compute the rows of some cells of queries."""
        for cell in range(cells.start, cells.stop):
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                self._cell(cell)

    def _cell(self, cell: int) -> None:
        q = self.queries
        rows = q.boxes.order[q.starts[cell] : q.starts[cell + 1]]
        view = self._view(cell, q.levels[cell], q.slopes[:, cell])
        x = self.pairs.queries[rows] - q.boxes.centres[cell]
        columns = self.relative.shape[1] + 1
        total = np.zeros((len(rows), columns))
        nodes = np.zeros((self.p ** (self.d - 1), columns, self.p))
        grid = chebyshev.nodes(self.p)
        places = q.boxes.halves[cell][:, np.newaxis] * grid
        both = np.flatnonzero(view.modes == _BOTH)
        step = max(1, _BATCH // nodes.size)
        for start in range(0, both.size, step):
            part = both[start : start + step]
            matrices = []
            for f in range(self.d):
                there = self.keys.boxes.halves[view.near[part], f][:, np.newaxis] * grid
                exponent = places[f][np.newaxis, :, np.newaxis] * view.a[f, part][:, np.newaxis, np.newaxis]
                exponent = exponent + (there * view.b[f, part][:, np.newaxis])[:, np.newaxis]
                exponent += self.beta * places[f][:, np.newaxis] * there[:, np.newaxis]
                if f == 0:
                    exponent += view.constant[part][:, np.newaxis, np.newaxis]
                matrices.append(np.exp(exponent))
            nodes += chebyshev.carry(matrices, self.moments[self.seats[view.near[part]]])
        single = np.flatnonzero(view.modes == _QUERIES)
        if single.size:
            boxes_here = view.near[single]
            seats = self.keys.boxes.members(boxes_here)
            sizes = self.keys.boxes.sizes[boxes_here]
            y = self.y[seats]
            heights = np.repeat(view.constant[single], sizes) + np.einsum(
                "nf,fn->n", y, np.repeat(view.b[:, single], sizes, axis=1)
            )
            masses = self.laws[seats] * np.exp(heights)
            given = np.concatenate([masses[:, np.newaxis], masses[:, np.newaxis] * self.relative[seats]], axis=1)
            slopes = np.repeat(view.a[:, single], sizes, axis=1) + self.beta * y.T
            nodes += chebyshev.gather([np.exp(np.outer(slopes[f], places[f])) for f in range(self.d)], given)
        if both.size or single.size:
            total += chebyshev.read(self._lagrange(x, q.boxes.halves[cell]), nodes)
        for i in np.flatnonzero(view.modes == _KEYS):
            box = view.near[i]
            there = self.keys.boxes.halves[box][:, np.newaxis] * grid
            features = [np.exp(np.outer(view.b[f, i] + self.beta * x[:, f], there[f])) for f in range(self.d)]
            masses = np.exp(view.constant[i] + x @ view.a[:, i])
            total += masses[:, np.newaxis] * chebyshev.read(features, self.moments[self.seats[box]])
        own = view.level + x @ view.slope
        if self.distance:
            own -= 0.5 * self.beta * np.einsum("nf,nf->n", x, x)
        direct = np.flatnonzero(view.modes == _NONE)
        if direct.size:
            seats = self.keys.boxes.members(view.near[direct])
            part = Pairs(self.pairs.form, self.pairs.queries[rows], self.points[seats], self.pairs.coefficients)
            found = dense.attention(part, self.relative[seats], log_weights=self.added[seats])
            if direct.size == view.modes.size:
                mass = np.exp(np.minimum(found.log_partition - own, 700.0))
                self.output[rows], self.log_partition[rows] = found.output, found.log_partition
                self._judge(cell, rows, view.lost, mass)
                return
            mass = np.exp(found.log_partition - own)
            total += mass[:, np.newaxis] * np.concatenate([np.ones((len(rows), 1)), found.output], axis=1)
        mass = total[:, 0]
        self.output[rows] = total[:, 1:] / mass[:, np.newaxis]
        self.log_partition[rows] = own + np.log(mass)
        self._judge(cell, rows, view.lost, mass)

    def _judge(self, cell: int, rows: NDArray[np.int64], lost: float, mass: Array) -> None:
        """Keep the bound of the error, and compute over all keys what would break the promise."""
        least = float(mass.min())
        bound = 2.0 * lost / (least - lost) if least > lost else math.inf
        if not bound <= self.accuracy:
            part = Pairs(self.pairs.form, self.pairs.queries[rows], self.points, self.pairs.coefficients)
            found = dense.attention(part, self.relative, log_weights=self.added)
            self.output[rows], self.log_partition[rows] = found[:2]
            bound = 0.0
        self.errors[cell] = bound

    def _view(self, cell: int, level: float, slope: Array) -> _View:
        """Return what a cell of queries sees, box by box."""
        k = self.keys
        centre, half = (a[cell][:, np.newaxis] for a in (self.queries.boxes.centres, self.queries.boxes.halves))
        there, wide = k.boxes.centres.T, k.boxes.halves.T
        constant = k.levels - level
        if self.distance:
            away = there - centre
            constant = constant - 0.5 * self.beta * np.square(away).sum(axis=0)
            a, b = self.beta * away, -self.beta * away
        else:
            constant = constant + self.beta * (centre * there).sum(axis=0)
            a, b = self.beta * there, np.broadcast_to(self.beta * centre, there.shape)
        a = a - slope[:, np.newaxis]
        b = b - k.slopes
        tilt = half * a
        turn = self.beta * half
        high = constant + np.maximum(tilt + wide * np.abs(b + turn), wide * np.abs(b - turn) - tilt).sum(axis=0)
        near, dropped = _choice(high, self.accuracy / 8.0)
        a, b, high, constant, wide = a[:, near], b[:, near], high[near], constant[near], wide[:, near]
        budget = self.accuracy / (4.0 * max(near.size, 1))
        peaks = np.exp(high)
        here = chebyshev.share(half * (np.abs(a) + abs(self.beta) * wide), self.p)
        keys = chebyshev.share(wide * (np.abs(b) + abs(self.beta) * half), self.p)
        errors = np.zeros((4, near.size))
        for mode, share in ((_QUERIES, here), (_KEYS, keys), (_BOTH, here + chebyshev.lebesgue(self.p) * keys)):
            errors[mode] = peaks * np.expm1(np.log1p(share).sum(axis=0))
        sizes = self.stands[1] * k.boxes.sizes[near]
        number = self.stands[0] * self.queries.boxes.sizes[cell]
        work = self.costs[:, np.newaxis] * np.stack([number * sizes, sizes, np.full_like(sizes, number), np.ones_like(sizes)])
        work[(errors > budget) & (np.arange(4) > _NONE)[:, np.newaxis]] = np.inf
        work[1:, peaks > _HIGH] = np.inf
        work[_KEYS:, ~k.large[near]] = np.inf
        if not self.queries.large[cell]:
            work[[_QUERIES, _BOTH]] = np.inf
        modes = np.argmin(work, axis=0)
        spent = float(work[modes, np.arange(near.size)].sum())
        lost = dropped + float(errors[modes, np.arange(near.size)].sum())
        return _View(near, modes, a, b, constant, level, slope, lost, spent)


_NONE, _QUERIES, _KEYS, _BOTH = range(4)


class _View(NamedTuple):
    """The boxes of keys that matter to a cell of queries, how each is summed, and what is lost by it."""

    near: NDArray[np.int64]
    modes: NDArray[np.int64]
    a: Array
    b: Array
    constant: Array
    level: float
    slope: Array
    lost: float
    work: float
    """a guess, in nanoseconds"""


def cost(pairs: Pairs, m: int, n: int, d_v: int, accuracy: float) -> float:
    """Return the work of :func:`attention` in pairs of the dense method, to compare with ``m * n``.

    Parameters
    ----------
    pairs : Pairs
        Scores; a few of their queries and keys stand for all.
    m, n, d_v : int
        Numbers of queries, keys and entries of a value.
    accuracy : float
        As promised by :func:`attention`.

    Returns
    -------
    float
        Infinite where :func:`attention` would refuse the form, the dimension, the sharpness or the accuracy, and for
        scores that overflow.
    """
    c = float(pairs.coefficients[0]) if pairs.form in FORMS else math.inf
    d = pairs.queries.shape[1]
    if not (ACCURACY[0] <= accuracy <= ACCURACY[1] and d <= DIMENSIONS and math.isfinite(c)):
        return math.inf
    if pairs.form is Form.DISTANCE and c < 0.0:
        return math.inf
    few = [np.ascontiguousarray(cloud[:: 1 + len(cloud) // _FEW]) for cloud in (pairs.queries, pairs.keys)]
    stands = m / len(few[0]), n / len(few[1])
    part = Pairs(pairs.form, *few, pairs.coefficients)
    try:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"), quiet_blas():
            plan = _Sums(part, np.zeros((len(few[1]), d_v)), np.zeros(len(few[1])), accuracy, stands)
            return plan.work()
    except (ValueError, OverflowError):
        return math.inf


def _degree(accuracy: float) -> int:
    """Return the number of nodes on each axis at which boxes that are read most are within the accuracy."""
    slope = np.array([_REACH * (_REACH + 3.0)])
    return next(p for p in range(4, 100) if chebyshev.share(slope, p)[0] <= 1e-3 * accuracy)


def _choice(high: Array, budget: float) -> tuple[NDArray[np.int64], float]:
    """Return the boxes to keep, in order, and the sum of what the others bring, at most the budget."""
    faint = math.log(budget / (2.0 * high.size))
    kept = np.flatnonzero(~(high <= faint))
    shares = np.exp(np.minimum(high[kept], 1.0))
    order = np.argsort(shares)
    sums = np.cumsum(shares[order])
    more = int(np.searchsorted(sums, 0.5 * budget, side="right"))
    dropped = float(np.exp(high[high <= faint]).sum()) + (float(sums[more - 1]) if more else 0.0)
    return np.sort(kept[order[more:]]), dropped
