r"""The definitions in ball arithmetic, as they are printed: weights, attention, entmax, and their derivatives.

Arrays are object arrays of balls. A score of minus infinity is the float ``-inf`` and masks its key. A row in which no
key is left, and which has no sink, has weights, outputs and derivatives zero and log-partition minus infinity.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence import ball, balls
from theory.evidence.enclosure import bits_in_force

Balls = NDArray[Any]


class Law(NamedTuple):
    """Weights of the keys and of the sinks, the logarithm of what they were divided by, and those of the weights."""

    weights: Balls
    sinks: Balls
    log_partition: Any
    log_weights: Balls


def lift(values: NDArray[np.float64]) -> Balls:
    """Return exact balls of floats, and what is infinite as it is."""
    return np.array([x if math.isinf(x) else ball(x) for x in values.ravel().tolist()], dtype=object).reshape(
        values.shape
    )


def number(value: NDArray[np.float64]) -> Any:
    """Return the exact ball of an array without axes."""
    return ball(float(value))


def scalar(value: Any) -> Balls:
    """Return an array without axes that holds a ball, or an infinite float."""
    found = np.empty((), dtype=object)
    found[()] = value
    return found


def zeros(*shape: int) -> Balls:
    """Return an array of the ball zero."""
    return balls(np.zeros(shape))


def is_masked(entry: Any) -> bool:
    """Tell a masked score, or the logarithm of no weight, from a ball."""
    return isinstance(entry, float) and math.isinf(entry)


def largest(values: Balls) -> Any:
    """Return the entry with the largest middle, by which exponents are shifted; any other would be right as well."""
    return max(values.tolist(), key=lambda entry: entry.mid())


def law(scores: Balls, masses: Balls | None = None, sinks: Balls | None = None) -> Law:
    r"""Return :math:`p_j = m_je^{s_j}/Z`, :math:`Z = \sum_jm_je^{s_j} + \sum_ke^{t_k}`, the :math:`t_k` being sinks."""
    extra = zeros(0) if sinks is None else sinks
    seen = np.array([not is_masked(s) for s in scores.tolist()], dtype=bool)
    if masses is not None:
        seen &= np.array([bool(m > 0) for m in masses.tolist()], dtype=bool)
    weights, logs = zeros(scores.size), np.full(scores.size, -math.inf, dtype=object)
    raised = scores if masses is None else np.where(seen, scores, 0)
    if masses is not None:
        raised = raised + np.log(np.where(seen, masses, ball(1.0)))
    parts = np.concatenate([raised[seen], extra])
    if not parts.size:
        return Law(weights, extra, -math.inf, logs)
    each: list[Any] = parts.tolist()
    top = max(range(len(each)), key=lambda k: each[k].mid())
    gaps = parts - parts[top]
    gaps[top] = ball(0.0)
    terms = np.exp(gaps)
    rest = sum(np.delete(terms, top).tolist(), ball(0.0))
    spread = rest.log1p()  # of a sum beside one, however small it is
    laws = terms / (1 + rest)
    count = int(seen.sum())
    weights[seen], logs[seen] = laws[:count], gaps[:count] - spread
    return Law(weights, laws[count:], parts[top] + spread, logs)


def softmax_product(weights: Balls, vector: Balls) -> Balls:
    r"""Return :math:`(\mathrm{diag}(p) - pp^\top)c`, which is :math:`p` times :func:`centred`."""
    result: Balls = weights * centred(weights, vector)
    return result


def centred(weights: Balls, vector: Balls) -> Balls:
    r"""Return :math:`c - \langle p, c\rangle` as :math:`\sum_jp_j(c_i - c_j)`, where what is equal cancels."""
    apart = vector[:, np.newaxis] - vector[np.newaxis, :]
    result: Balls = (apart * weights).sum(axis=1)
    return result


# --- attention ---


class Attention(NamedTuple):
    """Outputs, log-partitions, weights of keys and of sinks."""

    output: Balls
    log_partition: Balls
    weights: Balls
    sinks: Balls


def attention(
    queries: Balls, keys: Balls, values: Balls, *, scale: Any,
    bias: Balls | None = None, masses: Balls | None = None, sink: Any = None,
) -> Attention:  # fmt: skip
    r"""Return attention with scores :math:`\sigma\langle q_i, k_j\rangle + b_{ij}`; a bias of minus infinity masks."""
    scores = (queries @ keys.T) * scale
    if bias is not None:
        hidden = np.frompyfunc(is_masked, 1, 1)(bias).astype(bool)
        scores = np.where(hidden, -math.inf, scores + np.where(hidden, 0, bias))
    sinks = None if sink is None else np.array([sink], dtype=object)
    rows = [law(row, masses, sinks) for row in scores]
    weights = np.stack([row.weights for row in rows])
    log_partition = np.array([row.log_partition for row in rows], dtype=object)
    return Attention(weights @ values, log_partition, weights, np.stack([row.sinks for row in rows]))


def attention_vjp(
    queries: Balls, keys: Balls, values: Balls, cotangent: Balls, *, scale: Any,
    bias: Balls | None = None, masses: Balls | None = None, sink: Any = None,
) -> dict[str, Balls]:  # fmt: skip
    """Return the gradients of the sum of outputs times ``cotangent``."""
    found = attention(queries, keys, values, scale=scale, bias=bias, masses=masses, sink=sink)
    weights = found.weights
    reads = cotangent @ values.T
    scores = weights * _centred_rows(found, reads)
    result = {
        "grad_queries": scale * (scores @ keys),
        "grad_keys": scale * (scores.T @ queries),
        "grad_values": weights.T @ cotangent,
    }
    if bias is not None:
        result["grad_bias"] = scores
    if sink is not None:
        result["grad_sink"] = -(found.sinks * weights * reads).sum(keepdims=True).reshape(())
    return result


def attention_jvp(
    queries: Balls, keys: Balls, values: Balls, moves: tuple[Balls, Balls, Balls], *, scale: Any,
    bias: Balls | None = None, masses: Balls | None = None, sink: Any = None,
) -> Balls:  # fmt: skip
    """Return the derivative of the outputs along moves of queries, keys and values."""
    found = attention(queries, keys, values, scale=scale, bias=bias, masses=masses, sink=sink)
    turned = found.weights * _centred_rows(found, (moves[0] @ keys.T + queries @ moves[1].T) * scale)
    result: Balls = turned @ values + found.weights @ moves[2]
    return result


def _centred_rows(found: Attention, rows: Balls) -> Balls:
    """Return rows less their means under the weights, among which a sink has the entry zero."""
    apart = [centred(weights, row) for weights, row in zip(found.weights, rows, strict=True)]
    result: Balls = np.stack(apart)
    return result + rows * found.sinks.sum(axis=1, keepdims=True) if found.sinks.size else result


def attention_jacobian(tokens: Balls, *, scale: Any, bias: Balls | None = None) -> Balls:
    """Return the matrix of the derivative of self-attention, queries, keys and values being the tokens."""
    n, d = tokens.shape
    columns = []
    for i, k in itertools.product(range(n), range(d)):
        move = zeros(n, d)
        move[i, k] = ball(1.0)
        columns.append(attention_jvp(tokens, tokens, tokens, (move, move, move), scale=scale, bias=bias).ravel())
    return np.stack(columns, axis=1)


# --- entmax ---


class Entmax(NamedTuple):
    r"""Weights, the threshold :math:`\nu`, and which keys have weight."""

    weights: Balls
    threshold: Any
    support: NDArray[np.bool_]


def entmax(scores: Balls, alpha: Any) -> Entmax:
    r"""Return :math:`p_j = [1 + (\alpha - 1)(s_j - \nu)]_+^{1/(\alpha - 1)}` with sum one; softmax at order one.

    The support is decided by comparing scores: the k largest have weight if :math:`\sum_{i<k}((\alpha - 1)(s_i -
    s_k))^{1/(\alpha-1)} < 1`. On it the sum falls strictly in :math:`\nu`, which is enclosed between two numbers
    where it is above and below one.
    """
    seen = np.array([not is_masked(s) for s in scores.tolist()], dtype=bool)
    if not seen.any():
        return Entmax(zeros(scores.size), -math.inf, seen)
    if alpha == 1:
        found = law(scores)
        return Entmax(found.weights, found.log_partition, seen)
    e = alpha - 1
    inside = np.array([bool(seen[j]) and _has_weight(scores[seen], scores[j], e) for j in range(scores.size)])
    top = largest(scores[seen])
    gaps = scores[inside] - top
    nu = _threshold(gaps, e)
    weights = zeros(scores.size)
    weights[inside] = _powers(gaps, nu, e)
    return Entmax(weights, top + nu, inside)


def _sure_bits() -> int:
    """Return how many bits of a result are asked for, the last few of the precision in force being given up."""
    return bits_in_force() - 24


def _has_weight(scores: Balls, own: Any, e: Any) -> bool:
    """Tell whether a key has weight; what is not certain is refused, and equality is exact where it occurs."""
    total = ball(0.0)
    for s in scores.tolist():
        if s > own:
            total = total + (e * (s - own)) ** (1 / e)
    if not (total < 1 or total >= 1):
        raise ArithmeticError("scores: expected keys that certainly have weight or have none")
    return bool(total < 1)


def _powers(gaps: Balls, nu: Any, e: Any) -> Balls:
    result: Balls = (1 + e * (gaps - nu)) ** (1 / e)
    return result


def _threshold(gaps: Balls, e: Any) -> Any:
    """Enclose the threshold above the largest score, by Newton's method on middles and one look at both sides."""
    count = gaps.size
    if count == 1:
        return ball(0.0)
    low, high = ball(0.0), ((1 - ball(float(count)) ** -e) / e).upper()  # there the sum is at least and at most one
    low, high = low.mid(), min(high, (1 / e + min(gaps.tolist(), key=lambda g: g.mid())).lower(), key=lambda b: b.mid())
    nu = ((low + high) / 2).mid()
    for _ in range(4000):
        total = _powers(gaps, nu, e).sum().mid()
        slope = (_powers(gaps, nu, e) ** (1 - e)).sum().mid()
        if total > 1:
            low = nu
        else:
            high = nu
        new = (nu + (total - total ** (1 - e)) / (e * slope)).mid()  # of the sum to the power e, linear if all tie
        if abs(new - nu) <= abs(nu) * ball(2.0) ** -_sure_bits():
            break
        nu = new if low <= new <= high else ((low + high) / 2).mid()
    for power in range(_sure_bits(), 16, -8):
        reach = abs(nu) * ball(2.0) ** -power
        before, after = (nu - reach).mid(), (nu + reach).mid()
        if _powers(gaps, before, e).sum() > 1 > _powers(gaps, after, e).sum():
            return before.union(after)
    raise ArithmeticError("scores: expected a threshold that can be enclosed")


