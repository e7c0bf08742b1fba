"""Sweeps shared by the claims and the figures of this room."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Kind, ball, hull, precision, study
from theory.precision.formats import FORMATS
from theory.precision.quantiser import best_codebook
from theory.precision.streaming import WEIGHTS, stream_error, stream_row, working

BITS = (1, 2, 3, 4, 5, 6)
DIMS = (0, 3, 8, 16, 32, 64, 128, 256)  # zero stands for the Gaussian law, which all tend to


@study(Kind.CERTIFIED)
def distortions(*, scale: str, root: int) -> Iterator[dict[str, Any]]:  # noqa: ARG001  nothing is drawn here
    """Yield the least mean square error of a coordinate of variance one in few bits, by dimension."""
    for dim in DIMS:
        for bits in BITS:
            yield {"dim": dim, "bits": bits, "lost": best_codebook(bits, dim or None).distortion}


FORMS = ("float64", "float32", "bfloat16", "float16", "e4m3")
LENGTHS = {"quick": (16, 128, 1024, 16_384, 131_072), "paper": (16, 128, 1024, 4096, 16_384, 65_536, 131_072, 524_288)}
TILE = 128


def edge(form: str, length: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores and values of a row that comes near the bound.

    One key has the weight one. In a narrow format the others are rounded in one direction, or vanish where that loses
    more; in a wide one each is lost beside the sum, of masses and of values alike.
    """
    target = FORMATS[form]
    values = np.ones((length, 1))
    if form in WEIGHTS:
        speck = target.speck / 2.0 ** WEIGHTS[form]
        vanishing = (length - 1) * speck / (1.0 + (length - 1) * speck) > target.unit / (1.0 + target.unit)
        weight = speck if vanishing else (1.0 + target.unit) / 2.0
    else:
        weight = target.unit
        values[0] = -1.0 - 4.0 * target.unit
    width = np.dtype(working(form)).type
    beside = float(width(math.log(weight)))
    scores = np.full(length, beside - 2.0 * abs(float(np.spacing(width(beside)))))
    scores[0] = 0.0
    return scores, values


def _mean(scores: NDArray[np.float64], values: NDArray[np.float64]) -> Any:
    """Return the mean of one column of values in balls."""
    with precision():
        different, at = np.unique(scores, return_inverse=True)
        sums = np.bincount(at, weights=values[:, 0])  # exact: multiples of one power of two
        terms = [(ball(score) - ball(float(different[-1]))).exp() for score in different.tolist()]
        mass = sum((count * term for count, term in zip(np.bincount(at).tolist(), terms, strict=True)), ball(0))
        return sum((ball(own) * term for own, term in zip(sums.tolist(), terms, strict=True)), ball(0)) / mass


@study(Kind.CERTIFIED)
def stream_errors(*, scale: str, root: int) -> Iterator[dict[str, Any]]:
    """Yield errors of attention in tiles of 128 keys, and their bounds, by format and length.

    ``row`` "edge": one that comes near the bound. "drawn": scores and values are drawn.
    """
    for form in FORMS:
        for length in LENGTHS[scale]:
            rng = np.random.default_rng([root, length])
            drawn = rng.integers(-256, 256, length) / 64.0, rng.integers(-128, 128, (length, 1)) / 128.0
            tiles = [range(start, min(start + TILE, length)) for start in range(0, length, TILE)]
            steps = {"additions": min(length, TILE) + len(tiles) - 2, "rises": len(tiles) - 1}
            bound = stream_error(length, form=form, **steps).weights
            for row, (scores, values) in {"edge": edge(form, length), "drawn": drawn}.items():
                found = stream_row(scores, values, tiles, form=form)
                error = hull(abs(ball(float(found[0])) - _mean(scores, values)) / ball(float(np.abs(values).max())))
                yield {"form": form, "length": length, "row": row, "error": error, "bound": bound}
