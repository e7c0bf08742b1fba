r"""The maps of this room as differentiable functions of PyTorch tensors, by the same code.

Scores go to NumPy in float64, laws come back in the precision and on the device of the scores, and gradients are the
products of :mod:`theory.maxent` with the symmetric Jacobians. Nothing is differentiated twice: a second derivative
raises. Rows lie along ``dim``; a score of minus infinity masks its entry, a row masked throughout gives zeros.

Needs PyTorch, the extra ``learn``.

References
----------
B. Peters, V. Niculae, A. Martins, *Sparse sequence-to-sequence models*, ACL 2019; G. Correia, V. Niculae, A. Martins,
*Adaptively sparse transformers*, EMNLP 2019 (the gradient in the order).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from theory.maxent.batch import Array
from theory.maxent.layers.row_map import RowMap, row_map
from theory.maxent.losses.fenchel_young import fenchel_young_gradient, fenchel_young_loss as _loss
from theory.maxent.sparse.entmax import entmax as _entmax, entmax_alpha_derivative, entmax_vjp


def softmax(scores: Tensor, *, tau: float = 1.0, dim: int = -1) -> Tensor:
    """Return :func:`theory.maxent.softmax` of a tensor."""
    return _mapped(scores, row_map("softmax", tau=tau, axis=dim))


def sparsemax(scores: Tensor, *, tau: float = 1.0, dim: int = -1) -> Tensor:
    """Return :func:`theory.maxent.sparsemax` of a tensor."""
    return _mapped(scores, row_map("sparsemax", tau=tau, axis=dim))


def entmax15(scores: Tensor, *, tau: float = 1.0, dim: int = -1) -> Tensor:
    """Return :func:`theory.maxent.entmax15` of a tensor."""
    return _mapped(scores, row_map("entmax15", tau=tau, axis=dim))


def fusedmax(scores: Tensor, strength: float, *, alpha: float = 2.0, tau: float = 1.0, dim: int = -1) -> Tensor:
    """Return :func:`theory.maxent.fusedmax` of a tensor."""
    mask = ~np.isneginf(_numbers(scores))
    return _mapped(scores, row_map("fusedmax", mask=mask, strength=strength, alpha=alpha, tau=tau, axis=dim))


def entmax(scores: Tensor, alpha: float | Tensor, *, tau: float = 1.0, dim: int = -1) -> Tensor:
    """Return :func:`theory.maxent.entmax` of a tensor, differentiable in the scores and in the order.

    Parameters
    ----------
    scores : Tensor
        Real scores; minus infinity masks an entry.
    alpha : float or Tensor
        Positive order; as a tensor it broadcasts against the rows, without adding axes, and may require a gradient.
    tau : float, default 1.0
        Positive temperature.
    dim : int, default -1
        Along which the scores of a row lie.

    Raises
    ------
    ValueError
        As :func:`theory.maxent.entmax`, and if ``alpha`` would add axes.
    """
    order = alpha if isinstance(alpha, Tensor) else torch.tensor(float(alpha), dtype=torch.float64)
    law: Tensor = _Entmax.apply(scores, order, tau, dim)
    return law


def fenchel_young_loss(scores: Tensor, target: Tensor, alpha: float, *, tau: float = 1.0, dim: int = -1) -> Tensor:
    """Return :func:`theory.maxent.fenchel_young_loss` of tensors, per row, differentiable in the scores.

    Errors as there, and ``ValueError`` for a target that requires a gradient.
    """
    if target.requires_grad:
        raise ValueError("target: expected a tensor that requires no gradient, got one that does")
    loss: Tensor = _Loss.apply(scores, target, alpha, tau, dim)
    return loss


def _numbers(tensor: Tensor) -> Array:
    array: Array = tensor.detach().to("cpu", torch.float64).numpy()
    return array


def _like(array: Array, tensor: Tensor) -> Tensor:
    return torch.tensor(array, dtype=tensor.dtype, device=tensor.device)  # a copy, so that what is kept stays as it is


def _mapped(scores: Tensor, rows: RowMap) -> Tensor:
    law: Tensor = _Mapped.apply(scores, rows)
    return law


class _Mapped(Function):
    """A map with a law that determines its derivative."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, rows: RowMap) -> Tensor:
        law = rows.law(_numbers(scores))
        ctx.rows = rows
        ctx.law = law
        return _like(law, scores)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor, None]:
        return _like(ctx.rows.vjp(ctx.law, _numbers(cotangent)), cotangent), None


class _Entmax(Function):
    """Entmax with a gradient in its order."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: Tensor, tau: float, dim: int) -> Tensor:
        law = _entmax(_numbers(scores), _numbers(alpha), tau=tau, axis=dim)
        if law.shape != tuple(scores.shape):
            raise ValueError(f"alpha: expected a shape that adds no axes to the rows, got shape {tuple(alpha.shape)}")
        ctx.law = law
        ctx.alpha = alpha.detach().clone()
        ctx.tau = tau
        ctx.dim = dim
        return _like(law, scores)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        pull = _numbers(cotangent)
        order = _numbers(ctx.alpha)
        slope = change = None
        if ctx.needs_input_grad[0]:
            slope = _like(entmax_vjp(ctx.law, pull, order, tau=ctx.tau, axis=ctx.dim), cotangent)
        if ctx.needs_input_grad[1]:
            rate = (entmax_alpha_derivative(ctx.law, order, axis=ctx.dim) * pull).sum(axis=ctx.dim)
            change = _like(rate, ctx.alpha).sum_to_size(ctx.alpha.shape)
        return slope, change, None, None


class _Loss(Function):
    """The loss of a row, whose gradient is the law less the target."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, target: Tensor, alpha: float, tau: float, dim: int) -> Tensor:
        s = _numbers(scores)
        y = _numbers(target)
        ctx.dim = dim
        ctx.slope = fenchel_young_gradient(s, y, alpha, tau=tau, axis=dim)
        return _like(_loss(s, y, alpha, tau=tau, axis=dim), scores)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor, None, None, None, None]:
        return _like(ctx.slope, cotangent) * cotangent.unsqueeze(ctx.dim), None, None, None, None
