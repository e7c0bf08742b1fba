r"""Attention with scores that are no distance: one minimiser on a circle, and a bilinear score on the sphere.

On the circle :math:`f(x, y) = 4\kappa(x)\sin^2\frac v2\,(1 + \beta\sin v)` with :math:`v = y - a(x)`, which is least at
:math:`y = a(x)` and not symmetric about it. On the sphere :math:`f(x, y) = \sum_ia_ix_iy_i`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.attention import DotProduct, rounding
from theory.diffusion.limits.laplace import GeneralScore, average_at_peak
from theory.diffusion.limits.operators import propagate
from theory.diffusion.similarity.bilinear import sphere_tokens
from theory.diffusion.studies.wavy import WAVY_DENSITY, wavy_function
from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
CUBIC_SHARE = 0.6  # of the cubic term
SCORE_AXES = np.array([1.0, -0.7, 1.6])  # a of the score on the sphere
LEVELS = {"quick": 9, "paper": 10}
PLACES = {"quick": 6, "paper": 24}
QUERIES = {"quick": 5, "paper": 12}
WARM = (0.4, 0.2, 0.1, 0.05)  # bandwidths on the sphere
WARM_CIRCLE, WARM_PLACES, _NODES = 0.1, 24, 512  # derived: 512 nodes are fifty per standard deviation
_START = 0.02
_POLAR, _AROUND = 48, 96  # derived: exp(40 t) on [-1, 1] has Legendre coefficients below 1e-17 beyond 48


def scores(*, scale: str, root: int, flat: bool = False) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return :math:`P_\varepsilon h(x)` on the circle, and the coordinates of :math:`P_\varepsilon y` on the sphere.

    On the circle ``coordinate`` is zero and ``x`` the angle of the query; ``warm`` is one bandwidth at more places. On
    the sphere ``coordinate`` counts from one, and ``x`` is the place on :func:`query_path`. With ``flat`` the score on
    the circle is squared, so that it is of fourth order.
    """
    rows = []
    epsilons = [_START * 0.5**level for level in range(LEVELS[scale])]
    for x in (2.0 * np.pi * np.arange(PLACES[scale]) / PLACES[scale]).tolist():
        rows += [("circle", epsilon, x, 0, on_circle(x, epsilon, flat=flat)) for epsilon in epsilons]
    if not flat:
        rows += [("warm", WARM_CIRCLE, x, 0, value) for x, value in _warm()]
    points, areas = sphere_tokens(_POLAR, _AROUND)
    for t in (np.pi * (np.arange(QUERIES[scale]) + 0.5) / QUERIES[scale]).tolist():
        query = query_path(t)[np.newaxis, :]
        for epsilon in WARM:
            score = DotProduct(0.5 / epsilon, -np.diag(SCORE_AXES))
            found = propagate(query, points, points, epsilon, score=score, weights=areas)[0]
            width = rounding(query, points, points, score=score, weights=areas) + 2.0**10 * U / epsilon
            rows += [("sphere", epsilon, t, k + 1, Interval.within(found[k], width)) for k in range(3)]
    parts, bandwidths, places, coordinates, values = zip(*rows, strict=True)
    units = {"part": "1", "epsilon": "1", "x": "rad", "coordinate": "1", "value": "1"}
    columns = {"part": parts, "epsilon": bandwidths, "x": places, "coordinate": coordinates, "value": values}
    return Table(Kind.ESTIMATED, units, columns)


def on_circle(x: float, epsilon: float, *, flat: bool = False) -> Interval:
    r"""Enclose :math:`P_\varepsilon h(x)` of the score on the circle, or of its square."""
    width = (math.sqrt(epsilon) if flat else epsilon / float(stiffness(x))) ** 0.5
    error = 256.0 * U * 10.0 * width  # of f, whose slope is below 40 widths where it counts
    score = GeneralScore(_squared if flat else dissimilarity, epsilon, error)
    return average_at_peak(
        score, [x], [float(relabelled(x))], [width], lambda y: wavy_function(y[:, 0]), lambda y: WAVY_DENSITY(y[:, 0]),
        reach=min(8.0 if flat else 20.0, math.pi / width),
    )  # fmt: skip


def _warm() -> list[tuple[float, Interval]]:
    """Return places and values on the circle by the trapezoidal rule over all of it."""
    queries = (2.0 * np.pi * np.arange(WARM_PLACES) / WARM_PLACES)[:, np.newaxis]
    keys = (2.0 * np.pi * np.arange(_NODES) / _NODES)[:, np.newaxis]
    values = wavy_function(keys)
    masses = WAVY_DENSITY(keys[:, 0])
    score = GeneralScore(dissimilarity, WARM_CIRCLE, 256.0 * U * 10.0)
    found = propagate(queries, keys, values, WARM_CIRCLE, score=score, weights=masses)[:, 0]
    width = rounding(queries, keys, values, score=score, weights=masses) + 2.0**10 * U
    return [(x, Interval.within(v, width)) for x, v in zip(queries[:, 0].tolist(), found.tolist(), strict=True)]


def _squared(x: Array, y: Array) -> Array:
    return np.asarray(dissimilarity(x, y) ** 2)


def dissimilarity(x: Array, y: Array) -> Array:
    """Return f of angles, which broadcast, without their last axis."""
    v = (y - relabelled(x))[..., 0]
    return np.asarray(4.0 * stiffness(x)[..., 0] * np.sin(0.5 * v) ** 2 * (1.0 + CUBIC_SHARE * np.sin(v)))


def relabelled(x: ArrayLike) -> Array:
    """Return a(x)."""
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(x + 0.8 + 0.4 * np.sin(x))


def stiffness(x: ArrayLike) -> Array:
    r"""Return :math:`\kappa(x)`."""
    return np.asarray(1.5 + 0.5 * np.cos(np.asarray(x, dtype=np.float64)))


def query_path(t: float) -> Array:
    """Return the query at ``t`` on the sphere, shape (3,): a circle that is tilted."""
    return np.array([0.8 * math.cos(t), 0.8 * math.sin(t), 0.6 * math.cos(2.0 * t)])
