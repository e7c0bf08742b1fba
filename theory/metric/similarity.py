r"""Scores of tokens with each other, with parameters that are learned: three ways to compare.

.. math:: a^{\rm self}_{ij} = \frac{\langle h_iQ, h_jK\rangle}{\sqrt w}, \qquad a^{\rm L2}_{ij} = -|h_iW - h_jW|^2,
    \qquad a^{\rm metric}_{ij} = -|g(h_i) - g(h_j)|^2 ,

with g the residual network of :mod:`theory.metric.features`. Tokens come in stacks, (..., n, d); parameters as one
vector. Squared distances of k features are taken apart, :math:`2\langle f_i, f_j\rangle - |f_i|^2 - |f_j|^2`, which
costs a matrix product and is off by at most :math:`4\gamma_{k + 3}\max|f|^2`, as long as that is below
:math:`2^{-30}`; farther from the origin they are sums of squared differences. Tokens as far from
it are first moved so that the first of a stack is the origin, which changes no distance.

References
----------
T. Ruan and S. Zhang, arXiv:2412.18288, section 6; H. Kim, G. Papamakarios, A. Mnih, ICML 2021 (L2).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_choice, as_count, as_vector
from theory.evidence import exact, is_enclosed
from theory.evidence.roundoff import gamma
from theory.metric.features import LinearFeatures, ResidualFeatures

Array = NDArray[np.float64]
_OFF = 2.0**-30  # taken: by how much a score may be off, and so, relative, a weight
Shapes = tuple[tuple[int, ...], ...]


@cache  # as is the next one: every step of a training asks for the same
def sizes_of(shapes: Shapes) -> tuple[int, ...]:
    """Return how many numbers each shape holds."""
    return tuple(math.prod(shape) for shape in shapes)


@cache
def _cuts(shapes: Shapes) -> tuple[tuple[slice, tuple[int, ...]], ...]:
    """Return where each shape lies in a vector of parameters."""
    ends = (0, *itertools.accumulate(sizes_of(shapes)))
    return tuple((slice(*ends_of), shape) for ends_of, shape in zip(itertools.pairwise(ends), shapes, strict=True))


def split_parameters(theta: Array, shapes: Shapes) -> list[Array]:
    """Cut a vector of parameters into arrays."""
    return [theta[cut].reshape(shape) for cut, shape in _cuts(shapes)]  # np.split takes a third of a training


@cache
def _cancellation_error(width: int) -> float:
    """Bound what taking distances of so many features apart is off by, in units of the largest square."""
    return 4.0 * gamma(width + 3)


def _is_far(squares: Array, width: int) -> bool:
    """Tell whether rows of so many numbers and with these squares are too far from the origin to be taken apart."""
    largest = squares.mid.max() if is_enclosed(squares) else squares.max()  # type: ignore[attr-defined]
    return not _cancellation_error(width) * largest <= _OFF


def contract_rows(a: Array, b: Array) -> Array:
    """Return the sums of products along the last axis, enclosed if any of the numbers are."""
    sums: Array = (a * b).sum(axis=-1) if is_enclosed(a, b) else np.einsum("...k,...k->...", a, b)
    return sums


def recentered(h: Array) -> Array:
    """Return tokens far from the origin as differences from the first of their stack, others as they are.

    For what a common shift does not change.
    """
    near = not is_enclosed(h) and _cancellation_error(h.shape[-1]) * np.vdot(h, h) <= _OFF  # no square exceeds the sum
    if near:
        return h
    return h - h[..., :1, :] if _is_far(contract_rows(h, h), h.shape[-1]) else h


def draw_parameters(shapes: Shapes, rng: np.random.Generator) -> Array:
    r"""Draw matrices from :math:`[-r, r]` with :math:`r = 1/\sqrt{\text{rows}}`; vectors, the biases, are zero."""
    return np.concatenate(
        [
            (rng.uniform(-1.0, 1.0, shape) / math.sqrt(shape[0])).ravel() if len(shape) == 2 else np.zeros(shape)
            for shape in shapes
        ]
    )


class Similarity(Protocol):
    """A score with parameters."""

    @property
    def dim(self) -> int:
        """d, of a token."""
        ...

    @property
    def shapes(self) -> Shapes:
        """Shapes of the parameters in the order in which they are stored."""
        ...

    def scores(self, theta: Array, h: Array) -> Array:
        """Return the scores (..., n, n) of tokens (..., n, d)."""
        ...

    def pull(self, theta: Array, h: Array, cotangent: Array) -> tuple[Array, Array]:
        """Return the gradient of the scores times ``cotangent``, (..., n, n), in the tokens and the parameters."""
        ...


@dataclass(frozen=True, slots=True)
class SelfSimilarity:
    """Scaled dot products of queries and keys.

    Parameters
    ----------
    dim, width : int
        d of a token, w of queries and keys.
    """

    dim: int
    width: int

    def __post_init__(self) -> None:
        _validate_sizes(self)

    @property
    def shapes(self) -> Shapes:
        """Of Q and K."""
        return ((self.dim, self.width), (self.dim, self.width))

    def scores(self, theta: Array, h: Array) -> Array:
        """Return the scores (..., n, n)."""
        q, k = split_parameters(theta, self.shapes)
        scores: Array = (h @ q) @ _transposed(h @ k) / self._root(h)
        return scores

    def pull(self, theta: Array, h: Array, cotangent: Array) -> tuple[Array, Array]:
        """Return the gradients in tokens and parameters."""
        q, k = split_parameters(theta, self.shapes)
        bar = cotangent / self._root(cotangent)
        queries, keys = bar @ (h @ k), _transposed(bar) @ (h @ q)
        slopes = [_sum_outer_products(h, queries), _sum_outer_products(h, keys)]
        return queries @ q.T + keys @ k.T, np.concatenate([slope.ravel() for slope in slopes])

    def _root(self, asked: Array) -> Any:
        """Return the root of the width, enclosed if what it divides is."""
        return np.sqrt(exact(self.width)) if is_enclosed(asked) else math.sqrt(self.width)


@dataclass(frozen=True, slots=True)
class DistanceSimilarity:
    """Squared distances of tokens after a linear map, L2 attention with tied queries and keys.

    Parameters
    ----------
    dim, width : int
        d of a token, w of its features.
    """

    dim: int
    width: int

    def __post_init__(self) -> None:
        _validate_sizes(self)

    @property
    def shapes(self) -> Shapes:
        """Of W."""
        return ((self.dim, self.width),)

    def features(self, theta: ArrayLike) -> LinearFeatures:
        """Return what distances are taken of."""
        return LinearFeatures(
            *split_parameters(as_vector(theta, "theta", size=sum(sizes_of(self.shapes))), self.shapes)
        )

    def scores(self, theta: Array, h: Array) -> Array:
        """Return the scores (..., n, n)."""
        (w,) = split_parameters(theta, self.shapes)
        return _distance_scores(recentered(h) @ w)

    def pull(self, theta: Array, h: Array, cotangent: Array) -> tuple[Array, Array]:
        """Return the gradients in tokens and parameters."""
        (w,) = split_parameters(theta, self.shapes)
        h = recentered(h)  # bar sums to zero over the tokens
        bar = _pull_distance_scores(h @ w, cotangent)
        return bar @ w.T, _sum_outer_products(h, bar).ravel()


@dataclass(frozen=True, slots=True)
class MetricSimilarity:
    """Squared distances of tokens after a residual network.

    Parameters
    ----------
    dim, width : int
        d of a token, w of the hidden layer.
    """

    dim: int
    width: int

    def __post_init__(self) -> None:
        _validate_sizes(self)

    @property
    def shapes(self) -> Shapes:
        """Of W, b, U and c."""
        return ((self.dim, self.width), (self.width,), (self.width, self.dim), (self.dim,))

    def features(self, theta: ArrayLike) -> ResidualFeatures:
        """Return what distances are taken of."""
        return ResidualFeatures(
            *split_parameters(as_vector(theta, "theta", size=sum(sizes_of(self.shapes))), self.shapes)
        )

    def scores(self, theta: Array, h: Array) -> Array:
        """Return the scores (..., n, n)."""
        inner, bias, outer, _ = split_parameters(theta, self.shapes)  # the last one moves all features together
        return _distance_scores(recentered(h) + np.tanh(h @ inner + bias) @ outer)

    def pull(self, theta: Array, h: Array, cotangent: Array) -> tuple[Array, Array]:
        """Return the gradients in tokens and parameters."""
        inner, bias, outer, _ = split_parameters(theta, self.shapes)
        t = np.tanh(h @ inner + bias)
        bar = _pull_distance_scores(recentered(h) + t @ outer, cotangent)
        back = (bar @ outer.T) * (1.0 - t * t)
        slopes = [
            _sum_outer_products(h, back),
            back.reshape(-1, self.width).sum(axis=0),
            _sum_outer_products(t, bar),
            np.zeros(self.dim),
        ]
        return bar + back @ inner.T, np.concatenate([slope.ravel() for slope in slopes])


def make_similarity(attention: str, dim: int, width: int, *, matching: str = "width") -> Similarity:
    """Return the similarity of an attention.

    Parameters
    ----------
    attention : {"self", "l2", "metric"}
    dim, width : int
        Of a token, and of queries and keys in ``self``.
    matching : {"width", "parameters"}
        Whether the others have the same width, or the width that brings their number of parameters nearest to that of
        ``self``.

    Raises
    ------
    ValueError
        If a word is none of these or a size is not positive.
    """
    kinds: dict[str, type[SelfSimilarity | DistanceSimilarity | MetricSimilarity]] = {
        "self": SelfSimilarity, "l2": DistanceSimilarity, "metric": MetricSimilarity
    }  # fmt: skip
    kind = kinds[as_choice(attention, "attention", kinds)]
    own = SelfSimilarity(dim, width)
    wanted = sum(sizes_of(own.shapes))
    if as_choice(matching, "matching", ("width", "parameters")) == "width":
        return kind(own.dim, own.width)
    widths = range(1, 2 * own.width + 2)
    return min((kind(own.dim, w) for w in widths), key=lambda s: abs(sum(sizes_of(s.shapes)) - wanted))


def _validate_sizes(similar: SelfSimilarity | DistanceSimilarity | MetricSimilarity) -> None:
    for name in ("dim", "width"):
        object.__setattr__(similar, name, as_count(getattr(similar, name), name))


def _transposed(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _sum_outer_products(left: Array, right: Array) -> Array:
    """Return the sum of outer products over all tokens of all stacks."""
    products: Array = left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])
    return products


def _distance_scores(f: Array) -> Array:
    """Return minus the squared distances of the rows of each stack."""
    squares = contract_rows(f, f)
    if _is_far(squares, f.shape[-1]):
        return _distance_scores_by_differences(f)
    scores: Array = 2.0 * (f @ _transposed(f)) - squares[..., :, np.newaxis] - squares[..., np.newaxis, :]
    return scores


def _distance_scores_by_differences(f: Array) -> Array:
    """Return the same at any distance from the origin, at the cost of a pass for every feature."""
    scores: Array = np.zeros((*f.shape[:-1], f.shape[-2]))
    for feature in np.moveaxis(f, -1, 0):
        scores = scores - np.square(feature[..., :, np.newaxis] - feature[..., np.newaxis, :])
    return scores


def _pull_distance_scores(f: Array, cotangent: Array) -> Array:
    """Return the gradient in the features, of which each is a query and a key."""
    both = cotangent + _transposed(cotangent)
    pulled: Array = 2.0 * (both @ f - both.sum(axis=-1)[..., np.newaxis] * f)
    return pulled
