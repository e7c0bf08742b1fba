r"""Free parameters of a cloud in a ball: what an unconstrained optimiser may vary, and the chain rule back to it.

Positions :math:`x = R\,\theta\tanh|\theta|/|\theta|`, or :math:`x = \theta` without a radius; weights :math:`w =
\varepsilon + (1 - n\varepsilon)\,\mathrm{softmax}(\phi)`; a unit direction as a free vector; a form of norm below
:math:`b` as :math:`B = b\,U \tanh(S) V^\top` for a free matrix :math:`U S V^\top`, whose derivative is that of a
function of singular values: with :math:`G = U^\top \bar B V` and :math:`f = b \tanh`, the symmetric part of G is
multiplied by :math:`\frac{f(s_i) - f(s_j)}{s_i - s_j}` and the antisymmetric one by
:math:`\frac{f(s_i) + f(s_j)}{s_i + s_j}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from theory.attention import Measure
from theory.lipschitz.search.objective import Array, Gradient

_EDGE = 1.0 - 2.0**-40  # of the radius: a point written back lies inside, where the inverse is finite
_NEAR = 1e-8  # singular values so close are taken as equal


class Cloud(NamedTuple):
    """What a vector of parameters stands for."""

    points: Array
    log_weights: Array
    direction: Array
    form: Array | None


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """Layout of a vector: positions, then weights unless ``law`` fixes them, a direction if d > 1, a form if free."""

    atoms: int
    dim: int
    radius: float | None
    law: Array | None
    norm: float | None
    floor: float

    def _split(self, z: Array) -> tuple[Array, Array, Array, Array]:
        n, d = self.atoms, self.dim
        sizes = [n * d, 0 if self.law is not None else n, d if d > 1 else 0, d * d if self.norm is not None else 0]
        theta, phi, direction, matrix = np.split(z, np.cumsum(sizes)[:-1])
        return theta.reshape(n, d), phi, direction if d > 1 else np.ones(1), matrix

    def read(self, z: Array) -> Cloud:
        """Return the cloud at ``z``."""
        theta, phi, direction, matrix = self._split(z)
        if self.radius is None:
            points = theta
        else:
            lengths = np.sqrt((theta**2).sum(axis=1, keepdims=True))
            points = self.radius * theta * _over(lengths)
        logs = np.log(self.law) if self.law is not None else np.log(self.floor + self._free() * _softmax(phi))
        return Cloud(points, logs, direction, self._form(matrix))

    def pull(self, z: Array, where: Cloud, gradient: Gradient) -> Array:
        """Return the gradient by ``z``."""
        theta, phi, _, matrix = self._split(z)
        parts = [self._pull_points(theta, gradient.points).ravel()]
        if self.law is None:
            share = self._free() * _softmax(phi)
            by_phi = share * gradient.log_weights / np.exp(where.log_weights)
            parts.append(by_phi - _softmax(phi) * by_phi.sum())
        if self.dim > 1:
            parts.append(gradient.direction)
        if self.norm is not None and gradient.form is not None:
            parts.append(self._pull_form(matrix, gradient.form).ravel())
        return np.concatenate(parts)

    def draw(self, rng: np.random.Generator, *, sign: int) -> Array:
        """Return a random vector: scattered atoms, uneven weights, a form of the given sign of its trace."""
        n, d = self.atoms, self.dim
        parts = [1.5 * rng.normal(size=n * d)]
        if self.law is None:
            parts.append(np.log(np.maximum(rng.dirichlet(np.full(n, 0.4)), 1e-6)))
        if d > 1:
            parts.append(rng.normal(size=d))
        if self.norm is not None:
            matrix = 2.0 * rng.normal(size=(d, d))
            parts.append((matrix * (sign if np.trace(matrix) > 0.0 else -sign)).ravel())
        return np.concatenate(parts)

    def write(self, cloud: Measure, start: Array) -> Array:
        """Return ``start`` with the positions and weights of a given cloud."""
        if cloud.size != self.atoms or cloud.dim != self.dim:
            raise ValueError(f"first: expected {self.atoms} atoms in dimension {self.dim}, got {cloud!r}")
        points = cloud.points
        if self.radius is not None:
            lengths = np.sqrt((points**2).sum(axis=1, keepdims=True))
            if lengths.max() > self.radius * (1.0 + 2.0**-40):
                raise ValueError(f"first: expected atoms within {self.radius}, got one at {lengths.max()}")
            part = np.minimum(lengths / self.radius, _EDGE)
            points = points / np.maximum(lengths, 1e-300) * np.arctanh(part)
        out = start.copy()
        out[: points.size] = points.ravel()
        if self.law is None:
            share = np.maximum(cloud.weights - self.floor, 1e-3 * self.floor)
            out[points.size : points.size + self.atoms] = np.log(share)
        return out

    def _free(self) -> float:
        return 1.0 - self.atoms * self.floor

    def _pull_points(self, theta: Array, gradient: Array) -> Array:
        if self.radius is None:
            return gradient
        r2 = (theta**2).sum(axis=1, keepdims=True)
        r = np.sqrt(r2)
        over = _over(r)
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            bend = np.where(r > 1e-4, (1.0 / np.cosh(np.minimum(r, 300.0)) ** 2 - over) / r2, -2.0 / 3.0)
        pulled: Array = self.radius * (over * gradient + bend * theta * (theta * gradient).sum(axis=1, keepdims=True))
        return pulled

    def _form(self, matrix: Array) -> Array | None:
        if self.norm is None:
            return None
        left, s, right = np.linalg.svd(matrix.reshape(self.dim, self.dim))
        form: Array = (left * (self.norm * np.tanh(s))) @ right
        return form

    def _pull_form(self, matrix: Array, gradient: Array) -> Array:
        left, s, right = np.linalg.svd(matrix.reshape(self.dim, self.dim))
        f = np.tanh(s)
        slope = 1.0 - np.tanh(s) ** 2
        inner = left.T @ gradient @ right.T
        apart, both = s[:, np.newaxis] - s, s[:, np.newaxis] + s
        close = np.abs(apart) < _NEAR
        odd = np.where(close, slope, (f[:, np.newaxis] - f) / np.where(close, 1.0, apart))
        even = (f[:, np.newaxis] + f) / np.maximum(both, 1e-300)
        mixed = odd * (inner + inner.T) / 2.0 + even * (inner - inner.T) / 2.0
        pulled: Array = (self.norm or 0.0) * left @ mixed @ right
        return pulled


def _over(r: Array) -> Array:
    """Return tanh(r) / r."""
    return np.where(r > 1e-6, np.tanh(r) / np.maximum(r, 1e-300), 1.0)


def _softmax(phi: Array) -> Array:
    raw = np.exp(phi - phi.max())
    share: Array = raw / raw.sum()
    return share
