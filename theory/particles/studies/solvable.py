"""Tokens at the quantiles of a Poisson kernel, without inverse temperature, on their way to consensus."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import U
from theory.particles.dynamics.circle import CircleField
from theory.particles.dynamics.flows import Trajectory
from theory.particles.dynamics.runge_kutta import BUTCHER6, integrate
from theory.particles.exact.solvable import distance_to_consensus, mean_overlap, poisson_quantiles, rate_of_approach

Array = NDArray[np.float64]
RADIUS = math.sqrt(0.1)  # so that r^2 / (1 - r^2) is 1/9 at first
FEW = (8, 64, 512, 4096)  # tokens that are followed past log n
MANY = {"quick": 20_001, "paper": 1_000_000}  # tokens that are the mean field for as long as they are followed
LATE, EARLY = 16, 8  # last times of the two
SHIFTS = (0.0, 0.5, 1.0, 2.0)  # times after log n at which the rate is taken
CROSSING = (16, 64, 256, 1024, 4096)
_STEP = 0.25
_FIELD = CircleField(0.0)


def approach(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return how far ``n`` tokens are from consensus at time ``t``.

    ``overlap`` is their mean cosine, ``distance`` the chordal distance W2 to the point mass at the angle zero and
    ``rate`` the derivative of its logarithm. ``part`` is ``grid`` for whole times, and ``crossing`` for times that lie
    ``SHIFTS`` after the logarithm of ``n``.
    """
    columns: dict[str, list[Any]] = {key: [] for key in ("part", "n", "t", "overlap", "distance", "rate")}
    runs: list[tuple[str, int, list[float]]] = [("grid", n, [float(t) for t in range(LATE + 1)]) for n in FEW]
    runs.append(("grid", MANY[scale], [float(t) for t in range(EARLY + 1)]))
    runs += [("crossing", n, [0.0, *(math.log(n) + shift for shift in SHIFTS)]) for n in CROSSING]
    for part, n, times in runs:
        path = followed(n, times)
        drift = Interval.within(0.0, 4 * U * path.evaluations)  # of all tokens, undamped; and sums
        seen = [
            [value + drift for value in path.observe(mean_overlap)],
            [value + drift for value in path.observe(distance_to_consensus)],
            [value + drift / far for value, far in zip(
                path.observe(lambda theta: rate_of_approach(theta, _FIELD(theta))),
                path.observe(distance_to_consensus), strict=True,
            )],
        ]  # fmt: skip
        for cells in zip([part] * len(times), [n] * len(times), times, *seen, strict=True):
            for key, cell in zip(columns, cells, strict=True):
                columns[key].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)


def followed(n: int, times: list[float]) -> Trajectory:
    """Return the states of n tokens at the given times, by steps of at most a quarter, and of twice as much."""
    runs = []
    for longest in (_STEP, 2 * _STEP):
        states = [poisson_quantiles(n, RADIUS)]
        for before, after in itertools.pairwise(times):
            steps = math.ceil((after - before) / longest)
            states.append(integrate(_FIELD, states[-1], step=(after - before) / steps, steps=steps, method=BUTCHER6))
        runs.append(np.stack(states))
    evaluations = math.ceil((times[-1] - times[0]) / _STEP + len(times)) * BUTCHER6.stages
    return Trajectory(np.array(times), runs[0], runs[1], evaluations)
