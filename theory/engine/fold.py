r"""What precedes the pass over the keys: scores in base two, a bound of every row, values of a tame size.

*Base two.* With :math:`c' = \beta \log_2 e`, a dot product becomes :math:`\langle c' q, k \rangle` and a squared
distance is multiplied by :math:`c'`, so that :math:`2^{s'} = e^s`. Two roundings enter every score, each relative.
Distances keep their features as they are: scaled coordinates would be rounded before they are subtracted. In single
precision they are rounded all the same, so there the middle of the keys is subtracted first, in double.

*Bounds.* Let :math:`[l, h]` be the box of the keys. A dot product is at most :math:`|q| \max_j |k_j|` and at most
:math:`\sum_f \max(q_f l_f, q_f h_f)`; minus a squared distance is at most minus the one to the box. The smaller bound,
plus the largest log-weight, shifts the row. It need not be rigorous: any shift gives the same weights, one that is far
too high loses them to underflow, and such a row is seen by its mass (:mod:`theory.engine.passes`).

*Values* are divided, column by column, by a power of two that takes the largest into [1, 2), exactly unless they become
subnormal, so that no product with a small weight underflows and no sum of large ones overflows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.engine import ends
from theory.engine.exponential import LOG2E
from theory.engine.pairs import Array, Form, Pairs

NONE = np.empty(0)


class Folded(NamedTuple):
    """A problem in base two; features, values and log-weights in the precision of the pass."""

    form: Form
    queries: Array
    keys: Array
    values: Array
    columns: Array
    """shape (d, n), the keys coordinate by coordinate"""
    value_columns: Array
    """shape (d_v, n), and the values"""
    log_weights: Array | None
    """``None`` if all are equal; then they are part of ``offset``"""
    factor: float
    """of squared distances; no meaning for dot products"""
    shift: Array
    """shape (m,), an upper bound of the scores of the row with their log-weights; representable in that precision"""
    size: Array
    """shape (m,), a bound of what is added up where a score is nearly the shift"""
    offset: float
    """a constant in every score, in natural units"""
    exponent: NDArray[np.int64] | int
    """shape (d_v,), the columns of the values were divided by two to this power; nought if all are as they were"""


def in_base_two(coefficients: Array) -> float:
    """Return the factor of products or squares."""
    return float(coefficients[0]) * LOG2E


def fold(pairs: Pairs, values: Array, log_weights: Array | None, *, single: bool = False) -> Folded:
    """Fold a dot-product or distance problem; no argument is checked here."""
    scale = in_base_two(pairs.coefficients)
    if not single and pairs.queries.shape[1] <= ends.WIDEST:
        return _fold_double(pairs, values, log_weights, scale)
    kind = np.float32 if single else np.float64
    added, offset = _log_weights(log_weights)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by its result
        queries = pairs.queries * scale if pairs.form is Form.DOT else pairs.queries
        keys = pairs.keys
        if single and pairs.form is Form.DISTANCE:
            middle = keys.min(axis=0) / 2.0 + keys.max(axis=0) / 2.0
            queries, keys = queries - middle, keys - middle
        shift, size = _bounds(pairs.form, queries, keys, scale)
        if single and pairs.form is Form.DISTANCE:  # coordinates are rounded before they are subtracted
            reach = np.sqrt(np.einsum("if,if->i", queries, queries)) + np.sqrt(np.einsum("jf,jf->j", keys, keys).max())
            size += scale * reach**2
    if added is not None:
        shift += added.max()
        size += np.abs(added).max()
    tame, exponent = _tamed(values, 16 if single else ends.WITHIN)
    keys, tame = keys.astype(kind), tame.astype(kind)
    return Folded(
        pairs.form, queries.astype(kind), keys, tame, _columns(keys), _columns(tame),
        None if added is None else added.astype(kind), scale, shift.astype(kind).astype(np.float64), size,
        offset, exponent,
    )  # fmt: skip


def _fold_double(pairs: Pairs, values: Array, log_weights: Array | None, scale: float) -> Folded:
    given, keys, values = compilable(pairs.queries), compilable(pairs.keys), compilable(values)
    logs = NONE if log_weights is None else compilable(log_weights)
    m, d = given.shape
    n, d_v = values.shape
    dot = pairs.form is Form.DOT
    queries = np.empty((m, d)) if dot else given
    columns, added, shift, size = np.empty((d, n)), np.empty(logs.size), np.empty(m), np.empty(m)
    value_columns = columns if values is keys else np.empty((d_v, n))
    found = ends.write_folded(
        dot, given, keys, values, logs, scale, queries, columns, value_columns, added, shift, size
    )
    exponent: NDArray[np.int64] | int = 0
    if not found & ends.TAME:
        values, exponent = _tamed(values, ends.WITHIN)
        value_columns = _columns(values)
    weighted = found & ends.WEIGHTED
    offset = 0.0 if weighted or not logs.size else float(logs[0])
    return Folded(
        pairs.form, queries, keys, values, columns, value_columns, added if weighted else None, scale,
        shift, size, offset, exponent,
    )  # fmt: skip


def compilable(numbers: Array) -> Array:
    """Return an array of the one kind that kernels are compiled for: contiguous, and not only to be read."""
    return numbers if numbers.flags.carray else numbers.copy()


def _columns(points: Array) -> Array:
    """Return points coordinate by coordinate."""
    return np.ascontiguousarray(points.T)


def _log_weights(log_weights: Array | None) -> tuple[Array | None, float]:
    if log_weights is None:
        return None, 0.0
    if np.ptp(log_weights) == 0.0:
        return None, float(log_weights[0])
    return log_weights * LOG2E, 0.0


def _bounds(form: Form, queries: Array, keys: Array, scale: float) -> tuple[Array, Array]:
    """Return an upper bound of the scores of every row and one of the sizes of their summands."""
    coordinates = _columns(keys)  # whole rows are reduced ten times faster than columns
    low = coordinates.min(axis=1)
    high = coordinates.max(axis=1)
    if form is Form.DOT:
        box = np.maximum(queries * low, queries * high).sum(axis=1)
        lengths = np.sqrt(np.einsum("if,if->i", queries, queries) * np.einsum("jf,jf->j", keys, keys).max())
        least: Array = np.where(lengths < box, lengths, box)  # a length that overflowed is no smaller
        return least, lengths
    outside = np.maximum(np.maximum(low - queries, queries - high), 0.0)
    bound: Array = -scale * np.einsum("if,if->i", outside, outside)
    return bound, np.abs(bound)


def _tamed(values: Array, within: int) -> tuple[Array, NDArray[np.int64]]:
    largest = np.abs(values).max(axis=0)
    exponent = np.where((largest > 0.0) & np.isfinite(largest), np.frexp(largest)[1].astype(np.int64) - 1, 0)
    exponent[np.abs(exponent) <= within] = 0  # taken: far from either end nothing can be lost
    return (np.ldexp(values, -exponent) if exponent.any() else values), exponent
