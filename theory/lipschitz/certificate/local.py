r"""How much a layer of given weights can stretch displacements at given tokens, and within a reach of them.

At tokens X the Jacobian of a head has the blocks

.. math:: J_{ij} = P_{ij}U(I + u_{ij}b_{ij}^\top) + \delta_{ij}\sum_kP_{ik}Uu_{ik}a_{ik}^\top, \qquad
          u_{ij} = x_j - m_i,

:math:`b_{ij}` and :math:`a_{ij}` the derivatives of the score by :math:`x_j` and :math:`x_i`, the latter up to what is
constant in row i, since :math:`\sum_kP_{ik}u_{ik} = 0`. They are enclosed, and so are the norms of the whole: the
largest singular value (Frobenius), and between the stretch of one displacement and the bound of
:mod:`theory.lipschitz.local_norms` the largest and the mean displacement.

How far the norms move within a reach of the tokens is in :mod:`theory.lipschitz.certificate.reach`, what is said where
the Jacobian would be too large in :mod:`theory.lipschitz.certificate.many`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_choice, as_points, as_positive
from theory.engine import quiet_blas
from theory.evidence import Interval, exact, norm
from theory.evidence.norm_bounds import norm_bound
from theory.evidence.roundoff import U
from theory.evidence.spectra import eigenvalues, spectral_norm
from theory.lipschitz.certificate.many import many_head, norms_of_many
from theory.lipschitz.certificate.progress import tell
from theory.lipschitz.certificate.reach import UNHELD, HeadSizes, held, moves, own_reach, quick_reach
from theory.lipschitz.certificate.tangents import factor_of, laws_of
from theory.lipschitz.certificate.turned import PAIRS, Turns, turn, turned_size, turns_at, turns_of
from theory.lipschitz.certificate.weights import Array, AttentionWeights, as_attention_weights, in_range

PLACES = ("mean", "max", "frobenius")
_MOST = 2048  # taken: n times d, at which the Jacobian takes 64 MiB
_STORED = 5120  # taken: n times d, at which its floats take 200 MiB
_LONGEST = 512  # taken: tokens whose rows and columns are gone through one by one
_ROOM = 2**24  # taken: pairs of tokens times heads, of which a few arrays are kept, or times coordinates of a head
_SWEEPS = 60  # taken: of a power iteration, whose end gives a lower end wherever it is
_STEPS = 40  # taken: of the ascent, which is valid wherever it ends
_FLOORS = (2.0**-30, 2.0**-10, 2.0**-4)  # taken: terms that vanish count as such shares of the largest; all are valid
_CLOSE = 1e-6  # taken: an enclosure this narrow is not improved
_GROWTH = 2.0  # taken: a reach is chosen at which bounds are this many times the norm


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
        Exactly these floats, with n * n * heads of at most 2**24. Of up to 5120 numbers norms are enclosed narrowly; of
        more the upper ends are sums over three parts of the Jacobian, and may be a few times the norms.
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
    if len(points) ** 2 * layer.heads > _ROOM:
        raise ValueError(
            f"tokens: expected n * n * heads of at most {_ROOM}, got {len(points)} tokens and {layer.heads} heads"
        )
    chosen = as_choice(pairs, "pairs", tuple(PAIRS))
    size = turned_size(layer, base)
    far = None if reach is None else as_positive(reach, "reach")
    n = len(points)
    small = n * n * max(layer.dim, len(layer.slice(0)), size) <= _ROOM
    few = small and points.size <= _MOST
    try:
        with quiet_blas(), np.errstate(all="ignore"):
            if few or (small and n <= _LONGEST and n * max(layer.dim, len(layer.slice(0))) <= _STORED):
                turns = turns_of(n, size, base, chosen) if base is not None else None
                parts = [_head(layer, head, exact(points), turns) for head in range(layer.heads)]
                norms, sizes = (_norms if few else _stored_norms)(layer, parts), [part.sizes for part in parts]
            else:
                turns = turns_at(n, size, base, chosen) if base is not None else None
                many = [many_head(layer, head, exact(points), turns) for head in range(layer.heads)]
                norms, sizes = norms_of_many(layer, many, points), [head.sizes for head in many]
            return _within(norms, sizes, points, far, few)
    except np.linalg.LinAlgError as fault:  # of matrices whose entries are not finite
        raise ValueError(UNHELD) from fault


def _within(
    norms: tuple[Interval, ...], sizes: list[HeadSizes], points: Array, reach: float | None, few: bool
) -> LocalCertificate:
    """Add to the norms at the tokens what holds within a reach of them."""
    longest = norm(exact(points), axis=1).max().hi
    found: dict[float, tuple[float, ...]] = {}

    def moved(place: int, r: float) -> float:
        if r not in found:
            tell(f"tokens that move by {r:.2g}")
            found[r] = moves(sizes, r)
        return found[r][place]

    rows: list[LocalRow] = []
    for place, (metric, size) in enumerate(zip(PLACES, norms, strict=True)):
        if not size.hi < math.inf:
            raise ValueError(UNHELD)

        def bound(r: float, at: int = place, most: float = size.hi) -> float:
            return math.nextafter(most + moved(at, r), math.inf)

        own = reach
        if own is None and few:
            own = own_reach(lambda r, most=size.hi, bound=bound: bound(r) <= _GROWTH * most, longest or 1.0)  # type: ignore[misc]
        elif own is None:
            room = (_GROWTH - 1.0) * (1.0 - 1e-12) * size.hi
            own = quick_reach(lambda r, at=place: moved(at, r), room, rows[-1].reach if rows else longest or 1.0)  # type: ignore[misc]
        most = bound(own)
        if not most < math.inf:
            raise ValueError(f"reach: expected one within which float64 can hold the bound, got {reach!r}")
        rows.append(LocalRow(metric, size, own, most))
    return LocalCertificate(tuple(rows), longest, len(points))


class _Head(NamedTuple):
    """What one head contributes at few tokens, in enclosures."""

    sizes: HeadSizes
    value: Any  # U, shape (d_out, d)
    images: Any  # U u, shape (n, n, d_out)
    by_key: Any  # b, shape (n, n, d) or (n, 1, d)
    own: Any  # the query's part, shape (n, d_out, d)

    def blocks(self) -> Any:
        """Return the blocks of the Jacobian, shape (n, n, d_out, d)."""
        weights, n = self.sizes.weights[:, :, np.newaxis, np.newaxis], len(self.own)
        blocks = weights * (self.value + self.images[:, :, :, np.newaxis] * self.by_key[:, :, np.newaxis, :])
        return blocks + np.eye(n)[:, :, np.newaxis, np.newaxis] * self.own[:, np.newaxis]


def _norms(layer: AttentionWeights, parts: list[_Head]) -> tuple[Interval, ...]:
    """Enclose the norms by the Jacobian."""
    jacobian = sum((part.blocks() for part in parts[1:]), start=parts[0].blocks())
    if layer.residual:
        jacobian = jacobian + np.eye(len(jacobian))[:, :, np.newaxis, np.newaxis] * np.eye(layer.dim)
    return _mean(jacobian), _max(jacobian), _frobenius(jacobian)


def _stored_norms(layer: AttentionWeights, parts: list[_Head]) -> tuple[Interval, ...]:
    r"""Enclose the norms by a Jacobian of floats, and by how far its blocks may be from those of the layer.

    Of the middles of enclosures a block :math:`P_{ij}(U + Uu_{ij}b_{ij}^\top)` is made with three roundings. On the
    diagonal two numbers are added for every head, this one and the query's part, and one for the residual.
    """
    tell("the Jacobian at the tokens")
    n, out, dim = parts[0].own.shape
    jacobian = np.zeros((n, out, n, dim))
    error = exact(np.zeros((n, n)))
    for part in parts:
        value, images, by_key = part.value.mid, part.images.mid, np.broadcast_to(part.by_key.mid, (n, n, dim))
        laws, own = part.sizes.weights.mid, part.own.mid
        error = error + _block_errors(part, 2 * len(parts) + 4)
        for i in range(n):
            jacobian[i] += laws[i, :, np.newaxis] * (
                value[:, np.newaxis] + images[i].T[:, :, np.newaxis] * by_key[i][np.newaxis]
            )
            jacobian[i, :, i] += own[i]
    if layer.residual:
        jacobian[range(n), :, range(n)] += np.eye(dim)
        error = error + np.eye(n) * (U * math.sqrt(dim))
    held(jacobian)
    column, row = (error.sum(axis=axis).max() for axis in (0, 1))
    columns = _largest([_largest_sum(exact(jacobian[:, :, j])) for j in range(n)])
    rows = _largest([_largest_sum(exact(jacobian[i].transpose(1, 2, 0))) for i in range(n)])
    flat = jacobian.reshape(n * out, n * dim)
    worst = _worst(flat)
    reached = norm(exact(flat) @ worst) / norm(exact(worst))
    squares = Interval(reached.lo, max(norm_bound(flat), reached.lo), reached.kind)
    moved = (column, row, norm(error.reshape(-1)))
    return tuple(
        Interval(max((size - off).lo, 0.0), (size + off).hi, size.kind)
        for size, off in zip((columns, rows, squares), moved, strict=True)
    )


def _block_errors(part: _Head, roundings: int) -> Any:
    """Bound how far blocks of the middles of one head, made and added in floats, are from its blocks; (n, n)."""
    value, weights = part.value, part.sizes.weights
    images, by_key = (_ends(x, 2) for x in (part.images, part.by_key))
    size, off = (norm(held(x.reshape(-1))) for x in (abs(value).hi, value.radius))
    whole = size + images[0] * by_key[0]
    moved = off + images[0] * by_key[1] + images[1] * by_key[0]
    error = weights * moved + (held(weights.radius) + abs(weights) * (roundings * U * (1.0 + 2.0**-20))) * whole
    own = _ends(part.own.reshape(len(part.own), -1), 1)
    return error + np.eye(len(part.own)) * (own[1] + own[0] * (roundings * U * (1.0 + 2.0**-20)))


def _ends(vectors: Any, axis: int) -> tuple[Any, Any]:
    """Return bounds of the lengths of vectors, and of how far from their middles they may be."""
    return norm(held(abs(vectors).hi), axis=axis), norm(held(vectors.radius), axis=axis)


def _worst(matrix: Array) -> Array:
    """Return a vector that a matrix stretches much, by floats."""
    vector = np.asarray(np.random.default_rng(0).normal(size=matrix.shape[1]))
    for _ in range(_SWEEPS):
        pulled = matrix.T @ (matrix @ vector)
        size = float(np.linalg.norm(pulled))
        if not 0.0 < size < math.inf:
            break
        vector = pulled / size
    return vector


def _head(layer: AttentionWeights, head: int, x: Any, turns: Turns | None) -> _Head:
    n = len(x)
    query, key = layer.w_query[head], layer.w_key[head]
    factor = factor_of(layer)
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
    weights = laws_of(scores, causal=layer.causal)
    mean, turned = weights @ x, x @ value.T
    offsets = x[np.newaxis] - mean[:, np.newaxis]
    images = turned[np.newaxis] - (weights @ turned)[:, np.newaxis]
    weighted = weights[:, :, np.newaxis] * images
    own = weighted.each(lambda ends: ends.transpose(0, 2, 1)) @ by_query
    if turns is None:
        centred = by_query[np.newaxis] - (weights @ by_query)[:, np.newaxis]
        size = spectral_norm(form)
    else:
        centred = by_query - (weights[:, :, np.newaxis] * by_query).sum(axis=1, keepdims=True)
        size = spectral_norm(exact(query)) * spectral_norm(exact(key)) * factor
    far, out, first, second = (norm(part, axis=2) for part in (offsets, images, by_key, centred))
    kappa, by_key_slope, by_query_slope = (multiple * size for multiple in multiples)
    slopes = kappa, by_key_slope, by_query_slope
    sizes = HeadSizes(weights, far, out, first, second, spectral_norm(value), slopes)
    return _Head(sizes, value, images, by_key, own)


def _turned(layer: AttentionWeights, head: int, q: Any, k: Any, turns: Turns) -> tuple[Any, Any, Any]:
    """Return scores of turned queries and keys, and their derivatives by key and query, without their factor."""
    if layer.b_key is not None:
        k = k + layer.b_key[head]
    asked, answered = turn(q[:, np.newaxis], turns), turn(k[np.newaxis], turns, back=True)
    return (asked * k[np.newaxis]).sum(axis=2), asked @ layer.w_key[head], answered @ layer.w_query[head]


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
        share = held(np.maximum(lengths, max(float(lengths.max()) * floor, 1e-290)))
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
    gram = flat.T @ flat
    held(gram)
    u = np.linalg.eigh(gram)[1][:, -1]
    lengths = np.linalg.norm(matrices @ u, axis=1)
    for _ in range(_STEPS if matrices.shape[2] > 1 else 0):
        pulled = np.einsum("iab,ia->b", matrices, (matrices @ u) / np.maximum(lengths, 1e-290)[:, np.newaxis])
        size = float(np.linalg.norm(pulled))
        if not 0.0 < size < math.inf:
            break
        u = pulled / size
        lengths = np.linalg.norm(matrices @ u, axis=1)
    return u, lengths
