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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory.engine.exponential import LOG2E
from theory.engine.pairs import Array, Form, Pairs


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """A problem in base two; features, values and log-weights in the precision of the pass."""

    form: Form
    queries: Array
    keys: Array
    values: Array
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
    exponent: NDArray[np.int64]
    """shape (d_v,), the columns of the values were divided by two to this power"""


def fold(pairs: Pairs, values: Array, log_weights: Array | None, *, single: bool = False) -> Folded:
    """Fold a dot-product or distance problem; no argument is checked here."""
    kind = np.float32 if single else np.float64
    added, offset = _log_weights(log_weights)
    scale = float(pairs.coefficients[0]) * LOG2E
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
    tame, exponent = _tamed(values, 16 if single else 64)
    return Folded(
        pairs.form, queries.astype(kind), keys.astype(kind), tame.astype(kind),
        None if added is None else added.astype(kind), scale, shift.astype(kind).astype(np.float64), size,
        offset, exponent,
    )  # fmt: skip


def _log_weights(log_weights: Array | None) -> tuple[Array | None, float]:
    if log_weights is None:
        return None, 0.0
    if np.ptp(log_weights) == 0.0:
        return None, float(log_weights[0])
    return log_weights * LOG2E, 0.0


def _bounds(form: Form, queries: Array, keys: Array, scale: float) -> tuple[Array, Array]:
    """Return an upper bound of the scores of every row and one of the sizes of their summands."""
    coordinates = np.ascontiguousarray(keys.T)  # whole rows are reduced ten times faster than columns
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
