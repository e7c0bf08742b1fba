r"""The semigroup :math:`e^{tL}` of the drift-diffusion in a learned metric, on the plane of the two moons.

.. math:: Lh = \frac1w\,\partial_i\big(w\,(M^{-1})^{ij}\,\partial_jh\big), \qquad w = \frac{p^2}{\sqrt{\det M}} .

Bilinear elements on squares, with the masses at the corners, and no flux through the rim; the exponential by a contour
around the spectrum, which costs a few linear solves however stiff the problem is.

References
----------
L. Trefethen, J. Weideman, T. Schmelzer, *Talbot quadratures and rational approximations*, BIT 46 (2006), 653-670.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from theory._validate import as_instance, as_points, as_positive
from theory.metric.plane.arcs import Change, MoonsLaw
from theory.metric.plane.chart import Chart

Array = NDArray[np.float64]
_RIM = 4.5  # taken: standard deviations of the noise around the moons; beyond, a share of 1e-5 of the points
_COARSEST = 0.5  # taken: of the spacing
_FINEST = 1e-2  # taken: a mesh of a million corners
_CONTOUR = 16  # nodes: an error of 1e-11


def semigroup_change(chart: Chart, law: MoonsLaw, x: ArrayLike, time: float, *, spacing: float = 0.05) -> Change:
    """Return what the semigroup adds to points (n, 2), for h the identity of the plane.

    Parameters
    ----------
    chart : Composed
    law : Arcs
    x : array_like, shape (n, 2)
        Inside the rectangle within 4.5 standard deviations of the moons.
    time : float
        Positive.
    spacing : float, default 0.05
        Of the finer of two grids, in the unit of the plane; the other is twice as wide. What is returned is their
        extrapolation; the error of every point is the most that this changed at any, since at one it may change
        nothing by accident.

    Raises
    ------
    ValueError
        If a point is outside, or ``time`` or ``spacing`` is not positive.
    """
    points = as_points(x, "x", dim=2)
    time = as_positive(time, "time")
    spacing = as_positive(spacing, "spacing")
    as_instance(chart, "chart", Chart)
    as_instance(law, "law", MoonsLaw)
    if not spacing > _FINEST * law.noise:
        raise ValueError(f"spacing: expected more than {_FINEST:g} of the noise, got {spacing}")
    if not spacing <= _COARSEST:
        raise ValueError(f"spacing: expected at most {_COARSEST:g}, half the radius of a moon, got {spacing}")
    coarse, fine = (_flow(chart, law, points, time, h) for h in (2.0 * spacing, spacing))
    correction = (fine - coarse) / 3.0
    return Change(fine + correction, np.full(len(points), np.linalg.norm(correction, axis=1).max()))


def apply_semigroup(stiffness: sparse.csc_array, masses: Array, start: Array, time: float) -> Array:
    r"""Return :math:`e^{-tM^{-1}K}u` for a stiffness K, positive semidefinite, masses M, and columns u, (n, k)."""
    root = np.sqrt(masses)
    scaled = sparse.csc_array(sparse.diags_array(1.0 / root) @ stiffness @ sparse.diags_array(1.0 / root)) * time
    total = np.zeros_like(start)
    for theta in np.pi * np.arange(1, _CONTOUR, 2) / _CONTOUR:  # the other half is conjugate
        turn = 0.6407 * theta
        z = _CONTOUR * (0.5017 * theta / np.tan(turn) - 0.6122 + 0.2645j * theta)
        slope = _CONTOUR * (0.5017 / np.tan(turn) - 0.5017 * turn / np.sin(turn) ** 2 + 0.2645j)
        matrix = sparse.csc_array(scaled + z * sparse.eye_array(masses.size))
        solver = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        for k in range(start.shape[1]):
            total[:, k] += (np.exp(z) * slope * solver.solve((root * start[:, k]).astype(complex))).imag
    return np.asarray(2.0 / _CONTOUR * total / root[:, np.newaxis])


def _flow(chart: Chart, law: MoonsLaw, points: Array, time: float, h: float) -> Array:
    low, high = law.box + (_RIM - 3.0) * law.noise * np.array([[-1.0], [1.0]])
    if not ((points >= low) & (points <= high)).all():
        raise ValueError(f"x: expected points between {low.tolist()} and {high.tolist()}, got one outside")
    sides = np.ceil((high - low) / h).astype(int)
    ticks = [start + h * np.arange(n + 1) for start, n in zip(low, sides, strict=True)]
    corners = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    stiffness, masses = _assembled(chart, law, corners, sides, h)
    moved = apply_semigroup(stiffness, masses, corners, time) - corners
    at = np.minimum(((points - low) / h).astype(int), sides - 1)
    u, v = ((points - low) / h - at).T
    first = at[:, 0] * (sides[1] + 1) + at[:, 1]
    places = first[:, np.newaxis] + _offsets(sides)
    return np.asarray(np.einsum("nk,nki->ni", _shapes(u, v), moved[places]))


def _offsets(sides: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return the numbers of the corners of a square, relative to the first."""
    return np.array([0, 1, sides[1] + 1, sides[1] + 2])


def _shapes(u: Array, v: Array) -> Array:
    return np.stack([(1 - u) * (1 - v), (1 - u) * v, u * (1 - v), u * v], axis=-1)


def _assembled(
    chart: Chart, law: MoonsLaw, corners: Array, sides: NDArray[np.int_], h: float
) -> tuple[sparse.csc_array, Array]:
    """Return stiffness and masses, by Gauss's rule with four points in every square."""
    i, j = np.divmod(np.arange(sides[0] * sides[1]), sides[1])
    squares = (i * (sides[1] + 1) + j)[:, np.newaxis] + _offsets(sides)
    local, masses = np.zeros((len(squares), 4, 4)), np.zeros(len(corners))
    for u, v in 0.5 + np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)]) / np.sqrt(12.0):
        at = corners[squares[:, 0]] + h * np.array([u, v])
        metric = chart.metric(at)
        weight = 0.25 * h * h * law.density(at) ** 2 / np.sqrt(np.linalg.det(metric))
        slopes = np.array([[v - 1, u - 1], [-v, 1 - u], [1 - v, -u], [v, u]]) / h
        local += np.einsum("n,ai,nij,bj->nab", weight, slopes, np.linalg.inv(metric), slopes, optimize=True)
        np.add.at(masses, squares, weight[:, np.newaxis] * _shapes(u, v))
    rows = np.repeat(squares, 4, axis=1)
    columns = np.tile(squares, (1, 4))
    shape = (len(corners), len(corners))
    return sparse.csc_array((local.ravel(), (rows.ravel(), columns.ravel())), shape=shape), masses
