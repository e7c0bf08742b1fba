r"""Attention on graphs: the additive score of graph attention, a graph as a mask, and convolution.

The score :math:`\sigma(\alpha_1\cdot x + \alpha_2\cdot y)` with an increasing :math:`\sigma` orders the keys alike for
every query, by :math:`\alpha_2\cdot y` alone: graph attention is static. A mask is :math:`N_r(A \circ S)`, since the
law that is conditioned on the neighbours is the softmax over them.

References
----------
P. Veličković et al., Graph attention networks, ICLR 2018.
T. Kipf and M. Welling, Semi-supervised classification with graph convolutional networks, ICLR 2017.
S. Brody, U. Alon and E. Yahav, How attentive are graph attention networks?, ICLR 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_number, as_points, as_positive, as_vector, frozen
from theory.attention import attend
from theory.attention.score import Constants
from theory.diffusion.similarity.pipeline import normalise_rows
from theory.evidence import Intervals, exact
from theory.evidence.roundoff import gamma

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class GraphScore:
    r""":math:`a(x, y) = \sigma(\alpha_1\cdot x + \alpha_2\cdot y)/\tau` with a leaky or an even :math:`\sigma`.

    Parameters
    ----------
    left, right : array_like, shape (d,)
        :math:`\alpha_1, \alpha_2`, with the linear map of the features folded in.
    slope : float or None, default 0.2
        Of :math:`\sigma` below zero, where it is the identity above; None for :math:`\sigma(s) = -s^2`.
    temperature : float, default 1.0
        :math:`\tau`, positive.

    Raises
    ------
    ValueError
        If the shapes differ or the temperature is not positive.
    """

    left: Array
    right: Array
    slope: float | None = 0.2
    temperature: float = 1.0

    def __post_init__(self) -> None:
        left = as_vector(self.left, "left")
        object.__setattr__(self, "left", frozen(left))
        object.__setattr__(self, "right", frozen(as_vector(self.right, "right", size=left.size)))
        if self.slope is not None:
            object.__setattr__(self, "slope", as_number(self.slope, "slope"))
        object.__setattr__(self, "temperature", as_positive(self.temperature, "temperature"))

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores."""
        dim = self.left.size
        with np.errstate(over="ignore", invalid="ignore"):
            s = (as_points(x, "x", dim=dim) @ self.left)[:, np.newaxis] + as_points(y, "y", dim=dim) @ self.right
            scores: Array = self._bent(s) / self.temperature
        if not isinstance(scores, Intervals) and not np.isfinite(scores).all():
            raise ValueError("x, y: expected tokens whose scores float64 can hold, got an overflow")
        return scores

    def _bent(self, s: Array) -> Array:
        if self.slope is None:
            return -(s**2)
        chosen = np.maximum if self.slope <= 1.0 else np.minimum  # of the two lines, the upper one if it is the steeper
        bent: Array = chosen(s, self.slope * s)
        return bent

    def constants(self, radius: float) -> Constants:
        """Raise: nothing here needs them."""
        raise NotImplementedError(f"constants of GraphScore on a ball of radius {radius}")

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding error from those of the argument."""
        reach = float((np.abs(x) @ np.abs(self.left)).max() + (np.abs(y) @ np.abs(self.right)).max())
        steep = 2.0 * reach if self.slope is None else max(1.0, abs(self.slope))
        size = (reach if self.slope is None else steep) * reach * (1.0 + gamma(8)) / self.temperature
        terms = self.left.size + 4
        return size, (steep * reach / self.temperature + size) * gamma(terms) * (1.0 + gamma(terms))


def attend_graph(weights: ArrayLike, adjacency: ArrayLike) -> Array:
    """Return attention among neighbours: weights on an edge, every row divided by its sum, which must not vanish."""
    rows = as_matrix(weights, "weights")
    seen = as_matrix(adjacency, "adjacency", shape=(rows.shape[0], rows.shape[1]))
    try:
        with np.errstate(over="ignore"):
            return normalise_rows(rows * seen)
    except ValueError as error:
        raise ValueError(
            f"weights, adjacency: expected rows that can be divided by their sums, got others: {error}"
        ) from error


def convolve_features(adjacency: ArrayLike, features: ArrayLike) -> Array:
    r"""Return :math:`D^{-1/2}(A + I)D^{-1/2}H = D^{1/2}N_r(A + I)D^{-1/2}H`, by attention to neighbours.

    Parameters
    ----------
    adjacency : array_like, shape (n, n)
        Not negative.
    features : array_like, shape (n, k)
    """
    a = as_matrix(adjacency, "adjacency")
    a = as_matrix(a, "adjacency", shape=(a.shape[0], a.shape[0])) + np.eye(a.shape[0])
    h = as_points(features, "features", size=a.shape[0])
    if a.min() < 0.0:
        raise ValueError(f"adjacency: expected non-negative weights, got {a.min()}")
    degrees = a.sum(axis=1)[:, np.newaxis]
    root = np.sqrt(exact(degrees) if isinstance(h, Intervals) else degrees)
    scaled = h / root
    places = np.arange(a.shape[0], dtype=np.float64)[:, np.newaxis]
    rows = []
    for i, seen in enumerate(a > 0.0):
        rows.append(attend(places[i : i + 1], places[seen], scaled[seen], weights=a[i, seen], score=_FLAT))
    convolved: Array = root * np.concatenate(rows)
    return convolved


class _Flat:
    """The score that is zero."""

    def matrix(self, x: Array, y: Array) -> Array:
        """Return the (m, n) zeros."""
        return np.zeros((x.shape[0], y.shape[0]))

    def constants(self, radius: float) -> Constants:  # noqa: ARG002  the same on every ball
        """Return zeros."""
        return Constants(0.0, 0.0, 0.0, 0.0)

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:  # noqa: ARG002  exact for all tokens
        """Return no size and no rounding."""
        return 0.0, 0.0


_FLAT = _Flat()