def entmax_slopes(found: Entmax, alpha: Any) -> Balls:
    r"""Return :math:`p_j^{2-\alpha}` on the support, and zero off it."""
    slopes = zeros(found.weights.size)
    slopes[found.support] = found.weights[found.support] ** (2 - alpha)
    return slopes


def entmax_product(found: Entmax, vector: Balls, alpha: Any) -> Balls:
    r"""Return :math:`q \odot (c - \langle q, c\rangle/\sum q)`, :math:`q_j = p_j^{2-\alpha}` on the support."""
    slopes = entmax_slopes(found, alpha)
    total = slopes.sum()
    return zeros(vector.size) if total == 0 else softmax_product(slopes, vector) / total


def entmax_order_derivative(scores: Balls, alpha: Any) -> Balls:
    r"""Return :math:`\partial_\alpha p`, by differentiating the definition and the sum, which stays one.

    At order one, by :math:`(p^e - 1)/e = \log p + \frac e2\log^2p + O(e^2)`, it is :math:`-p(\frac12\log^2p +
    \dot\nu)`.
    """
    found = entmax(scores, alpha)
    change = zeros(scores.size)
    inside = found.support
    p = found.weights[inside]
    if not inside.any():
        return change
    if alpha == 1:
        slopes, own = p, -(np.log(p) ** 2) / 2
    else:
        e = alpha - 1
        gaps = scores[inside] - found.threshold
        base = 1 + e * gaps
        slopes, own = p / base, gaps / e - base * np.log(base) / e**2
    apart = own[:, np.newaxis] - own[np.newaxis, :]
    tied = np.equal.outer(scores[inside], scores[inside]).astype(bool)
    change[inside] = slopes * (np.where(tied, 0, apart) * slopes).sum(axis=1) / slopes.sum()
    return change


