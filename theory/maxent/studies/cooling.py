"""Softmax, entmax of order 3/2 and sparsemax of the same scores, from hot to cold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.evidence.roundoff import gamma
from theory.maxent.gibbs.principle import entropy, expectation, gibbs_law
from theory.maxent.sparse.sorting import entmax15, sparsemax

Array = NDArray[np.float64]
COOLED = (2.0, 1.75, 1.0, 0.25, 0.0, -1.0)
_MAPS = {"softmax": 1.0, "entmax 1.5": 1.5, "sparsemax": 2.0}
_STEPS = {"quick": 8, "paper": 20}  # per factor of two
_COLDEST = -6  # powers of two
_HOTTEST = 7


def cooling(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return Shannon entropy, size of the support and mean score of ``COOLED`` against temperature, per map.

    ``alone`` and ``whole`` are the temperatures of the map above which a second and the last score have weight, found
    by bisection; zero for softmax.
    """
    steps = _STEPS[scale]
    temperatures = (2.0 ** (np.arange(_COLDEST * steps, _HOTTEST * steps + 1) / steps)).tolist()
    names: list[str] = []
    orders: list[float] = []
    taus: list[float] = []
    support: list[int] = []
    entropies: list[Interval] = []
    means: list[Interval] = []
    alone: list[Interval] = []
    whole: list[Interval] = []
    for name, alpha in _MAPS.items():
        second, last = (_entrance(alpha, count) for count in (2, len(COOLED)))
        for tau in temperatures:
            alone.append(second)
            whole.append(last)
            law, error = _law(alpha, tau)
            names.append(name)
            orders.append(alpha)
            taus.append(tau)
            support.append(int(np.count_nonzero(law)))
            entropies.append(entropy(law) + Interval.within(0.0, _moved(law, error)))
            means.append(expectation(law, COOLED) + Interval.within(0.0, 2.0 * float(error @ np.abs(COOLED))))
    columns: dict[str, Any] = {"map": names, "alpha": orders, "tau": taus, "support": support}
    columns |= {"entropy": entropies, "mean": means, "alone": alone, "whole": whole}
    return Table(Kind.NUMERIC, dict.fromkeys(columns, "1") | {"entropy": "nats"}, columns)


def _law(alpha: float, tau: float) -> tuple[Array, Array]:
    """Return a law and a bound on the error of each weight."""
    if alpha == 1.0:
        law, relative = gibbs_law(COOLED, tau=tau)
        return law, relative * law
    sparse = entmax15 if alpha == 1.5 else sparsemax
    return sparse(COOLED, tau=tau), np.full(len(COOLED), gamma(2 * len(COOLED) + 16))


def _entrance(alpha: float, count: int) -> Interval:
    """Enclose the temperature above which at least ``count`` scores have weight, among those of the table."""
    if alpha == 1.0:
        return Interval.exactly(0.0)
    low = 2.0**_COLDEST
    high = 2.0**_HOTTEST
    while (middle := low / 2 + high / 2) not in (low, high):
        if np.count_nonzero(_law(alpha, middle)[0]) < count:
            low = middle
        else:
            high = middle
    # a weight is decided as zero or not for bases known up to a few roundings, which the temperature divides
    return Interval.within(high, gamma(8 * len(COOLED) + 32) * high)


def _moved(law: Array, error: Array) -> float:
    r"""Bound by how much the entropy changes when every weight moves by its error.

    The slope of :math:`-p\log p` is at most :math:`1 - \log(p/2)` in size where the weight stays above half of itself;
    elsewhere the change is at most :math:`-3\delta\log\delta`, the modulus of continuity at :math:`3\delta < 1/e`.
    """
    safe = law > 2.0 * error
    steep = error[safe] * (1.0 - np.log(law[safe] / 2.0))
    near = error[~safe & (error > 0.0)]
    return 2.0 * float(steep.sum() - 3.0 * (near * np.log(near)).sum())
