"""Attention that is asked again and again of few tokens: what does not change is looked at once.

The answers are those of :func:`theory.attention.read`, in every bit, whatever is asked. Where tokens are few
(:mod:`theory.engine.prepared`) a call costs a few microseconds; elsewhere it costs what ``read`` does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory import engine
from theory._backend import backend
from theory._validate import all_finite, as_flag, as_masses, as_points
from theory.attention.masses import logs_of
from theory.attention.output import read
from theory.attention.score import Array, DotProduct, Score, as_score, says_form
from theory.engine import AttentionResult
from theory.evidence import is_enclosed

_SCALED = DotProduct()


_MOST = 16  # shapes of keys for which the engine is prepared; taken


class _Problem(NamedTuple):
    """What follows from the shape of the keys."""

    engine: engine.Prepared
    matrix: Array | None
    """from queries to their features"""


class Prepared:
    """Attention of which score, weights, mask and perhaps keys and values are settled; :func:`prepare` makes it.

    It may be called from several threads at once: no answer lies in a buffer.
    """

    def __init__(
        self, score: Score, keys: Array | None, values: Array | None, weights: Array | None, causal: bool
    ) -> None:
        self.backend = backend()
        self._score: Any = score
        self._keys = keys
        self._values = values
        self._weights = weights
        self._causal = causal
        plain = not is_enclosed(keys, values, weights) and (weights is None or bool(weights.min() > 0.0))
        self._shortens = plain and self.backend == "compiled" and says_form(score)
        self._problems: dict[tuple[int, ...], _Problem | None] = {}

    def __call__(self, x: ArrayLike) -> Array:
        """Return the outputs (m, d_v) of the queries ``x`` (m, d), or of tokens that attend to each other."""
        return self.read(x).output

    def read(self, x: ArrayLike) -> AttentionResult:
        """Return the outputs (m, d_v) of ``x`` (m, d), and the log-partitions (m,)."""
        found = self.quick(x) if backend() == self.backend else None
        if found is not None:
            return found
        keys: Any = x if self._keys is None else self._keys
        values: Any = keys if self._values is None else self._values
        return read(x, keys, values, score=self._score, weights=self._weights, causal=self._causal)

    def quick(self, x: ArrayLike) -> AttentionResult | None:
        """Return what :meth:`read` does where that is quick; ``None`` elsewhere, which says nothing of ``x``.

        By the backend that ``THEORY_BACKEND`` named when it was made, whatever it names now.
        """
        if not self._shortens or type(x) is not np.ndarray or x.ndim != 2:
            return None
        keys = x if self._keys is None else self._keys
        values = keys if self._values is None else self._values
        try:
            problem = self._problems[keys.shape]
        except KeyError:
            problem = self._settle(*keys.shape)
        if problem is None:
            return None
        matrix = problem.matrix
        if matrix is None:
            return problem.engine.quick(x, keys, values)
        if (x.shape[1], keys.shape[1]) != matrix.shape or x.dtype != matrix.dtype or not all_finite(x):
            return None
        return problem.engine.quick(x @ matrix, keys, values)

    def _settle(self, n: int, d: int) -> _Problem | None:
        """Prepare the engine for keys of this shape, if it is one that fits."""
        problem = None
        if n and d and (self._weights is None or self._weights.size == n):
            form, coefficient, matrix = self._score.as_form(d)
            logs = None if self._weights is None else logs_of(self._weights)
            visible = np.arange(1, n + 1) if self._causal else None
            settled = engine.prepare(form, np.array([coefficient]), log_weights=logs, visible=visible)
            problem = _Problem(settled, matrix)
        if len(self._problems) >= _MOST:
            self._problems.clear()
        self._problems[n, d] = problem
        return problem


def prepare(
    score: Score = _SCALED, *, keys: ArrayLike | None = None, values: ArrayLike | None = None,
    weights: ArrayLike | None = None, causal: bool = False,
) -> Prepared:  # fmt: skip
    """Settle all of an attention but its queries, or but its tokens.

    Parameters
    ----------
    score : Score, default DotProduct()
        As in :func:`theory.attention.attend`.
    keys : array_like or Intervals, shape (n, d_k), optional
        Copied. Unless given, the tokens attend to each other: what is asked is queries, keys and values in one.
    values : array_like or Intervals, shape (n, d_v), optional
        Copied; the keys unless given.
    weights : array_like, shape (n,), optional
        As in :func:`theory.attention.attend`; copied.
    causal : bool, default False
        As in :func:`theory.attention.attend`.

    Returns
    -------
    Prepared
        Call it with queries (m, d) for the outputs (m, d_v), or its ``read`` for the log-partitions besides. It follows
        ``THEORY_BACKEND``, and is slow under another one than when it was made.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or values are given without keys; when called, as
        :func:`theory.attention.attend` says.

    Examples
    --------
    >>> import numpy as np
    >>> layer = prepare(keys=[[1.0], [2.0]], values=[[1.0], [3.0]])
    >>> layer(np.array([[0.0]]))
    array([[2.]])
    """
    as_score(score)
    if keys is None:
        if values is not None:
            raise ValueError("values: expected none without keys, got some")
        own = read_values = None
    else:
        own = _copied(as_points(keys, "keys"))
        read_values = own if values is None else _copied(as_points(values, "values", size=own.shape[0]))
    size = None if own is None else own.shape[0]
    masses = None if weights is None else _copied(as_masses(weights, "weights", size=size))
    return Prepared(score, own, read_values, masses, as_flag(causal, "causal"))


def _copied(numbers: Array) -> Array:
    """Return numbers that no one else can change; enclosures never change."""
    return numbers if is_enclosed(numbers) else numbers.copy()
