"""Tokens that form clusters on the circle and on the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Kind, Table, stream
from theory.evidence.roundoff import U
from theory.particles.dynamics.fields import on_sphere
from theory.particles.dynamics.flows import flow

Array = NDArray[np.float64]
BETAS = (1.0, 9.0, 81.0)
STILLS = (0.0, 3.0, 9.0, 27.0)
CLUSTER_RTOL, CLUSTER_ATOL = 1e-5, 1e-7  # taken: what a picture needs
_DECIMALS = 6  # taken: what a picture needs; intervals are rounded outward to it


def clusters(*, scale: str, root: int) -> Table:
    r"""Return tokens under attention (SA) at four times, from the same random start for every :math:`\beta`.

    ``d`` is 2 on the circle and 3 on the sphere; ``x``, ``y`` and ``z`` are coordinates of unit tokens.
    """
    n = 200 if scale == "quick" else 1000
    columns: dict[str, list[Array]] = {key: [] for key in ("d", "beta", "time", "x.lo", "x.hi", "y.lo", "y.hi")}
    columns |= {"z.lo": [], "z.hi": []}
    for d in (2, 3):
        start = stream("particles.clusters", d, root=root).normal(size=(n, d))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        for beta in BETAS:
            path = flow(on_sphere(beta), start, STILLS, rtol=CLUSTER_RTOL, atol=CLUSTER_ATOL)
            error = 2.0 * np.abs(path.states - path.coarse) + 2 * U * path.evaluations
            for time, state, width in zip(STILLS, path.states, error, strict=True):
                whole = [np.pad(found, ((0, 0), (0, 3 - d))) for found in (state - width, state + width)]
                cells: list[Any] = [np.full(n, d), np.full(n, beta), np.full(n, time)]
                for axis in range(3):
                    cells += [_rounded(whole[0][:, axis], np.floor), _rounded(whole[1][:, axis], np.ceil)]
                for key, cell in zip(columns, cells, strict=True):
                    columns[key].append(cell)
    joined = {key: np.concatenate(parts) for key, parts in columns.items()}
    return Table(Kind.ESTIMATED, dict.fromkeys(joined, "1"), joined)


def _rounded(values: Array, way: Any) -> Array:
    """Round outward to a few decimals, so that a table is short."""
    ten: Array = way(values * 10.0**_DECIMALS) / 10.0**_DECIMALS
    return np.round(ten, _DECIMALS)
