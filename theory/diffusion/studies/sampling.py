r"""One layer over independent tokens of the circle and the torus: laws without a draw, and what draws make of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.attention import rounding
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal, propagate
from theory.diffusion.limits.sampling import SampledOutput, chordal_output, draw_angles
from theory.evidence import Interval, Intervals, Kind, Table, exact, run_mean, stream, sweep, within
from theory.evidence.roundoff import U, gamma

Array = NDArray[np.float64]
Row = tuple[str, int, int, float, int, float, Interval]
SAMPLED_DENSITIES = {
    1: (CircleDensity(np.array([0.5, 0.0]), np.array([0.0, 0.2]), logarithmic=False),),
    2: tuple(CircleDensity(np.array([0.0]), np.array([b]), logarithmic=False) for b in (0.0, 0.4)),
}
"""of each angle"""
REGULAR_PLACE = {1: (1.0,), 2: (1.0, 0.75)}
CRITICAL_PLACE = {1: (0.5 * math.pi,), 2: (0.5 * math.pi, 0.5 * math.pi)}  # of the function
EPSILONS = {1: tuple(0.1 * 0.5**k for k in range(6)), 2: tuple(0.2 * 0.5**k for k in range(5))}
COUNTS = {1: (128, 400, 1280, 4096), 2: (256, 640, 1600, 4096)}
FAR = (4096, 16384, 65536, 262144, 1048576)
# where the other one varies
FIXED_TOKENS = 4096
FIXED_EPSILON = {1: 0.05, 2: 0.2}
FAR_EPSILON = 0.003125
# per axis
PLACES = {1: 16, 2: 4}
FAR_PLACES = 128
# of clouds
BATCHES = {"quick": 96, "paper": 256}
BATCH = 4
FAR_BATCHES, FAR_BATCH = 16, 2
LEVELS = 8
_FEW = 2**20  # of pairs; above, fast sums
_ACCURACY, _DIGITS = 1e-10, 9


def sampled_function(*x: Array) -> Array:
    """Return the function that is propagated, of one angle or of two."""
    if len(x) == 1:
        return np.asarray(np.sin(x[0]) - 0.25 * np.cos(2.0 * x[0]))
    return np.asarray(np.sin(x[0]) + 0.5 * np.sin(x[1]) + 0.25 * np.sin(x[0]) * np.sin(x[1]))


def sampled_places(d: int, *, far: bool = False) -> Array:
    """Return where the outputs over drawn tokens are read, shape (m, d)."""
    along = FAR_PLACES if far else PLACES[d]
    line = 2.0 * math.pi * (np.arange(along) + 0.5) / along
    return np.stack([axis.ravel() for axis in np.meshgrid(*[line] * d, indexing="ij")], axis=1)


def sampled_output(d: int, place: tuple[float, ...] | Array, epsilon: float, *, fine: float = 11.0) -> SampledOutput:
    """Return the output at a place over tokens of the density, with ``fine`` / pi nodes in a width of the kernel."""
    grid = PeriodicGrid((2 * math.ceil(fine / math.sqrt(epsilon)),) * d)
    density = math.prod((p(x) for p, x in zip(SAMPLED_DENSITIES[d], grid.axes, strict=True)), start=np.ones(grid.shape))
    return chordal_output(grid, density, np.broadcast_to(sampled_function(*grid.axes), grid.shape), place, epsilon)


def cloud(d: int, n: int, rng: np.random.Generator) -> Array:
    """Draw n tokens, shape (n, d)."""
    return np.stack([draw_angles(p, rng, n) for p in SAMPLED_DENSITIES[d]], axis=1)


def variances(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return :math:`\varepsilon^{-2}` times N times the variance at two places, by quadrature, for falling bandwidths.

    ``part`` is ``regular`` or ``critical``, where the function is flat.
    """
    return _table(_quadratures(), Kind.ESTIMATED)


def sampling(*, scale: str, root: int) -> Table:
    r"""Return the rows of :func:`variances`, and means and variances over draws.

    ``part`` is ``mean`` (of :math:`\hat P_\varepsilon h` at place number ``place``), or ``spread`` and ``far``: mean
    over the places of the variance within a batch of clouds, over :math:`\varepsilon^2`, one row for every batch.
    """
    rows = _quadratures()
    cases: list[dict[str, Any]] = []
    for d in (1, 2):
        plan = [(FIXED_TOKENS, epsilon) for epsilon in EPSILONS[d]]
        plan += [(n, FIXED_EPSILON[d]) for n in COUNTS[d] if n != FIXED_TOKENS]
        cases.append({"d": d, "plan": plan, "batches": BATCHES[scale], "size": BATCH, "part": "spread"})
    if scale == "paper":
        far = [(n, FAR_EPSILON) for n in FAR]
        cases.append({"d": 1, "plan": far, "batches": FAR_BATCHES, "size": FAR_BATCH, "part": "far"})
    for case, given in enumerate(cases):
        given["rng"] = stream("diffusion.sampled-clouds", case, root=root)
    found = [_drawn(**case) for case in cases] if scale == "quick" else sweep(_drawn, cases)
    rows += [row for some in found for row in some]
    return _table(rows, Kind.STATISTICAL)


