r"""Attention by non-uniform Fourier transforms: O(m + n) work and memory for tokens of at most three dimensions.

Mass and numerator of a row are the sums :math:`P(q) = \sum_j a_j g(q - k_j)` and :math:`\sum_j a_j v_j g(q - k_j)`,
with weights :math:`a_j` and a Gaussian kernel from ``gauge`` (line), or as given (torus). A transform of type 1 takes
the keys to Fourier modes, ``spectrum`` multiplies them by the kernel, one of type 2 reads them at the queries.

**Error of a row.** Let :math:`\varepsilon` be the tolerance of the transform and :math:`\hat P` the peak of :math:`P`.
The series is cut at :math:`\hat P\varepsilon/8` (``spectrum``, derived), the transform adds at most
:math:`1.6\,\varepsilon\hat P` (measured), together less than :math:`\eta = 1.75\,\varepsilon\hat P`. Values are taken
about the middle of their range, in units of half of it, so mass and numerator are wrong by at most :math:`\eta` each:

.. math:: |\delta\,\text{output}| \le \frac{2\eta}{P - \eta} \max|v|, \qquad |\delta \log P| \le \frac{\eta}{P - \eta} .

Rows whose mass comes out below :math:`(2/\alpha + 2)\,\eta` may break the promise :math:`\alpha`. They are *faint* and
computed exactly, over all keys, or where that is long over cells (:mod:`theory.engine.cells`), which are right to a
share of each row's own partition. All other rows keep it if the measured part holds.

Apart from this, positions are rounded to :math:`2^{-53}` of the period: a kernel of width :math:`w` in a box of period
:math:`L` loses about :math:`2^{-53} L/w` where few keys share a row (measured), less where many average it out.
Very many keys at one and the same point lose digits too, as their sum rounds the same way each time.

**Check.** That part is tested in every call: ``CHECKED`` = 40 rows, drawn independently and uniformly, are computed
exactly too, and compared unless they are faint. If a share :math:`f` of all rows broke the promise, none would be seen
with probability :math:`(1 - f)^{40}`: fewer than 11 per cent do, at level 0.01. The numbers of the rows are fixed by
:math:`m`, so the same tokens asked again are no new evidence. A broken promise is followed by one
attempt more, at the finest tolerance with a threshold 16 times higher, at most half of the peak, then by an error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.engine import cells, dense, gauge, spectrum, transform
from theory.engine.demands import demand
from theory.engine.pairs import Array, AttentionResult, Form, Pairs
from theory.engine.threads import threads

FORMS = (Form.DISTANCE, Form.DOT, Form.TORUS)
DIMENSIONS = 3
CHECKED = 40
ACCURACY = (1e-13, 1e-1)  # measured: below, most rows of a cloud would be faint
_PILOTS = 8  # chosen: rows drawn on which the gauges are compared
_SEED = 20070
_FINEST = 5e-15  # measured: no smaller error was seen at a smaller tolerance of the transform
_NOISE = 1.75  # measured: a pair of transforms lost at most 1.45 eps of the peak; an eighth more for the series
_SHARE = 1e-3  # chosen: tolerance of the transform in units of the accuracy, so that few rows are faint
_POSITION = 2.0**-54  # measured: by how much of the shortest wave a position is rounded
_FEW = 2**28  # chosen: pairs of faint rows above which cells are taken, a quarter of a second
_AWAY = 4.0  # chosen: widths of the kernel between a far query and the box of the keys
_EXACT = 2**32  # chosen: pairs that may be spent on faint rows, some seconds
_POINT, _SPREAD, _GRID, _ROW = 60.0, 0.4, 1.0, 3.0  # measured: in pairs of the dense method, see ``cost``


def attention(
    pairs: Pairs, values: Array, *, log_weights: Array | None = None, accuracy: float = 1e-12
) -> AttentionResult:
    """Average the values of the keys under the softmax of the scores, to a promised accuracy.

    Parameters
    ----------
    pairs : Pairs
        Scores of m queries with n keys in at most three dimensions, of form ``DISTANCE``, ``DOT`` or ``TORUS``.
    values : ndarray, shape (n, d_v)
        Finite float64.
    log_weights : ndarray, shape (n,), optional
        Finite; added to every query's scores. Zero unless given.
    accuracy : float, default 1e-12
        Largest error beyond the rounding of scores: of an output in units of the largest size of a value, and of a
        log-partition. From 1e-13 to 0.1.

    Returns
    -------
    AttentionResult
        ``error`` is the largest error of an output that the check saw, or that faint rows certify where they were
        computed over cells; then the method is ``nufft+cells``. It depends on the number of threads by rounding only.

    Raises
    ------
    ValueError
        If an argument is not as above; if the kernel is too narrow for the extent of the clouds
        (``spectrum.LIMIT``); if on the torus so many rows are faint that the dense method is due.
    ArithmeticError
        If the check found a larger error twice.
    """
    added = np.zeros(pairs.keys.shape[0]) if log_weights is None else log_weights
    demand(pairs, values, added, accuracy, method="nufft", forms=FORMS, within=ACCURACY, dimensions=DIMENSIONS)
    far = _outside(pairs)
    if far.size:
        near = np.setdiff1d(np.arange(pairs.queries.shape[0]), far)
        parts = [
            attention(_part(pairs, near), values, log_weights=added, accuracy=accuracy),
            cells.attention(_part(pairs, far), values, log_weights=added, accuracy=accuracy),
        ]
        order = np.argsort(np.concatenate([near, far]))
        output, log_partition = (np.concatenate([part[i] for part in parts])[order] for i in (0, 1))
        return AttentionResult(output, log_partition, "nufft+cells", max(part.error for part in parts))
    columns = spectrum.by_axes(values)
    centre = spectrum.middle(columns)
    half = 0.5 * columns.max(axis=1, keepdims=True)
    half -= 0.5 * columns.min(axis=1, keepdims=True)
    relative = np.divide(columns - centre, half, out=np.zeros_like(columns), where=half > 0.0)
    largest = float(np.abs(values).max())
    known = _known(pairs, values, added)
    reached = math.inf
    for eps, caution in ((_tolerance(accuracy), 1.0), (_FINEST, 16.0)):
        threshold = min(caution * _threshold(accuracy, eps), 0.5)  # at 1, every row would be faint
        found = _sums(pairs, relative, added, known, eps, threshold, accuracy)
        output = np.ascontiguousarray((centre + half * found.output).T)
        log_partition = found.log_partition
        gaps = np.abs(output[known.checked] - known.output), np.abs(log_partition[known.checked] - known.log_partition)
        counted = ~found.faint[known.checked]
        error = float(gaps[0][counted].max(initial=0.0)) / (largest if largest > 0.0 else 1.0)
        reached = max(error, float(gaps[1][counted].max(initial=0.0)))
        if reached > accuracy + found.rounding:
            continue
        faint = np.flatnonzero(found.faint)
        method = "nufft"
        if faint.size * values.shape[0] > _FEW and pairs.form in cells.FORMS:
            part = cells.attention(_part(pairs, faint), values, log_weights=added, accuracy=accuracy)
            output[faint], log_partition[faint] = part[:2]
            method, error = "nufft+cells", max(error, part.error)
        elif faint.size * values.shape[0] > _EXACT:
            raise ValueError(
                f"method: expected partitions of like size for accuracy {accuracy:g}, got {faint.size} of "
                f"{output.shape[0]} rows that need every key"
            )
        elif faint.size:
            output[faint], log_partition[faint] = dense.attention(_part(pairs, faint), values, log_weights=added)[:2]
        return AttentionResult(output, log_partition, method, error)
    raise ArithmeticError(f"accuracy: expected an error of at most {accuracy:g}, got {reached:.3g}")


class _Known(NamedTuple):
    """Rows computed exactly beforehand: some to check by, and others to choose a gauge by."""

    checked: NDArray[np.int64]
    output: Array
    """of the rows to check by"""
    log_partition: Array
    """of the same"""
    pilots: gauge.Pilots


def _known(pairs: Pairs, values: Array, added: Array) -> _Known:
    rng = np.random.Generator(np.random.Philox(_SEED))
    m = pairs.queries.shape[0]
    checked, drawn = rng.integers(m, size=CHECKED), rng.integers(m, size=_PILOTS)
    chosen = np.concatenate([drawn, gauge.outward(pairs.queries)]) if pairs.form is not Form.TORUS else drawn[:0]
    columns = np.concatenate([values, pairs.keys], axis=1) if chosen.size else values
    exact = dense.attention(_part(pairs, np.concatenate([checked, chosen])), columns, log_weights=added)
    read = exact[0][CHECKED:, values.shape[1] :]
    pilots = gauge.Pilots(pairs.queries[chosen], read, exact[1][CHECKED:])
    return _Known(checked, exact[0][:CHECKED, : values.shape[1]], exact[1][:CHECKED], pilots)


class _Sums(NamedTuple):
    """Rows by Fourier sums; those that are faint hold no numbers."""

    output: Array
    """shape (d_v, m), of the relative values"""
    log_partition: Array
    faint: NDArray[np.bool_]
    """which rows to compute otherwise"""
    rounding: float
    """of the exponents, on both sides of the check"""


def _sums(
    pairs: Pairs, relative: Array, added: Array, known: _Known, eps: float, threshold: float, accuracy: float
) -> _Sums:
    """Compute all rows by Fourier sums and tell which are faint, below the threshold in units of the peak."""
    series, tilted, rise = _series(pairs, added, known.pilots, eps, threshold)
    lost = _POSITION * max(kernel.size // 2 for kernel in series.coefficients)
    if lost > accuracy:
        raise ValueError(f"method: expected a kernel far wider than rounded positions, got a share of {lost:.1g} lost")
    top = tilted.max()
    sums, peak = transform.fields(series, transform.strengths(np.exp(tilted - top), relative), eps, threads())
    mass = sums[0].real.copy()
    faint = ~(mass >= threshold * peak)
    mass[faint] = 1.0
    output = np.stack([transform.column(sums, c) / mass for c in range(relative.shape[0])])
    return _Sums(output, np.log(mass) + top + rise, faint, _rounding(pairs, tilted, rise))


def _outside(pairs: Pairs) -> NDArray[np.int64]:
    """Return the queries that are faint at first sight and would widen the grid: those far from all keys, if not all.

    As many as would be computed exactly anyway may stay.
    """
    none = np.arange(0)
    if pairs.form is not Form.DISTANCE or not pairs.coefficients[0] > 0.0:
        return none
    width = math.sqrt(0.5 / float(pairs.coefficients[0]))
    queries, keys = spectrum.by_axes(pairs.queries), spectrum.by_axes(pairs.keys)
    low, high = keys.min(axis=1, keepdims=True), keys.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        out = ((queries < low - _AWAY * width) | (queries > high + _AWAY * width)).any(axis=0)
    far = np.flatnonzero(out)
    return far if far.size * pairs.keys.shape[0] > _FEW and far.size < out.size else none


def _part(pairs: Pairs, rows: NDArray[np.int64]) -> Pairs:
    """Return the pairs of some queries."""
    return Pairs(pairs.form, pairs.queries[rows], pairs.keys, pairs.coefficients)


def cost(pairs: Pairs, m: int, n: int, d_v: int, accuracy: float) -> float:
    """Return the work of :func:`attention` in pairs of the dense method, to compare with ``m * n``.

    A guess from above for most clouds: the plain gauge is assumed. Distances are guessed to have as many faint rows as
    ``CHECKED`` rows have, products none. The constants are measured.

    Parameters
    ----------
    pairs : Pairs
        Scores, whose clouds give the size of the grid.
    m, n, d_v : int
        Numbers of queries, keys and entries of a value.
    accuracy : float
        As promised by :func:`attention`.

    Returns
    -------
    float
        Infinite where :func:`attention` would refuse the form, the dimension, the accuracy or the grid, and where
        positions are rounded too coarsely for the accuracy.
    """
    d = pairs.queries.shape[1]
    if not (pairs.form in FORMS and d <= DIMENSIONS and ACCURACY[0] <= accuracy <= ACCURACY[1]):
        return math.inf
    c = float(pairs.coefficients[0])
    far = _outside(pairs) if math.isfinite(c) else np.arange(0)
    if far.size:
        near = np.setdiff1d(np.arange(m), far)
        beyond = cells.cost(_part(pairs, far), far.size, n, d_v, accuracy)
        return beyond + cost(_part(pairs, near), near.size, n, d_v, accuracy)
    eps = _tolerance(accuracy)
    if not math.isfinite(c) or (c < 0.0 and pairs.form is not Form.DOT):
        return math.inf
    torus = pairs.form is Form.TORUS
    bands = np.full(d, spectrum.circle_band(2.0 * c, d, eps)) if torus else gauge.plain_bands(pairs, eps)
    points = spectrum.fine_points(bands)
    if not points <= spectrum.LIMIT or _POSITION * float(bands.max()) > accuracy:
        return math.inf
    width = 1.0 - math.log10(eps)  # the transform spreads a point over that many cells per axis
    transforms = (d_v + 2) // 2
    each = _POINT + _SPREAD * transforms * width**d
    sums = (m + n) * each + _GRID * transforms * points * math.log2(points) + _ROW * (CHECKED + 2 * _PILOTS) * n
    faint = _faint_share(pairs, accuracy, eps) if pairs.form is Form.DISTANCE else 0.0
    if faint * m * n > _FEW:
        return float(sums + faint * min(float(m) * n, cells.cost(pairs, m, n, d_v, accuracy)))
    return float(sums + faint * m * n)


def _faint_share(pairs: Pairs, accuracy: float, eps: float) -> float:
    """Return the share of faint rows in the plain gauge among a few distances' rows."""
    rows = np.random.Generator(np.random.Philox(_SEED)).integers(pairs.queries.shape[0], size=CHECKED)
    logs = dense.attention(_part(pairs, rows), pairs.keys[:, :1].copy()).log_partition
    return float((logs < logs.max() + math.log(_threshold(accuracy, eps))).mean())


