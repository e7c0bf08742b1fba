r"""Products of the Jacobian of attention with a vector, and of its transpose, without the Jacobian.

Let :math:`o_i = \sum_j p_{ij} v_j` with :math:`p_{ij} \propto e^{s_{ij} + b_j}`. Along tangents
:math:`(\dot q, \dot k, \dot v, \dot b)` the scores and the outputs move by

.. math:: \dot s_{ij} = \langle \partial_q s_{ij}, \dot q_i \rangle
          + \langle \partial_k s_{ij}, \dot k_j \rangle + \dot b_j, \qquad
          \dot o_i = \sum_j p_{ij} \dot v_j + \mathrm{Cov}_{p_i}(v, \dot s_i).

For a cotangent :math:`\bar o`, let :math:`g_{ij} = p_{ij} \langle \bar o_i, v_j - o_i \rangle`. Then

.. math:: \bar q_i = \sum_j g_{ij}\, \partial_q s_{ij}, \quad \bar k_j = \sum_i g_{ij}\, \partial_k s_{ij}, \quad
          \bar v_j = \sum_i p_{ij} \bar o_i, \quad \bar b_j = \sum_i g_{ij}.

Dot products and distances are taken many pairs at once (:mod:`theory.engine.tangents`,
:mod:`theory.engine.cotangents`), chords between angles as distances of points of the plane, along which tangents of
angles turn. Any other score, and a problem of which a sum leaves the range of the floats there, goes pair by pair. Then
both start from a pass that leaves output and log-partition, so that everything is centred before it is summed,
and weights are divided by their sum once more: where scores are large, the log-partition of that pass has rounded.
Cotangents of queries run over rows, those of the keys over columns, so that no number is added across threads.
"""

from __future__ import annotations

import math

import numpy as np

from theory._jit import njit
from theory.engine import cotangents, passes, strips, tangents
from theory.engine.pairs import Array, Counts, Form, Pairs, embedded
from theory.engine.threads import over_rows


def _score(form: int, query: Array, key: Array, coefficients: Array) -> float:
    """Return the score of one pair."""
    s = 0.0
    for f in range(query.size):
        if form == 0:
            s += query[f] * key[f]
        elif form == 1:
            s -= (query[f] - key[f]) ** 2
        elif form == 2:
            s += coefficients[f] * math.tanh(query[f] + key[f])
        else:
            s -= 4.0 * math.sin(0.5 * (query[f] - key[f])) ** 2
    return s if form == 2 else coefficients[0] * s


def _slope(form: int, query: float, key: float, coefficient: float) -> tuple[float, float]:
    """Return the derivatives of the score by one feature of the query and by the same of the key."""
    if form == 0:
        return coefficient * key, coefficient * query
    if form == 1:
        by_key = 2.0 * coefficient * (query - key)
        return -by_key, by_key
    if form == 2:
        both = coefficient / np.cosh(query + key) ** 2
        return both, both
    by_key = 2.0 * coefficient * math.sin(query - key)
    return -by_key, by_key


score = njit(_score, inline=True)
slope = njit(_slope, inline=True)


def _jvp(
    form: int, queries: Array, keys: Array, values: Array, log_weights: Array, coefficients: Array, visible: Counts,
    output: Array, log_partition: Array, d_queries: Array, d_keys: Array, d_values: Array, d_log_weights: Array,
    derivative: Array,
) -> None:  # fmt: skip
    for i in range(queries.shape[0]):
        derivative[i], mass = 0.0, 0.0
        for j in range(visible[i]):
            p = math.exp(score(form, queries[i], keys[j], coefficients) + log_weights[j] - log_partition[i])
            mass += p
            change = d_log_weights[j]
            for f in range(queries.shape[1]):
                by_query, by_key = slope(form, queries[i, f], keys[j, f], coefficients[f if form == 2 else 0])
                change += by_query * d_queries[i, f] + by_key * d_keys[j, f]
            for c in range(values.shape[1]):
                derivative[i, c] += p * (d_values[j, c] + change * (values[j, c] - output[i, c]))
        derivative[i] /= mass


def _vjp_rows(
    form: int, queries: Array, keys: Array, values: Array, log_weights: Array, coefficients: Array, visible: Counts,
    output: Array, log_partition: Array, cotangent: Array, of_queries: Array, mass: Array,
) -> None:  # fmt: skip
    for i in range(queries.shape[0]):
        of_queries[i], mass[i] = 0.0, 0.0
        for j in range(visible[i]):
            p = math.exp(score(form, queries[i], keys[j], coefficients) + log_weights[j] - log_partition[i])
            mass[i] += p
            gain = 0.0
            for c in range(values.shape[1]):
                gain += cotangent[i, c] * (values[j, c] - output[i, c])
            gain *= p
            for f in range(queries.shape[1]):
                by_query, _ = slope(form, queries[i, f], keys[j, f], coefficients[f if form == 2 else 0])
                of_queries[i, f] += gain * by_query
        of_queries[i] /= mass[i]


def _vjp_columns(
    form: int, queries: Array, keys: Array, values: Array, log_weights: Array, coefficients: Array, visible: Counts,
    output: Array, log_partition: Array, mass: Array, cotangent: Array, first: int, of_keys: Array, of_values: Array,
    of_log_weights: Array,
) -> None:  # fmt: skip
    for j in range(keys.shape[0]):
        of_keys[j], of_values[j], of_log_weights[j] = 0.0, 0.0, 0.0
        for i in range(queries.shape[0]):
            if visible[i] <= first + j:
                continue
            p = math.exp(score(form, queries[i], keys[j], coefficients) + log_weights[j] - log_partition[i]) / mass[i]
            gain = 0.0
            for c in range(values.shape[1]):
                gain += cotangent[i, c] * (values[j, c] - output[i, c])
                of_values[j, c] += p * cotangent[i, c]
            gain *= p
            of_log_weights[j] += gain
            for f in range(queries.shape[1]):
                _, by_key = slope(form, queries[i, f], keys[j, f], coefficients[f if form == 2 else 0])
                of_keys[j, f] += gain * by_key


