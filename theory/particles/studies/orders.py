"""Runge-Kutta methods on problems with known solutions, at steps of half the length each."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import gamma
from theory.particles.dynamics.circle import CircleField
from theory.particles.dynamics.fields import Overlap, SoftmaxField, on_sphere
from theory.particles.dynamics.manufactured import Manufactured
from theory.particles.dynamics.perturbation import Stability, rounding, stability
from theory.particles.dynamics.runge_kutta import METHODS, SPHERE, Method, integrate

Array = NDArray[np.float64]
END, FEWEST = 1.0, 4
COARSEST = {"Euler": 32, "Heun": 16, "Kutta": 16, "Butcher": 8}
LEVELS = {"Euler": 6, "Heun": 6, "Kutta": 5, "Butcher": 4}  # at paper scale: until rounding is seen
_SEEN = 17  # points of the path at which the Jacobian is taken
_NEAR = 1.25  # taken: what is near the path is no larger than this many times what is on it
_OPERATIONS = 64  # taken: roundings behind a velocity of at most five tokens, force included


def _eighths(*rows: tuple[int, ...]) -> Array:
    return np.array(rows) / 8.0


PROBLEMS = {
    "plane": Manufactured(
        SoftmaxField(Overlap(1.0), value=_eighths((4, -6), (6, 4)), weights=np.array([1.0, 2.0, 3.0])),
        _eighths((6, 0), (-3, 5), (-2, -6)), _eighths((0, 4), (9, 2), (5, 16)), 0.5, 12.0,
    ),
    "circle": Manufactured(
        CircleField(3.0),
        _eighths((0,), (5,), (13,), (24,), (37,)), _eighths((5,), (0,), (7,), (11,), (18,)), 0.5, 10.0,
    ),
    "sphere": Manufactured(
        on_sphere(2.0), _eighths((8, 0, 2), (-3, 7, 1), (0, -5, 6), (4, 4, -7)),
        _eighths((0, 4, 9), (7, 1, 12), (3, 16, 5), (10, 6, 2)), 0.25, 8.0, SPHERE,
    ),
}  # fmt: skip
OBSERVED = {"plane": (1, 1), "circle": (0, 0), "sphere": (0, 0)}  # token and coordinate


def orders(*, scale: str, root: int, methods: tuple[Method, ...] = METHODS) -> Table:  # noqa: ARG001  nothing is drawn
    """Return one coordinate of one token, ``OBSERVED``, after one unit of time.

    ``problem`` names the forced field, ``method`` the tableau, ``steps`` the number of steps; ``value`` is known up to
    the rounding of the run.
    """
    columns: dict[str, list[Any]] = {key: [] for key in ("problem", "method", "steps", "value")}
    for name, problem in PROBLEMS.items():
        stable, size, speed = _seen(name)
        forced = partial(_forced, name)
        for method in methods:
            for level in range(FEWEST if scale == "quick" else LEVELS[method.name]):
                steps = COARSEST[method.name] * 2**level
                run = {"step": END / steps, "steps": steps, "method": method}
                end = integrate(forced, problem.path(0.0), space=problem.space, time=0.0, **run)
                error = rounding(**run, stable=stable, size=size, speed=speed, relative=gamma(_OPERATIONS))
                cells = (name, method.name, steps, Interval.within(float(end[OBSERVED[name]]), error))
                for key, cell in zip(columns, cells, strict=True):
                    columns[key].append(cell)
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), columns)


def _forced(name: str, t: float, x: Array) -> Array:
    velocity: Array = PROBLEMS[name].field(x) + _force(name, t)
    return velocity


@cache
def _force(name: str, t: float) -> Array:
    """Return the force of a problem, which methods ask for at the same times over and over."""
    return PROBLEMS[name].force(t)


@cache
def _seen(name: str) -> tuple[Stability, float, float]:
    """Return how the path of a problem answers to disturbances, and the norms of states and velocities near it."""
    problem = PROBLEMS[name]
    times = np.linspace(0.0, END, _SEEN).tolist()
    states = [problem.path(t) for t in times]
    fields = [partial(problem, t) for t in times]
    parts = [(problem.velocity(t), problem.field(x)) for t, x in zip(times, states, strict=True)]
    speed = max(float(np.linalg.norm(v)) + 2.0 * float(np.linalg.norm(f)) for v, f in parts)
    stable = stability(fields, states, END / (_SEEN - 1), problem.space)
    return stable, _NEAR * max(float(np.linalg.norm(x)) for x in states), _NEAR * speed
