r"""Doubly normalised attention: Sinkhorn's iteration in the logarithmic domain, streamed.

For masses :math:`a` of the queries and :math:`b` of the keys, each divided by its sum, there is one coupling

.. math:: P_{ij} = a_i b_j e^{f_i + s_{ij} + g_j}, \qquad \sum_j P_{ij} = a_i, \quad \sum_i P_{ij} = b_j,

and the attention of query i is :math:`\sum_j P_{ij} v_j / a_i`. A sweep makes the rows right,
:math:`f_i = -\log\sum_j b_j e^{s_{ij} + g_j}`, and then the columns, :math:`g_j = -\log\sum_i a_i e^{s_{ij} + f_i}`.
Adding :math:`u_i + v_j` to the scores changes the potentials and nothing else. Both halves of a sweep are passes of the
engine, so that no (m, n) matrix is formed; a query of mass zero is answered and moves no key.

The rows of what is returned are always right. How wrong the columns are is the ``residual``, which every result
carries; what did not come down to the tolerance within the allowed sweeps says so (``converged``), and how far the
limit may be follows from the residual in :mod:`theory.attention.sinkhorn.bounds`.

References
----------
R. Sinkhorn, P. Knopp, Concerning nonnegative matrices and doubly stochastic matrices, *Pacific Journal of Mathematics*
21 (1967), 343-348.
M. E. Sander, P. Ablin, M. Blondel, G. Peyré, Sinkformers: transformers with doubly stochastic attention, AISTATS 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory import engine
from theory._validate import as_bound, as_count, as_masses, as_points, as_vector, frozen
from theory.attention.masses import logs_of
from theory.attention.score import Array, DotProduct, Score, pairs_of
from theory.engine import Pairs

_SCALED = DotProduct()
TOLERANCE = 1e-12  # taken: above what rounding leaves of scores up to a few hundred


@dataclass(frozen=True, slots=True, eq=False)
class Sinkhorn:
    """A coupling with right rows, and how far its columns are from right.

    Parameters
    ----------
    queries, keys : ndarray, shapes (m, d_q) and (n, d_k)
    query_weights, key_weights : ndarray, shapes (m,) and (n,)
        Each with sum one up to rounding.
    score : Score
    f, g : ndarray, shapes (m,) and (n,)
        Potentials of queries and keys, in units of the score; zero for a key of mass zero.
    sweeps : int
        How many were made.
    residual : float
        The largest relative error of a column sum over the keys of positive mass.
    converged : bool
        Whether that is within the tolerance that was asked for.
    method, accuracy : str, float
        As in :func:`theory.attention.attend`.
    """

    queries: Array
    keys: Array
    query_weights: Array
    key_weights: Array
    score: Score
    f: Array
    g: Array
    sweeps: int
    residual: float
    converged: bool
    method: str = "dense"
    accuracy: float = 1e-12

    def output(self, values: ArrayLike) -> Array:
        """Return what the queries read of ``values``, shape (n, d_v), as an array of shape (m, d_v)."""
        v = as_points(values, "values", size=self.keys.shape[0])
        seen = self.key_weights > 0.0
        return engine.attention(
            pairs_of(self.score, self.queries, np.ascontiguousarray(self.keys[seen])), np.ascontiguousarray(v[seen]),
            log_weights=self.log_weights, method=self.method, accuracy=self.accuracy,
        ).output  # fmt: skip

    def rows(self) -> Array:
        """Return the attention weights, shape (m, n): the coupling divided by the masses of the queries."""
        seen = self.key_weights > 0.0
        rows = np.zeros((self.queries.shape[0], self.keys.shape[0]))
        pairs = pairs_of(self.score, self.queries, np.ascontiguousarray(self.keys[seen]))
        rows[:, seen] = engine.weights(pairs, log_weights=self.log_weights)
        return rows

    @property
    def log_weights(self) -> Array:
        """What the keys of positive mass add to their scores in a softmax with the same rows."""
        seen = self.key_weights > 0.0
        added: Array = logs_of(self.key_weights[seen]) + self.g[seen]
        return added


def doubly_normalised(
    queries: ArrayLike, keys: ArrayLike, *, score: Score = _SCALED,
    query_weights: ArrayLike | None = None, key_weights: ArrayLike | None = None, start: ArrayLike | None = None,
    sweeps: int = 1000, tolerance: float = TOLERANCE, method: str = "dense", accuracy: float = 1e-12,
) -> Sinkhorn:  # fmt: skip
    """Normalise ``exp(score)`` to given row and column sums.

    Parameters
    ----------
    queries, keys : array_like, shapes (m, d_q) and (n, d_k)
    score : Score, default DotProduct()
    query_weights, key_weights : array_like, shapes (m,) and (n,), optional
        Non-negative masses of any positive total; equal ones unless given.
    start : array_like, shape (n,), optional
        Potential of the keys to start from; zero unless given.
    sweeps : int, default 1000
        The most to make. With zero, what the potential ``start`` makes is returned.
    tolerance : float, default 1e-12
        Residual at which to stop; with zero, all sweeps are made.
    method, accuracy
        Of the sums, as in :func:`theory.attention.attend`.

    Returns
    -------
    Sinkhorn
        Ask it whether it converged.

    Raises
    ------
    ValueError
        If a shape does not fit, a number is not finite, a mass is negative, the masses vanish or ``tolerance < 0``.
    TypeError
        If the numbers are not real.

    Examples
    --------
    >>> found = doubly_normalised([[-1.0], [1.0]], [[-1.0], [1.0]])
    >>> found.converged, found.rows().sum(axis=0).round(12).tolist()
    (True, [1.0, 1.0])
    """
    x, y = as_points(queries, "queries"), as_points(keys, "keys")
    a, b = (_law(w, n, name) for w, n, name in (
        (query_weights, x.shape[0], "query_weights"), (key_weights, y.shape[0], "key_weights"),
    ))  # fmt: skip
    most = as_count(sweeps, "sweeps", least=0)
    tolerance = as_bound(tolerance, "tolerance")
    moving, seen = a > 0.0, b > 0.0
    g = np.zeros(y.shape[0]) if start is None else np.where(seen, as_vector(start, "start", size=y.shape[0]), 0.0)
    down = _LogSums(pairs_of(score, x, np.ascontiguousarray(y[seen])), method, accuracy)
    back = _transposed(pairs_of(score, np.ascontiguousarray(x[moving]), np.ascontiguousarray(y[seen])))
    up = _LogSums(back, method, accuracy)
    log_a, log_b = logs_of(a[moving]), logs_of(b[seen])
    potential = g[seen]
    made = 0
    while True:
        f = -down(log_b + potential)
        after = -up(log_a + f[moving])
        with np.errstate(over="ignore"):
            residual = float(np.abs(np.expm1(potential - after)).max())
        if residual <= tolerance or made == most:
            break
        potential = after
        made = made + 1
    g[seen] = potential
    return Sinkhorn(
        frozen(x), frozen(y), frozen(a), frozen(b), score, frozen(f), frozen(g),
        made, residual, residual <= tolerance, method, accuracy,
    )  # fmt: skip


def _law(weights: ArrayLike | None, size: int, name: str) -> Array:
    masses = np.ones(size) if weights is None else as_masses(weights, name, size=size)
    law: Array = masses / masses.sum()
    return law


def _transposed(pairs: Pairs) -> Pairs:
    """Return the scores of the keys with the queries: every form that the kernels know is symmetric in its features."""
    given = pairs.given
    if given is None:
        return Pairs(pairs.form, pairs.keys, pairs.queries, pairs.coefficients)
    return Pairs(
        pairs.form, pairs.keys, pairs.queries, pairs.coefficients,
        lambda keys, queries: np.ascontiguousarray(given(queries, keys).T),
    )  # fmt: skip


class _LogSums:
    """Logarithms of the sums over the keys of one problem, for one set of log-weights after another."""

    def __init__(self, pairs: Pairs, method: str, accuracy: float) -> None:
        self._pairs = pairs
        self._nothing = np.zeros((pairs.keys.shape[0], 1))
        self._method = method
        self._accuracy = accuracy
        ordinary = type(accuracy) is float and 0.0 < accuracy < 1.0
        settled = method == "dense" and ordinary and pairs.given is None
        self._problem = engine.prepare(pairs.form, pairs.coefficients) if settled else None

    def __call__(self, log_weights: Array) -> Array:
        """Return them, one for each query."""
        pairs = self._pairs
        found = None
        if self._problem is not None:
            found = self._problem.quick(pairs.queries, pairs.keys, self._nothing, log_weights)
        if found is None:
            found = engine.attention(
                pairs, self._nothing, log_weights=log_weights, method=self._method, accuracy=self._accuracy
            )
        return found.log_partition
