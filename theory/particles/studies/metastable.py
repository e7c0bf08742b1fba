r"""How long clusters stay apart: ten tokens integrated as they are, and the energy along a run of four clusters.

The staircase: clusters of masses .3, .1, .4, .2 at angles 0, .6, 1.6, 2.6 on the circle meet in pairs, the first two,
the last two, and what came of them. All of them interact all the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.particles.dynamics.fields import on_sphere
from theory.particles.dynamics.passages import first_passage_time
from theory.particles.exact.merging import JOINED, Approach, follow_coarsening

STAIRCASE_ANGLES, STAIRCASE_WEIGHTS = (0.0, 0.6, 1.6, 2.6), (0.3, 0.1, 0.4, 0.2)
STAIRCASE_BETAS = (20.0, 40.0, 80.0, 160.0, 320.0)
_SHARES = (0.002, 0.01, 0.03, 0.07, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.98)
_MORE = 24  # at paper scale


class Run(NamedTuple):
    """Tokens in clusters on the circle, and the two of them whose angle is watched until it is ``end``."""

    angles: tuple[float, ...]
    counts: tuple[int, ...]
    beta: float
    watched: tuple[int, int]
    end: float
    normalised: bool = True


CLUSTER_RUNS = {
    "equal": Run((0.0, 1.0), (5, 5), 12.0, (0, 9), 0.01),
    "unequal": Run((0.0, 1.0), (7, 3), 12.0, (0, 9), 0.01),
    "obtuse": Run((0.0, 2.0), (8, 2), 4.0, (0, 9), 0.1),
    "unnormalised": Run((0.0, 1.0), (7, 3), 4.0, (0, 9), 0.01, normalised=False),
    "three, beta 10": Run((0.0, 0.8, 2.2), (5, 2, 3), 10.0, (0, 5), 0.3),
    "three, beta 20": Run((0.0, 0.8, 2.2), (5, 2, 3), 20.0, (0, 5), 0.3),
}


def passages(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return the time after which the watched tokens of every run are at the given angle, by a stiff integrator."""
    times = []
    for run in CLUSTER_RUNS.values():
        angles = np.repeat(run.angles, run.counts)
        points = np.column_stack([np.cos(angles), np.sin(angles)])
        field, (i, j) = on_sphere(run.beta, normalised=run.normalised), run.watched

        def event(x: NDArray[np.float64], i: int = i, j: int = j, end: float = run.end) -> float:
            return float(np.linalg.norm(x[i] - x[j])) - 2.0 * math.sin(end / 2.0)

        times.append(first_passage_time(field, points, event, 1e6, method="LSODA"))
    return Table(Kind.ESTIMATED, {"part": "1", "time": "1"}, {"part": list(CLUSTER_RUNS), "time": times})


def staircase(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return the energy, in units of its maximum, along a run of four clusters for every inverse temperature.

    ``exponent`` is :math:`\beta(1 - \cos\varphi)` of the closest pair, ``angle`` is :math:`\varphi`, ``log_time`` the
    logarithm of the time from the beginning. ``mark`` is ``doubled`` where the pair's part of the energy has doubled
    in this stage, ``jump`` where it is half of what it will be, ``joined`` at the end of a stage, else ``path``.
    """
    names = ("beta", "stage", "mark", "exponent", "angle", "log_time", "energy")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for beta in STAIRCASE_BETAS:
        points = np.column_stack([np.cos(STAIRCASE_ANGLES), np.sin(STAIRCASE_ANGLES)])
        before, slip = None, 0.0
        for stage, found in enumerate(follow_coarsening(points, STAIRCASE_WEIGHTS, beta, _stops(scale)), start=1):
            times, energies, before = _totals(found, before, slip)
            slip += found.slip
            top = beta * 2.0 * math.sin(found.pair.angle / 2.0) ** 2
            for angle, time, height in zip(found.angles.tolist(), times, energies, strict=True):
                exponent = beta * 2.0 * math.sin(angle / 2.0) ** 2
                row = (beta, stage, _mark(angle, exponent, top), exponent, angle, time, height)
                for name, cell in zip(names, row, strict=True):
                    columns[name].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(names, "1") | {"angle": "rad"}, columns)


def _stops(scale: str) -> Any:
    shares = _SHARES if scale == "quick" else (*_SHARES, *np.linspace(0.005, 0.9, _MORE).tolist())

    def stops(top: float) -> NDArray[np.float64]:
        exponents = [top * (1.0 - share) for share in shares] + [top - math.log(2.0), math.log(2.0), 0.25, 0.05]
        return np.unique([e for e in exponents if e >= 0.05])[::-1]

    return stops


def _mark(angle: float, exponent: float, top: float) -> str:
    if angle == JOINED:
        return "joined"
    for mark, level in (("doubled", top - math.log(2.0)), ("jump", math.log(2.0))):
        if abs(exponent - level) < 1e-9 * top:
            return mark
    return "path"


def _totals(found: Approach, before: Interval | None, slip: float) -> tuple[list[Interval], list[Interval], Interval]:
    """Return logarithms of times from the beginning, energies, and the former at the end.

    A pair whose places are off by ``slip`` has a lifetime off by the factor of an exponential of beta + 4 / sin times
    its angle's error; a joined pair counts as a point up to (beta JOINED)^2.
    """
    beta, angle = found.pair.beta, found.pair.angle
    far = 2.0 * slip * math.sqrt(found.pair.points.shape[1])
    off = 0.0 if before is None else (beta + 4.0 / math.sin(angle)) * far + (beta * JOINED) ** 2
    times = [time + Interval.within(0.0, off) for time in found.log_time]
    if before is not None:
        times = [_together((before, time)) for time in times]
    energies = [height + Interval.within(0.0, beta * far + off) for height in found.energy]
    return times, energies, times[-1]


def _together(logs: Sequence[Interval]) -> Interval:
    """Enclose the logarithm of the sum of two numbers given by theirs."""
    low, high = (float(np.logaddexp(*(getattr(log, end) for log in logs))) for end in ("lo", "hi"))
    slack = 8 * math.ulp(max(abs(low), abs(high), 1.0))
    return Interval(low - slack, high + slack, max(log.kind for log in logs))
