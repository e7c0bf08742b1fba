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

which is at most its maximum :math:`e^U` on :math:`Q \times K`, attained at corners, axis by axis. Without its own term
the partition is log-convex in :math:`x`. So if :math:`R` is the log-partition at the centre, and :math:`g` the
coefficient times the mean key read there (less the centre for distances), every row of :math:`Q` has a partition of at
least one. By Jensen's inequality masses and means of the boxes of keys give such a tangent from below. No bound below
depends on that; it makes them small.

**Errors.** Of the mass of a row, in its units,

- keys that are not read bring at most the sum of their :math:`e^U`; where a wide cell of queries would read too many,
  it is halved, and what either half does not read of what the whole one did is added in the units of each;
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
fails all the same is computed over all keys.

**Rounding.** What is not read must be small however :math:`U` and the units of the rows are rounded. Every operation
is off by :math:`u` of its result, and no result on the way to either is larger than the sum of the sizes of its terms,
with the largest distances between tokens of both boxes, or sizes of tokens, for those of scores: by
:math:`8 (d + 8) u` of that sum :math:`U` is raised, and the logarithm of what a row loses. Where this is no longer
small, for queries in a very wide cell, every key is read.

The rest is not in the bound, as for every method: the exponents, of which terms exceed the scores themselves by at most
``_EXCESS`` where a pair of boxes is interpolated, and by nothing where it is not; keys of products are taken around
zero first. And sums: interpolated boxes bring a row at most :math:`\sum e^U \le` ``HIGH`` times its mass, or the cell
is computed over all keys, and with :math:`\kappa u` of one axis (:mod:`theory.engine.chebyshev`) that is off to first
order by at most :math:`2 d \kappa \Lambda^{2d - 1} u \sum e^U`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from theory.engine import chebyshev, dense, spectrum
from theory.engine.cellplan import BOTH, HIGH, KEYS, NONE, QUERIES, Cell, Plan, View
from theory.engine.demands import demand
from theory.engine.pairs import Array, AttentionResult, Form, Pairs
from theory.engine.threads import over_rows, quiet_blas

FORMS = (Form.DISTANCE, Form.DOT)
DIMENSIONS = 3
ACCURACY = (1e-13, 1e-1)  # taken: below, rounding is larger
_FEW = 1 << 14  # taken: tokens from which the cost is guessed
_WORTH = 1 << 10  # taken: pairs that a query is worth, when rows are handed to threads
_BATCH = 1 << 22  # taken: numbers of the moments that are carried at once


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
        with np.errstate(over="ignore", invalid="ignore", under="ignore"), quiet_blas():
            near, away = _moved(pairs)
            sums = _Sums(Plan(near, relative.shape[0] + 1, added, accuracy), np.ascontiguousarray(relative.T))
            over_rows(sums.run, len(sums.errors), pairs.queries.shape[0] * _WORTH)
            log_partition = sums.log_partition + away
            dense.demand_finite("score", log_partition)
    except (ValueError, OverflowError):  # an overflow; the dense method names the query
        exact = dense.attention(pairs, values, log_weights=log_weights)
        return AttentionResult(exact.output, exact.log_partition, "cells", 0.0)
    output = np.ascontiguousarray((centre + half * sums.output.T).T)
    return AttentionResult(output, log_partition, "cells", float(sums.errors.max()))


def _moved(pairs: Pairs) -> tuple[Pairs, Array]:
    """Return pairs of which the keys of products are around zero, and what is missing in each query's scores."""
    if pairs.form is not Form.DOT:
        return pairs, np.zeros(1)
    corner = np.clip(0.0, pairs.keys.min(axis=0), pairs.keys.max(axis=0))
    keys = np.ascontiguousarray(pairs.keys - corner)
    return pairs._replace(keys=keys), float(pairs.coefficients[0]) * (pairs.queries @ corner)


