r"""One tile of keys, narrow problems: score, exponential and sums in registers, no buffer of scores.

The row of a query is shifted by an upper bound of its scores, known before the pass. A running maximum would be a
reduction that the compiler may only vectorise if it assumes away NaN, and a buffer of scores costs as much as the
exponential. Features and values lie coordinate by coordinate, ``(d, t)``, so that a vector register holds the same
coordinate of successive keys; every loop over coordinates has a length known to the compiler, and the sums of one query
are a tuple that never leaves the registers. Scores are in base two (:mod:`theory.engine.exponential`).

A tile is added to totals in double precision; in single precision that keeps the error of a sum near that of one tile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from theory._jit import njit
from theory.engine.exponential import exp2, exp2_single
from theory.engine.pairs import Array, Counts, Form
from theory.engine.registers import as_float, bits, replaced

_BELOW_SIGN = 0x7FFFFFFFFFFFFFFF

WIDEST = 5  # measured: beyond this width of keys or values registers spill, and blocks of products are faster
ROWS = 16  # queries; measured: fewer in a call cost more than they do
TILE = 1000  # keys; measured: no power of two, or the coordinates of a key compete for the same lines of the cache


def _ordered(x: float) -> int:
    """Return an integer that is larger where ``x`` is."""
    k: int = bits(x)
    return k ^ ((k >> 63) & _BELOW_SIGN)


def _dot_product(query: tuple[Any, ...], keys: Array, j: int) -> Any:
    s = query[0] * keys[0, j]
    for f in range(1, len(query)):
        s += query[f] * keys[f, j]
    return s


def _squared_distance(query: tuple[Any, ...], keys: Array, j: int) -> Any:
    square = (query[0] - keys[0, j]) * (query[0] - keys[0, j])
    for f in range(1, len(query)):
        difference = query[f] - keys[f, j]
        square += difference * difference
    return square


def _with_value(gathered: tuple[Any, ...], w: Any, values: Array, j: int) -> tuple[Any, ...]:
    for c in range(len(gathered)):
        gathered = replaced(gathered, c, gathered[c] + w * values[c, j])
    return gathered


ordered = njit(_ordered, inline=True)
# functions of their own: what a loop leaves behind in its caller sets the first key of a tile apart from the vectors
dot_product = njit(_dot_product, sums=True, inline=True)
squared_distance = njit(_squared_distance, sums=True, inline=True)
with_value = njit(_with_value, sums=True, inline=True)


@cache
def kernel(form: Form, d: int, d_v: int, *, weighted: bool, single: bool) -> Callable[..., None]:
    """Return the compiled sums of one tile for features of width ``d`` and values of width ``d_v``.

    It takes ``(queries (m, d), keys (d, t), values (d_v, t), log_weights (t,), factor, shift (m,), stop (m,), sums
    (m, d_v), mass (m,))`` and adds to ``sums`` those of ``2^(score - shift) value`` over the first ``stop`` keys, to
    ``mass`` those of ``2^(score - shift)``. The score is ``<query, key>`` for :attr:`Form.DOT` and
    ``-factor |query - key|^2`` for :attr:`Form.DISTANCE`, plus the log-weight if ``weighted``.
    """
    dot = form is Form.DOT
    zero = (np.float32 if single else np.float64)(0.0)
    blank, start = (zero,) * d, (zero,) * d_v

    def tile_sums(
        queries: Array, keys: Array, values: Array, log_weights: Array, factor: float, shift: Array, stop: Counts,
        sums: Array, mass: Array,
    ) -> None:  # fmt: skip
        for i in range(queries.shape[0]):
            query = blank
            top = shift[i]
            for f in range(d):
                query = replaced(query, f, queries[i, f])
            total, gathered = zero, start
            for j in range(stop[i]):
                s = log_weights[j] - top if weighted else -top
                if dot:
                    s += dot_product(query, keys, j)
                else:
                    square = squared_distance(query, keys, j)
                    s -= factor * square
                w = exp2_single(s) if single else exp2(s)
                total += w
                gathered = with_value(gathered, w, values, j)
            mass[i] += total
            for c in range(d_v):
                sums[i, c] += gathered[c]

    return njit(tile_sums, sums=True)


@cache
def peaks(form: Form, d: int, *, weighted: bool) -> Callable[..., None]:
    """Return the compiled largest scores of one tile, in double precision.

    It takes the arguments of :func:`kernel` up to ``factor``, without values, then ``stop`` and ``peak (m,)``, which it
    raises. A maximum of floats is no vector instruction unless NaN is assumed away, one of integers is: the bits of a
    float, those below the sign turned over where it is set, are in the order of the floats.
    """
    dot = form is Form.DOT
    blank = (0.0,) * d

    def tile_peaks(queries: Array, keys: Array, log_weights: Array, factor: float, stop: Counts, peak: Array) -> None:
        for i in range(queries.shape[0]):
            query = blank
            top = ordered(peak[i])
            for f in range(d):
                query = replaced(query, f, queries[i, f])
            for j in range(stop[i]):
                s = log_weights[j] if weighted else 0.0
                if dot:
                    s += dot_product(query, keys, j)
                else:
                    s -= factor * squared_distance(query, keys, j)
                top = max(top, ordered(s))
            peak[i] = as_float(top ^ ((top >> 63) & _BELOW_SIGN))  # the same again undoes it

    return njit(tile_peaks, sums=True)
