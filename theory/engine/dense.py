"""Exact attention over all pairs: chooses backend and threads, memory O(m d_v + n d)."""

from __future__ import annotations

import os
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from theory.engine import reference
from theory.engine.pairs import Array, Form, Pairs
from theory.engine.threads import over_rows

BACKENDS = ("compiled", "reference")


def _kernels(form: Form) -> ModuleType:
    name = os.environ.get("THEORY_BACKEND", "compiled")
    if name not in BACKENDS:
        raise ValueError(f"THEORY_BACKEND: expected one of {', '.join(BACKENDS)}, got {name!r}")
    if name == "reference" or form is Form.GIVEN:
        return reference
    from theory.engine import compiled  # noqa: PLC0415  loads Numba

    return compiled


def _run(
    name: str, pairs: Pairs, values: tuple[Array, ...], log_weights: Array | None,
    visible: NDArray[np.int64] | None, filled: tuple[Array, ...],
) -> None:  # fmt: skip
    """Call the kernel ``name`` on slices of the queries; it fills the same slices of ``filled``."""
    m, n = pairs.queries.shape[0], pairs.keys.shape[0]
    added = np.zeros(n) if log_weights is None else log_weights
    seen = np.full(m, n) if visible is None else visible
    kernels = _kernels(pairs.form)
    kernel = getattr(kernels, name)
    given = () if pairs.given is None else (pairs.given,)

    def run(part: slice) -> None:
        kernel(
            int(pairs.form), pairs.queries[part], pairs.keys, *values, added, pairs.coefficients, seen[part],
            *(array[part] for array in filled), *given,
        )  # fmt: skip

    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        if kernels is reference:
            run(slice(0, m))  # BLAS rounds by the shape of a block, so a split would show in the last digit
        else:
            over_rows(run, m, m * n)


def attention(
    pairs: Pairs, values: Array, *, log_weights: Array | None = None, visible: NDArray[np.int64] | None = None
) -> tuple[Array, Array]:
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

    Returns
    -------
    output : ndarray, shape (m, d_v)
    log_partition : ndarray, shape (m,)
        Logarithm of the sum of ``exp(score + log_weight)`` over the keys seen.

    Raises
    ------
    ValueError
        If a score or an average leaves the range of float64.
    """
    m = pairs.queries.shape[0]
    output, log_partition = np.empty((m, values.shape[1])), np.empty(m)
    _run("attention", pairs, (values,), log_weights, visible, (output, log_partition))
    _demand_finite("score", log_partition)
    _demand_finite("values", output)
    return output, log_partition


def weights(pairs: Pairs, *, log_weights: Array | None = None, visible: NDArray[np.int64] | None = None) -> Array:
    """Return the whole (m, n) matrix of attention weights; parameters as in :func:`attention`."""
    rows = np.empty((pairs.queries.shape[0], pairs.keys.shape[0]))
    _run("weights", pairs, (), log_weights, visible, (rows,))
    _demand_finite("score", rows)
    return rows


def _demand_finite(name: str, results: Array) -> None:
    """Refuse results that left the range of float64, naming the argument that is too large."""
    bad = np.argwhere(~np.isfinite(results))
    if bad.size:
        raise ValueError(f"{name}: expected sizes that float64 can hold, got an overflow for query {int(bad[0, 0])}")
