r"""Attention over near keys: for a sharp score, keys far from a query weigh nothing, and what they weigh is bounded.

Dropping the keys :math:`D` of a row and renormalising the rest changes its law by exactly
:math:`\|p' - p\|_1 = 2\,p(D)` and an output by :math:`p(D)\,|m_K - m_D|` with :math:`m` the means over the kept and the
dropped keys, so every entry by at most :math:`2\,p(D) \max|v|`; the log-partition falls by :math:`-\log(1 - p(D))`.

*Bound.* Keys and queries lie in blocks, the leaves of a k-d tree. Let a block of queries lie in a ball of centre
:math:`c` and radius :math:`r`, a block of keys in one of centre :math:`c_b` and radius :math:`r_b`, with
:math:`S_b = \sum_{j \in b} e^{\ell_j}` the sum of its weights. For scores :math:`-\beta |q - k|^2` the block's share of
any of these queries' partition is between

.. math:: S_b\,e^{-\beta (|c - c_b| + r + r_b)^2} \quad\text{and}\quad S_b\,e^{-\beta (|c - c_b| - r - r_b)_+^2}.

The sum of the lower bounds, or the smallest partition that these queries have over their eight nearest keys alone, is a
lower bound :math:`z` of their partitions. Blocks are dropped, the least upper bound first, while the sum :math:`T` of
their upper bounds is at most :math:`\tfrac{\alpha}{2} z`. So :math:`p(D) \le T / Z \le \alpha / 2` in every row,
however far its query is and however uneven the weights are; nothing has to be tried again. With the partition
:math:`Z_K` over the kept keys in hand, the better bound

.. math:: p(D) \le \frac{T}{Z_K + T}

is the one that is reported. Kept keys are summed by the dense method.

*Rounding.* The balls are widened by :math:`8 (d + 8) u` of the distances involved, more than all roundings of centres,
radii and distances together. What the exponents round is of the size of what scores round, and is not counted, as for
every method. On the torus, balls are those of :math:`(\cos, \sin)`, of which the rounding is charged in the same way.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from theory.engine import dense
from theory.engine.demands import demand
from theory.engine.pairs import Array, AttentionResult, Form, Pairs
from theory.engine.threads import over_rows, threads

FORMS = (Form.DISTANCE, Form.TORUS)
ACCURACY = (1e-16, 1e-1)  # taken: below, rounding is larger; above, nothing is saved
_BLOCK = 64  # measured: 32 and 128 take longer
_STEEP = 700.0  # derived: exp does not overflow; a lost mass below exp(-700) is reported as that
_NEAREST = 8  # taken: keys that bound a partition from below
_PILOTS = 8  # taken: blocks of queries from which the cost is guessed
_BOUND, _CALL = 100.0, 400_000.0  # measured: in dense pairs, to bound a pair of blocks, and to sum for one block


class _Blocks(NamedTuple):
    """A cloud in blocks of near points, each in a ball."""

    order: NDArray[np.int64]
    """the points, block after block"""
    starts: NDArray[np.int64]
    """where the blocks start in ``order``, and where the last one ends"""
    centres: Array
    radii: Array
    tree: cKDTree


def attention(
    pairs: Pairs, values: Array, *, log_weights: Array | None = None, accuracy: float = 1e-12
) -> AttentionResult:
    """Average the values of the near keys under the softmax of the scores, to a certified accuracy.

    Parameters
    ----------
    pairs : Pairs
        Scores of m queries with n keys, of form ``DISTANCE`` or ``TORUS``.
    values : ndarray, shape (n, d_v)
        Finite float64.
    log_weights : ndarray, shape (n,), optional
        Finite; added to every query's scores. Zero unless given.
    accuracy : float, default 1e-12
        Largest error beyond rounding: of an output in units of the largest size of a value, and of a log-partition.
        From 1e-16 to 0.1.

    Returns
    -------
    AttentionResult
        ``error`` is the largest bound of the mass that a row has lost, twice.

    Raises
    ------
    ValueError
        If an argument is not as above, or a score or an average leaves the range of float64.
    """
    added = np.zeros(pairs.keys.shape[0]) if log_weights is None else log_weights
    demand(pairs, values, added, accuracy, method="local", forms=FORMS, within=ACCURACY)
    queries = _blocks(_places(pairs, pairs.queries))
    keys = _blocks(_places(pairs, pairs.keys))
    sorted_keys = pairs.keys[keys.order]
    sorted_values = values[keys.order]
    sorted_added = added[keys.order]
    heavy = np.logaddexp.reduceat(sorted_added, keys.starts[:-1])
    m = pairs.queries.shape[0]
    output = np.empty((m, values.shape[1]))
    log_partition = np.empty(m)
    lost = np.zeros(queries.radii.size)

    nearest = _nearest(pairs, keys, added)

    def run(blocks: slice) -> None:
        for block in range(blocks.start, blocks.stop):
            rows = queries.order[queries.starts[block] : queries.starts[block + 1]]
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # what overflows is kept, and refused
                low, high = _shares(pairs, queries, block, keys, heavy)
                floor = max(_log_sum(low), float(nearest[rows].min()))
                kept, dropped = _choice(high, floor + math.log(accuracy / 2.0))
            near = _members(keys, kept)
            part = Pairs(pairs.form, pairs.queries[rows], sorted_keys[near], pairs.coefficients)
            found = dense.attention(part, sorted_values[near], log_weights=sorted_added[near])
            output[rows], log_partition[rows] = found.output, found.log_partition
            if kept.size < keys.radii.size:
                lost[block] = 2.0 / (1.0 + math.exp(min(float(found.log_partition.min()) - dropped, _STEEP)))

    try:
        over_rows(run, queries.radii.size, m * _BLOCK)
    except ValueError:  # an overflow; the dense method names the query
        exact = dense.attention(pairs, values, log_weights=log_weights)
        return AttentionResult(exact.output, exact.log_partition, "local", 0.0)
    return AttentionResult(output, log_partition, "local", float(lost.max()))


def cost(pairs: Pairs, m: int, n: int, d_v: int, accuracy: float) -> float:  # noqa: ARG001  as every method's
    """Return the work of :func:`attention` in pairs of the dense method, to compare with ``m * n``.

    Parameters
    ----------
    pairs : Pairs
        Scores; eight blocks of their queries tell how many keys are near.
    m, n, d_v : int
        Numbers of queries, keys and entries of a value.
    accuracy : float
        As promised by :func:`attention`.

    Returns
    -------
    float
        Infinite where :func:`attention` would refuse the form, the sharpness or the accuracy.
    """
    if (
        pairs.form not in FORMS
        or not ACCURACY[0] <= accuracy <= ACCURACY[1]
        or not 0.0 <= pairs.coefficients[0] < np.inf
    ):
        return math.inf
    queries = _blocks(_places(pairs, pairs.queries))
    keys = _blocks(_places(pairs, pairs.keys))
    sizes = np.diff(keys.starts)
    kept = 0.0
    chosen = np.unique(np.linspace(0, queries.radii.size - 1, _PILOTS).astype(np.int64))
    for block in chosen.tolist():
        rows = queries.order[queries.starts[block] : queries.starts[block + 1]]
        part = Pairs(pairs.form, pairs.queries[rows], pairs.keys, pairs.coefficients)
        low, high = _shares(pairs, queries, block, keys, np.log(sizes))
        floor = max(_log_sum(low), float(_nearest(part, keys, np.zeros(len(pairs.keys))).min()))
        kept += float(sizes[_choice(high, floor + math.log(accuracy / 2.0))[0]].sum())
    return m * kept / chosen.size + queries.radii.size * (_CALL + _BOUND * keys.radii.size)


def _places(pairs: Pairs, features: Array) -> Array:
    """Return places of which the squared distances are those of the scores."""
    return np.concatenate([np.cos(features), np.sin(features)], axis=1) if pairs.form is Form.TORUS else features


def _blocks(places: Array) -> _Blocks:
    """Return the leaves of a k-d tree, of at most ``_BLOCK`` points unless more lie in one place."""
    tree = cKDTree(places, leafsize=_BLOCK, compact_nodes=False)
    starts = [len(places)]
    nodes: list[Any] = [tree.tree]
    while nodes:
        node = nodes.pop()
        if node.lesser is None or node.greater is None:
            starts.append(node.start_idx)
        else:
            nodes += [node.lesser, node.greater]
    edges = np.sort(np.array(starts, dtype=np.int64))
    order = tree.indices.astype(np.int64)
    sizes = np.diff(edges)
    centres = np.add.reduceat(places[order] / np.repeat(sizes, sizes)[:, np.newaxis], edges[:-1])
    with np.errstate(over="ignore"):
        away = np.sqrt(np.square(places[order] - np.repeat(centres, sizes, axis=0)).sum(axis=1))
    return _Blocks(order, edges, centres, np.maximum.reduceat(away, edges[:-1]), tree)


def _nearest(pairs: Pairs, keys: _Blocks, added: Array) -> Array:
    """Return the log-partition of every query over the few keys nearest to it."""
    n = len(added)
    distance, seat = keys.tree.query(
        _places(pairs, pairs.queries), k=np.arange(1, min(_NEAREST, n) + 1), workers=threads()
    )
    with np.errstate(over="ignore", invalid="ignore"):  # distances that overflow have no seat
        terms = added[np.minimum(seat, n - 1)] - pairs.coefficients[0] * np.square(distance)
    partition: Array = np.logaddexp.reduce(terms, axis=1)
    return partition


def _shares(pairs: Pairs, queries: _Blocks, block: int, keys: _Blocks, heavy: Array) -> tuple[Array, Array]:
    """Return a lower and an upper bound of the logarithm of what every block of keys adds to a partition."""
    away = keys.centres - queries.centres[block]
    distance = np.sqrt(np.square(away).sum(axis=1))
    reach = keys.radii + queries.radii[block]
    size = distance + reach + (1.0 if pairs.form is Form.TORUS else 0.0)
    slack = 8.0 * (away.shape[1] + 8) * 2.0**-53 * size
    low = heavy - pairs.coefficients[0] * (distance + reach + slack) ** 2
    high = heavy - pairs.coefficients[0] * np.maximum(distance - reach - slack, 0.0) ** 2
    return low, high


def _choice(high: Array, budget: float) -> tuple[NDArray[np.int64], float]:
    """Return the blocks to keep, in order, and the logarithm of the sum of the others, which is at most ``budget``."""
    shares = np.exp(np.minimum(high - budget, 1.0))
    small = np.flatnonzero(shares <= 1.0)
    small = small[np.argsort(shares[small])]
    sums = np.cumsum(shares[small])
    dropped = int(np.searchsorted(sums, 1.0, side="right"))
    kept = np.delete(np.arange(high.size), small[:dropped])
    return kept, budget + math.log(sums[dropped - 1]) if dropped and sums[dropped - 1] > 0.0 else -math.inf


def _log_sum(exponents: Array) -> float:
    """Return the logarithm of a sum of exponentials."""
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum()))


def _members(cloud: _Blocks, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks of the points of some blocks."""
    sizes = np.diff(cloud.starts)[blocks]
    ranks: NDArray[np.int64] = np.arange(sizes.sum())
    ranks += np.repeat(cloud.starts[blocks] - np.cumsum(sizes) + sizes, sizes)
    return ranks
