"""Probabilities that two tokens under one noise end opposite to each other, for their figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, proportion, stream, study
from theory.particles.exact.common_noise import antipodal_probability, antipodal_threshold, common_noise_step

DIMS = (3, 4, 6)
BETAS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
DRAWN = ((3, 1.0), (3, 2.0), (4, 1.5))
PAIRS = 2000


@study(Kind.STATISTICAL)
def chances(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  one scale is enough
    """Yield probabilities of opposite ends, from orthogonal tokens; "drawn": the share of drawn pairs."""
    for dim in DIMS:
        yield {"part": "threshold", "dim": dim, "beta": antipodal_threshold(dim).mid, "value": Interval.exactly(0.0)}
        for beta in BETAS:
            if beta > antipodal_threshold(dim).hi:
                yield {"part": "exact", "dim": dim, "beta": beta, "value": antipodal_probability(beta, dim)}
    for case, (dim, beta) in enumerate(DRAWN):
        tokens = np.zeros((PAIRS, 2, dim))
        tokens[:, 0, 0] = tokens[:, 1, 1] = 1.0
        rng = stream("common-noise.chances", case, root=root)
        for _ in range(256):
            noise = rng.normal(size=(PAIRS, dim, dim)) * np.sqrt(1.0 / 32.0)
            tokens = common_noise_step(tokens, beta, 1.0 / 32.0, noise)
        opposite = int(((tokens[:, 0] * tokens[:, 1]).sum(axis=1) < 0.0).sum())
        yield {"part": "drawn", "dim": dim, "beta": beta, "value": proportion(opposite, PAIRS)}
