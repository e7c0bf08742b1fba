r"""Covariances of Gaussians under attention in three normalisations, in the plane and on the line.

In the plane the value matrix is one and the scores share their cross term: :math:`\langle Ax, y\rangle` for softmax and
Sinkhorn, :math:`-|Kx - Ky|^2` with :math:`2K^\top K = A` for the distance. On the line the value is v, and the scores
are :math:`\alpha xy` and :math:`-(qx - ky)^2`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.particles.dynamics.flows import flow
from theory.particles.mean_field.gaussian import (
    Closure,
    DistanceClosure,
    SinkhornClosure,
    SoftmaxClosure,
    log_variance_field,
    moment_field,
)

Array = NDArray[np.float64]
KEY = np.array([[1.0, 0.25], [0.25, 0.5]])  # symmetric, so that A has the root KEY times that of two
FORM = 2.0 * KEY @ KEY  # exact
SKEW = np.array([[0.0, 0.75], [-0.75, 0.0]])
START = np.array([[0.5, -0.25], [-0.25, 0.75]])
BEFORE = (
    0.0,
    0.125,
    0.25,
    0.375,
    0.4375,
    0.5,
    0.53125,
    0.546875,
)  # times at which the softmax covariance is still finite
AFTER = (0.625, 0.75, 0.875, 1.0, 1.25, 1.5)
_ENTRIES = {"xx": (0, 0), "xy": (0, 1), "yy": (1, 1)}

GROWING = (  # kernel, value, two parameters of the score (alpha and nothing, or q and k), variance at the start
    ("softmax", 1.0, 1.0, 0.0, 0.25), ("softmax", 0.5, 4.0, 0.0, 0.25), ("softmax", 2.0, 0.5, 0.0, 0.25),
    ("distance", 1.0, 0.7, 1.3, 0.25), ("distance", 0.5, 1.3, 0.7, 0.25), ("distance", 1.0, 1.0, 1.0, 0.25),
    ("sinkhorn", 1.0, 0.5, 0.0, 0.25), ("sinkhorn", 1.0, 1.0, 0.0, 0.25), ("sinkhorn", 1.0, 4.0, 0.0, 0.25),
    ("sinkhorn", 0.5, 1.0, 0.0, 0.25),
)  # fmt: skip
SHRINKING = (("softmax", 1.0, -1.0, 0.0, 1.0), ("sinkhorn", 1.0, -1.0, 0.0, 1.0), ("sinkhorn", 0.5, -3.0, 0.0, 2.0))


def gaussian_ellipses(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn, all sizes are small
    r"""Return covariances in the plane at given times.

    ``kernel`` is softmax, distance or sinkhorn; ``form`` is ``symmetric`` for :math:`A` and ``skew`` if an
    antisymmetric part is added; ``xx``, ``xy`` and ``yy`` are the entries of the covariance at the time ``t``.
    """
    columns: dict[str, list[object]] = {name: [] for name in ("kernel", "form", "t", *_ENTRIES)}
    runs: list[tuple[str, str, Closure, Sequence[float]]] = [
        ("softmax", "symmetric", SoftmaxClosure(FORM), BEFORE),
        ("distance", "symmetric", DistanceClosure(KEY, KEY), BEFORE + AFTER),
        ("sinkhorn", "symmetric", SinkhornClosure(FORM), BEFORE + AFTER),
        ("softmax", "skew", SoftmaxClosure(FORM + SKEW), BEFORE),
        ("distance", "skew", DistanceClosure(KEY + KEY @ np.linalg.inv(FORM) @ SKEW, KEY), BEFORE),
        ("sinkhorn", "skew", SinkhornClosure(FORM + SKEW), BEFORE),
    ]
    for kernel, form, closure, times in runs:
        path = flow(moment_field(closure), np.column_stack([np.zeros(2), START]), times)
        found = {name: path.observe(_entry(*at)) for name, at in _ENTRIES.items()}
        for k, t in enumerate(times):
            cells = (kernel, form, t, *(found[name][k] for name in _ENTRIES))
            for name, cell in zip(columns, cells, strict=True):
                columns[name].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]


def _entry(i: int, j: int) -> Callable[[Array], float]:
    """Return the function that reads an entry of the covariance."""
    return lambda state: float(state[i, 1 + j])


def gaussian_growth(*, scale: str, root: int) -> Table:  # noqa: ARG001  as above
    """Return variances on the line.

    ``kernel``, ``value``, ``first``, ``second`` and ``start`` are the system, ``t`` the time and ``log`` the logarithm
    of the variance at it. Where it blows up, the logarithm is what is given and the time is what is measured: that at
    which the variance is ``level`` times doubled. Otherwise the time doubles from level to level.
    """
    columns: dict[str, list[object]] = {
        name: [] for name in ("kernel", "value", "first", "second", "start", "level", "t", "log")
    }
    doublings = 6 if scale == "quick" else 8
    for system in (*GROWING, *SHRINKING):
        kernel, _, first, _, start = system
        if kernel == "softmax" and first > 0.0:
            levels = list(range(13))
            times, logs = _passages(closure_of(*system[:4]), start, levels)
        else:
            levels = list(range(-4, doublings if first > 0.0 else doublings + 8))
            logs = _logs(closure_of(*system[:4]), start, [2.0**k for k in levels])
            times = [Interval.exactly(2.0**k) for k in levels]
        for level, t, log in zip(levels, times, logs, strict=True):
            for name, cell in zip(columns, (*system, level, t, log), strict=True):
                columns[name].append(cell)
    return Table(Kind.ESTIMATED, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]


def closure_of(kernel: str, value: float, first: float, second: float) -> Closure:
    """Return a system on the line."""
    v, a, b = (np.array([[number]]) for number in (value, first, second))
    if kernel == "distance":
        return DistanceClosure(a, b, v)
    return SoftmaxClosure(a, v) if kernel == "softmax" else SinkhornClosure(a, v)


def _logs(closure: Closure, start: float, times: list[float]) -> list[Interval]:
    """Return the logarithm of the variance at given times."""
    path = flow(log_variance_field(closure), math.log(start), [0.0, *times])
    return path.observe(float)[1:]


def _passages(closure: Closure, start: float, levels: list[int]) -> tuple[list[Interval], list[Interval]]:
    """Return when the variance has doubled so many times: the logarithm takes the place of time."""
    rate = log_variance_field(closure)
    first = math.log(start)

    def velocity(state: Array) -> Array:
        return np.array([1.0, 1.0 / float(rate(state[0]))])

    logs = [first + level * math.log(2.0) for level in levels]
    path = flow(velocity, [first, 0.0], logs)
    off = 8 * math.ulp(max(abs(log) for log in logs))
    return path.observe(lambda state: float(state[1])), [Interval.within(log, off) for log in logs]
