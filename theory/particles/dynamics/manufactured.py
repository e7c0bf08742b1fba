r"""Problems made so that their solution is known: attention, and the force that keeps it on a given path.

With a path :math:`x^*(t)` and a field :math:`F` the equation :math:`x' = F(x) + \dot x^*(t) - F(x^*(t))` has the
solution :math:`x^*`. Here :math:`u = c + s\sin(\omega t + p)` entry by entry, and :math:`x^* = u` in flat space or
:math:`u/|u|`, row by row, on the sphere, where the force is tangent at :math:`x^*` and charts ignore its normal part
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_callable, as_instance, as_number, as_points, as_positive, frozen
from theory.particles.dynamics.runge_kutta import FLAT, SPHERE, Space

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Manufactured:
    """A forced field with a known solution.

    Parameters
    ----------
    field : callable
        From states of shape (n, d) to velocities.
    centre, phase : array_like, shape (n, d)
        Of the path, in units of the state and in radians.
    swing : float
        Amplitude, positive.
    frequency : float
        In radians per unit of time, positive.
    space : Space
        Where the path lies.

    Raises
    ------
    ValueError
        If the shapes differ, or on the sphere a path may meet the origin.
    """

    field: Callable[[Array], Array]
    centre: Array
    phase: Array
    swing: float
    frequency: float
    space: Space = FLAT

    def __post_init__(self) -> None:
        as_callable(self.field, "field")
        as_instance(self.space, "space", Space)
        centre = as_points(self.centre, "centre")
        object.__setattr__(self, "centre", frozen(centre))
        object.__setattr__(
            self, "phase", frozen(as_points(self.phase, "phase", size=centre.shape[0], dim=centre.shape[1]))
        )
        for name in ("swing", "frequency"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))
        if self.space is SPHERE and not (np.linalg.norm(centre, axis=1) > self.swing * np.sqrt(centre.shape[1])).all():
            raise ValueError(f"swing: expected a path that stays away from the origin, got {self.swing}")

    def path(self, t: float) -> Array:
        """Return the solution at time ``t``."""
        return self._moving(as_number(t, "t"))[0]

    def velocity(self, t: float) -> Array:
        """Return the derivative of the solution at time ``t``."""
        return self._moving(as_number(t, "t"))[1]

    def force(self, t: float) -> Array:
        """Return the force at time ``t``: what the path needs beyond the field."""
        return self._needed(as_number(t, "t"))

    def __call__(self, t: float, x: Array, /) -> Array:
        """Return the forced field at time ``t``, states and velocities of shape (n, d)."""
        forced: Array = self.field(x) + self._needed(t)
        return forced

    def _needed(self, t: float) -> Array:
        point, velocity = self._moving(t)
        needed: Array = velocity - self.field(point)
        return needed

    def _moving(self, t: float) -> tuple[Array, Array]:
        angle = self.frequency * t + self.phase
        u = self.centre + self.swing * np.sin(angle)
        moving = self.swing * self.frequency * np.cos(angle)
        if self.space is FLAT:
            return u, moving
        length = np.linalg.norm(u, axis=1, keepdims=True)
        x = u / length
        return x, (moving - np.einsum("ij,ij->i", x, moving)[:, np.newaxis] * x) / length
