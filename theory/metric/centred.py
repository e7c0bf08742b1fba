r"""Tokens about a middle, and a layer of attention on them that keeps small differences to full relative precision.

Tokens that are averaged almost alike come so near to each other that their coordinates no longer show the differences:
after two blocks, 1e-19 of a variance may be left. Here tokens are :math:`h_i = m + x_i`, and scores are split into what
is the query's own and what all queries share,

.. math:: s_{ij} = c_j + a_{ij} + \text{a number for each query}, \qquad \pi_j \propto e^{c_j},

where :math:`a_{ij}` is bilinear in offsets. With :math:`\bar x = \sum_j\pi_jx_j`, attention moves :math:`h_i` to

.. math:: m + \bar x + \frac{\sum_j\pi_j(e^{a_{ij}} - 1)(x_j - \bar x)}{1 + \sum_j\pi_j(e^{a_{ij}} - 1)} ,

in which nothing large cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_choice, as_flag, as_instance, as_real
from theory.evidence import exact, is_enclosed
from theory.metric.layer import softmax_rows

Array = NDArray[np.float64]
_LARGE = 1.0  # taken: scores that differ by more leave differences that coordinates show
SIMILARITIES = ("dot", "distance", "metric", "features")


class CentredTokens(NamedTuple):
    """Tokens ``middle + offsets``, of shapes (d,) and (n, d)."""

    middle: Array
    offsets: Array


class SplitScores(NamedTuple):
    """Scores of tokens with each other: what all queries share, (n,), and what is a query's own, (n, n)."""

    common: Array
    own: Array


def centre_tokens(h: ArrayLike) -> CentredTokens:
    """Return tokens, (n, d), about their mean."""
    tokens = as_real(h, "h")
    if tokens.ndim != 2 or tokens.size == 0:
        raise ValueError(f"h: expected shape (n, d), got shape {tokens.shape}")
    middle = tokens.mean(axis=0)
    return CentredTokens(middle, tokens - middle)


def split_scores(similarity: str, parameters: Sequence[ArrayLike], tokens: CentredTokens) -> SplitScores:
    """Split the scores of a similarity, up to a number for each query.

    Parameters
    ----------
    similarity : {"dot", "distance", "metric", "features"}
        Of queries and keys; minus the squared distance of linear features; minus that of the features of a residual
        network; their dot product. Dot products are divided by the root of the width of what is multiplied.
    parameters : sequence of array_like
        Q and K, both (d, w); W, (d, w); for the others W, b, U and c, of (d, w), (w,), (w, d) and (d,).
    tokens : CentredTokens

    Returns
    -------
    SplitScores
        Enclosed if a token or a parameter is.

    Raises
    ------
    ValueError
        If the similarity is none of these, the shapes do not fit or a number is not finite.
    """
    kind = as_choice(similarity, "similarity", SIMILARITIES)
    middle, x = _tokens(tokens)
    given = _parameters(kind, parameters, x.shape[1])
    if kind == "dot":
        query, key = given
        keys = x @ key / _root(key.shape[1], x, *given)
        return SplitScores(keys @ (middle @ query), (x @ query) @ keys.T)
    if kind == "distance":
        return _of_distances(x @ given[0])
    here, features = _features(middle, x, *given)
    if kind == "metric":
        return _of_distances(features)
    scaled = features / _root(x.shape[1], x, *given)
    return SplitScores(scaled @ here, scaled @ features.T)


def average_centred(tokens: CentredTokens, scores: SplitScores, *, residual: bool = False) -> CentredTokens:
    r"""Return :math:`S(H)H` about its mean, or :math:`H + S(H)H`, enclosed if a token or a score is.

    Raises
    ------
    ValueError
        If the shapes do not fit or a number is not finite.
    """
    middle, x = _tokens(tokens)
    common, own = _scores(scores, size=len(x))
    law = shared_law(common)
    base = law @ x
    if _is_large(own):
        moved = softmax_rows(common + own) @ (x - base)
    else:
        away = law * np.expm1(own)
        moved = away @ (x - base) / (1.0 + away.sum(axis=1))[:, np.newaxis]
    if as_flag(residual, "residual"):
        moved = x + moved
        base = middle + base
    shift = moved.mean(axis=0)
    return CentredTokens(middle + base + shift, moved - shift)


