"""Attention between uniform tokens of a surface of revolution, against a density on its meridian."""

from __future__ import annotations

import math

import numpy as np

from theory.attention import SquaredDistance, rounding
from theory.diffusion.geometry.revolution import Revolution
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.limits.operators import propagate
from theory.evidence import Interval, Kind, Table, estimated
from theory.evidence.roundoff import U

MERIDIAN_DENSITY = CircleDensity(np.array([0.3]), np.array([0.0]))
STEEPEST = 0.6
COSINES, SINES = (0.0, 0.4), (1.0, 0.0)  # of the function that is propagated
LEVELS = {"quick": 6, "paper": 8}
PLACES = {"quick": 6, "paper": 24}
_START = 0.08  # the largest epsilon
_FINE, _FINER = 1.5, 2.0  # taken: tokens per standard deviation, in the two quadratures that are compared


def surface(*, scale: str, root: int, areas: bool = True) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return :math:`(P_\varepsilon h - h)/\varepsilon` along a meridian, for falling :math:`\varepsilon`.

    Tokens weigh what area they stand for, or the same each unless ``areas``. The width is what rounding may do, and
    twice the most that a third more tokens in either direction change at any place.
    """
    shape = Revolution(MERIDIAN_DENSITY, STEEPEST)
    rows = []
    x = 2.0 * np.pi * np.arange(PLACES[scale]) / PLACES[scale] + 0.1
    for level in range(LEVELS[scale]):
        epsilon = _START * 0.5**level
        coarse, _ = _propagated(shape, x, epsilon, _FINE, areas=areas)
        fine, error = _propagated(shape, x, epsilon, _FINER, areas=areas)
        apart = float(np.abs(coarse - fine).max())  # at all places, as errors may cross at one
        for place, b in zip(x.tolist(), fine.tolist(), strict=True):
            read = estimated(b, b + apart, times=2.0) + Interval.within(0.0, error)
            here = float(meridian_function(np.array(place)))
            rows.append((epsilon, place, (read - Interval.within(here, 16 * U * 2.0)) / epsilon))
    epsilons, places, changes = zip(*rows, strict=True)
    units = {"epsilon": "1", "x": "rad", "change": "1"}
    return Table(Kind.ESTIMATED, units, {"epsilon": epsilons, "x": places, "change": changes})


def meridian_function(x: np.ndarray) -> np.ndarray:
    """Return the function that is propagated."""
    k = np.arange(1, len(COSINES) + 1)
    return np.asarray(np.cos(np.multiply.outer(x, k)) @ COSINES + np.sin(np.multiply.outer(x, k)) @ SINES)


def _propagated(
    shape: Revolution, x: np.ndarray, epsilon: float, per_width: float, *, areas: bool
) -> tuple[np.ndarray, float]:
    tokens = shape.tokens(epsilon, per_width=per_width)
    queries = shape.points(x, np.zeros(x.size))
    values = meridian_function(tokens.meridian)
    masses = tokens.areas if areas else None
    found = propagate(queries, tokens.points, values, epsilon, weights=masses)
    error = rounding(
        queries, tokens.points, values[:, np.newaxis], score=SquaredDistance(0.5 / epsilon), weights=masses
    )
    # places are off by 64 u of their size at most, scores of keys within ten standard deviations by ten over that many
    # deviations; what weighs less is below exp(-50)
    moved = 64 * U * float(np.abs(tokens.points).max()) * 10.0 / math.sqrt(epsilon)
    return found, error + 2.0 * moved * float(np.abs(values).max())
