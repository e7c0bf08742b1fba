"""Exact attention over all pairs: memory O(m d_v + n (d + d_v)), no matrix of weights unless it is asked for.

Rows are split over threads, and no number is added across them: results do not depend on how many there are.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import numpy as np

from theory._backend import backend
from theory._validate import all_finite, as_instance
from theory.engine import reference
from theory.engine.pairs import Array, AttentionResult, Counts, Direction, Form, Moments, Pairs

PRECISIONS = ("double", "single")
_DOUBLE = np.dtype(np.float64)


def kernels(form: Form) -> ModuleType:
    """Return the module that computes: the backend's, or the oracle for a score that only Python knows."""
    return reference if backend() == "reference" or form is Form.GIVEN else _compiled()


@cache
def _compiled() -> ModuleType:
    from theory.engine import compiled  # noqa: PLC0415  loads Numba

    return compiled


def attention(
    pairs: Pairs, values: Array, *, log_weights: Array | None = None, visible: Counts | None = None,
    precision: str = "double",
) -> AttentionResult:  # fmt: skip
    """Average the values of the keys under the softmax of the scores.

    Parameters
    ----------
    pairs : Pairs
        Scores of m queries with n keys, not yet computed.
    values : ndarray, shape (n, d_v)
        Contiguous float64.
    log_weights : ndarray, shape (n,), optional
        Finite; added to every query's scores. Zero unless given.
    visible : ndarray of int64, shape (m,), optional
        Query ``i`` sees the first ``visible[i] >= 1`` keys; all of them unless given.
    precision : {"double", "single"}
        Of the arithmetic and of the output. Single is two to three times as fast, and known to dot products and
        distances only; a score is then off by about ``2**-24`` of the products or squares that it is the sum of, and
        distances are taken from the middle of the keys.

    Returns
    -------
    AttentionResult

    Raises
    ------
    ValueError
        If a score or an average leaves the range of the floats, or ``precision`` is unknown or not available.
    """
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    added, seen = checked(pairs, values, log_weights, visible)
    if precision == "single" and pairs.form not in (Form.DOT, Form.DISTANCE, Form.TORUS):
        raise ValueError(f"precision: expected double for this score, got {precision!r}")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # what overflows is refused below
        output, log_partition = kernels(pairs.form).attention(pairs, values, added, seen, single=precision == "single")
    demand_finite("score", log_partition)
    demand_finite("values", output)
    return AttentionResult(output, log_partition)


def weights(pairs: Pairs, *, log_weights: Array | None = None, visible: Counts | None = None) -> Array:
    """Return the whole (m, n) matrix of attention weights; parameters as in :func:`attention`."""
    added, seen = checked(pairs, as_instance(pairs, "pairs", Pairs).keys, log_weights, visible)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        rows: Array = kernels(pairs.form).weights(pairs, added, seen)
    demand_finite("score", rows)
    return rows


def moments(pairs: Pairs, values: Array, *, log_weights: Array | None = None, visible: Counts | None = None) -> Moments:
    """Return output and log-partition with the entropy of each row and the covariance of the values under it.

    One pass over the keys, memory O(m d_v^2 + n (d + d_v)); parameters and errors as in :func:`attention`.
    """
    added, seen = checked(pairs, values, log_weights, visible)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found = Moments(*kernels(pairs.form).moments(pairs, values, added, seen))
    demand_finite("score", found.log_partition)
    demand_finite("score", found.entropy)
    demand_finite("values", found.covariance)
    return found


