r"""Stacks of metric-attention: every layer is asked of the engine, over the features of tokens that stay.

.. math:: P_\varepsilon h(x) = \frac{\sum_jm_je^{-|F(x) - F(x_j)|^2/2\varepsilon}h(x_j)}
          {\sum_jm_je^{-|F(x) - F(x_j)|^2/2\varepsilon}} .

Features, masses and so the weights are the same in every layer; the values are averaged and handed on, without a
residual. No row of weights is stored, unlike in :class:`~theory.diffusion.layers.TokenLayer`, so that tokens may be
many.

**Symmetric clouds.** Where tokens, masses and values are the same after some isometries of the features, reflections
and exchanges of coordinates say, it suffices to ask for one token of each orbit, and to copy its value to the others.

**Rounding.** The engine's weights are off as :func:`theory.attention.output.weight_error` bounds. Features that are off
by :math:`\delta` in Euclidean norm change the vector between two of them from b to a with :math:`|a - b| \le 2\delta`,
and a score by :math:`\bigl||a|^2 - |b|^2\bigr|/2\varepsilon`, at most :math:`(2\delta D + 2\delta^2)/\varepsilon` for
clouds of which all points are closer than D to each other; masses that are off by a share s of the least that they may
be move the score by :math:`\log(1 + s) \le s`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_counts, as_masses, as_points, as_real
from theory.attention import SquaredDistance, attend
from theory.attention.output import weight_error
from theory.diffusion.limits.operators import half_inverse
from theory.evidence import as_intervals, is_enclosed, within
from theory.evidence.roundoff import average_error

Array = NDArray[np.float64]


class FeatureLayer:
    r"""Attention to fixed tokens by the squared distances of their features, asked anew in every layer.

    Parameters
    ----------
    features : array_like or Intervals, shape (n, k)
        F of the tokens; enclosed, if they are rounded.
    epsilon : float
        Positive.
    masses : array_like or Intervals, shape (n,), optional
        Positive masses of the tokens, of any total; equal unless given.
    queries : array_like or Intervals, shape (m, k), optional
        Features of what is asked; those of the tokens unless given.
    copies : array_like of int, shape (n,), optional
        Which of the values each token has; token j has the j-th unless given.

    Attributes
    ----------
    error : float
        Bound on what an average of values of size one is off.

    Raises
    ------
    ValueError
        If a shape does not fit, a mass is not positive, or ``epsilon`` is not.
    """

    def __init__(
        self, features: ArrayLike, epsilon: float, *, masses: ArrayLike | None = None,
        queries: ArrayLike | None = None, copies: ArrayLike | None = None,
    ) -> None:  # fmt: skip
        tokens = as_points(features, "features")
        self._score = SquaredDistance(half_inverse(epsilon))
        n, k = tokens.shape
        asked = tokens if queries is None else as_points(queries, "queries", dim=k)
        given = None if masses is None else as_masses(masses, "masses", size=n)
        self._keys, self._queries = as_intervals(tokens).mid, as_intervals(asked).mid
        self._copies = None if copies is None else as_counts(copies, "copies", least=0)
        if self._copies is not None and self._copies.shape != (n,):
            raise ValueError(f"copies: expected shape ({n},), got shape {self._copies.shape}")
        self._masses: Array | None = None
        logs, moved = None, self._shift(tokens, asked, float(epsilon))
        if given is not None:
            enclosed = as_intervals(given)
            self._masses = np.ascontiguousarray(enclosed.mid)
            share = float((enclosed.radius / np.maximum(enclosed.lo, np.finfo(float).tiny)).max())
            if not enclosed.lo.min() > 0.0:
                raise ValueError(f"masses: expected positive numbers, got {enclosed.lo.min()}")
            logs, moved = np.log(self._masses), moved + share
        relative = weight_error(self._queries, self._keys, self._score, logs, moved=moved)
        self.error = average_error(1.0, n, relative=relative)

    def __call__(self, values: Any) -> Any:
        """Average values of shape (n,), or as many as are copied; enclosed ones give enclosures."""
        given = as_real(values, "values")
        if given.ndim != 1 or not self._fits(len(given)):
            raise ValueError(f"values: expected one for every token, got shape {given.shape}")
        if is_enclosed(given):
            known = as_intervals(given)
            size = float(np.abs(known.mid).max())
            off = size * self.error + float(known.radius.max()) * (1.0 + self.error)
            return within(self._average(known.mid), off)
        return self._average(given)

    def _fits(self, count: int) -> bool:
        if self._copies is None:
            return count == len(self._keys)
        return count > int(self._copies.max())

    def _average(self, values: Array) -> Array:
        column = values if self._copies is None else values[self._copies]
        column = np.ascontiguousarray(column[:, np.newaxis])
        found: Array = attend(self._queries, self._keys, column, score=self._score, weights=self._masses)
        return found[:, 0]

    def _shift(self, tokens: Any, asked: Any, epsilon: float) -> float:
        """Bound how far a score may lie from the one of the true features."""
        if not is_enclosed(tokens, asked):
            return 0.0
        off = max(float(np.linalg.norm(as_intervals(part).radius, axis=1).max()) for part in (tokens, asked))
        middle = self._keys.mean(axis=0)
        reach = max(float(np.linalg.norm(part - middle, axis=1).max()) for part in (self._keys, self._queries))
        return 1.01 * (4.0 * off * reach + 2.0 * off * off) / epsilon
