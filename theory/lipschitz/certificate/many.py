r"""How much a layer can stretch displacements at many tokens, whose Jacobian is too large to be made.

Of the parts of the Jacobian (:mod:`theory.lipschitz.certificate.local`) a head with :math:`U = OV`, :math:`v_{ij} =
Vu_{ij}`, and scores whose derivatives are :math:`\langle\tilde q_{ij}, Kh_j\rangle + \langle\tilde k_{ij}, Qh_i\rangle`
up to constants of a row, sends a displacement h to

.. math:: O\sum_jP_{ij}Vh_j + O\sum_jP_{ij}v_{ij}\langle\tilde q_{ij}, Kh_j\rangle + OC_iQh_i, \qquad
          C_i = \sum_jP_{ij}v_{ij}(\tilde k_{ij} - \bar k_i)^\top.

Turns of positions are isometries, taken into queries and keys here. Each part is :math:`\sum_hO_hT_hR_h` over the heads
with R one of V, K and Q. Let :math:`\lambda_i` be the largest eigenvalue of :math:`\sum_jP_{ij}v_{ij}v_{ij}^\top`.

**Root of the sum of squares.** For any positive s

.. math:: \Big\|\sum_hO_hT_hR_h\Big\| \le \|(s_hO_h)_h\|\,\|(s_h^{-1}\|T_h\|R_h)_h\|,

the heads side by side, which is far below the sum of their norms where they look into different directions. The first T
has the norm of P, and by Schur's test with positive p and q

.. math:: \|P\|^2 \le \max_i(Pq)_i/p_i\,\max_j(P^\top p)_j/q_j,

an equality for the singular vectors of P, which are positive. By Cauchy and Schwarz the second has at most the root of

.. math:: \max_j\lambda_{\max}\Big(\sum_i\lambda_iP_{ij}\tilde q_{ij}\tilde q_{ij}^\top\Big),

and the third :math:`\max_i\|C_i\|`.

**Largest and mean displacement.** With :math:`\|(s_hO_h)_h\|` and the numbers of the heads joined as the root of a sum
of squares, or all added, whichever is less: :math:`\|O_h\|` times :math:`\|V_h\|`, :math:`(\lambda_i\sum_jP_{ij}
|K^\top\tilde q_{ij}|^2)^{1/2}` and :math:`\|C_i\|\|Q\|` for a row; :math:`P_{ij}\|V_h\|`, :math:`P_{ij}|v_{ij}|
|K^\top\tilde q_{ij}|` and, of the token itself, :math:`\|C_j\|\|Q\|` for a column.

**Factors.** O, and likewise K and Q transposed where positions do not turn what they make, is first split as
:math:`O = WF` with W nearly an isometry and F of as many rows as columns, or, if it has no more rows than columns, as
itself; F goes into V and v. With F and G floats and :math:`\|FG - 1\| \le \eta < 1` this is :math:`O = OG(FG)^{-1}F`,
:math:`\|(FG)^{-1}\| \le 1/(1 - \eta)`.

The lower ends are stretches of displacements that ascents on floats lead to, enclosed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from theory.evidence import Interval, as_intervals, exact, norm
from theory.evidence.norm_bounds import norm_bounds
from theory.evidence.spectra import eigenvalues
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.certificate.reach import HeadSizes, held
from theory.lipschitz.certificate.tangents import HeadState, factor_of, laws_of, pull_back, push_forward
from theory.lipschitz.certificate.turned import Turns, turn
from theory.lipschitz.certificate.weights import Array, AttentionWeights, product_norm

_STEPS = 12  # taken: of ascents, which are valid wherever they end
_SWEEPS = 30  # taken: of the vectors of Schur's test, which holds with all positive ones
_APART = 2.0**-10  # taken: how far factors may be from inverse to each other
_FLOOR = 2.0**-30  # taken: their least entry, as a share of the largest


class ManyHead(NamedTuple):
    """What one head contributes at many tokens, in enclosures; bounds are exact floats."""

    sizes: HeadSizes
    state: HeadState
    out: Any  # W of the output matrix
    value: Any  # F V
    key: Any  # W of the key matrix, transposed
    query: Any  # W of the query matrix, transposed
    inner: Any  # |F v|, shape (n, n)
    mixing: Interval  # |P|
    told: Interval  # of the part of the keys
    own: Any  # |C_i|, shape (n,)
    spreads: Any  # lambda, shape (n,)


def many_head(layer: AttentionWeights, head: int, x: Any, turns: Turns | None) -> ManyHead:
    """Return what one head contributes at tokens (n, d), turned by their positions or not."""
    tell(f"head {head + 1} of {layer.heads} at {len(x)} tokens")
    w_query, w_key, w_out = layer.w_query[head], layer.w_key[head], layer.slice(head)
    plain = factor_of(layer)
    q, k = x @ w_query.T, x @ w_key.T
    if layer.b_query is not None:
        q = q + layer.b_query[head]
    if turns is not None:
        k = k if layer.b_key is None else k + layer.b_key[head]
        q, k = turn(q, turns), turn(k, turns)
    value_map, scores, factor, multiples = exact(layer.w_value[head]), (q @ k.T) * plain, plain, (1.0, 1.0, 1.0)
    top = product_norm(w_out, layer.w_value[head])
    if layer.score == "distance":
        scores = 2.0 * scores - (k * k).sum(axis=1) * plain
        value_map = (value_map @ w_query.T) @ (w_query * plain)
        factor, multiples = 2.0 * plain, (1.5, 2.0, 1.0)
        top = _size(exact(w_out)) * _size(value_map)
    laws = laws_of(scores, causal=layer.causal)
    held(laws.hi)
    values = x @ value_map.T
    state = HeadState(q, k, values, laws, value_map, plain, turns)

    out, into = _split(w_out)
    key, told = _split(w_key.T, turned=turns is not None)
    query, asked = _split(w_query.T, turned=turns is not None)
    inner, keys, queries = _centred(values) @ into.T, (_centred(k) @ asked.T) * factor, (q @ told.T) * factor
    second, cross = _covariances(laws, inner, keys)
    spreads, own = _bounds(second), _bounds(cross)
    moments = _second_moments(laws * spreads[:, np.newaxis], queries, layer.score)

    known, asking = (_metric(matrix, turns) * factor * factor for matrix in (w_key, w_query))
    size = product_norm(w_query.T, w_key) if turns is None else _size(exact(w_query)) * _size(w_key)
    kappa, key_slope, query_slope = (multiple * size * factor for multiple in multiples)
    sizes = HeadSizes(
        laws,
        held(_apart(_centred(x), laws, None).hi),
        held(_apart(_centred(values), laws, exact(w_out.T) @ w_out).hi),
        held((_pairs if layer.score == "distance" else _lengths)(q, known).hi),
        held(_apart(_centred(k), laws, asking).hi),
        top,
        (kappa, key_slope, query_slope),
    )
    return ManyHead(
        sizes, state, out, into @ value_map, key.T, query.T, held(_apart(inner, laws, None).hi), _mixing(laws),
        _bounds(moments).max().sqrt(), own, spreads,
    )  # fmt: skip


def _split(matrix: Array, *, turned: bool = False) -> tuple[Any, Any]:
    """Return two factors of a matrix, of which the first is nearly an isometry, and may be taken for one that is exact.

    The second is larger by what the product of the first with its like may lack.
    """
    rows, columns = matrix.shape
    if turned:
        return exact(matrix), exact(np.eye(columns))
    if rows <= columns:
        return exact(np.eye(rows)), exact(matrix)
    factor = np.linalg.qr(matrix, mode="r")
    try:
        inverse = np.linalg.inv(factor)
    except np.linalg.LinAlgError:
        return exact(matrix), exact(np.eye(columns))
    known = bool(np.isfinite(inverse).all())
    rest = norm((exact(factor) @ inverse - np.eye(columns)).reshape(-1)).hi if known else math.inf
    if not rest < _APART:
        return exact(matrix), exact(np.eye(columns))
    return exact(matrix) @ inverse, exact(factor) * (1.0 / (1.0 - Interval.exactly(rest)))


def norms_of_many(layer: AttentionWeights, heads: list[ManyHead], points: Array) -> tuple[Interval, ...]:
    """Enclose the norms of the mean, the largest and the Frobenius displacement."""
    tell(f"norms of {layer.heads} heads together")
    upper = held(np.array([*_rows_and_columns(heads), _squares(heads)])).hi.tolist()
    states = [head.state for head in heads]
    added = 1.0 if layer.residual else 0.0
    found = []
    for way, most in zip(_ascents(layer, states, points), upper, strict=True):
        lengths = [norm(moved, axis=1) for moved in (push_forward(layer, states, exact(way)), exact(way))]
        found.append((lengths, (Interval.exactly(most) + added).hi))
    sizes: tuple[Any, ...] = (lambda x: x.sum(), lambda x: x.max(), norm)
    ends = []
    for size, (_, most) in zip(sizes, found, strict=True):  # whatever a displacement was made for
        low = max((size(after) / size(before)).lo for (after, before), _ in found)
        ends.append(Interval(max(min(low, most), 0.0), most, found[0][0][0].kind))
    return tuple(ends)


def _bounds(matrices: Any) -> Any:
    """Bound the norms of many matrices, as exact floats."""
    held(abs(matrices).hi)
    return held(norm_bounds(matrices))


def _centred(vectors: Any) -> Any:
    """Move vectors so that they cancel less: only their differences matter."""
    return vectors - vectors.mid.mean(axis=0)


def _size(matrix: Any) -> Interval:
    """Enclose the spectral norm of a matrix by the smaller of its Gram matrices."""
    given = as_intervals(matrix)
    gram = given.T @ given if given.shape[0] >= given.shape[1] else given @ given.T
    largest: Interval = eigenvalues(gram)[-1].sqrt()
    return largest


def _metric(matrix: Array, turns: Turns | None) -> Any:
    r"""Return the Gram matrix of the rows, which gives the lengths of :math:`W^\top q`; a multiple of one if turned."""
    if turns is None:
        return exact(matrix) @ matrix.T
    return exact(np.eye(len(matrix))) * (_size(exact(matrix)) ** 2)


def _lengths(vectors: Any, metric: Any) -> Any:
    """Return the lengths of vectors, shape (n, 1)."""
    return np.sqrt(np.maximum(((vectors @ metric) * vectors).sum(axis=1), 0.0))[:, np.newaxis]


def _pairs(vectors: Any, metric: Any) -> Any:
    """Return the lengths of all differences of vectors, shape (n, n)."""
    moved = _centred(vectors)
    gram = (moved @ metric) @ moved.T
    squares = ((moved @ metric) * moved).sum(axis=1)
    return np.sqrt(np.maximum(squares[:, np.newaxis] + squares - 2.0 * gram, 0.0))


def _apart(vectors: Any, weights: Any, metric: Any) -> Any:
    """Return how long vectors are, (n, k), from their means under every row of weights, shape (n, n)."""
    means = weights @ vectors
    moved, other = (vectors, means) if metric is None else (vectors @ metric, means @ metric)
    squares, shifts = (moved * vectors).sum(axis=1), (other * means).sum(axis=1)
    return np.sqrt(np.maximum(squares - 2.0 * (other @ vectors.T) + shifts[:, np.newaxis], 0.0))


def _covariances(weights: Any, values: Any, keys: Any) -> tuple[Any, Any]:
    """Return covariances of values, and of values with keys, under every row, shapes (n, d_v, d_v), (n, d_v, d_k)."""
    n, size = values.shape
    means = weights @ values
    found = []
    for other in (values, keys):
        products = values[:, :, np.newaxis] * other[:, np.newaxis]
        whole = (weights @ products.reshape(n, -1)).reshape(n, size, -1)
        found.append(whole - means[:, :, np.newaxis] * (weights @ other)[:, np.newaxis])
    return found[0], found[1]


def _second_moments(masses: Any, queries: Any, score: str) -> Any:
    """Return the sums over i, for every key j, of masses times squares of what asks it, shape (n, d_k, d_k)."""
    n, size = queries.shape
    asked = queries if score == "dot" else _centred(queries)
    squares = asked[:, :, np.newaxis] * asked[:, np.newaxis]
    whole = (masses.T @ squares.reshape(n, -1)).reshape(n, size, size)
    if score == "dot":
        return whole
    total, mean = masses.sum(axis=0)[:, np.newaxis, np.newaxis], masses.T @ asked
    cross = mean[:, :, np.newaxis] * asked[:, np.newaxis]
    return whole - cross - cross.each(lambda ends: ends.transpose(0, 2, 1)) + total * squares


def _mixing(weights: Any) -> Interval:
    """Bound the norm of a matrix of weights by Schur's test."""
    middle = weights.mid
    right = np.ones(len(middle))
    for _ in range(_SWEEPS):
        left = middle @ right
        left = np.maximum(left / left.max(), _FLOOR)
        right = middle.T @ left
        right = np.maximum(right / right.max(), _FLOOR)
    rows = ((weights @ right) / exact(left)).max()
    columns = ((weights.T @ left) / exact(right)).max()
    both: Interval = (rows * columns).sqrt()
    return both


