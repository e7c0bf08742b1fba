"""Sweeps shared by the claims and the figures of this room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from theory.evidence import Kind, study
from theory.precision.quantiser import best_codebook

BITS = (1, 2, 3, 4, 5, 6)
DIMS = (0, 3, 8, 16, 32, 64, 128, 256)  # zero stands for the Gaussian law, which all tend to


@study(Kind.CERTIFIED)
def distortions(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    """Yield the least mean square error of a coordinate of variance one in few bits, by dimension."""
    for dim in DIMS:
        for bits in BITS:
            yield {"dim": dim, "bits": bits, "lost": best_codebook(bits, dim or None).distortion}
