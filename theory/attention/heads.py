r"""Heads, multi-head attention, and the causal kernel on tokens that carry a time.

With weight matrices per head, :math:`a_h(x, y) = \langle W_Q^h x, W_K^h y\rangle / \sqrt{d_k}` and
:math:`\Gamma^h_\mu(x) = \int W_V^h y\, S^h_\mu(x, dy)`; multi-head attention outputs :math:`\sum_h W_O^h
\Gamma^h_\mu(x)`, the image of the product law :math:`\bigotimes_h A^h_\mu(x, \cdot)` under :math:`(z_h) \mapsto
\sum_h W_O^h z_h`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory import engine
from theory._validate import as_count, as_matrix, as_points, frozen
from theory.attention.enclosed import enclose_outputs, known
from theory.attention.masses import logs_of
from theory.attention.measure import Measure, as_measure
from theory.attention.output import attend, weight_error
from theory.attention.score import Array, DotProduct, Score, as_score, pairs_of
from theory.evidence import as_intervals, is_enclosed
from theory.evidence.roundoff import average_error, gamma

_SCALED = DotProduct()


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """One attention head.

    Parameters
    ----------
    w_query, w_key : array_like, shapes (d_k, d_x) and (d_k, d_y)
    w_value : array_like, shape (d_v, d_y)
    w_out : array_like, shape (d_out, d_v)
        The head's slice of the output matrix.
    score : Score, default DotProduct()
        Applied to the projected query and key; scaled by 1/sqrt(d_k) unless given.

    Raises
    ------
    ValueError
        If the shapes do not fit together.
    """

    w_query: Array
    w_key: Array
    w_value: Array
    w_out: Array
    score: Score = _SCALED

    def __post_init__(self) -> None:
        as_score(self.score)
        query = as_matrix(self.w_query, "w_query")
        key = as_matrix(self.w_key, "w_key")
        value = as_matrix(self.w_value, "w_value", shape=(None, key.shape[1]))
        out = as_matrix(self.w_out, "w_out", shape=(None, value.shape[0]))
        for name, matrix in (("w_query", query), ("w_key", key), ("w_value", value), ("w_out", out)):
            object.__setattr__(self, name, frozen(matrix))

    def projections(self, x: ArrayLike, mu: Measure) -> tuple[Array, Array, Array]:
        """Return projected queries, keys and values."""
        queries = as_points(x, "x", dim=self.w_query.shape[1])
        atoms = as_points(as_measure(mu, "mu").points, "mu", dim=self.w_key.shape[1])
        return queries @ self.w_query.T, atoms @ self.w_key.T, atoms @ self.w_value.T

    def output(self, x: ArrayLike, mu: Measure, *, causal: bool = False) -> Array:
        """Return the head's outputs before ``w_out``, shape (m, d_v)."""
        queries, keys, values = self.projections(x, mu)
        return attend(queries, keys, values, score=self.score, weights=mu.weights, causal=causal)

    def rounding(self, x: ArrayLike, mu: Measure) -> float:
        """Bound how far any entry of the head's contribution, ``w_out`` included, lies from the truth.

        The rounding of both projections moves a dot-product score by at most two dot-product bounds of their sizes;
        other scores raise ``TypeError``.
        """
        if not isinstance(self.score, DotProduct):
            raise TypeError(f"score: expected DotProduct, got {type(self.score).__name__}")
        queries, keys, _ = self.projections(x, mu)
        left = np.abs(as_points(x, "x")) @ np.abs(self.w_query).T
        right = np.abs(mu.points) @ np.abs(self.w_key).T
        projected = 2.0 * gamma(max(self.w_query.shape[1], mu.dim) + 1) * self.score.bounds(left, right)[0]
        present = mu.weights > 0.0
        relative = weight_error(queries, keys[present], self.score, logs_of(mu.weights[present]))
        relative += math.expm1(4.0 * projected) if projected < 1.0 else math.inf
        values = np.abs(mu.points) @ np.abs(self.w_value).T
        size = float((values.max(axis=0) @ np.abs(self.w_out).T).max())
        return average_error(size, mu.size + mu.dim + self.w_out.shape[1] + 4, relative=relative)


