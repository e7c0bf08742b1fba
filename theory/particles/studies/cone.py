"""How often chance puts tokens into one hemisphere, and what attention makes of tokens that are in one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from theory.attention import DotProduct
from theory.evidence import Interval, Kind, Table, stream
from theory.particles.dynamics.fields import Array, PreNorm, SoftmaxField, Tangential, on_sphere
from theory.particles.dynamics.flows import Trajectory, flow
from theory.particles.exact.cone import central_projection, diameter, hemisphere_margins
from theory.particles.studies.energy import unit_tokens

_FEW = ((2, 3), (2, 4), (2, 6), (3, 4), (3, 6), (3, 8), (4, 6), (4, 8), (4, 10), (5, 5))
_MORE = ((2, 8), (3, 3), (3, 10), (4, 4), (4, 12), (5, 8), (5, 10), (5, 13), (8, 12), (8, 16), (8, 20))
SIZES = {"quick": _FEW, "paper": _FEW + _MORE}  # dimension and number of points
_DRAWS = {"quick": 1500, "paper": 5000}
_CLEAR = 1e-12  # taken: no direction has a larger margin; uniform points meet a smaller one with odds of that size
_SHIFT = 1.0  # by how much the first coordinate of normal points is displaced where the law is not symmetric

CONE_BETA, CONE_TOKENS = 2.0, 8
CONE_MIRROR = np.diag([1.0, 1.0, -1.0])  # a value matrix that turns the axis into its opposite
_AXIS = np.array([0.0, 0.0, 1.0])
_LENGTHS = {"SA": 8.0, "USA": 12.0 * math.exp(-CONE_BETA), "causal": 16.0, "mirror": 3.0}
_TOLERANCE = 1e-7  # chosen: of the integrator
_WINDOWS = {"quick": 12, "paper": 24}


def cones(*, scale: str, root: int) -> Table:
    r"""Return counts of clouds in an open hemisphere, and runs of attention from within one.

    ``part`` is ``hits``, where ``value`` counts the clouds of ``n`` points in dimension ``d`` among ``draws`` that lie
    in one hemisphere, the points uniform on the sphere or, if ``run`` is ``shifted``, from a law that favours one side.
    Otherwise ``run`` is SA, USA, ``causal`` (SA with a causal mask) or ``mirror`` (SA with another value matrix), and
    at ``time`` ``lowest`` is the least height of a token over the fixed axis. The windows between two times have an
    axis of their own, that of the runs or the direction of the mean, whichever the tokens stand higher over:
    ``height`` is the least height over it at the start, ``before`` and ``after`` are the diameters of the tokens in its
    chart at the start and at the end, which is ``time``.
    """
    rows: list[tuple[str, str, int, int, float, int, Interval]] = []
    sizes = [("uniform", d, n) for d, n in SIZES[scale]] + [("shifted", 3, 6)]
    for number, (law, d, n) in enumerate(sizes):
        rng = stream("studies.cones", number, root=root)
        points = rng.normal(size=(_DRAWS[scale], n, d))  # directions of normal points are uniform
        points[..., 0] += _SHIFT if law == "shifted" else 0.0
        lower, upper = hemisphere_margins(points)
        sure = int((lower > 0.0).sum())
        open_ = int(((lower <= 0.0) & (upper > _CLEAR)).sum())
        rows.append(("hits", law, d, n, 0.0, _DRAWS[scale], Interval(sure, sure + open_, Kind.CERTIFIED)))
    start = above(stream("studies.cones.start", 0, root=root))
    for run, length in _LENGTHS.items():
        times = np.linspace(0.0, length, _WINDOWS[scale] + 1)
        path = flow(field_of(run), start, times, rtol=_TOLERANCE, atol=_TOLERANCE / 100.0)
        for t, lowest in zip(times.tolist(), path.observe(partial(_lowest, _AXIS)), strict=True):
            rows.append(("lowest", run, 3, CONE_TOKENS, t, 0, lowest))
        if run != "mirror":
            rows += [(part, run, 3, CONE_TOKENS, t, 0, value) for part, t, value in _windows(path)]
    names = ("part", "run", "d", "n", "time", "draws", "value")
    columns = dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)


def above(rng: np.random.Generator) -> Array:
    """Return uniform tokens of the upper half of the sphere, none within 0.05 of its edge, the highest first.

    Under a causal mask the first token stays where it is, and the others rise.
    """
    x = unit_tokens(64, 3, rng)
    x[x @ _AXIS < 0.0] *= -1.0
    start: Array = x[x @ _AXIS > 0.05][:CONE_TOKENS]
    return start[np.argsort(-start @ _AXIS)]


def field_of(run: str) -> Callable[[Array], Array]:
    """Return the velocities of a run at the normalised tokens: bounded off the sphere, where trial steps lead."""
    if run == "mirror":
        return PreNorm(Tangential(SoftmaxField(DotProduct(scale=CONE_BETA), value=CONE_MIRROR)))
    return PreNorm(on_sphere(CONE_BETA, normalised=run != "USA", causal=run == "causal"))


def _lowest(axis: Array, x: Array) -> float:
    return float((x @ axis).min())


def _height(x: Array, axis: Array) -> float:
    return _lowest(axis, x)


def _spread(axis: Array, x: Array) -> float:
    return float(diameter(central_projection(x, axis)))


def _windows(path: Trajectory) -> list[tuple[str, float, Interval]]:
    """Return heights and diameters of every window."""
    found = []
    for k in range(path.times.size - 1):
        mean = path.states[k].mean(axis=0)
        axis = max((mean / np.linalg.norm(mean), _AXIS), key=partial(_height, path.states[k]))
        two = replace(path, times=path.times[k : k + 2], states=path.states[k : k + 2], coarse=path.coarse[k : k + 2])
        heights = two.observe(partial(_lowest, axis))
        spreads = two.observe(partial(_spread, axis))
        end = float(path.times[k + 1])
        found += [("height", end, heights[0]), ("before", end, spreads[0]), ("after", end, spreads[1])]
    return found