def _joined(lefts: list[Any], middles: list[Interval], rights: list[Any]) -> Interval:
    """Bound the norm of the sum of the products of three factors, of the middle one from its norm."""
    factors = [(_size(a), t, _size(b)) for a, t, b in zip(lefts, middles, rights, strict=True)]
    added = sum((a * t * b for a, t, b in factors), start=Interval.exactly(0.0))
    shares = [math.sqrt(t.hi) * math.sqrt(b.hi / a.hi) if a.hi > 0.0 else 0.0 for a, t, b in factors]
    if len(factors) == 1 or not all(0.0 < share < math.inf for share in shares):
        return added
    one = np.concatenate([a * s for a, s in zip(lefts, shares, strict=True)], axis=1)
    scales = [Interval.exactly(t.hi) / s for t, s in zip(middles, shares, strict=True)]
    other = np.concatenate([b * scale for b, scale in zip(rights, scales, strict=True)])
    both = _size(one) * _size(other)
    return both if both.hi < added.hi else added


def _squares(heads: list[ManyHead]) -> float:
    """Bound the norm of the Frobenius displacement, without a residual."""
    outs = [head.out for head in heads]
    mixed = _joined(outs, [head.mixing for head in heads], [head.value for head in heads])
    told = _joined(outs, [head.told for head in heads], [head.key for head in heads])
    own = _joined(outs, [head.own.max() for head in heads], [head.query for head in heads])
    return (mixed + told + own).hi