# --- matrices and clouds ---


def spectral_norm(matrix: Balls) -> Any:
    """Enclose the largest singular value."""
    return largest_eigenvalue(matrix.T @ matrix).sqrt()


def largest_eigenvalue(matrix: Balls) -> Any:
    r"""Enclose the largest eigenvalue of a symmetric matrix, from below by a Rayleigh quotient.

    From above by elimination: :math:`\lambda I - M` has positive pivots, and is positive definite, only if
    :math:`\lambda` is larger.
    """
    n = len(matrix)
    middle = np.array([[float(entry.mid()) for entry in row] for row in matrix])
    vector = balls(np.linalg.eigh(middle)[1][:, -1])
    for _ in range(8):
        value = ((vector @ matrix @ vector) / (vector @ vector)).mid()
        with_shift = matrix - np.where(np.eye(n) == 1.0, value, ball(0.0))
        try:
            turned = _solved(with_shift, vector)
        except ZeroDivisionError:
            break
        size = largest(np.abs(turned)).mid()
        vector = np.array([(entry / size).mid() for entry in turned.tolist()], dtype=object)
    value = (vector @ matrix @ vector) / (vector @ vector)
    for power in range(_sure_bits(), 16, -8):
        above = (value.upper() + abs(value) * ball(2.0) ** -power).upper()
        if _is_positive(np.where(np.eye(n) == 1.0, above, ball(0.0)) - matrix):
            return value.lower().union(above)
    raise ArithmeticError("matrix: expected a largest eigenvalue that can be enclosed")


