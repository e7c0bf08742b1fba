"""What the kernels see of a score: a form, the features of queries and keys, and a few coefficients."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

TILE = 512  # keys that share one running maximum; taken: their scores stay in the first cache


class Form(IntEnum):
    """How the score of a pair follows from its features ``q`` and ``k`` and the coefficients ``c``."""

    DOT = 0
    """``c[0] <q, k>``"""
    DISTANCE = 1
    """``-c[0] |q - k|^2``, by differences, never by the expanded square"""
    ADDITIVE = 2
    """``sum_h c[h] tanh(q[h] + k[h])``"""
    GIVEN = 3
    """whatever a function of the raw tokens returns, block by block; always on the NumPy path"""
    TORUS = 4
    """``-c[0] sum_f |exp(i q[f]) - exp(i k[f])|^2``, the squared chord between angles in radians"""


class Pairs(NamedTuple):
    """The scores of every query with every key, not yet computed.

    Parameters
    ----------
    form : Form
        Which formula.
    queries, keys : ndarray, shapes (m, f) and (n, f)
        Contiguous float64 features; raw tokens, of any dimensions, for ``Form.GIVEN``.
    coefficients : ndarray
        As the form says; empty for ``Form.GIVEN``.
    given : callable, optional
        ``(queries (b, dx), keys (n, dy)) -> scores (b, n)``, for ``Form.GIVEN`` only.
    """

    form: Form
    queries: Array
    keys: Array
    coefficients: Array
    given: Callable[[Array, Array], Array] | None = None


class AttentionResult(NamedTuple):
    """What a query reads, by whatever method."""

    output: Array
    """shape (m, d_v): the values averaged under the softmax of the scores"""
    log_partition: Array
    """shape (m,): logarithm of the sum of ``exp(score + log_weight)`` over the keys seen"""
    method: str = "dense"
    """how it was computed: ``dense``, ``nufft``, ``local`` or ``cells``, or several of them with a plus between"""
    error: float = 0.0
    """of any entry of the output, beyond rounding, in units of the largest size of a value; see the method"""


class Moments(NamedTuple):
    """What a query reads, and how widely."""

    output: Array
    """shape (m, d_v)"""
    log_partition: Array
    """shape (m,)"""
    entropy: Array
    """shape (m,), of the attention weights of each query, in nats"""
    covariance: Array
    """shape (m, d_v, d_v), of the values under them"""


class Direction(NamedTuple):
    """A tangent or cotangent: one array for each argument of attention, of its shape."""

    queries: Array
    keys: Array
    values: Array
    log_weights: Array


def embedded(pairs: Pairs) -> Pairs:
    """Return angles as points of the plane, two features each, where their chords are distances."""
    if pairs.form is not Form.TORUS:
        return pairs
    queries, keys = (np.concatenate([np.cos(x), np.sin(x)], axis=1) for x in (pairs.queries, pairs.keys))
    return Pairs(Form.DISTANCE, queries, keys, pairs.coefficients)
