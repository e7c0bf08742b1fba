r"""Attention on the line, whose matrix becomes Boolean doubly exponentially fast.

For :math:`\dot x_i = V\sum_j P_{ij}x_j` with :math:`P_{ij} \propto e^{Ax_ix_j}` and :math:`A, V > 0` the velocity is an
increasing function of the position, so tokens keep their order. :class:`LineField` follows the lowest token and the
gaps between neighbours, which converge within a sign while positions grow like :math:`e^{Vt}`; what a row leaves
outside its largest weight is computed in logarithms. :class:`UndecidedField` follows two tokens :math:`\pm x` near
zero between two at :math:`\pm X`, with :math:`x` as a logarithm, as far below the range of floats as one likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_positive, as_vector, frozen

Array = NDArray[np.float64]
_LARGE = 300.0  # taken: the square of its exponential is a float


@dataclass(frozen=True, slots=True, eq=False)
class LineField:
    """The velocity of distinct tokens on the line, as the lowest one and the gaps above it.

    Parameters
    ----------
    score, value : float
        A and V, positive.
    copies : array_like, shape (n,), optional
        How many equal tokens each stands for, which stay equal; one unless given.

    Raises
    ------
    ValueError
        If a parameter is not positive.
    """

    score: float
    value: float
    copies: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", as_positive(self.score, "score"))
        object.__setattr__(self, "value", as_positive(self.value, "value"))
        if self.copies is not None:
            copies = as_vector(self.copies, "copies")
            if not copies.min() > 0.0:
                raise ValueError(f"copies: expected positive numbers, got {copies.min()}")
            object.__setattr__(self, "copies", frozen(copies))

    def state(self, tokens: ArrayLike) -> Array:
        """Return the lowest token and the gaps, shape (n,), of distinct tokens in increasing order.

        Raises
        ------
        ValueError
            If there are fewer than two tokens, they do not increase, or they are not as many as the copies.
        """
        x = as_vector(tokens, "tokens", size=None if self.copies is None else self.copies.size)
        if x.size < 2:
            raise ValueError("tokens: expected at least two, got one")
        gaps = np.diff(x)
        if not (gaps > 0.0).all():
            raise ValueError(f"tokens: expected increasing numbers, got {x.tolist()}")
        return np.concatenate([x[:1], gaps])

    @staticmethod
    def tokens(state: Array) -> Array:
        """Return the positions, increasing."""
        positions: Array = np.cumsum(state)
        return positions

    def __call__(self, state: Array, /) -> Array:
        """Return the velocity of a state, of the same shape."""
        x, (up, down) = self.tokens(state), _offsets(state)
        weights = np.exp(self.log_weights(state))
        from_low, from_top = weights @ up, weights @ down  # a row's mean less an end, small for its own end
        parting = np.where(x[:-1] > 0.0, np.diff(from_top), np.diff(from_low))
        return self.value * np.concatenate([[x[0] + from_low[0]], parting])

    def log_weights(self, state: Array) -> Array:
        """Return the logarithms of the weights of each token and its copies together, shape (n, n)."""
        x, (up, down) = self.tokens(state), _offsets(state)
        scores = self.score * np.where(x[:, np.newaxis] > 0.0, np.outer(x, down), np.outer(x, up))
        if self.copies is not None:
            scores = scores + np.log(self.copies)
        rows: Array = scores - _log_sum(scores)
        return rows

    def beside(self, state: Array, token: int) -> float:
        """Return the distance of a token from the nearest other one."""
        return float(state[1:][max(token - 1, 0) : token + 1].min())

    def log_error(self, state: Array, row: int) -> float:
        """Return the logarithm of what a row leaves outside its largest weight."""
        others = np.sort(self.log_weights(state)[row])[:-1]
        return float(_log_sum(others[np.newaxis])[0, 0])

    def selected(self, state: Array) -> NDArray[np.intp]:
        """Return which token has the largest weight in every row, shape (n,)."""
        chosen: NDArray[np.intp] = np.argmax(self.log_weights(state), axis=1)
        return chosen


@dataclass(frozen=True, slots=True)
class UndecidedField:
    r"""The velocity of :math:`(\log X, \log x)` for four tokens :math:`\pm X, \pm x` on the line.

    Parameters
    ----------
    score, value : float
        A and V, positive.

    Raises
    ------
    ValueError
        If a parameter is not positive.
    """

    score: float
    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", as_positive(self.score, "score"))
        object.__setattr__(self, "value", as_positive(self.value, "value"))

    def __call__(self, state: Array, /) -> Array:
        """Return the velocities of the two logarithms, shape (2,)."""
        far = math.exp(min(state[0], _LARGE))  # a trial step of an integrator may go anywhere
        near = math.exp(min(max(state[1], -2.0 * _LARGE), state[0], _LARGE))
        outer = self.score * far * far
        cross = self.score * far * near
        inner = self.score * near * near
        top, low = _ratios(outer, cross), _ratios(cross, inner)
        ratio = near / far
        tilt = low[0] * far / near if cross > 1e-8 else self.score * far * far * low[2]
        return self.value * np.array([top[0] + ratio * top[1], tilt + low[1]])

    def log_score(self, state: Array) -> float:
        """Return the logarithm of the score A x X of the row of x; the row is undecided while it is negative."""
        return math.log(self.score) + float(state[0] + state[1])


def _offsets(state: Array) -> tuple[Array, Array]:
    """Return the positions less the lowest one, and less the highest one, from sums of gaps."""
    up = np.concatenate([[0.0], np.cumsum(state[1:])])
    down = -np.concatenate([np.cumsum(state[:0:-1])[::-1], [0.0]])
    return up, down


def _log_sum(scores: Array) -> Array:
    """Return the logarithm of the sum of exponentials of every row, shape (m, 1)."""
    peak = scores.max(axis=1, keepdims=True)
    logs: Array = peak + np.log(np.exp(scores - peak).sum(axis=1, keepdims=True))
    return logs


def _ratios(a: float, b: float) -> tuple[float, float, float]:
    """Return sinh a, sinh b and one, each over cosh a + cosh b, for non-negative numbers of any size."""
    top = max(a, b)
    scale = math.exp(a - top) * (1.0 + math.exp(-2.0 * a)) + math.exp(b - top) * (1.0 + math.exp(-2.0 * b))
    return (
        -math.exp(a - top) * math.expm1(-2.0 * a) / scale,
        -math.exp(b - top) * math.expm1(-2.0 * b) / scale,
        2.0 * math.exp(-top) / scale,
    )