def jvp(
    pairs: Pairs, values: Array, direction: Direction, *,
    log_weights: Array | None = None, visible: Counts | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the output and its derivative along a direction, both (m, d_v).

    Parameters and errors as in :func:`attention`; ``direction`` holds tangents of the features of queries and keys, of
    the values and of the log-weights.
    """
    added, seen = checked(pairs, values, log_weights, visible)
    demand_slopes(pairs)
    if not isinstance(direction, Direction):
        raise TypeError(f"direction: expected a Direction, got {type(direction).__name__}")
    wanted = (pairs.queries.shape, pairs.keys.shape, values.shape, added.shape)
    for name, array, shape in zip(Direction._fields, direction, wanted, strict=True):
        demand_shape(f"direction.{name}", array, shape)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        output, derivative = kernels(pairs.form).jvp(pairs, values, added, seen, direction)
    demand_finite("values", output)
    demand_finite("direction", derivative)
    return output, derivative


def vjp(
    pairs: Pairs, values: Array, cotangent: Array, *, log_weights: Array | None = None, visible: Counts | None = None
) -> Direction:
    """Return the gradient of ``sum(cotangent * output)`` by each argument; ``cotangent`` is (m, d_v).

    Parameters and errors as in :func:`attention`. Memory O((m + n) (d + d_v)), with up to eight sums over queries.
    """
    added, seen = checked(pairs, values, log_weights, visible)
    demand_slopes(pairs)
    demand_shape("cotangent", cotangent, (pairs.queries.shape[0], values.shape[1]))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found = Direction(*kernels(pairs.form).vjp(pairs, values, added, seen, cotangent))
    for array in found:
        if not all_finite(array):
            demand_finite("values", values)
            demand_finite("cotangent", array)
    return found


def checked(pairs: Pairs, values: Array, log_weights: Array | None, visible: Counts | None) -> tuple[Array, Counts]:
    """Return log-weights and counts of visible keys, written out, after refusing what kernels could not trust."""
    as_instance(pairs, "pairs", Pairs)
    form, queries, keys, coefficients, _ = pairs
    for name, array in (("queries", queries), ("keys", keys), ("values", values)):
        if not (_plain(array) and array.ndim == 2 and array.size):
            raise ValueError(f"{name}: expected a non-empty matrix of float64, got {type(array).__name__}")
    m, d = queries.shape
    n = keys.shape[0]
    if form is not Form.GIVEN:
        if keys.shape[1] != d:
            demand_shape("keys", keys, (n, d))
        demand_shape("coefficients", coefficients, (d if form is Form.ADDITIVE else 1,))
        if form in (Form.DISTANCE, Form.TORUS) and not coefficients[0] >= 0.0:
            raise ValueError(f"coefficients: expected a scale that is not negative, got {coefficients[0]}")
    if values.shape[0] != n:
        demand_shape("values", values, (n, values.shape[1]))
    if log_weights is None:
        added = np.zeros(n)
    else:
        added = log_weights
        demand_log_weights(added, n)
    if visible is None:
        every = np.empty(m, np.int64)
        every.fill(n)
        return added, every
    return added, as_visible(visible, m, n)


def demand_log_weights(log_weights: Array, n: int) -> None:
    """Refuse log-weights of other than ``n`` keys, or of a key without weight."""
    demand_shape("log_weights", log_weights, (n,))
    if not all_finite(log_weights):
        raise ValueError("log_weights: expected finite numbers, got others; leave a key without weight out")


def as_visible(seen: Counts, m: int, n: int) -> Counts:
    """Return how many of ``n`` keys each of ``m`` queries sees, at least one each."""
    if type(seen) is not np.ndarray or seen.shape != (m,):
        raise ValueError(f"visible: expected an array of shape {(m,)}, got {getattr(seen, 'shape', type(seen))}")
    if seen.dtype != np.int64 or seen.min() < 1 or seen.max() > n:
        raise ValueError(
            f"visible: expected int64 counts from 1 to {n}, got {seen.dtype} from {seen.min()} to {seen.max()}"
        )
    return seen


def demand_finite(name: str, results: Array) -> None:
    """Refuse results that left the range of the floats, naming the argument that is too large."""
    if not all_finite(results):
        query = int(np.argwhere(~np.isfinite(results))[0, 0])
        raise ValueError(f"{name}: expected sizes that float64 can hold, got an overflow for query {query}")


def demand_slopes(pairs: Pairs) -> None:
    """Refuse a score of which no derivative is known."""
    if pairs.form is Form.GIVEN:
        raise ValueError("score: expected one with a known derivative, got a function")


def demand_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """Refuse an array that does not fit, or that the kernels would have to convert."""
    if not _plain(array) or array.shape != shape:
        got = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name}: expected an array of float64 of shape {shape}, got {got}")


def _plain(array: object) -> bool:
    """Tell whether an array is one of float64 without masks."""
    if type(array) is np.ndarray:
        return bool(array.dtype == _DOUBLE)
    return isinstance(array, np.ndarray) and array.dtype == _DOUBLE and not isinstance(array, np.ma.MaskedArray)