def _solved(matrix: Balls, right: Balls) -> Balls:
    """Solve linear equations on middles, by elimination with the largest pivots; a pivot of zero is made tiny."""
    rows = np.concatenate([matrix, right[:, np.newaxis]], axis=1)
    rows = np.frompyfunc(lambda entry: entry.mid(), 1, 1)(rows)
    n = len(rows)
    for k in range(n):
        best = max(range(k, n), key=lambda r: abs(rows[r, k]).mid())
        rows[[k, best]] = rows[[best, k]]
        if rows[k, k] == 0:
            raise ZeroDivisionError
        rows[k] = rows[k] / rows[k, k]
        for r in range(n):
            if r != k:
                rows[r] = rows[r] - rows[r, k] * rows[k]
        rows = np.frompyfunc(lambda entry: entry.mid(), 1, 1)(rows)
    solution: Balls = rows[:, n]
    return solution


def _is_positive(matrix: Balls) -> bool:
    """Tell whether a symmetric matrix is certainly positive definite."""
    rows = matrix.copy()
    for k in range(len(rows)):
        if not rows[k, k] > 0:
            return False
        for r in range(k + 1, len(rows)):
            rows[r] = rows[r] - rows[r, k] / rows[k, k] * rows[k]
    return True


def least_assignment(costs: Balls) -> Any:
    """Enclose the least sum of entries, one of each row and column, by going through all permutations."""
    n = len(costs)
    sums = [sum((costs[i, j] for i, j in enumerate(order)), ball(0.0)) for order in itertools.permutations(range(n))]
    low = min(sums, key=lambda total: total.lower().mid()).lower()
    high = min(sums, key=lambda total: total.upper().mid()).upper()
    return low.union(high)
