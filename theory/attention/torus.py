r"""The squared chord between angles, the score of attention on a circle or a flat torus.

A token is a vector of :math:`d` angles and stands for the point :math:`(e^{ix_1}, \dots, e^{ix_d})`. On the circle
:math:`|e^{ix} - e^{iy}|^2 = 2 - 2\cos(x - y)`, so attention with the dot product of unit vectors of the plane at
inverse temperature :math:`\beta` is the one with this score at :math:`\beta / 2`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_points, as_positive
from theory.attention.score import Array, Constants, require_finite
from theory.engine import Form, Pairs
from theory.evidence import is_enclosed
from theory.evidence.roundoff import EXP_ULPS, U, gamma


@dataclass(frozen=True, slots=True, eq=False)
class TorusDistance:
    r""":math:`a(x, y) = -\beta \sum_f |e^{ix_f} - e^{iy_f}|^2`, angles in radians.

    Parameters
    ----------
    scale : float, default 1.0
        :math:`\beta > 0`, per unit of squared length on circles of radius one.

    Raises
    ------
    ValueError
        If ``scale`` is not positive.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", as_positive(self.scale, "scale"))

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores, enclosed if the points are."""
        x, y = as_points(x, "x"), as_points(y, "y")
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"keys: expected dimension {x.shape[1]} as the queries, got {y.shape[1]}")
        half = np.sin(0.5 * (x[:, np.newaxis, :] - y[np.newaxis, :, :]))
        if is_enclosed(half):
            return -4.0 * self.scale * (half * half).sum(axis=2)  # type: ignore[no-any-return]
        scores: Array = -4.0 * self.scale * np.einsum("ijf,ijf->ij", half, half)
        return scores

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return the angles as they are."""
        x, y = as_points(x, "x"), as_points(y, "y")
        if x.shape[1] != y.shape[1]:
            raise ValueError(f"keys: expected dimension {x.shape[1]} as the queries, got {y.shape[1]}")
        return Pairs(Form.TORUS, x, y, np.array([self.scale]))

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Bound size and rounding error.

        A sine or cosine is off by ``2 EXP_ULPS`` units, a difference of two by twice that and one rounding of at most
        two, its square by four times as much; a half angle is off by a unit of it. Whichever way the kernels go, that
        is below ``(16 EXP_ULPS + 8) u`` for each of two squares per angle, plus what the difference of angles rounds.
        """
        x, y = as_points(x, "x"), as_points(y, "y")
        d = x.shape[1]
        reach = float(np.abs(x).max() + np.abs(y).max())
        size = 4.0 * self.scale * d
        return size * (1.0 + 8 * U), self.scale * d * (2 * (16 * EXP_ULPS + 8) + 2 * reach) * U + size * gamma(
            2 * d + 5
        )

    def constants(self, radius: float) -> Constants:
        r"""Return :math:`4\beta r^2, 4\beta r, 4\beta r, 2\beta` per radian.

        Since :math:`|\sin t| \le |t|`, on a ball of radius r the oscillation is at most
        :math:`\beta (2r)^2` and the slope at most :math:`2\beta \cdot 2r`, in any dimension.
        """
        r = as_positive(radius, "radius")
        slope = 4.0 * self.scale * r
        return require_finite(Constants(slope * r, slope, slope, 2.0 * self.scale))
