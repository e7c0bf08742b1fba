r"""The additive score :math:`a(x, y) = v^\top \tanh(W_1 x + W_2 y)`.

References
----------
D. Bahdanau, K. Cho, Y. Bengio, *Neural machine translation by jointly learning to align and translate*, 2014.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_matrix, as_points, as_positive, as_vector, frozen
from theory.attention.score import Array, Constants, require_finite, require_range
from theory.engine import Form, Pairs
from theory.evidence import is_enclosed
from theory.evidence.roundoff import EXP_ULPS, U, gamma


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    r""":math:`a(x, y) = v^\top \tanh(W_1 x + W_2 y)` (Bahdanau).

    Parameters
    ----------
    w_query : array_like, shape (h, d_x)
    w_key : array_like, shape (h, d_y)
    v : array_like, shape (h,)

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Notes
    -----
    Scores are refused where :math:`\max |W_1| |x| + \max |W_2| |y|` or :math:`\sum_i |v_i|` leaves the range of
    float64: a partial sum could overflow there, although the score itself is bounded.
    """

    w_query: Array
    w_key: Array
    v: Array

    def __post_init__(self) -> None:
        v = as_vector(self.v, "v")
        object.__setattr__(self, "v", frozen(v))
        for name in ("w_query", "w_key"):
            object.__setattr__(self, name, frozen(as_matrix(getattr(self, name), name, shape=(v.size, None))))

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores, enclosed if the points are."""
        x, y = as_points(x, "x"), as_points(y, "y")
        if is_enclosed(x, y):
            left, right = x @ self.w_query.T, y @ self.w_key.T
        else:
            pairs = self.pairs(x, y)
            left, right = pairs.queries, pairs.keys
        scores: Array = np.tanh(left[:, np.newaxis, :] + right[np.newaxis, :, :]) @ self.v
        return scores

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return both linear images."""
        queries = as_points(x, "queries", dim=self.w_query.shape[1])
        keys = as_points(y, "keys", dim=self.w_key.shape[1])
        with np.errstate(over="ignore"):
            reach = (np.abs(queries) @ np.abs(self.w_query.T)).max() + (np.abs(keys) @ np.abs(self.w_key.T)).max()
            terms = queries.shape[1] + keys.shape[1] + self.v.size
            require_range(float(max(reach, np.abs(self.v).sum()) * (1.0 + gamma(terms + 2))), queries, keys)
        left, right = queries @ self.w_query.T, keys @ self.w_key.T
        return Pairs(Form.ADDITIVE, np.ascontiguousarray(left), np.ascontiguousarray(right), self.v)

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding error; tanh has slope at most one and is off by a few ulp."""
        x = as_points(x, "x", dim=self.w_query.shape[1])
        y = as_points(y, "y", dim=self.w_key.shape[1])
        size = float(np.abs(self.v).sum())
        left = (np.abs(x) @ np.abs(self.w_query.T)).max(axis=0)
        right = (np.abs(y) @ np.abs(self.w_key.T)).max(axis=0)
        features = gamma(x.shape[1] + y.shape[1] + 2) * (left + right)
        error = float(np.abs(self.v) @ (features + 2 * EXP_ULPS * U)) + gamma(self.v.size + 2) * size
        return size * (1.0 + gamma(self.v.size)), error * (1.0 + gamma(self.v.size + 4))

    def constants(self, radius: float) -> Constants:
        r"""Return the constants from :math:`|\tanh'| \le 1` and :math:`|\tanh''| \le 4/(3\sqrt3)`."""
        r = as_positive(radius, "radius")
        left = float(np.linalg.norm(self.w_query, 2))
        right = float(np.linalg.norm(self.w_key, 2))
        size = math.hypot(*self.v.tolist())
        largest = float(np.abs(self.v).max())
        key = size * right
        oscillation = min(2.0 * float(np.abs(self.v).sum()), 2.0 * r * key)
        return require_finite(
            Constants(oscillation, size * left, key, 4.0 / (3.0 * math.sqrt(3.0)) * largest * left * right)
        )
