"""Queries that learn to select tokens, at powers of ten of the time that they have learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from theory.evidence import Kind, study
from theory.maxent.gibbs import ascended_query

Plane = tuple[float, float]
# differences of the token to select and the other one, and what selecting is worth; the first two decide
QUERIES: dict[str, tuple[tuple[Plane, ...], tuple[float, ...]]] = {
    "acute": (((0.0, 1.25), (1.0, 0.5), (2.0, 2.0)), (1.0, 4.0, 2.0)),
    "obtuse": (((0.0, 1.5625), (2.75, -0.5)), (1.0, 4.0)),
    "steep": (((-0.4375, 1.0625), (0.5, 0.671875), (0.0, 2.0)), (4.0, 1.0, 1.0)),
}
EXPONENTS = tuple(range(1, 13))  # of ten


@study(Kind.CERTIFIED)
def selecting(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  one size serves both scales
    """Yield the coordinates of each query at powers of ten of the time."""
    for name, (differences, worths) in QUERIES.items():
        table = ascended_query(np.array(differences), np.array(worths), [10.0**k for k in EXPONENTS])
        for exponent, row in zip(EXPONENTS, table, strict=True):
            yield {"query": name, "exponent": exponent, "x": row[0], "y": row[1]}