def _rows_and_columns(heads: list[ManyHead]) -> tuple[float, float]:
    """Bound the norms of the mean and of the largest displacement, without a residual."""
    together = _size(np.concatenate([head.out for head in heads], axis=1))
    rows: list[Any] = [[], [], []]
    columns: list[Any] = [[], [], []]
    for head in heads:
        laws, by_key = head.sizes.weights, head.sizes.by_key
        value, query = _size(head.value), _size(head.query)
        rows[0].append(exact(np.ones(len(laws))) * value)
        rows[1].append(np.sqrt(head.spreads * (laws * (by_key * by_key)).sum(axis=1)))
        columns[0].append(laws * value)
        columns[1].append(laws * (head.inner * by_key))
        for found in (rows, columns):
            found[2].append(head.own * query)
    outs = [_size(head.out) for head in heads]
    row = sum((_less(parts, outs, together) for parts in rows[1:]), start=_less(rows[0], outs, together)).max()
    both = (_less(parts, outs, together).sum(axis=0) for parts in columns[:2])
    column = sum(both, start=_less(columns[2], outs, together)).max()
    return column.hi, row.hi


def _less(parts: list[Any], outs: list[Interval], together: Interval) -> Any:
    """Return the sum of parts, or the root of the sum of their squares times the norm of all heads, if that is less."""
    added, squares = parts[0] * outs[0], parts[0] * parts[0]
    for part, out in zip(parts[1:], outs[1:], strict=True):
        added, squares = added + part * out, squares + part * part
    return np.minimum(added, np.sqrt(squares) * together)