def _threshold(accuracy: float, eps: float) -> float:
    """Return the share of the peak below which a row may break the promise."""
    return (2.0 / accuracy + 2.0) * _NOISE * eps


def _tolerance(accuracy: float) -> float:
    return max(_FINEST, _SHARE * accuracy)


def _series(
    pairs: Pairs, added: Array, pilots: gauge.Pilots, eps: float, threshold: float
) -> tuple[spectrum.Series, Array, Array]:
    """Return the Fourier series, the log-weights that go with it, and what they add to the log-partition."""
    if pairs.form is Form.TORUS:
        series = spectrum.circle(pairs.queries, pairs.keys, 2.0 * float(pairs.coefficients[0]), eps / 8.0)
        return series, added, np.zeros(pairs.queries.shape[0])
    found = gauge.choose(pairs, added, pilots, eps / 8.0, faint=threshold)
    return spectrum.line(found.queries, found.keys, eps / 8.0), added + found.tilt, found.rise


def _rounding(pairs: Pairs, tilted: Array, rise: Array) -> float:
    """Return the rounding of the exponents: gamma of their operations times their sizes, on both sides of the check."""
    d = pairs.queries.shape[1]
    size = float(np.abs(tilted).max()) + float(np.abs(rise).max())
    if pairs.form is Form.DOT:
        longest = [float(np.sqrt(np.square(cloud).sum(axis=1).max())) for cloud in (pairs.queries, pairs.keys)]
        size += abs(float(pairs.coefficients[0])) * longest[0] * longest[1]
    return float((4 * d + 8) * 2.0**-53 * size)
