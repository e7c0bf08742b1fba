"""Pairs of laws that the Boltzmann-Gibbs transform drives apart as far as its constants allow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_positive
from theory.attention import Measure


class TiltedPair(NamedTuple):
    """Two laws on the same atoms, and a potential there."""

    mu: Measure
    nu: Measure
    potential: NDArray[np.float64]


def light_ramp(slope: float, ramp: float, mass: float, step: float, diameter: float = 1.0) -> TiltedPair:
    r"""Return a light atom at the top of a ramp, and the same atom one ``step`` lower, beside a heavy atom at 0.

    On :math:`[0, D]` the potential is :math:`\ell\max(0, y - D + s)` with ``ramp`` s, of oscillation :math:`\ell s`. As
    mass and step vanish the transform stretches :math:`W_1`, and the barycentre, by :math:`e^{\ell s}(1 + D\ell)`.

    Raises
    ------
    ValueError
        If the ramp is longer than the diameter, the step than the ramp, or the mass is not below one.
    """
    rate, length, light, apart, size = (
        as_positive(c, n)
        for c, n in ((slope, "slope"), (ramp, "ramp"), (mass, "mass"), (step, "step"), (diameter, "diameter"))
    )
    if not (apart <= length <= size and light < 1.0):
        raise ValueError(
            f"step: expected step <= ramp <= diameter and mass < 1, got {step}, {ramp}, {diameter}, {mass}"
        )
    points = np.array([[0.0], [size - apart], [size]])
    potential = rate * np.maximum(0.0, points[:, 0] - size + length)
    mu, nu = Measure(points, [1.0 - light, 0.0, light]), Measure(points, [1.0 - light, light, 0.0])
    return TiltedPair(mu, nu, potential)


def light_atom(oscillation: float, mass: float) -> TiltedPair:
    r"""Return :math:`(1 - \epsilon)\delta_0 + \epsilon\delta_1` and :math:`\delta_0`, with potential 0 and o there.

    The transform multiplies their total variation by :math:`\sup g/\mu(g)`, exactly.

    Raises
    ------
    ValueError
        If the mass is not below one.
    """
    height, light = as_positive(oscillation, "oscillation"), as_positive(mass, "mass")
    if not light < 1.0:
        raise ValueError(f"mass: expected a number in (0, 1), got {mass!r}")
    points = np.array([[0.0], [1.0]])
    return TiltedPair(Measure(points, [1.0 - light, light]), Measure(points, [1.0, 0.0]), np.array([0.0, height]))