def _ascents(layer: AttentionWeights, states: list[HeadState], points: Array) -> tuple[Array, Array, Array]:
    """Return displacements whose mean, largest and Frobenius size is stretched much, by floats."""
    plain = [state._replace(**{name: _middle(part) for name, part in state._asdict().items()}) for state in states]

    def push(h: Array) -> Array:
        return np.asarray(push_forward(layer, plain, h))

    h = np.random.default_rng(0).normal(size=points.shape)
    h = h + np.ones(len(h))[:, np.newaxis] * np.linalg.svd(layer.mean_map())[2][0] * math.sqrt(h.shape[1])
    for _ in range(_STEPS):
        h = _scaled(pull_back(layer, plain, push(h)), h)
    squares = h
    rows = _units(h, h)
    for _ in range(_STEPS // 2):
        moved = push(rows)
        lengths = np.linalg.norm(moved, axis=1)
        at = int(lengths.argmax())
        cotangent = np.zeros_like(moved)
        cotangent[at] = moved[at]
        rows = _units(pull_back(layer, plain, cotangent), rows)
    column = h
    for _ in range(_STEPS // 2):
        moved = push(column)
        back = pull_back(layer, plain, _units(moved, np.zeros_like(moved)))
        lengths = np.linalg.norm(back, axis=1)
        at = int(lengths.argmax())
        if not 0.0 < lengths[at] < math.inf:
            break
        column = np.zeros_like(back)
        column[at] = back[at] / lengths[at]
    return column, rows, squares


def _middle(part: Any) -> Any:
    if isinstance(part, Turns):
        return part.middle()
    return getattr(part, "mid", part)


def _scaled(h: Array, before: Array) -> Array:
    size = float(np.linalg.norm(h))
    return h / size if 0.0 < size < math.inf else before


def _units(vectors: Array, otherwise: Array) -> Array:
    """Return every row divided by its length."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    known = (lengths > 0.0) & (lengths < math.inf)
    return np.where(known, vectors / np.where(known, lengths, 1.0), otherwise)
