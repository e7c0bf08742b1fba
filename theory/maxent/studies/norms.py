"""Operator norms of the Jacobian of softmax along two families of laws that come to their suprema."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import gamma
from theory.maxent.gibbs.norms import _SPECTRAL, Norms, induced_norms, softmax_norms
from theory.maxent.gibbs.softmax import softmax_jacobian

NAMES = Norms._fields


def norms_of(law: NDArray[np.float64]) -> dict[str, tuple[Interval, Interval]]:
    """Return, by name, the norm by going through extreme points of the Jacobian and the one in closed form.

    Every entry of the Jacobian is a product of weights, or a sum of n of them without cancellation, and no norm exceeds
    the sum of the absolute entries.
    """
    jacobian = softmax_jacobian(law)
    size = float(np.abs(jacobian).sum())
    enclosed = {}
    for name, extreme, closed in zip(NAMES, induced_norms(jacobian), softmax_norms(law), strict=True):
        error = gamma(4 * law.size + 16 + _SPECTRAL * (name == "two_two")) * size
        enclosed[name] = Interval.within(extreme, error), Interval.within(closed, error)
    return enclosed


def operator_norms(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return the nine norms at (p, 1 - p) for p from 1/32 to 31/32, and at (1/2, 1/2 - eps, eps) for eps from 1/4 down.

    ``weight`` is p, or eps, halved from row to row; ``extreme`` is the norm by extreme points of the ball, ``closed``
    the closed form.
    """
    laws = [(2, k / 32, np.array([k / 32, 1.0 - k / 32])) for k in range(1, 32)]
    levels = 11 if scale == "quick" else 17
    laws += [(3, 2.0**-k, np.array([0.5, 0.5 - 2.0**-k, 2.0**-k])) for k in range(2, 2 + levels)]
    columns: dict[str, list[object]] = {key: [] for key in ("n", "weight", "norm", "extreme", "closed")}
    for n, weight, law in laws:
        for name, (extreme, closed) in norms_of(law).items():
            for key, value in zip(columns, (n, weight, name, extreme, closed), strict=True):
                columns[key].append(value)
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]