_forward, _back_rows, _back_columns = njit(_jvp), njit(_vjp_rows), njit(_vjp_columns)


def jvp(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, direction: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    """Return the output and its derivative along tangents of queries, keys, values and log-weights."""
    if pairs.form is not Form.ADDITIVE:
        run = tangents.narrow if _narrow(pairs, values) else tangents.wide
        along, d_keys, d_values, added = direction
        turned = _turned(pairs.form, pairs.queries, along), _turned(pairs.form, pairs.keys, d_keys)
        found = run(embedded(pairs), values, log_weights, visible, (*turned, d_values, added))
        if all(np.isfinite(part).all() for part in found):
            return found
    return _jvp_by_pairs(pairs, values, log_weights, visible, direction)


def vjp(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, cotangent: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the cotangents of queries, keys, values and log-weights that belong to one of the output, (m, d_v).

    A query that sees one key reads its value whatever the score: such rows are left out and give exactly zero.
    """
    alone = visible == 1
    if not alone.any():
        return _vjp(pairs, values, log_weights, visible, cotangent)
    of_queries, of_keys = np.zeros_like(pairs.queries), np.zeros_like(pairs.keys)
    of_values, added = np.zeros_like(values), np.zeros_like(log_weights)
    others = ~alone
    if others.any():
        rest = Pairs(pairs.form, pairs.queries[others], pairs.keys, pairs.coefficients)
        of_queries[others], of_keys, of_values, added = _vjp(
            rest, values, log_weights, visible[others], cotangent[others]
        )
    of_values[0] += cotangent[alone].sum(axis=0)
    return of_queries, of_keys, of_values, added


def _vjp(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, cotangent: Array
) -> tuple[Array, Array, Array, Array]:
    if pairs.form is not Form.ADDITIVE:
        run = cotangents.narrow if _narrow(pairs, values) else cotangents.wide
        of_queries, of_keys, of_values, added = run(embedded(pairs), values, log_weights, visible, cotangent)
        turned = _turned_back(pairs.form, pairs.queries, of_queries), _turned_back(pairs.form, pairs.keys, of_keys)
        if all(np.isfinite(part).all() for part in (*turned, of_values, added)):
            return *turned, of_values, added
    return _vjp_by_pairs(pairs, values, log_weights, visible, cotangent)


def _narrow(pairs: Pairs, values: Array) -> bool:
    width = pairs.keys.shape[1] * (2 if pairs.form is Form.TORUS else 1)
    return int(max(width, values.shape[1])) <= strips.WIDEST


def _turned(form: Form, angles: Array, tangent: Array) -> Array:
    """Return the tangent of features embedded as :func:`embedded` does."""
    if form is not Form.TORUS:
        return tangent
    return np.concatenate([-np.sin(angles) * tangent, np.cos(angles) * tangent], axis=1)


def _turned_back(form: Form, angles: Array, cotangent: Array) -> Array:
    """Return the cotangent of features from that of their embedding."""
    if form is not Form.TORUS:
        return cotangent
    d = angles.shape[1]
    back: Array = np.cos(angles) * cotangent[:, d:] - np.sin(angles) * cotangent[:, :d]
    return back


def _jvp_by_pairs(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, direction: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    output, logs = passes.attention(pairs, values, log_weights, visible)
    along, d_keys, d_values, added = direction
    derivative = np.empty_like(output)

    def run(part: slice) -> None:
        _forward(
            int(pairs.form), pairs.queries[part], pairs.keys, values, log_weights, pairs.coefficients, visible[part],
            output[part], logs[part], along[part], d_keys, d_values, added, derivative[part],
        )  # fmt: skip

    over_rows(run, output.shape[0], output.shape[0] * values.shape[0])
    return output, derivative


def _vjp_by_pairs(
    pairs: Pairs, values: Array, log_weights: Array, visible: Counts, cotangent: Array
) -> tuple[Array, Array, Array, Array]:
    output, logs = passes.attention(pairs, values, log_weights, visible)
    of_queries, of_keys = np.empty_like(pairs.queries), np.empty_like(pairs.keys)
    of_values = np.empty_like(values)
    of_log_weights = np.empty(values.shape[0])
    mass = np.empty(output.shape[0])

    def run_rows(part: slice) -> None:
        _back_rows(
            int(pairs.form), pairs.queries[part], pairs.keys, values, log_weights, pairs.coefficients, visible[part],
            output[part], logs[part], cotangent[part], of_queries[part], mass[part],
        )  # fmt: skip

    def run_columns(part: slice) -> None:
        _back_columns(
            int(pairs.form), pairs.queries, pairs.keys[part], values[part], log_weights[part], pairs.coefficients,
            visible, output, logs, mass, cotangent, part.start, of_keys[part], of_values[part], of_log_weights[part],
        )  # fmt: skip

    m, n = output.shape[0], values.shape[0]
    over_rows(run_rows, m, m * n)
    over_rows(run_columns, n, m * n)
    return of_queries, of_keys, of_values, of_log_weights
