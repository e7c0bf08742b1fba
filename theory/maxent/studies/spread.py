"""Entropies of attention under a bound of the scores, for the figure of the least one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, stream, study
from theory.maxent.gibbs.spread import peak_entropy

SIZE = 8
SIZES = (2, 8, 64, 1024)
NORMS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0)
DRAWN = 12  # rows of scores for each norm, each of another law


@study(Kind.NUMERIC)
def least_entropies(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  one scale is enough
    """Yield entropies of peaks by norm of the scores, and of drawn scores of the same norm."""
    for norm in NORMS:
        for size in SIZES:
            for peaks in range(1, SIZE) if size == SIZE else (1,):
                yield _row("peaks", size, peaks, norm, peak_entropy(size, norm, peaks=peaks).entropy)
    for place, norm in enumerate(NORMS):
        rng = stream("softmax.least-entropy", place, root=root)
        for case in range(DRAWN):
            scores = rng.normal(size=SIZE) * rng.exponential(size=SIZE) ** (case % 4)
            scores -= scores.mean()
            scores *= norm / np.linalg.norm(scores)
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            entropy = float(-(weights * np.log(weights)).sum())
            yield _row("drawn", SIZE, case, norm, Interval.within(entropy, 1e-12))


def _row(part: str, size: int, peaks: int, norm: float, entropy: Interval) -> dict[str, Any]:
    return {"part": part, "size": size, "peaks": peaks, "norm": norm, "entropy": entropy}
