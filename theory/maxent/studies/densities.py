r"""Continuous attention on the line: shapes, widths and variances over the order, and what a grid makes of them.

A density of half-width :math:`a` on a grid of step :math:`h` sees two offsets: those of its edges from the nearest
nodes. Grids are worst at certain offsets, so errors at one phase and one width wander by orders of magnitude from step
to step. Here, at each step, the half-width runs over one step beyond :math:`a_0 = 3/2` and the phase over one step, on
lattices that are fixed in units of the step: every :math:`h` sees the same offsets, and the largest error over them
falls like a clean power. No node lies on an edge; and for :math:`b < 1`, where the next order is only
:math:`h^{1/2}` smaller, the steps go further down.
"""

from __future__ import annotations

import math

import numpy as np

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import U, total
from theory.maxent.batch import Array
from theory.maxent.densities.beta_gaussian import BetaGaussian
from theory.maxent.densities.cells import density_at, density_on_cells

NAMED = (4 / 3, 1.5, 2.0, 3.0)  # triweight, biweight, parabola, semicircle
SCATTERS = (0.25, 1.0, 4.0)
_FLAT = 2.0**20  # an order at which the density is a box to the eye
_HALF_WIDTH = 1.5  # a multiple of every step
_PHASES = 4
_WIDTHS = 4
_ROUNDINGS = 256  # derived: of a base P^e - e r^2 / 2 to a power; each part is a product of a few rounded factors


def densities(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return numbers of one-dimensional beta-Gaussians, one per row, and the errors of their grids.

    Column ``part`` names the number, ``alpha`` its order and ``at`` what it depends on: for ``density`` the point
    (scatter 1), for ``peak``, ``half-width`` and ``variance`` the scatter :math:`\sigma^2`, and for errors the step:
    ``mass`` that of :math:`h\sum p(x_i)` for the true density, ``sup`` that of the density found on the grid anywhere
    on the line, both the largest over phases and widths, and ``plain`` the latter for one grid on which entmax of the
    scores stands for the density, without the masses of the cells.
    """
    paper = scale != "quick"
    rows: list[tuple[str, float, float, Interval]] = []
    for alpha in (1.0, *NAMED, _FLAT):
        law = _law(1.0, alpha)
        reach = min(law.radius, 3.0)
        inner = reach * np.cos(np.linspace(0.0, np.pi, 163)[1:-1])  # dense where a power ends
        for x in sorted([*inner.tolist(), *(side * end for side in (-1.0, 1.0) for end in (1.0001 * reach, 3.0))]):
            value = float(law.density([x]))
            rows.append(
                ("density", alpha, x, Interval.within(value, _moved(np.array([value]), np.array([x]), law).item()))
            )
    smooth = (1.0 + np.geomspace(0.1, 1e3, 161 if paper else 81)).tolist()
    flat = [2.0**k for k in range(10, 21)]
    for scatter in SCATTERS:
        for alpha in sorted({*smooth, *NAMED, *flat}):
            rows += _shape(alpha, scatter)
    for alpha in NAMED:
        for k in range(3, (8 if alpha <= 2.0 else 11) + paper):
            found = _errors(alpha, 2.0**-k)
            rows += [(part, alpha, 2.0**-k, error) for part, error in found.items()]
    for h in (2.0, 1.5, 1.0, 0.8, 0.4):
        rows.append(("mass", 1.0, h, _mass_error(_law(1.0, 1.0), h * np.arange(-40.0, 41.0), h)))
    names, orders, at, values = zip(*rows, strict=True)
    return Table(
        Kind.NUMERIC,
        dict.fromkeys(("part", "alpha", "at", "value"), "1"),
        {"part": names, "alpha": orders, "at": at, "value": values},
    )


def _law(scatter: float, alpha: float) -> BetaGaussian:
    return BetaGaussian(np.zeros(1), np.array([[scatter]]), alpha)


def _moved(p: Array, x: Array, law: BetaGaussian) -> Array:
    """Bound what the roundings of its base can do to a density, most at an edge where the power is steep."""
    e = law.alpha - 1.0
    if e == 0.0:
        return np.asarray(_ROUNDINGS * U * p)
    high = math.exp(e * law.log_peak)
    base = high - 0.5 * e * x**2 / law.scatter.item()
    slip = _ROUNDINGS * U * high
    low, top = (np.maximum(base + side * slip, 0.0) ** (1.0 / e) for side in (-1.0, 1.0))
    return np.asarray(np.maximum(top - p, p - low))


def _shape(alpha: float, scatter: float) -> list[tuple[str, float, float, Interval]]:
    law = _law(scatter, alpha)
    numbers = {
        "peak": float(law.density([0.0])),
        "half-width": law.radius * math.sqrt(scatter),
        "variance": law.covariance().item(),
    }
    return [(name, alpha, scatter, Interval.within(x, _ROUNDINGS * U * x)) for name, x in numbers.items()]


def _errors(alpha: float, h: float) -> dict[str, Interval]:
    """Return the largest errors over phases and widths at one step."""
    unit = _law(1.0, alpha)
    found: dict[str, list[Interval]] = {"mass": [], "sup": [], "plain": []}
    for j in range(_WIDTHS):
        a = _HALF_WIDTH + h * (j + 0.25) / _WIDTHS
        # the half-width goes like the scatter to the power b / (2 b + 1)
        law = _law((a / unit.radius) ** (alpha + 1.0), alpha)
        for i in range(_PHASES):
            nodes: Array = h * (np.arange(-2.0 / h, 2.0 / h) + i / _PHASES)
            found["mass"].append(_mass_error(law, nodes, h))
            found["sup"].append(_sup_error(law, nodes, h, h))
            if i == j == 0:
                found["plain"].append(_sup_error(law, nodes, h, 1.0))
    return {name: Interval.largest(errors) for name, errors in found.items()}


def _mass_error(law: BetaGaussian, nodes: Array, h: float) -> Interval:
    p = law.density(nodes[:, np.newaxis])
    return abs(h * total(p, _moved(p, nodes, law)) - 1)


def _sup_error(law: BetaGaussian, nodes: Array, h: float, measure: float) -> Interval:
    """Enclose the largest error of the density rebuilt from the cells, over the whole line.

    With an exponent of at least one it is at the peak, otherwise where the narrower of both supports ends.
    """
    scatter = law.scatter.item()
    e = law.alpha - 1.0
    cells = density_on_cells(-0.5 * nodes**2 / scatter, np.full(nodes.size, measure), law.alpha)
    edge = math.sqrt(max(2.0 * scatter * (1.0 / e - cells.normaliser), 0.0))
    x = np.array([0.0, law.radius * math.sqrt(scatter), edge])
    rebuilt = density_at(-0.5 * x**2 / scatter, cells.normaliser, law.alpha) * (measure / h)
    truth = law.density(x[:, np.newaxis])
    apart = np.abs(rebuilt - truth)
    power = max(e, 1.0)  # for b < 1 the base carries the rounding, otherwise the density itself
    base = float((apart**power).max())
    slip = _ROUNDINGS * U * (1.0 + float(rebuilt.max() ** power))
    return Interval(*(max(base + side * slip, 0.0) ** (1.0 / power) for side in (-1.0, 1.0)))