class _Sums:
    """The results of a call, filled in cell by cell."""

    def __init__(self, plan: Plan, relative: Array) -> None:
        self.plan = plan
        self.relative = relative[plan.keys.boxes.order]
        ones = np.ones((len(relative), 1))
        self.columns = np.concatenate([ones, self.relative], axis=1) * plan.keys.laws[:, np.newaxis]
        self.grid = chebyshev.nodes(plan.p)
        self.seats = np.cumsum(plan.keys.large) - 1
        self.moments = self._moments()
        m = plan.pairs.queries.shape[0]
        self.output = np.empty((m, relative.shape[1]))
        self.log_partition = np.empty(m)
        self.errors = np.zeros(len(plan.levels))

    def _moments(self) -> Array:
        """Return the sums of the law of every large box of keys, and of values under it, on its nodes."""
        plan = self.plan
        k = plan.keys
        found = np.empty((int(k.large.sum()), *self._shape()))
        for seat, box in enumerate(np.flatnonzero(k.large)):
            rows = slice(k.boxes.starts[box], k.boxes.starts[box + 1])
            found[seat] = chebyshev.gather(self._basis(plan.y[rows], k.boxes.halves[box]), self.columns[rows])
        return found

    def _shape(self) -> tuple[int, int, int]:
        return self.plan.p ** (self.plan.d - 1), self.columns.shape[1], self.plan.p

    def _basis(self, places: Array, halves: Array) -> list[Array]:
        """Return the basis polynomials of a box, axis by axis, at places less its centre."""
        return [
            chebyshev.basis(z / h if h > 0.0 else np.zeros(z.size), self.plan.p)
            for z, h in zip(places.T, halves, strict=True)
        ]

    def run(self, boxes: slice) -> None:
        """Compute the rows of some boxes of queries."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
            for box in range(boxes.start, boxes.stop):
                self.errors[box] = max(self._rows(cell, view) for cell, view in self.plan.leaves(box))

    def _rows(self, cell: Cell, view: View) -> float:
        """Compute the rows of a cell and return the bound of their errors."""
        plan = self.plan
        x = plan.pairs.queries[cell.rows] - cell.centre
        unit = plan.unit(cell, x)
        direct = np.flatnonzero(view.modes == NONE)
        if direct.size == view.modes.size:
            output, log_partition = self._exact(cell.rows, plan.keys.boxes.members(view.near))
            mass = np.exp(np.minimum(log_partition - unit, 700.0))
        else:
            total = self._interpolated(cell, view, x)
            if direct.size:
                part = self._exact(cell.rows, plan.keys.boxes.members(view.near[direct]))
                scale = np.exp(part[1] - unit)
                total[:, 0] += scale
                total[:, 1:] += scale[:, np.newaxis] * part[0]
            mass = total[:, 0]
            output, log_partition = total[:, 1:] / mass[:, np.newaxis], unit + np.log(mass)
        rounds = plan.rounds(cell)
        lost = (view.lost + np.exp(np.minimum(cell.before - unit, 700.0))) * np.exp(rounds)
        held = (mass > lost) & (mass < np.inf) & (view.peak <= HIGH * mass)
        bound = 2.0 * float(np.where(held, lost / (mass - lost), np.inf).max())
        if not bound <= plan.accuracy:
            output, log_partition = self._exact(cell.rows, np.arange(len(plan.points)))
            bound = 0.0
        self.output[cell.rows], self.log_partition[cell.rows] = output, log_partition
        return bound

    def _exact(self, rows: NDArray[np.int64], seats: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return output and log-partition of some rows over some keys."""
        plan = self.plan
        part = Pairs(plan.pairs.form, plan.pairs.queries[rows], plan.points[seats], plan.pairs.coefficients)
        found = dense.attention(part, self.relative[seats], log_weights=plan.added[seats])
        return found.output, found.log_partition

    def _interpolated(self, cell: Cell, view: View, x: Array) -> Array:
        """Return masses and sums of values (rows, columns) over the boxes that are interpolated on any side."""
        total = np.zeros((len(x), self.columns.shape[1]))
        places = cell.half[:, np.newaxis] * self.grid
        both, single = (np.flatnonzero(view.modes == mode) for mode in (BOTH, QUERIES))
        if both.size or single.size:
            tensor = np.zeros(self._shape())
            step = max(1, _BATCH // tensor.size)
            for start in range(0, both.size, step):
                tensor += self._carried(view, both[start : start + step], places)
            if single.size:
                tensor += self._gathered(view, single, places)
            total += chebyshev.read(self._basis(x, cell.half), tensor)
        for i in np.flatnonzero(view.modes == KEYS):
            total += self._read(view, int(i), x)
        return total

    def _carried(self, view: View, some: NDArray[np.int64], places: Array) -> Array:
        """Return what boxes of keys bring to the nodes of the queries, from their own nodes."""
        plan = self.plan
        matrices = []
        for f in range(plan.d):
            here = places[f][np.newaxis, :, np.newaxis]
            there = (plan.keys.boxes.halves[view.near[some], f][:, np.newaxis] * self.grid)[:, np.newaxis]
            a, b = (slopes[f, some][:, np.newaxis, np.newaxis] for slopes in (view.a, view.b))
            exponent = a * here + b * there + plan.beta * here * there
            if f == 0:
                exponent += view.constant[some][:, np.newaxis, np.newaxis]
            matrices.append(np.exp(exponent))
        return chebyshev.carry(matrices, self.moments[self.seats[view.near[some]]])

    def _gathered(self, view: View, some: NDArray[np.int64], places: Array) -> Array:
        """Return what the keys of some boxes bring to the nodes of the queries."""
        plan = self.plan
        seats = plan.keys.boxes.members(view.near[some])
        sizes = plan.keys.boxes.sizes[view.near[some]]
        y = plan.y[seats].T
        a, b, constant = (np.repeat(given[..., some], sizes, axis=-1) for given in (view.a, view.b, view.constant))
        masses = np.exp(constant + (b * y).sum(axis=0))
        slopes = a + plan.beta * y
        waves = [np.exp(np.outer(slope, place)) for slope, place in zip(slopes, places, strict=True)]
        return chebyshev.gather(waves, masses[:, np.newaxis] * self.columns[seats])

    def _read(self, view: View, i: int, x: Array) -> Array:
        """Return what one box of keys brings to the queries, from its nodes."""
        plan = self.plan
        box = int(view.near[i])
        places = plan.keys.boxes.halves[box][:, np.newaxis] * self.grid
        slopes = view.b[:, i][:, np.newaxis] + plan.beta * x.T
        waves = [np.exp(np.outer(slope, place)) for slope, place in zip(slopes, places, strict=True)]
        masses = np.exp(view.constant[i] + x @ view.a[:, i])
        found: Array = masses[:, np.newaxis] * chebyshev.read(waves, self.moments[self.seats[box]])
        return found


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
    part = _moved(Pairs(pairs.form, few[0], few[1], pairs.coefficients))[0]
    try:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"), quiet_blas():
            return Plan(part, d_v + 1, np.zeros(len(few[1])), accuracy, stands).work()
    except (ValueError, OverflowError):
        return math.inf
