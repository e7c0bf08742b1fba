r"""The overlaps of tokens on the sphere move by an equation of their own, whatever the dimension.

With :math:`\gamma_{ij} = 1 - \langle x_i, x_j\rangle`, weights :math:`w_{ij}` (softmax rows, or
:math:`e^{\beta\langle x_i, x_j\rangle}/n`), :math:`s_i = \sum_k w_{ik}` and :math:`u_i = \sum_k w_{ik}\gamma_{ik}`,
the tangential field :math:`\dot x_i = P^\perp_{x_i}\sum_k w_{ik}x_k` gives

.. math:: \dot\gamma_{ij} = \sum_k w_{ik}\gamma_{kj} - u_i - \gamma_{ij}(s_i - u_i) + (i \leftrightarrow j) .

Each side is of the size of the gaps, so a gap keeps its digits however small it is, which the coordinates of the
tokens do not allow. Under Pre-LN the two halves are divided by the norms :math:`r_i`, and :math:`\dot r_i = s_i -
u_i`. A state may carry leading axes: many systems at once. Asked with enclosed gaps, the field encloses its velocities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_flag, as_number, as_points, as_real
from theory.evidence import is_enclosed

Array = NDArray[np.float64]
_LARGEST = 350.0  # derived: scores up to here leave room for products; beyond are only trial steps that get rejected


def gaps(x: ArrayLike) -> Array:
    r"""Return :math:`1 - \langle x_i, x_j\rangle` of unit tokens, by differences; shape (n, d) to (n, n)."""
    tokens = as_points(x, "x")
    with np.errstate(over="ignore"):
        apart = tokens[:, np.newaxis] - tokens
        if is_enclosed(tokens):
            return 0.5 * (apart * apart).sum(axis=2)
        half: Array = 0.5 * np.einsum("ijk,ijk->ij", apart, apart)
    if not half.max() < np.inf:
        raise ValueError(f"x: expected unit tokens, got one of size {np.abs(tokens).max()}")
    return half


@dataclass(frozen=True, slots=True)
class GapField:
    r"""SA, or USA unless ``normalised``, of tokens on the sphere, in gaps; a field for :func:`~.flows.flow`.

    Parameters
    ----------
    beta : float
        Inverse temperature, finite; from -350 to 350 without normalisation, whose weights float64 would not hold.
    normalised : bool, default True
        Whether the rows of weights are divided by their sums.
    pre_norm : bool, default False
        Whether the tokens are free and normalised on their way in (Pre-LN); the state then has one more column, the
        logarithms of the norms.

    Raises
    ------
    TypeError, ValueError
        If ``beta`` is no such number; when called, if the state has another shape.
    """

    beta: float
    normalised: bool = True
    pre_norm: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", as_number(self.beta, "beta"))
        for name in ("normalised", "pre_norm"):
            object.__setattr__(self, name, as_flag(getattr(self, name), name))
        if not self.normalised and not abs(self.beta) <= _LARGEST:
            raise ValueError(f"beta: expected at most {_LARGEST:g} in size without normalisation, got {self.beta}")

    def __call__(self, state: ArrayLike, /) -> Array:
        """Return the velocities of gaps of shape (..., n, n), or of gaps and log norms, (..., n, n + 1)."""
        given = as_real(state, "state")
        wide = int(self.pre_norm)
        if given.ndim < 2 or given.shape[-1] != given.shape[-2] + wide:
            raise ValueError(f"state: expected shape (..., n, n{' + 1' if wide else ''}), got shape {given.shape}")
        gap = given[..., :-1] if wide else given
        halves, outward = self._halves(gap)
        if not wide:
            return _paired(halves)
        slower = np.exp(-given[..., -1:])
        return np.concatenate([_paired(slower * halves), slower * outward[..., np.newaxis]], axis=-1)

    def weights(self, gap: Array) -> Array:
        """Return the weights that tokens give each other, shape (..., n, n)."""
        scores = -self.beta * gap
        if self.normalised:
            raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
            shares: Array = raised / raised.sum(axis=-1, keepdims=True)
            return shares
        free: Array = np.exp(np.minimum(self.beta + scores, _LARGEST)) / gap.shape[-1]
        return free

    def _halves(self, gap: Array) -> tuple[Array, Array]:
        r"""Return what :math:`\dot x_i` contributes to the gap (i, j), and :math:`s_i - u_i`."""
        w = self.weights(gap)
        inward = (w * gap).sum(axis=-1)
        outward = w.sum(axis=-1) - inward
        halves: Array = w @ gap - inward[..., np.newaxis] - gap * outward[..., np.newaxis]
        return halves, outward


def _paired(halves: Array) -> Array:
    """Return the sum of the contributions of both tokens; a token has no gap to itself."""
    velocity: Array = halves + np.swapaxes(halves, -1, -2)
    n = velocity.shape[-1]
    paired: Array = np.where(np.eye(n, dtype=bool), 0.0, velocity)
    return paired
