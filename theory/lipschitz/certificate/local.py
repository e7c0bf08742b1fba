r"""How much a layer of given weights can stretch displacements at given tokens, and within a reach of them.

At tokens X the Jacobian of a head has the blocks

.. math:: J_{ij} = P_{ij}U(I + u_{ij}b_{ij}^\top) + \delta_{ij}\sum_kP_{ik}Uu_{ik}a_{ik}^\top, \qquad
          u_{ij} = x_j - m_i,

:math:`b_{ij}` and :math:`a_{ij}` the derivatives of the score by :math:`x_j` and :math:`x_i`, the latter up to what is
constant in row i, since :math:`\sum_kP_{ik}u_{ik} = 0`. They are enclosed, and so are the norms of the whole: the
largest singular value (Frobenius), and between the stretch of one displacement and the bound of
:mod:`theory.lipschitz.local_norms` the largest and the mean displacement.

**Reach.** Let every token move by at most r. Then scores move, up to what is constant in a row, by at most
:math:`\delta_{ij} = r(|b_{ij}| + |a_{ij}|) + \kappa r^2`, :math:`a_{ij}` centred to :math:`\sum_jP_{ij}a_{ij} = 0`, so
that weights stay between :math:`P_{ij}e^{\mp\delta_{ij}}/(P_{ij}e^{\mp\delta_{ij}} + \sum_{k \ne
j}P_{ik}e^{\pm\delta_{ik}})`, within :math:`\rho_{ij}` of :math:`P_{ij}`. As :math:`m_i' - m_i = \sum_kP_{ik}'(x_k' -
x_k) + \sum_k(P_{ik}' - P_{ik})u_{ik}`, the :math:`u_{ij}` move by at most :math:`\nu_{ij} = 2r(1 - P_{ij} + \rho_{ij})
+ \sum_k\rho_{ik}|u_{ik}|`, and :math:`b_{ij}`, :math:`a_{ij}` by :math:`\ell_br`, :math:`\ell_ar`. So the block off the
diagonal moves by at most

.. math:: \rho_{ij}(\|U\| + |Uu_{ij}||b_{ij}|) + (P_{ij} + \rho_{ij})\bigl[\|U\|\nu_{ij}|b_{ij}|
          + (|Uu_{ij}| + \|U\|\nu_{ij})\ell_br\bigr],

and the query's part by :math:`\sum_j\rho_{ij}|Uu_{ij}||a_{ij}| + (P_{ij} + \rho_{ij})[\|U\|\nu_{ij}|a_{ij}| +
(|Uu_{ij}| + \|U\|\nu_{ij})\ell_ar]`. Dot products have :math:`\kappa = \ell_b = \ell_a = \|B\|`, distances
:math:`b_{ij} = 2A(x_i - x_j)`, :math:`a_{ij} = 2Ax_j`, :math:`\kappa = 3\|A\|`, :math:`\ell_b = 4\|A\|`, :math:`\ell_a
= 2\|A\|`. Rotary positions have :math:`B_{ij} = \sigma W_Q^\top T_{j-i}W_K`, of norms at most :math:`\kappa =
\sigma\|W_Q\|\|W_K\|`, and :math:`a_{ij}` that depend on i (:mod:`theory.lipschitz.certificate.turned`). Sums of these
over rows and columns bound how far the norms move, for squares the root of their product or of the sum of all squares,
whichever is smaller.
Tokens within r of X are a convex set, so that a bound of the norms there is a Lipschitz constant there.

**Many tokens.** Where the Jacobian would be too large, let :math:`\lambda_i` and :math:`\lambda_i'` be the largest
eigenvalues of :math:`\sum_jP_{ij}Uu_{ij}(Uu_{ij})^\top` and :math:`\sum_jP_{ij}a_{ij}a_{ij}^\top`, by Gram
matrices of n rows, or by these sums themselves where they have fewer. By Cauchy and Schwarz the query's part is at
most :math:`o_i = (\lambda_i\lambda_i')^{1/2}` and
:math:`|\sum_jP_{ij} Uu_{ij}\langle b_{ij}, h_j\rangle|^2 \le \lambda_i\sum_jP_{ij}|b_{ij}|^2|h_j|^2`. So the largest
displacement grows by at most :math:`\|U\| + (\lambda_i\sum_jP_{ij}|b_{ij}|^2)^{1/2} + o_i`, the Frobenius one by at
most :math:`\|U\| (\max_j\sum_iP_{ij})^{1/2} + (\max_j\sum_i\lambda_iP_{ij}|b_{ij}|^2)^{1/2} + \max_io_i`, and the mean
one by the largest column of :math:`P_{ij}(\|U\| + |Uu_{ij}||b_{ij}|)` and :math:`o_j`; heads add up. The lower end is
then the stretch of tokens that move on together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_between, as_choice, as_points, as_positive
from theory.evidence import Interval, exact, norm
from theory.evidence.spectra import eigenvalues, spectral_norm
from theory.lipschitz.certificate.turned import PAIRS, Turns, turn, turns_of
from theory.lipschitz.certificate.weights import Array, AttentionWeights, as_attention_weights, in_range

PLACES = ("mean", "max", "frobenius")
_MOST = 2048  # taken: n times d, at which the Jacobian takes 64 MiB
_ROOM = 2**24  # taken: n times n times d, of which a few arrays are kept
_STEPS = 40  # taken: of the ascent, which is valid wherever it ends
_FLOORS = (2.0**-30, 2.0**-10, 2.0**-4)  # taken: terms that vanish count as such shares of the largest; all are valid
_CLOSE = 1e-6  # taken: an enclosure this narrow is not improved
_GROWTH = 2.0  # taken: a reach is chosen at which bounds are this many times the norm
_LEAST_REACH = 1e-300  # taken: if this is too far, so is every reach
_HALVINGS = 12  # taken: of the logarithm of the reach
_BASES = (math.nextafter(1.0, 2.0), 2.0**40)  # taken: of rotary positions, far above those in use


@dataclass(frozen=True, slots=True)
class LocalRow:
    """What is known of a layer at given tokens in one metric.

    Parameters
    ----------
    metric : str
        "mean", "max" or "frobenius": displacements of tokens on average, at most, or the root of the sum of squares.
    norm : Interval
        Encloses the norm of the Jacobian at the tokens. The lower end is the stretch of one displacement.
    reach : float
        How far every token may move.
    bound : float
        A Lipschitz constant of the layer there.
    """

    metric: str
    norm: Interval
    reach: float
    bound: float


@dataclass(frozen=True, slots=True)
class LocalCertificate:
    """Norms and constants of a layer at given tokens.

    Parameters
    ----------
    rows : tuple of LocalRow
        Of the mean, the largest and the Frobenius displacement.
    radius : float
        An upper bound of the longest token.
    n : int
        Number of tokens.
    """

    rows: tuple[LocalRow, ...]
    radius: float
    n: int

    def row(self, metric: str) -> LocalRow:
        """Return the row of a metric."""
        return self.rows[PLACES.index(as_choice(metric, "metric", PLACES))]


def certify_at(
    tokens: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    *,
    reach: float | None = None,
    w_out: ArrayLike | None = None,
    b_query: ArrayLike | None = None,
    b_key: ArrayLike | None = None,
    scale: float | None = None,
    heads: int = 1,
    causal: bool = False,
    residual: bool = False,
    score: str = "dot",
    base: float | None = None,
    pairs: str = "halves",
) -> LocalCertificate:
    r"""Enclose how much a layer of self-attention stretches displacements at given tokens, and bound it around them.

    Parameters
    ----------
    tokens : array_like, shape (n, d)
        Exactly these floats. Of up to 2048 numbers norms are enclosed; of more their upper ends are sums over parts of
        the Jacobian, and may be far above the norms.
    w_query, w_key, w_value, w_out, b_query, b_key, scale, heads, causal, residual, score
        As :func:`certify` takes them.
    reach : float, optional
        How far every token may move. Unless given, every metric has its own, at which the bound is nearly twice the
        norm, or 2**20 times the longest token if it is less even there.
    base : float, optional
        Of rotary positions: queries and keys, their biases included, are turned by the positions of their tokens, which
        follow one another. More than one; no positions unless given.
    pairs : {"halves", "neighbours"}
        Which coordinates of a head rotary positions turn together: k and k + d_k / 2, or 2 k and 2 k + 1.

    Returns
    -------
    LocalCertificate

    Raises
    ------
    ValueError
        If shapes do not fit, a number is out of range, there are too many tokens, a norm or the bound within ``reach``
        leaves float64, no ``reach`` is given where a norm is zero up to rounding, or positions are to turn distances or
        an odd number of coordinates.
    TypeError
        If an argument is of the wrong type.

    Examples
    --------
    >>> found = certify_at([[1.0], [-1.0]], [[1.0]], [[-1.0]], [[1.0]])
    >>> row = found.row("max")
    >>> print(f"{row.norm.mid:.10f}, {row.bound / row.norm.hi:.2f} times that within {row.reach:.4f}")
    1.6015428392, 2.00 times that within 0.1614
    """
    layer = as_attention_weights(
        w_query, w_key, w_value, w_out, heads=heads, causal=causal, residual=residual, score=score, b_query=b_query,
        b_key=b_key, scale=scale,
    )  # fmt: skip
    points = as_points(tokens, "tokens", dim=layer.dim)
    in_range(points, "tokens")
    if len(points) ** 2 * max(layer.dim, 0 if base is None else layer.w_query.shape[1]) > _ROOM:
        raise ValueError(
            f"tokens: expected n * n * d of at most {_ROOM}, got {len(points)} tokens of {layer.dim} numbers"
        )
    turns = _turns(layer, len(points), base, as_choice(pairs, "pairs", PAIRS))
    far = None if reach is None else as_positive(reach, "reach")
    together = np.linalg.svd(layer.mean_map())[2][0]
    parts = [_head(layer, head, exact(points), together, turns) for head in range(layer.heads)]
    norms = dict(zip(PLACES, (_norms if points.size <= _MOST else _size_norms)(layer, parts, together), strict=True))
    longest = norm(exact(points), axis=1).max().hi
    moves: dict[float, tuple[float, ...]] = {}

    def bound(metric: str, r: float) -> float:
        if r not in moves:
            moves[r] = _moves(parts, r)
        return math.nextafter(norms[metric].hi + moves[r][PLACES.index(metric)], math.inf)

    rows = []
    for metric in PLACES:
        if not norms[metric].hi < math.inf:
            raise ValueError(f"tokens: expected ones at which float64 can enclose the norm ({metric}), got {points}")
        own = far or _own_reach(lambda r, at=metric: bound(at, r) <= _GROWTH * norms[at].hi, longest or 1.0)
        most = bound(metric, own)
        if not most < math.inf:
            raise ValueError(f"reach: expected one within which float64 can hold the bound, got {reach!r}")
        rows.append(LocalRow(metric, norms[metric], own, most))
    return LocalCertificate(tuple(rows), longest, len(points))


def _turns(layer: AttentionWeights, n: int, base: float | None, pairs: str) -> Turns | None:
    """Return the turns of the positions, or None."""
    if base is None:
        return None
    number = as_between(base, "base", *_BASES)
    size = layer.w_query.shape[1]
    if layer.score != "dot":
        raise ValueError("base: expected dot products, whose queries and keys positions turn, got distances")
    if size % 2:
        raise ValueError(
            f"base: expected an even number of coordinates of a head, which are turned in pairs, got {size}"
        )
    return turns_of(n, size, number, pairs)


class _Head(NamedTuple):
    """What one head contributes at the tokens: enclosures, the sizes of shape (n, n)."""

    jacobian: Any  # shape (n, n, d_out, d), or None where it would be too large
    moved: Any  # shape (n, d_out), as tokens move on together
    weights: Any
    offsets: Any  # |u|
    images: Any  # |U u|
    by_key: Any  # |b|
    by_query: Any  # |a|, centred
    value: Interval  # |U|
    slopes: tuple[Interval, Interval, Interval]  # kappa, l_b, l_a
    spreads: Any  # lambda and lambda', shape (n,), where there is no Jacobian


def _norms(layer: AttentionWeights, parts: list[_Head], together: Array) -> tuple[Interval, ...]:  # noqa: ARG001
    """Enclose the norms by the Jacobian."""
    jacobian = sum((part.jacobian for part in parts[1:]), start=parts[0].jacobian)
    if layer.residual:
        jacobian = jacobian + np.eye(len(jacobian))[:, :, np.newaxis, np.newaxis] * np.eye(layer.dim)
    return _mean(jacobian), _max(jacobian), _frobenius(jacobian)


def _size_norms(layer: AttentionWeights, parts: list[_Head], together: Array) -> tuple[Interval, ...]:
    """Enclose the norms between the stretch of tokens that move on together and sums of the sizes of blocks."""
    each = [_size_sums(part) for part in parts]
    upper = [
        sum((Interval.exactly(size) for size in sizes), start=Interval.exactly(0.0))
        for sizes in zip(*each, strict=True)
    ]
    moved = sum((part.moved for part in parts[1:]), start=parts[0].moved)
    if layer.residual:
        upper, moved = [size + 1.0 for size in upper], moved + together
    lengths = norm(moved, axis=1) / norm(exact(together))
    lower = lengths.mean().lo, lengths.max().lo, (norm(lengths) / exact(float(len(moved))).sqrt()).lo
    ends = zip(lower, (size.hi for size in upper), strict=True)
    return tuple(Interval(max(min(low, high), 0.0), high, lengths.kind) for low, high in ends)


def _size_sums(part: _Head) -> tuple[float, float, float]:
    """Bound the norms of the mean, the largest and the Frobenius displacement of one head by its parts."""
    lam: Any = part.spreads[0]
    own = np.sqrt(lam * part.spreads[1])
    squares = part.weights * part.by_key * part.by_key
    blocks = part.weights * (part.value + part.images * part.by_key)
    mean = (blocks + np.eye(len(part.weights)) * own).sum(axis=0).max().hi
    row = (np.sqrt(lam * squares.sum(axis=1)) + own).max()
    column = part.value * part.weights.sum(axis=0).max().sqrt()
    both = column + (lam[:, np.newaxis] * squares).sum(axis=0).max().sqrt() + own.max()
    return mean, (part.value + row).hi, both.hi


def _spreads(weights: Any, vectors: Any) -> Any:
    """Bound the largest eigenvalues of the covariances of vectors, shape (n, d), under every row of weights.

    If the vectors have the shape (n, n, d), every row has its own.
    """
    if vectors.ndim == 3:
        rows = [_spreads(weights[i : i + 1], vectors[i]) for i in range(len(vectors))]
        return np.concatenate(rows)
    n, size = vectors.shape
    gram = vectors @ vectors.T if n <= size else None
    found = []
    for law in weights:
        roots = np.sqrt(law)
        if gram is None:  # the covariance has the same eigenvalues as the Gram matrix, and is smaller
            scaled = (vectors - law @ vectors) * roots[:, np.newaxis]
            matrix = scaled.T @ scaled
        else:
            mean = gram @ law
            centred = gram - mean[:, np.newaxis] - mean[np.newaxis] + (law @ mean)
            matrix = centred * roots[:, np.newaxis] * roots[np.newaxis]
        found.append(max(eigenvalues(matrix)[-1].hi, 0.0))
    return exact(np.array(found))


def _sums(sizes: Any) -> tuple[float, float, float]:
    """Bound the norms of the mean, the largest and the Frobenius displacement by the sizes of blocks."""
    column, row = (sizes.sum(axis=axis).max().hi for axis in (0, 1))
    if not max(column, row) < math.inf:
        return math.inf, math.inf, math.inf
    both = (Interval.exactly(column) * Interval.exactly(row)).sqrt().hi
    return column, row, min(both, norm(sizes.reshape(-1)).hi)


def _head(layer: AttentionWeights, head: int, x: Any, together: Array, turns: Turns | None) -> _Head:
    n = len(x)
    query, key = layer.w_query[head], layer.w_key[head]
    factor = Interval.exactly(layer.scale) if layer.scale is not None else 1.0 / exact(float(len(query))).sqrt()
    form = (exact(query.T) @ key) * factor
    value = exact(layer.slice(head)) @ layer.w_value[head]
    q, k = x @ query.T, x @ key.T
    if layer.b_query is not None:
        q = q + layer.b_query[head]
    multiples = (1.0, 1.0, 1.0)
    if turns is not None:
        scores, by_key, by_query = (part * factor for part in _turned(layer, head, q, k, turns))
    elif layer.score == "dot":
        scores = (q @ k.T) * factor
        by_key = ((q @ key) * factor)[:, np.newaxis]
        by_query = (k @ query) * factor
    else:
        apart = q[:, np.newaxis] - q[np.newaxis]
        scores = -((apart * apart).sum(axis=2) * factor)
        by_key = ((apart.reshape(n * n, -1) @ query) * (2.0 * factor)).reshape(n, n, -1)
        by_query = (q @ query) * (2.0 * factor)
        value = value @ form
        multiples = (3.0, 4.0, 2.0)
    seen = np.tril(np.ones((n, n))) if layer.causal else np.ones((n, n))
    shift = np.where(seen > 0.0, scores.mid, -math.inf).max(axis=1, keepdims=True)
    raw = np.exp((scores - shift) * seen) * seen
    weights = raw / raw.sum(axis=1, keepdims=True)
    mean, turned = weights @ x, x @ value.T
    offsets = x[np.newaxis] - mean[:, np.newaxis]
    images = turned[np.newaxis] - (weights @ turned)[:, np.newaxis]
    slopes = weights * ((by_key @ together) + (by_query @ together))
    moved = exact(together) @ value.T + (slopes @ x - slopes.sum(axis=1, keepdims=True) * mean) @ value.T
    blocks = None
    if x.size <= _MOST:
        blocks = weights[:, :, np.newaxis, np.newaxis] * (
            value + images[:, :, :, np.newaxis] * by_key[:, :, np.newaxis, :]
        )
        weighted = weights[:, :, np.newaxis] * images
        own = weighted.each(lambda ends: ends.transpose(0, 2, 1)) @ by_query
        blocks = blocks + np.eye(n)[:, :, np.newaxis, np.newaxis] * own[:, np.newaxis]
    if turns is None:
        centred = by_query[np.newaxis] - (weights @ by_query)[:, np.newaxis]
        size = spectral_norm(form)
    else:
        centred = by_query - (weights[:, :, np.newaxis] * by_query).sum(axis=1, keepdims=True)
        size = spectral_norm(exact(query)) * spectral_norm(exact(key)) * factor
    far, out, first, second = (norm(part, axis=2) for part in (offsets, images, by_key, centred))
    kappa, by_key_slope, by_query_slope = (multiple * size for multiple in multiples)
    spreads = (_spreads(weights, turned), _spreads(weights, by_query)) if blocks is None else None
    slope = kappa, by_key_slope, by_query_slope
    return _Head(blocks, moved, weights, far, out, first, second, spectral_norm(value), slope, spreads)


def _turned(layer: AttentionWeights, head: int, q: Any, k: Any, turns: Turns) -> tuple[Any, Any, Any]:
    """Return scores of turned queries and keys, and their derivatives by key and query, without their factor."""
    if layer.b_key is not None:
        k = k + layer.b_key[head]
    asked, answered = turn(q[:, np.newaxis], turns), turn(k[np.newaxis], turns, back=True)
    return (asked * k[np.newaxis]).sum(axis=2), asked @ layer.w_key[head], answered @ layer.w_query[head]


def _moves(parts: list[_Head], r: float) -> tuple[float, ...]:
    """Bound how far the norms of the mean, the largest and the Frobenius displacement move within r."""
    with np.errstate(all="ignore"):
        each = [_block_moves(part, r) for part in parts]
        total = sum(each[1:], start=each[0])
        return _sums(total)


def _block_moves(part: _Head, r: float) -> Any:
    """Bound by how much every block moves within r."""
    kappa, by_key, by_query = part.slopes
    shifts = (part.by_key + part.by_query) * r + kappa * (Interval.exactly(r) ** 2)
    if not shifts.hi.max() < 300.0:  # weights could be anything: a smaller reach is needed
        return part.weights * 0.0 + Interval.unknown()
    rise, fall = np.exp(shifts), np.exp(-shifts)
    raised, fallen = part.weights * rise, part.weights * fall
    most = raised / (fallen.sum(axis=1, keepdims=True) + (raised - fallen))
    least = fallen / (raised.sum(axis=1, keepdims=True) - (raised - fallen))
    change = np.maximum(np.maximum(most - part.weights, part.weights - least), 0.0)
    others = np.minimum(1.0 - part.weights + change, 1.0)
    moved = (2.0 * r) * others + (change * part.offsets).sum(axis=1, keepdims=True)
    spread = part.value * moved
    reached = part.images + spread
    weights = part.weights + change
    blocks = change * (part.value + part.images * part.by_key)
    blocks = blocks + weights * (spread * part.by_key + reached * (by_key * r))
    own = change * part.images * part.by_query + weights * (spread * part.by_query + reached * (by_query * r))
    return blocks + np.eye(len(change.hi)) * own.sum(axis=1, keepdims=True)


def _own_reach(holds: Any, start: float) -> float:
    """Return a reach at which something holds, nearly the largest, between parts and multiples of a start."""
    if not holds(_LEAST_REACH):  # rounding alone is more than the norm
        raise ValueError("reach: expected one to be given where the norm is zero up to rounding, got None")
    low = start
    while not holds(low):
        low = max(low / 16.0, _LEAST_REACH)
    high = 16.0 * low
    while high < 2.0**20 * start and holds(high):
        low, high = high, 16.0 * high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _mean(jacobian: Any) -> Interval:
    return _largest([_largest_sum(jacobian[:, j]) for j in range(jacobian.shape[1])])


def _max(jacobian: Any) -> Interval:
    turned = jacobian.each(lambda ends: ends.transpose(0, 1, 3, 2))
    return _largest([_largest_sum(turned[i]) for i in range(turned.shape[0])])


def _frobenius(jacobian: Any) -> Interval:
    n, _, out, d = jacobian.shape
    return spectral_norm(jacobian.each(lambda ends: ends.transpose(0, 2, 1, 3)).reshape(n * out, n * d))


def _largest(found: list[Interval]) -> Interval:
    return Interval(max(f.lo for f in found), max(f.hi for f in found), max(f.kind for f in found))


def _largest_sum(matrices: Any) -> Interval:
    """Enclose the supremum over unit vectors u of the sum of ``|M u|`` over matrices, shape (n, a, b)."""
    n, a, b = matrices.shape
    u, lengths = _ascended(matrices.mid)
    reached = norm(matrices @ u, axis=1).sum() / norm(exact(u))
    least = norm(matrices.reshape(n, -1), axis=1).sum().hi  # all that is known of matrices that are zero up to rounding
    kind = reached.kind
    for floor in _FLOORS:
        share = exact(np.maximum(lengths, max(float(lengths.max()) * floor, 1e-290)))
        scaled = matrices / np.sqrt(share)[:, np.newaxis, np.newaxis]
        flat = scaled.reshape(n * a, b)
        bound = (share.sum() * np.maximum(eigenvalues(flat.T @ flat)[-1], 0.0)).sqrt()
        least, kind = min(least, bound.hi), max(kind, bound.kind)
        if least <= (1.0 + _CLOSE) * reached.lo:
            break
    return Interval(max(min(reached.lo, least), 0.0), least, kind)


def _ascended(matrices: Array) -> tuple[Array, Array]:
    """Return a unit vector at which the sum of ``|M u|`` is large, and its terms, by floats."""
    flat = matrices.reshape(-1, matrices.shape[2])
    u = np.linalg.eigh(flat.T @ flat)[1][:, -1]
    lengths = np.linalg.norm(matrices @ u, axis=1)
    for _ in range(_STEPS if matrices.shape[2] > 1 else 0):
        pulled = np.einsum("iab,ia->b", matrices, (matrices @ u) / np.maximum(lengths, 1e-290)[:, np.newaxis])
        size = float(np.linalg.norm(pulled))
        if not 0.0 < size < math.inf:
            break
        u = pulled / size
        lengths = np.linalg.norm(matrices @ u, axis=1)
    return u, lengths
