r"""Attention as modules of PyTorch: self, L2, metric and entmax, with one interface.

A module turns queries (..., m, d), keys (..., n, d) and values (..., n, k) into means of the values, (..., m, k). Its
parameters are those of :func:`theory.metric.similarity.similarity`, in that order, whatever the number of heads: as for
self-attention the features are cut into ``heads`` slices of equal size, and so are the values. For metric-attention
head r compares :math:`P_rg(x)` with :math:`P_rg(y)`, where :math:`P_r` takes the r-th slice: each head has its own
residual network on its projection, all of them share the hidden layer, and the number of parameters does not depend on
the number of heads. Queries and keys go through the same map of L2 and of metric-attention, so that what is compared is
a pseudo-metric, also between states of an encoder and of a decoder.

Of :math:`-|a - b|^2` only :math:`2\langle a, b\rangle - |b|^2` is computed: the rest is the same for all keys, and no
row of weights sees it. So a distance costs what a dot product costs, and nothing has to be clipped at zero. Features
are first moved so that those of the first key are the origin, which changes no distance: with a and b so moved, and in
a precision of unit roundoff u, a score with k features is off by at most :math:`\gamma_{k + 5}(2|a||b| + |b|^2)`,
:math:`\gamma_j = ju/(1 - ju)`: small beside 1 unless :math:`ku\max|b|^2` is not, i.e. as long as features stay within
some tens of each other in float32, wherever they are.

Parameters are not numbers until ``reset`` or :func:`~theory.metric.torch.parametrised.load` gives them a value. Needs
PyTorch, the extra ``learn``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from theory._extra import extra
from theory._validate import as_count, as_positive
from theory.metric.similarity import Similarity, make_similarity
from theory.metric.torch.parametrised import Parametrised

if TYPE_CHECKING:
    import torch
    from torch import Tensor
else:
    torch = extra("torch")

ATTENTIONS = ("self", "l2", "metric", "entmax")


class Attention(Parametrised):
    """What the modules share: heads, masks, rows of weights, and means; see :func:`attention_module`."""

    names: tuple[str, ...]
    rows: Callable[[Tensor], Tensor]

    def __init__(self, compared: Similarity, heads: int, rows: Callable[[Tensor], Tensor]) -> None:
        super().__init__(dict(zip(self.names, compared.shapes, strict=True)))
        self.dim = compared.dim
        self.heads = heads
        self.rows = rows
        features = compared.shapes[-1][-1]
        if features % as_count(heads, "heads"):
            raise ValueError(f"heads: expected a divisor of the {features} features, got {heads}")

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the scores, (..., heads, m, n), up to a number for each query."""
        raise NotImplementedError

    def weights(self, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the weights of the keys, (..., heads, m, n); parameters and errors as in :meth:`forward`."""
        for name, x in (("queries", queries), ("keys", keys)):
            if x.ndim < 2 or x.shape[-1] != self.dim or not x.shape[-2]:
                raise ValueError(f"{name}: expected shape (..., n, {self.dim}), got shape {tuple(x.shape)}")
        scores = self.scores(queries, keys)
        if mask is not None:
            self._demand(mask, scores)
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        law: Tensor = self.rows(scores)
        return law

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the means of the values, (..., m, k).

        Parameters
        ----------
        queries : Tensor, shape (..., m, d)
        keys : Tensor, shape (..., n, d)
        values : Tensor, shape (..., n, k)
            The r-th of ``heads`` slices of their coordinates is averaged by the weights of head r.
        mask : Tensor of bool, shape (m, n) or (..., m, n), optional
            True where the query sees the key; everywhere unless given.

        Raises
        ------
        ValueError
            If a shape does not fit, or a query sees no key.
        TypeError
            If ``mask`` is not boolean.
        """
        if values.ndim < 2 or values.shape[-2] != keys.shape[-2] or values.shape[-1] % self.heads:
            wanted = f"(..., {keys.shape[-2]}, a multiple of {self.heads})"
            raise ValueError(f"values: expected shape {wanted}, got shape {tuple(values.shape)}")
        means = self.weights(queries, keys, mask) @ self._cut(values)
        together: Tensor = means.transpose(-2, -3).flatten(-2)
        return together

    def _cut(self, features: Tensor) -> Tensor:
        """Return the slices of the heads, (..., heads, n, k / heads)."""
        slices: Tensor = features.unflatten(-1, (self.heads, -1)).transpose(-2, -3)
        return slices

    @staticmethod
    def _demand(mask: Tensor, scores: Tensor) -> None:
        if mask.dtype != torch.bool:
            raise TypeError(f"mask: expected booleans, got {mask.dtype}")
        wanted = tuple(scores.shape[:-3] + scores.shape[-2:])
        fits = 2 <= mask.ndim <= len(wanted) and all(
            a in (1, b) for a, b in zip(mask.shape[::-1], wanted[::-1], strict=False)
        )
        if not fits:
            raise ValueError(f"mask: expected shape {wanted[-2:]} or {wanted}, got shape {tuple(mask.shape)}")
        if not mask.any(dim=-1).all():
            raise ValueError("mask: expected a visible key for every query, got none for some query")


class SelfAttention(Attention):
    """Scores are dot products of queries and keys, over the root of the width of a head."""

    names = ("query", "key")
    query: Tensor
    key: Tensor

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the scores, (..., heads, m, n)."""
        left = self._cut(queries @ (self.query * math.sqrt(self.heads / self.query.shape[1])))
        return left @ self._cut(keys @ self.key).transpose(-1, -2)


class _Distances(Attention):
    """Scores are minus squared distances of features."""

    def features(self, x: Tensor) -> Tensor:
        """Return the features of (..., n, d)."""
        raise NotImplementedError

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the scores, (..., heads, m, n), plus the squared distance of the query from the first key."""
        right = self._cut(self.features(keys))
        left = right if queries is keys else self._cut(self.features(queries))
        origin = right[..., :1, :].detach()  # no distance depends on it, and so no derivative
        right, left = right - origin, left - origin
        return (2.0 * left) @ right.transpose(-1, -2) - right.square().sum(-1).unsqueeze(-2)


class DistanceAttention(_Distances):
    """Features are linear: L2 attention with tied queries and keys."""

    names = ("matrix",)
    matrix: Tensor

    def features(self, x: Tensor) -> Tensor:
        """Return the features, (..., n, w)."""
        return x @ self.matrix


class MetricAttention(_Distances):
    """Features are those of a residual network with one hidden layer."""

    names = ("inner", "inner_bias", "outer", "outer_bias")
    inner: Tensor
    inner_bias: Tensor
    outer: Tensor
    outer_bias: Tensor

    def features(self, x: Tensor) -> Tensor:
        """Return the features less the last bias, (..., n, d).

        No distance depends on that bias; it enters with coefficient zero, so that it has a derivative, zero, and its
        decay.
        """
        linear = torch.nn.functional.linear
        absent = self.outer_bias - self.outer_bias
        hidden = torch.tanh(linear(x, self.inner.T, self.inner_bias))
        moved: Tensor = x + linear(hidden, self.outer.T, absent)
        return moved


def attention_module(
    kind: str, dim: int, width: int, *, heads: int = 1, alpha: float = 1.5, matching: str = "width"
) -> Attention:
    """Make a module of attention.

    Parameters
    ----------
    kind : {"self", "l2", "metric", "entmax"}
        How scores are made; ``entmax`` has those of ``self``, and another map to weights.
    dim : int
        Of queries and keys.
    width : int
        Of their features for ``self``, ``l2`` and ``entmax``, of the hidden layer for ``metric``.
    heads : int, default 1
        Divides the number of features: the width, for ``metric`` the dimension.
    alpha : float, default 1.5
        Order of entmax: softmax at 1, sparsemax at 2. Other kinds have none.
    matching : {"width", "parameters"}
        Whether ``width`` is taken as it is, or changed until the number of parameters is nearest to that of ``self``.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of its range.
    """
    if kind not in ATTENTIONS:
        raise ValueError(f"kind: expected one of {', '.join(ATTENTIONS)}, got {kind!r}")
    order = as_positive(alpha, "alpha")
    compared = make_similarity("self" if kind == "entmax" else kind, dim, width, matching=matching)
    made = {"l2": DistanceAttention, "metric": MetricAttention}.get(kind, SelfAttention)
    return made(compared, heads, _sparse(order) if kind == "entmax" else _softmax)


def _softmax(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1)


def _sparse(alpha: float) -> Callable[[Tensor], Tensor]:
    from theory.maxent import autograd  # noqa: PLC0415  it imports PyTorch

    entmax = autograd.entmax15 if alpha == 1.5 else partial(autograd.entmax, alpha=alpha)  # by sorting, or a root

    def rows(scores: Tensor) -> Tensor:
        if (scores.isnan() | scores.isposinf()).any():
            return scores * math.nan  # as softmax, so that a training that diverges is seen in its loss
        return entmax(scores)

    return rows