@dataclass(frozen=True, slots=True, eq=False)
class MultiHead:
    """Heads whose outputs are summed through their slices of the output matrix.

    Raises
    ------
    ValueError
        If there is no head or the heads disagree on the token or output dimension.
    """

    heads: tuple[Head, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.heads, (tuple, list)) or not all(isinstance(head, Head) for head in self.heads):
            raise TypeError(f"heads: expected a tuple of Head, got {type(self.heads).__name__}")
        object.__setattr__(self, "heads", tuple(self.heads))
        shapes = {(h.w_query.shape[1], h.w_key.shape[1], h.w_out.shape[0]) for h in self.heads}
        if len(shapes) != 1:
            raise ValueError(f"heads: expected at least one, all of the same dimensions, got {sorted(shapes)}")

    @classmethod
    def from_matrices(
        cls, w_query: ArrayLike, w_key: ArrayLike, w_value: ArrayLike, w_out: ArrayLike, *, heads: int
    ) -> MultiHead:
        """Split the usual matrices, heads stacked along the rows of the first three and the columns of ``w_out``."""
        as_count(heads, "heads")
        query, key, value = (as_matrix(w, n) for w, n in ((w_query, "w_query"), (w_key, "w_key"), (w_value, "w_value")))
        out = as_matrix(w_out, "w_out", shape=(None, value.shape[0]))
        for name, matrix in (("w_query", query), ("w_key", key), ("w_value", value)):
            if matrix.shape[0] % heads:
                raise ValueError(f"{name}: expected a multiple of {heads} rows, got {matrix.shape[0]}")
        parts = zip(
            np.split(query, heads),
            np.split(key, heads),
            np.split(value, heads),
            np.split(out, heads, axis=1),
            strict=True,
        )
        return cls(tuple(Head(*part) for part in parts))

    def __call__(self, x: ArrayLike, mu: Measure, *, causal: bool = False) -> Array:
        """Return the outputs for queries ``x``, shape (m, d), against the tokens of ``mu``, shape (m, d_out)."""
        output = np.zeros((as_points(x, "x").shape[0], self.heads[0].w_out.shape[0]))
        for head in self.heads:
            output = output + head.output(x, mu, causal=causal) @ head.w_out.T
        return output

    def rounding(self, x: ArrayLike, mu: Measure) -> float:
        """Bound how far any entry of the outputs lies from the truth, the sum over the heads included."""
        return (1.0 + gamma(len(self.heads))) * sum(head.rounding(x, mu) for head in self.heads)


@dataclass(frozen=True, slots=True, eq=False)
class CausalKernel:
    r"""Attention on :math:`[0, 1] \times E`: a token is a time and a point, and sees the tokens that are not later.

    :math:`G((s, x), (t, y)) = 1\{t \le s\}\, e^{a(x, y)}`; the output keeps the time of the query. Weights and order
    of the atoms do not matter, only their times do.

    Parameters
    ----------
    score : Score
        On E.
    nu : Measure
        Tokens; the first coordinate is the time.
    """

    score: Score
    nu: Measure

    def __post_init__(self) -> None:
        as_score(self.score)
        if as_measure(self.nu, "nu").dim < 2:
            raise ValueError(f"nu: expected a time and a point, so dimension 2 at least, got {self.nu.dim}")

    def output(self, z: ArrayLike) -> Array:
        """Return (time, output) for queries ``z``, shape (m, 1 + d), each of which must see some mass."""
        queries = as_points(z, "z", dim=self.nu.dim)
        now = known(queries[:, 0], "z")
        times = known(self.nu.points[:, 0], "nu")
        order = np.argsort(times, kind="stable")
        order = order[as_intervals(self.nu.weights).hi[order] > 0.0]
        visible = np.searchsorted(times[order], now, side="right")
        if visible.min() == 0:
            blind = float(now[int(visible.argmin())])
            raise ValueError(f"z: expected queries that see some mass, got none at or before time {blind}")
        keys = self.nu.points[order, 1:]
        logs = logs_of(self.nu.weights[order])
        if is_enclosed(queries, keys, logs):
            found = enclose_outputs(self.score, queries[:, 1:], keys, keys, log_weights=logs, visible=visible)
            return np.hstack([queries[:, :1], found.output])
        keys = np.ascontiguousarray(keys)
        pairs = pairs_of(self.score, np.ascontiguousarray(queries[:, 1:]), keys)
        outputs = engine.attention(pairs, keys, log_weights=logs, visible=visible).output
        return np.column_stack([now, outputs])

    def push(self, nu: Measure) -> Measure:
        """Return the law of the output for a token drawn from ``nu``."""
        return as_measure(nu, "nu").push_forward(self.output)
