"""Softmax of Gaussian scores, and of one gap, by the number of scores, for the figure of length scaling."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from theory.evidence import Interval, Kind, study
from theory.maxent.gibbs.gaussian_scores import gaussian_weights
from theory.maxent.gibbs.spread import weight_range

SIZES = (100, 10**5, 10**10)
SHARES = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)  # of the deviation that is critical
START = 1024
LENGTHS = (256, 1024, 4096, 16384, 10**5, 10**6)


@study(Kind.CERTIFIED)
def concentrations(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    """Yield how concentrated weights are.

    ``part`` "deviation": the mean sum of squares of Gaussian scores by their deviation, in critical ones. "gaussian",
    "gap": by number, with scores times ``log n`` or its root; of one gap the largest weight, half of it at the start.
    """
    for size in SIZES:
        for share in SHARES:
            weights = gaussian_weights(size, share * math.sqrt(2.0 * math.log(size)))
            yield _row("deviation", "none", size, share, weights.participation)
    for size in LENGTHS:
        growth = math.log(size) / math.log(START)
        for factor, power in (("log", 1.0), ("root", 0.5)):
            deviation = 1.5 * math.sqrt(2.0 * math.log(START)) * growth**power
            yield _row("gaussian", factor, size, 1.5, gaussian_weights(size, deviation).participation)
            largest = weight_range(size, math.log(START) * growth**power).largest
            yield _row("gap", factor, size, 1.5, largest)


def _row(part: str, factor: str, size: int, share: float, value: Interval) -> dict[str, Any]:
    return {"part": part, "factor": factor, "log_size": math.log(size), "share": share, "value": value}