def row_divergences(scores: SplitScores) -> Array:
    r"""Return the chi-square divergences :math:`\sum_j(p_{ij} - \pi_j)^2/\pi_j` of the weights of every query, (n,).

    Of tokens that are averaged with these weights, a part of the variance under :math:`\pi` is left that is no larger
    than the mean of these numbers. Infinite is what overflows; enclosed if a score is.
    """
    common, own = _scores(scores)
    law = shared_law(common)
    if _is_large(own):
        with np.errstate(over="ignore"):
            squares = np.exp(2.0 * _log_rows(common + own) - _log_rows(common))
            found: Array = squares.sum(axis=1) - 1.0
        return found
    away = np.expm1(own)
    mean = (law * away).sum(axis=1)[:, np.newaxis]
    divergences: Array = (law * np.square((away - mean) / (1.0 + mean))).sum(axis=1)
    return divergences


def shared_law(common: ArrayLike) -> Array:
    r"""Return :math:`\pi \propto e^c`, (n,), of the part of the scores that all queries share."""
    c = as_real(common, "common")
    if c.ndim != 1 or c.size == 0:
        raise ValueError(f"common: expected shape (n,), got shape {c.shape}")
    return softmax_rows(c)


def _log_rows(scores: Array) -> Array:
    shifted = scores - scores.max(axis=-1, keepdims=True)
    logs: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return logs


def _is_large(own: Array) -> bool:
    """Tell whether the differences that scores make are such as coordinates show."""
    sizes = np.abs(own.mid if is_enclosed(own) else own)  # type: ignore[attr-defined]
    return bool(sizes.max() > _LARGE)


def _scores(scores: SplitScores, *, size: int | None = None) -> SplitScores:
    given = as_instance(scores, "scores", SplitScores)
    common, own = (as_real(part, "scores") for part in given)
    n = common.size if size is None else size
    if common.shape != (n,) or own.shape != (n, n) or not n:
        raise ValueError(f"scores: expected shapes ({n},) and ({n}, {n}), got {common.shape} and {own.shape}")
    return SplitScores(common, own)


def _tokens(tokens: CentredTokens) -> CentredTokens:
    middle, x = (as_real(part, "tokens") for part in as_instance(tokens, "tokens", CentredTokens))
    if x.ndim != 2 or x.size == 0 or middle.shape != x.shape[1:]:
        raise ValueError(f"tokens: expected shapes (d,) and (n, d), got {middle.shape} and {x.shape}")
    return CentredTokens(middle, x)


def _parameters(kind: str, parameters: Sequence[ArrayLike], dim: int) -> list[Array]:
    given = [as_real(part, "parameters") for part in as_instance(parameters, "parameters", (list, tuple))]
    width = given[0].shape[-1] if given and given[0].ndim else 0
    wanted = {"dot": [(dim, width)] * 2, "distance": [(dim, width)]}
    shapes = wanted.get(kind, [(dim, width), (width,), (width, dim), (dim,)])
    found = [part.shape for part in given]
    if found != shapes or not width:
        raise ValueError(f"parameters: expected shapes {shapes}, got {found}")
    return given


def _root(width: int, *given: Array) -> Array:
    root: Array = np.sqrt(exact(width) if is_enclosed(*given) else np.float64(width))
    return root


def _of_distances(f: Array) -> SplitScores:
    """Return minus the squared distances of features about some point."""
    return SplitScores(-np.square(f).sum(axis=1), 2.0 * (f @ f.T))


def _features(middle: Array, x: Array, inner: Array, bias: Array, outer: Array, shift: Array) -> tuple[Array, Array]:
    """Return g at the middle, and by how much g differs from it at each token."""
    t, step = np.tanh(middle @ inner + bias), np.tanh(x @ inner)
    gained = step * (1.0 - t * t) / (1.0 + t * step)  # tanh(u + v) - tanh(u), from tanh(u) and tanh(v)
    return middle + t @ outer + shift, x + gained @ outer
