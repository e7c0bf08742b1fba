r"""Heat flowing on a torus with any metric, by a solver that knows nothing of attention.

.. math:: \partial_th = \frac f{w\sqrt{|g|}}\,\partial_i\bigl(w\sqrt{|g|}\,g^{ij}\partial_jh\bigr)

for a metric g of the coordinates :math:`x \in [0, 2\pi)^d`, a weight w and a speed f, all of which may vary from place
to place: :math:`f\Delta_g` where w is constant, and :math:`\Delta_g + 2\langle\nabla\log p, \nabla\cdot\rangle_g` for
:math:`w = p^2, f = 1`.

By collocation on equidistant nodes, an odd number N in every direction, with the matrices of derivatives of
trigonometric polynomials (Trefethen 2000, chapter 3)

.. math:: D_{ij} = \frac{(-1)^{i-j}}{2\sin\frac{x_i - x_j}2},

and a method of SciPy's, of which the last step alone is read and nothing is interpolated: an implicit one for few
nodes, a Runge-Kutta method for many. Determinant and inverse of the metric are taken numerically, node by node. No
layer has a part in any of this: neither kernels nor transforms are shared.

References
----------
L. Trefethen, *Spectral Methods in MATLAB*, SIAM 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_count, as_points, as_positive
from theory.evidence import Intervals, Kind, as_intervals, within

Array = NDArray[np.float64]
Field = Callable[..., Any]  # from d arrays of coordinates that broadcast

_FEW = 256  # taken: nodes up to which systems are solved
_IMPLICIT = ("LSODA", 1e-12), ("Radau", 1e-8)  # taken: methods of both solutions, and what a step may be off
_EXPLICIT = ("DOP853", 1e-11), ("RK45", 1e-8)  # taken: the same
_TIMES = 2.0  # taken: how many times what both differ the finer one may be off; against matrix exponentials 0.4 or less
_MOST = 1 << 16  # taken: nodes
_SHORTEST = 1e-100  # taken: below, solvers do not know when they are done
_LONGEST = 3e4  # taken: of a time times the fastest rate, which a Runge-Kutta method follows step by step


def heat_flow(
    metric: Field, start: Field, time: float, places: ArrayLike, *, nodes: Sequence[int], weight: Field | None = None,
    speed: Field | None = None,
) -> Intervals:  # fmt: skip
    r"""Enclose the solution at a time.

    Parameters
    ----------
    metric : callable
        From d arrays of coordinates, in radians, that broadcast to the grid to d sequences of d numbers or arrays,
        :math:`g_{ij}`; symmetric and positive definite everywhere.
    start : callable
        h at time zero, from the same arrays; smooth.
    time : float
        Positive.
    places : array_like, shape (m, d)
        Where the solution is wanted.
    nodes : sequence of int
        Odd numbers N of nodes, at least 5, one for every direction. A second solution has about three quarters of them.
    weight, speed : callable, optional
        w and f, positive; one unless given.

    Returns
    -------
    Intervals, shape (m,)
        Of kind ``ESTIMATED``: twice the largest distance, over all nodes and places, to a second solution on fewer
        nodes, by another method with a larger tolerance. The distance at one place says nothing of the error there,
        since the two solutions cross somewhere.

    Raises
    ------
    ValueError
        If a number of nodes is even or too small, they are more than 65536, a field is not positive, a metric not
        symmetric and positive definite, the time so long that it takes more than some ten thousand steps, or the
        solution leaves float64.
    """
    chosen = _as_nodes(nodes)
    asked = as_points(places, "places", dim=len(chosen))
    end = as_positive(time, "time")
    if end < _SHORTEST:
        raise ValueError(f"time: expected at least {_SHORTEST}, got {end}")
    fields = _Fields(metric, start, weight, speed)
    fewer = tuple(max(3, 2 * (3 * n // 8) + 1) for n in chosen)
    first, second = _IMPLICIT if math.prod(chosen) <= _FEW else _EXPLICIT
    fine = _solve(fields, end, chosen, first)
    coarse = _solve(fields, end, fewer, second)
    found = _read(fine, asked, chosen)
    apart = np.abs(found - _read(coarse, asked, fewer)).max(initial=np.abs(fine - _refine(coarse, chosen)).max())
    return as_intervals(within(found, np.full(found.shape, _TIMES * apart), Kind.ESTIMATED))


class _Fields:
    """What the equation is made of, on any grid."""

    def __init__(self, metric: Field, start: Field, weight: Field | None, speed: Field | None) -> None:
        self._metric = as_callable(metric, "metric")
        self._start = as_callable(start, "start")
        self._weight = None if weight is None else as_callable(weight, "weight")
        self._speed = None if speed is None else as_callable(speed, "speed")

    def start(self, axes: Sequence[Array]) -> Array:
        shape = np.broadcast_shapes(*(x.shape for x in axes))
        found = np.array(np.broadcast_to(np.asarray(self._start(*axes), dtype=np.float64), shape))
        return _finite(found, "start")

    def equation(self, axes: Sequence[Array]) -> tuple[Array, Array]:
        r"""Return :math:`f/w\sqrt{|g|}`, and :math:`w\sqrt{|g|}g^{ij}` with the indices in front."""
        shape = np.broadcast_shapes(*(x.shape for x in axes))
        rows = [[np.broadcast_to(entry, shape) for entry in row] for row in self._metric(*axes)]
        d = len(axes)
        if len(rows) != d or any(len(row) != d for row in rows):
            raise ValueError(f"metric: expected {d} sequences of {d} entries, got {[len(row) for row in rows]}")
        g = _finite(np.moveaxis(np.array(rows, dtype=np.float64), (0, 1), (-2, -1)), "metric")
        if np.abs(g - np.swapaxes(g, -1, -2)).max() > 1e-12 * np.abs(g).max():
            raise ValueError("metric: expected a symmetric one, got one that is not")
        least = float(np.linalg.eigvalsh(g).min())
        if not least > 0.0:
            raise ValueError(f"metric: expected a positive definite one, got the eigenvalue {least}")
        volume = np.sqrt(np.linalg.det(g)) * _positive(self._weight, axes, "weight")
        flux = volume * np.moveaxis(np.linalg.inv(g), (-2, -1), (0, 1))
        return _positive(self._speed, axes, "speed") / volume, flux


def _solve(fields: _Fields, time: float, nodes: Sequence[int], how: tuple[str, float]) -> Array:
    """Return the solution at the nodes."""
    from scipy.integrate import solve_ivp  # noqa: PLC0415  slow to load

    lines = [2.0 * math.pi * np.arange(n) / n for n in nodes]
    axes = np.meshgrid(*lines, indexing="ij", sparse=True)
    h = fields.start(axes)
    before, flux = fields.equation(axes)
    slopes = [_derivative(n) for n in nodes]
    waves = 0.5 * np.array(nodes)
    fastest = float(np.abs(before * np.einsum("ij...,i,j->...", np.abs(flux), waves, waves)).max())
    if not time * fastest <= _LONGEST:
        raise ValueError(f"time: expected at most {_LONGEST / fastest} with the fastest rate {fastest}, got {time}")

    def change(_: float, values: Array) -> Array:
        current = values.reshape(h.shape)
        gradient = [_along(matrix, current, k) for k, matrix in enumerate(slopes)]
        total = np.zeros(h.shape)
        for i, matrix in enumerate(slopes):
            flow = sum(flux[i, j] * part for j, part in enumerate(gradient))
            total += _along(matrix, np.asarray(flow), i)
        return (before * total).ravel()

    method, tolerance = how
    size = float(np.abs(h).max())
    least = tolerance * max(size, 1e-300)
    rules: dict[str, Any] = {"method": method, "rtol": tolerance, "atol": least}
    if how in _IMPLICIT:
        matrix = np.stack([change(0.0, column) for column in np.eye(h.size)], axis=1)
        found = solve_ivp(lambda _, values: matrix @ values, (0.0, time), h.ravel(), jac=lambda *_: matrix, **rules)
    else:
        found = solve_ivp(change, (0.0, time), h.ravel(), **rules)
    if not found.success or not np.isfinite(found.y).all():
        raise ValueError(f"time: expected one that the solver reaches, got {time}: {found.message}")
    return np.asarray(found.y[:, -1].reshape(h.shape))


def _derivative(n: int) -> Array:
    """Return the matrix that differentiates trigonometric polynomials on an odd number of nodes."""
    apart = np.arange(n)[:, np.newaxis] - np.arange(n)
    off = np.where(apart == 0, 1, apart)
    signs = np.where(apart % 2 == 0, 1.0, -1.0)
    return np.where(apart == 0, 0.0, 0.5 * signs / np.sin(math.pi * off / n))


def _along(matrix: Array, values: Array, axis: int) -> Array:
    """Apply a matrix along an axis."""
    return np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)


def _read(values: Array, places: Array, nodes: Sequence[int]) -> Array:
    """Evaluate the trigonometric interpolant at places."""
    found = np.broadcast_to(values, (len(places), *values.shape))
    for k, n in enumerate(nodes):
        found = np.einsum("mi,mi...->m...", _cardinal(places[:, k], n), found)
    return np.asarray(found)


def _refine(values: Array, nodes: Sequence[int]) -> Array:
    """Evaluate the trigonometric interpolant on another grid."""
    found = values
    for k, n in enumerate(nodes):
        found = _along(_cardinal(2.0 * math.pi * np.arange(n) / n, values.shape[k]), found, k)
    return found


def _cardinal(x: Array, n: int) -> Array:
    r"""Return :math:`\frac{\sin(nx/2)}{n\sin(x/2)}` of the distances of places from n nodes."""
    half = 0.5 * (x[:, np.newaxis] - 2.0 * math.pi * np.arange(n) / n)
    below = np.sin(half)
    there = np.abs(below) < 1e-12
    return np.asarray(np.where(there, np.cos((n - 1) * half), np.sin(n * half) / (n * np.where(there, 1.0, below))))


def _positive(field: Field | None, axes: Sequence[Array], name: str) -> Array:
    if field is None:
        return np.ones((1,) * len(axes))
    values = _finite(np.asarray(field(*axes), dtype=np.float64), name)
    if not values.min() > 0.0:
        raise ValueError(f"{name}: expected positive numbers, got {values.min()}")
    return values


def _finite(values: Array, name: str) -> Array:
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: expected finite numbers, got others")
    return values


def _as_nodes(nodes: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(nodes, (list, tuple)):
        raise TypeError(f"nodes: expected a sequence of integers, got {type(nodes).__name__}")
    chosen = tuple(as_count(n, "nodes", least=5) for n in nodes)
    if not chosen or any(n % 2 == 0 for n in chosen) or math.prod(chosen) > _MOST:
        raise ValueError(f"nodes: expected odd numbers of which the product is at most {_MOST}, got {chosen}")
    return chosen
