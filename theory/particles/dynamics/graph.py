r"""Tokens on a sphere that see their neighbours on a graph, and the twisted states of a ring.

.. math:: \dot x_i = P^\perp_{x_i}\sum_j A_{ij}e^{\beta\langle x_i, x_j\rangle}x_j,

divided by the sum of the weights of row i if normalised. The linear kernel has :math:`\beta = 0`; all ones with rows
divided by their sums is attention (SA), :math:`1/n` without is USA. On a ring of n tokens the twisted state of
winding q puts token j at the angle :math:`2\pi qj/n` of a great circle.

References
----------
D. A. Wiley, S. H. Strogatz, M. Girvan, The size of the sync basin, *Chaos* 16 (2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_flag, as_matrix, as_number, as_points, frozen
from theory.evidence.enclosure import ball, balls

Array = NDArray[np.float64]
Balls = NDArray[np.object_]
_LARGEST = 700.0  # derived: an exponential of a score up to here is a float


def ring(n: int) -> Array:
    """Return the adjacency of a ring of ``n >= 3`` tokens, zeros and ones."""
    step = np.roll(np.eye(as_count(n, "n", least=3)), 1, axis=1)
    adjacency: Array = step + step.T
    return adjacency


def complete(n: int) -> Array:
    """Return the adjacency of ``n`` tokens that all see each other and themselves."""
    count = as_count(n, "n")
    return np.ones((count, count))


def twisted(n: int, winding: int, dim: int = 2) -> Array:
    """Return the twisted state of ``winding`` on a ring of ``n`` tokens, rounded, shape (n, dim)."""
    count = as_count(n, "n", least=3)
    turn = _turns(winding)
    d = as_count(dim, "dim", least=2)
    turns = np.array([(turn * j) % count for j in range(count)]) / count
    circle = np.stack([np.cos(2.0 * np.pi * turns), np.sin(2.0 * np.pi * turns)], axis=1)
    return circle if d == 2 else np.hstack([circle, np.zeros((count, d - 2))])


def twisted_balls(n: int, winding: int, dim: int = 2) -> Balls:
    """Return the twisted state of ``winding`` on a ring of ``n`` tokens in balls, shape (n, dim)."""
    shape = twisted(n, winding, dim).shape
    winds = _turns(winding)
    out = balls(np.zeros(shape))
    turn = ball(1).atan() * 8
    count = shape[0]
    for j in range(count):
        angle = turn * ((winds * j) % count) / count
        out[j, 0], out[j, 1] = angle.cos(), angle.sin()
    return out


def _turns(winding: int) -> int:
    """Return a whole number of turns, of either sign."""
    return as_count(winding, "winding", least=-(2**53))


@dataclass(frozen=True, slots=True, eq=False)
class GraphField:
    """The velocity of tokens on the unit sphere that see their neighbours on a graph.

    Parameters
    ----------
    adjacency : array_like, shape (n, n)
        Non-negative; a positive entry in every row.
    beta : float, default 0.0
        Any finite inverse temperature; from -700 to 700 if not normalised.
    normalised : bool, default False
        Whether rows are divided by their sums.

    Raises
    ------
    ValueError
        If the adjacency or ``beta`` is not as above; when called, if there are not as many tokens.
    """

    adjacency: Array
    beta: float = 0.0
    normalised: bool = False

    def __post_init__(self) -> None:
        given = as_matrix(self.adjacency, "adjacency")
        given = as_matrix(given, "adjacency", shape=(given.shape[0], given.shape[0]))
        if given.min() < 0.0 or not given.max(axis=1).min() > 0.0:
            raise ValueError("adjacency: expected non-negative entries, one positive in every row")
        object.__setattr__(self, "adjacency", frozen(given))
        object.__setattr__(self, "beta", as_number(self.beta, "beta"))
        object.__setattr__(self, "normalised", as_flag(self.normalised, "normalised"))
        if not self.normalised and not abs(self.beta) <= _LARGEST:
            raise ValueError(f"beta: expected at most {_LARGEST:g} in size without normalisation, got {self.beta}")

    def __call__(self, x: ArrayLike, /) -> Array:
        """Return the velocities of unit tokens, shape (n, d)."""
        x = as_points(x, "x", size=self.adjacency.shape[0])
        scores = np.where(self.adjacency > 0.0, self.beta * (x @ x.T), -np.inf)
        if self.normalised:
            scores -= scores.max(axis=1, keepdims=True)
        weights = self.adjacency * np.exp(scores)
        if self.normalised:
            weights /= weights.sum(axis=1, keepdims=True)
        y = weights @ x
        tangent: Array = y - (x * y).sum(axis=1, keepdims=True) * x
        return tangent


def consensus_gap(x: ArrayLike) -> float:
    r"""Return :math:`1 - \min_{i, j}\langle x_i, x_j\rangle`, the distance of unit tokens from consensus."""
    x = as_points(x, "x")
    with np.errstate(over="ignore"):
        apart = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
    return _held(float(apart.max()) / 2.0)


def mean_length(x: ArrayLike) -> float:
    """Return the length of the mean of the tokens, one at consensus."""
    with np.errstate(over="ignore"):
        mean = as_points(x, "x").mean(axis=0)
        return _held(math.sqrt(float(mean @ mean)))


def _held(size: float) -> float:
    """Return a size, or raise ``ValueError`` if it left float64."""
    if not size < math.inf:
        raise ValueError(f"x: expected tokens whose squares float64 can hold, got {size}")
    return size
