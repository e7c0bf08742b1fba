"""Eigenvalues at consensus and at twisted states of a ring, enclosed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, Table
from theory.particles.dynamics.graph import ring, twisted_balls
from theory.particles.exact.spectra import spectrum, sphere_jacobian

BETAS = (0.0, 1.0, 3.0, 6.0)
FORM = np.diag([1.0, -2.0, 3.0])
TWISTED = ((10, 1, 0.0), (10, 2, 0.0), (10, 3, 0.0), (5, 1, 0.0), (3, 1, 0.0), (10, 1, 1.0), (10, 1, 4.0), (12, 2, 0.5))


def eigenvalues(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return all eigenvalues of some linearisations, in increasing order.

    ``way`` is SA or USA at consensus of five tokens on the sphere, ``causal`` for six with scores
    :math:`\langle x, By\rangle` at consensus, or ``ring`` for the twisted state of ``winding`` of ``n`` tokens under
    the kernel :math:`e^{\beta s}`, on the circle and on the sphere.
    """
    columns: dict[str, list[Any]] = {key: [] for key in ("way", "n", "d", "beta", "winding", "number", "value")}
    for *case, found in _found(scale):
        for number, value in enumerate(found):
            for key, cell in zip(columns, (*case, number, value), strict=True):
                columns[key].append(cell)
    return Table(Kind.CERTIFIED, dict.fromkeys(columns, "1"), columns)


def _found(scale: str) -> Iterator[tuple[str, int, int, float, int, list[Interval]]]:
    five, six = (np.tile(np.eye(3)[0], (n, 1)) for n in (5, 6))
    for beta in BETAS:
        for way in ("SA", "USA"):
            yield way, 5, 3, beta, 0, spectrum(sphere_jacobian(five, beta=beta, normalised=way == "SA"))
    yield "causal", 6, 3, 1.0, 0, spectrum(sphere_jacobian(six, form=FORM, causal=True))
    more = [(n, q, b) for n in (7, 13) for q in range(1, n) for b in (0.0, 2.0)] if scale == "paper" else []
    for n, winding, beta in (*TWISTED, *more):
        for d in (2, 3):
            tokens = twisted_balls(n, winding, d)
            jacobian = sphere_jacobian(tokens, beta=beta, adjacency=ring(n), normalised=False)
            yield "ring", n, d, beta, winding, spectrum(jacobian)
