r"""Tokens of an open half-sphere in central projection, where consensus can be followed to any size.

A unit token with :math:`\langle c, x\rangle > 0` is :math:`x = (c + Ey)/\sqrt{1 + |y|^2}` with a frame :math:`E` of
:math:`c^\perp`. Great circles become lines, the projection on the tangent space drops out, and

.. math:: \dot y_i = \sum_j W_{ij}\sqrt{\frac{1 + |y_i|^2}{1 + |y_j|^2}}\,(y_j - y_i)

for :math:`\dot x_i = P^\perp_{x_i}\sum_j W_{ij}x_j`. There is no constraint to drift from, and velocities are sums of
differences. A :class:`CollapseField` follows the first token, the logarithm of the size of the others' differences from
it,
and their shape, so that no digit is lost however near the tokens are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_flag, as_matrix, as_number, as_points, as_vector, frozen

Array = NDArray[np.float64]
_LARGEST = 700.0  # derived: an exponential of a score up to here is a float


class Cloud(NamedTuple):
    """Where a collapsing cloud is: its first token, shape (d - 1,), log size, and shape, (n - 1, d - 1)."""

    first: Array
    log_size: float
    shape: Array


def frame_of(centre: ArrayLike) -> Array:
    """Return an orthonormal frame, shape (d, d - 1), of the space orthogonal to ``centre``, by one reflection.

    Raises
    ------
    ValueError
        If ``centre`` is the origin, or has fewer than two coordinates.
    """
    c = as_vector(centre, "centre")
    norm = float(np.linalg.norm(c))
    if c.size < 2 or not norm > 0.0:
        raise ValueError(f"centre: expected a direction in at least two dimensions, got {c.tolist()}")
    c = c / norm
    mirror = c.copy()
    mirror[0] += math.copysign(1.0, c[0])
    reflection = np.eye(c.size) - 2.0 * np.outer(mirror, mirror) / float(mirror @ mirror)
    frame: Array = reflection[:, 1:]
    return frame


@dataclass(frozen=True, slots=True, eq=False)
class CollapseField:
    r"""The velocity of a cloud on its way to consensus, in central projection from ``centre``.

    Parameters
    ----------
    centre : array_like, shape (d,)
        :math:`c`; normalised here.
    beta : float, default 1.0
        Of the scores :math:`\beta\langle x_i, x_j\rangle`.
    form : array_like, shape (d, d), optional
        :math:`B`, for scores :math:`\beta\langle x_i, Bx_j\rangle`; the identity unless given.
    normalised : bool, default True
        Softmax (SA), or :math:`e^{\text{score}}/n` (USA), for scores up to 700 in size.
    causal : bool, default False
        Token i sees the tokens up to and including the i-th.

    Raises
    ------
    ValueError
        If an argument is not as above.
    """

    centre: Array
    beta: float = 1.0
    form: Array | None = None
    normalised: bool = True
    causal: bool = False
    _frame: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_frame", frozen(frame_of(self.centre)))
        c = as_vector(self.centre, "centre")
        object.__setattr__(self, "centre", frozen(c / np.linalg.norm(c)))
        object.__setattr__(self, "beta", as_number(self.beta, "beta"))
        for name in ("normalised", "causal"):
            object.__setattr__(self, name, as_flag(getattr(self, name), name))
        if self.form is not None:
            object.__setattr__(self, "form", frozen(as_matrix(self.form, "form", shape=(c.size, c.size))))
        size = abs(self.beta) * (1.0 if self.form is None else float(np.linalg.norm(self.form, 2)))
        if not self.normalised and not size <= _LARGEST:
            raise ValueError(f"beta: expected scores of at most {_LARGEST:g} without normalisation, got {size}")

    def state(self, tokens: ArrayLike) -> Array:
        """Return the flat state of tokens of the half-sphere, shape (n, d), of which two differ."""
        x = as_points(tokens, "tokens", dim=self.centre.size)
        heights = x @ self.centre
        if not heights.min() > 0.0:
            raise ValueError(f"tokens: expected an open half-sphere, got token {int(heights.argmin())} outside")
        y = (x @ self._frame) / heights[:, np.newaxis]
        apart = y[1:] - y[0]
        size = float(np.linalg.norm(apart))
        if not size > 0.0:
            raise ValueError("tokens: expected at least two that differ, got one point")
        return np.concatenate([y[0], [math.log(size)], (apart / size).ravel()])

    def read(self, state: Array) -> Cloud:
        """Return the parts of a state."""
        k = self.centre.size - 1
        return Cloud(state[:k], float(state[k]), state[k + 1 :].reshape(-1, k))

    def tokens(self, state: Array) -> Array:
        """Return the unit tokens, shape (n, d)."""
        y = _positions(self.read(state))
        return self._lifted(y, np.sqrt(1.0 + (y**2).sum(axis=1)))

    def __call__(self, state: Array, /) -> Array:
        """Return the velocity of a state, of the same shape."""
        cloud = self.read(state)
        y = _positions(cloud)
        offsets = np.vstack([np.zeros_like(cloud.first), cloud.shape])
        lengths = np.sqrt(1.0 + (y**2).sum(axis=1))
        weights = self._weights(self._lifted(y, lengths)) * lengths[:, np.newaxis] / lengths
        moving = weights @ offsets - weights.sum(axis=1)[:, np.newaxis] * offsets
        relative = moving[1:] - moving[0]
        rate = float((cloud.shape * relative).sum() / (cloud.shape**2).sum())
        growing = relative - rate * cloud.shape
        return np.concatenate([math.exp(cloud.log_size) * moving[0], [rate], growing.ravel()])

    def log_diameter(self, state: Array) -> float:
        r"""Return the logarithm of the largest geodesic distance, in radians, from differences."""
        cloud = self.read(state)
        y = _positions(cloud)
        offsets = np.vstack([np.zeros_like(cloud.first), cloud.shape])
        apart = offsets[:, np.newaxis] - offsets
        along = np.einsum("ijk,jk->ij", apart, y)
        squares = (apart**2).sum(axis=2)
        wedge = squares * (1.0 + (y**2).sum(axis=1)) - along**2  # of (1, y_i) and (1, y_j), per squared size
        lengths = 1.0 + (y**2).sum(axis=1)
        sines = np.sqrt(np.maximum(wedge, 0.0) / np.outer(lengths, lengths))
        size = math.exp(cloud.log_size)
        sine = float(sines.max())
        ratio = math.asin(min(sine * size, 1.0)) / (sine * size) if sine * size > 1e-8 else 1.0
        return cloud.log_size + math.log(sine * ratio)

    def _lifted(self, y: Array, lengths: Array) -> Array:
        x: Array = (self.centre + y @ self._frame.T) / lengths[:, np.newaxis]
        return x

    def _weights(self, x: Array) -> Array:
        scores = self.beta * (x @ (x if self.form is None else x @ self.form.T).T)
        if self.causal:
            scores = np.where(np.tri(x.shape[0], dtype=bool), scores, -np.inf)
        weights: Array = np.exp(scores - (scores.max(axis=1, keepdims=True) if self.normalised else 0.0))
        weights /= weights.sum(axis=1, keepdims=True) if self.normalised else float(x.shape[0])
        return weights


def _positions(cloud: Cloud) -> Array:
    positions: Array = cloud.first + math.exp(cloud.log_size) * np.vstack([np.zeros_like(cloud.first), cloud.shape])
    return positions