def _table(rows: list[Row], kind: Kind) -> Table:
    names = ("part", "d", "n", "epsilon", "place", "batch", "value")
    return Table(kind, dict.fromkeys(names, "1"), dict(zip(names, zip(*rows, strict=True), strict=True)))


def _quadratures() -> list[Row]:
    rows: list[Row] = []
    for d in (1, 2):
        for part, place in (("regular", REGULAR_PLACE[d]), ("critical", CRITICAL_PLACE[d])):
            for level in range(LEVELS):
                epsilon = EPSILONS[d][0] * 0.5**level
                rows.append(
                    (part, d, 0, epsilon, 0, 0, sampled_output(d, place, epsilon).variance() / epsilon / epsilon)
                )
    return rows


def _drawn(
    d: int, plan: list[tuple[int, float]], batches: int, size: int, part: str, rng: np.random.Generator
) -> list[Row]:
    """Read every cloud at all its bandwidths, and its first tokens as smaller clouds."""
    queries = sampled_places(d, far=part == "far")
    runs = np.empty((batches * size, len(plan), queries.shape[0]))
    off = np.zeros(len(plan))
    for run in runs:
        keys = cloud(d, max(n for n, _ in plan), rng)
        values = sampled_function(*keys.T)
        for at, (n, epsilon) in enumerate(plan):
            run[at], error = _read(queries, keys[:n], values[:n], epsilon)
            off[at] = max(off[at], error)
    rows: list[Row] = []
    for at, (n, epsilon) in enumerate(plan):
        error = float(off[at])
        spreads = enclose_spreads(runs[:, at].reshape(batches, size, -1), error) / exact(epsilon) ** 2
        for batch, value in enumerate(spreads):
            rows.append((part, d, n, epsilon, 0, batch, Interval(value.lo, value.hi, Kind.STATISTICAL)))
        if part == "spread":
            for k, column in enumerate(runs[:, at].T):
                rows.append(("mean", d, n, epsilon, k, 0, run_mean(column, among=1000) + Interval(-error, error)))
    return rows


def _read(queries: Array, keys: Array, values: Array, epsilon: float) -> tuple[Array, float]:
    """Return the outputs, and how far off any of them may be."""
    score = chordal(epsilon)
    if queries.shape[0] * keys.shape[0] <= _FEW:
        error = rounding(queries, keys, values[:, np.newaxis], score=score)
        return propagate(queries, keys, values, epsilon, score=score), error
    found = propagate(queries, keys, values, epsilon, score=score, method="nufft", accuracy=_ACCURACY)
    error = 0.5 * 10.0**-_DIGITS + _ACCURACY * float(np.abs(values).max())
    return found.round(_DIGITS), error * (1.0 + 4.0 * U)  # threads of fast sums add in any order


def enclose_spreads(reads: Array, off: float) -> Intervals:
    r"""Enclose the mean over places of the variance among clouds, of every batch.

    Its root is a norm of what the reads are apart from their means, in which :math:`m` reads that are each off by at
    most :math:`\delta` are off by at most :math:`\delta\sqrt{m/(m - 1)}`. The means are rounded at the size of the
    reads.

    Parameters
    ----------
    reads : ndarray, shape (b, m, k)
        Of b batches of m clouds at k places.
    off : float
        Bound on the error of every read.

    Returns
    -------
    Intervals, shape (b,)
    """
    clouds, places = reads.shape[1:]
    computed = reads.var(axis=1, ddof=1).mean(axis=1)
    root = np.sqrt(within(computed, gamma(clouds + places + 8) * computed))
    slip = exact(off) + gamma(clouds + 1) * float(np.abs(reads).max())
    moved = float((slip * np.sqrt(exact(clouds / (clouds - 1.0) * (1.0 + 4.0 * U)))).hi)
    return np.maximum(root + Interval(-moved, moved), 0.0) ** 2  # type: ignore[no-any-return]
