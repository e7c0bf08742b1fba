r"""How much attention on a ball stretches small displacements, in three metrics, for growing :math:`\alpha`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.attention import DotProduct, Measure
from theory.evidence import Interval, Kind, Table, coarse, first_best, stream
from theory.lipschitz.jacobian import block_jacobian
from theory.lipschitz.response import Push, response_ratio
from theory.lipschitz.search.rounded import round_displacement, round_form, round_points
from theory.lipschitz.witnesses import balanced_query, far_atom, straining_mass

Array = NDArray[np.float64]
METRICS = {"W1": 1.0, "W2": 2.0, "Winf": math.inf}
LIGHT = 2.0**-40  # taken: the mass of the atom that is pushed in W1, in units of exp(-2 alpha)
_ANGLES = 16  # taken: directions that are tried in the plane
_GAIN = 1e-9  # taken: a step uphill gains at least this part; less could be rounding, which each machine does its way
_FLOOR = 1e-12  # taken: masses below are raised to it, before anything is computed


class _Cloud(NamedTuple):
    points: Array
    masses: Array
    form: Array


def tightness(*, scale: str, root: int) -> Table:
    """Return stretches of small displacements on the ball of radius one, forms of norm alpha, no value matrix.

    ``way`` is ``witness`` for the named cloud of the metric, ``random`` for the worst of many clouds of two to five
    atoms in one or two dimensions, and ``climbed`` for three atoms on the line that were moved uphill. The latter were
    found in floats and rounded to few bits; ``stretch`` is what ball arithmetic says of them.
    """
    alphas = [2.0**k for k in range(-4, 3)] if scale == "quick" else [2.0 ** (k / 2) for k in range(-8, 6) if k != 3]
    alphas = sorted({*alphas, 3.0})  # three stands in for its neighbour, the root of eight
    draws, steps = (24, 120) if scale == "quick" else (250, 400)
    columns: dict[str, list[object]] = {key: [] for key in ("metric", "way", "alpha", "stretch")}
    for case, alpha in enumerate(alphas):
        rng = stream("lipschitz.tightness", case, root=root)
        clouds = [_random(alpha, rng) for _ in range(draws)]
        for metric, p in METRICS.items():
            pushes = {
                "witness": witness(alpha, metric),
                "random": _best([steepest(cloud, p) for cloud in clouds], alpha, p),
                "climbed": _best([_climb(sign * alpha, p, steps, rng) for sign in (-1.0, 1.0)], alpha, p),
            }
            for way, push in pushes.items():
                for key, cell in zip(columns, (metric, way, alpha, response_ratio(push, p)), strict=True):
                    columns[key].append(cell)
    return Table(Kind.CERTIFIED, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]


def _best(found: Sequence[tuple[float, Push]], alpha: float, p: float) -> Push:
    """Return the witness of the first push that stretches most, the same on every machine."""
    push = found[first_best([stretch for stretch, _ in found])][1]
    masses = coarse(push.masses)
    velocities = round_displacement(push.velocities, masses, p)
    return Push(round_points(push.points, 1.0), velocities, masses, round_form(push.form, alpha))


def witness(alpha: float, metric: str) -> Push:
    """Return the named cloud of a metric: a light far atom, one of the straining mass, or the balanced query."""
    if metric == "Winf":
        return balanced_query(alpha)
    return far_atom(alpha, LIGHT * math.exp(-2.0 * alpha) if metric == "W1" else straining_mass(alpha))


def steepest(cloud: tuple[Array, Array, Array], p: float) -> tuple[float, Push]:
    """Return the largest stretch of a cloud (points, masses, form) that is found in floats, and its displacement."""
    points, masses, form = cloud
    n, d = points.shape
    blocks = block_jacobian(Measure(points, masses), DotProduct(form=form))  # (n, n, d, d)
    if p == 2.0:
        root = np.repeat(np.sqrt(masses), d)
        flat = blocks.transpose(0, 2, 1, 3).reshape(n * d, n * d)
        _, values, rows = np.linalg.svd(root[:, np.newaxis] * flat / root)
        return float(values[0]), Push(points, (rows[0] / root).reshape(n, d), masses, form)
    angles = np.pi * np.arange(_ANGLES) / _ANGLES
    units = np.ones((1, 1)) if d == 1 else np.stack([np.cos(angles), np.sin(angles)], axis=1)
    velocities = np.zeros((n, d))
    if p == 1.0:
        answers = np.linalg.norm(np.einsum("ijab,kb->ijka", blocks, units), axis=3)
        gains = np.einsum("i,ijk->jk", masses, answers) / masses[:, np.newaxis]
        atom, way = np.unravel_index(first_best(gains.ravel()), gains.shape)
        velocities[atom] = units[way]
        return float(gains[atom, way]), Push(points, velocities, masses, form)
    rows = np.einsum("ijab,ka->ikjb", blocks, units)
    lengths = np.linalg.norm(rows, axis=3)
    sums = lengths.sum(axis=2)
    atom, way = np.unravel_index(first_best(sums.ravel()), sums.shape)
    velocities = rows[atom, way] / np.maximum(lengths[atom, way], 1e-300)[:, np.newaxis]
    return float(sums[atom, way]), Push(points, velocities, masses, form)


def _random(alpha: float, rng: np.random.Generator) -> _Cloud:
    """Draw two to five atoms in the unit ball of one or two dimensions, and a form of norm alpha."""
    n, d = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    directions = rng.normal(size=(n, d))
    radii = np.minimum(rng.uniform(0.0, 1.5, size=(n, 1)), 1.0)
    points = radii * directions / np.linalg.norm(directions, axis=1, keepdims=True) * (1.0 - 2.0**-40)
    turn = rng.uniform(0.0, 2.0 * np.pi)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    second = np.diag([1.0, rng.uniform(-1.0, 1.0)])
    form = alpha * (1.0 - 2.0**-40) * (rotation @ second if d == 2 else np.array([[rng.choice([-1.0, 1.0])]]))
    return _Cloud(points, _floored(rng.dirichlet(np.full(n, 0.3))), form)


def _floored(masses: Array) -> Array:
    raised = np.maximum(masses, _FLOOR)
    return np.asarray(raised / raised.sum())


def _climb(slope: float, p: float, steps: int, rng: np.random.Generator) -> tuple[float, Push]:
    """Move three atoms of [-1, 1] uphill by random steps that shrink when they fail."""

    def cloud(at: Array) -> _Cloud:
        masses = np.exp(at[3:] - at[3:].max())
        return _Cloud(np.tanh(at[:3])[:, np.newaxis], _floored(masses / masses.sum()), np.array([[slope]]))

    at = rng.normal(size=6)
    size = 1.0
    best = steepest(cloud(at), p)
    for _ in range(steps):
        there = at + size * rng.normal(size=6) * (rng.uniform(size=6) < 0.5)
        found = steepest(cloud(there), p)
        higher = found[0] > best[0] * (1.0 + _GAIN)
        size = max(size * (1.3 if higher else 0.95), 1e-3)
        if higher:
            at, best = there, found
    return best


def stretches(table: Table, metric: str, way: str) -> tuple[Array, list[Interval]]:
    """Return alphas in rising order and the stretches there, of one metric and one way."""
    part = table.where(metric=metric, way=way)
    order = np.argsort(part["alpha"])
    found = part.intervals("stretch")
    return part["alpha"][order], [found[k] for k in order.tolist()]
