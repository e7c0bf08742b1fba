r"""How much gradient a softmax of dot products lets through as the dimension grows, scaled and not.

The Jacobian of softmax has the trace :math:`1 - \sum_j p_j^2`. Keys are drawn from the standard normal law; the queries
are the columns of a Hadamard matrix, orthogonal and of length :math:`\sqrt d`, so that all :math:`d` rows of scores
against the same :math:`n` keys are independent, each of :math:`n` independent normal scores of variance :math:`d`
(:math:`1` if scaled).

References
----------
A. Vaswani et al., *Attention is all you need*, 2017, section 3.2.1 (why the scores are divided by the root of d).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from theory import engine
from theory.attention.output import weight_error
from theory.attention.score import DotProduct
from theory.evidence import Interval, Kind, Table, batch_mean, stream

KEYS = 64
DIMENSIONS = (16, 64, 256, 1024)  # a Hadamard matrix is known for each
RANKS = 6  # how many of the largest weights are kept
_SCORES = (DotProduct(scale=1.0), DotProduct())  # the number of one is its entry in the column "scaled"
_DRAWS = 25_600  # derived: the least that an interval over batches takes

Array = NDArray[np.float64]


def _read(score: DotProduct, queries: Array, keys: Array) -> Array:
    """Return trace, mean score and the largest weights of every row, shape (2 + RANKS, m)."""
    p = engine.weights(score.pairs(queries, keys))
    s = score.matrix(queries, keys)
    top = -np.sort(-p, axis=1)[:, :RANKS]
    return np.vstack([1.0 - (p**2).sum(axis=1), (p * s).sum(axis=1), top.T])


def saturation(*, scale: str, root: int) -> Table:
    """Return, per dimension, scaled or not, the means of the trace, of the score under the weights, and of the weights.

    ``weight1`` is the mean of the largest weight of a row, and so on; every interval is one of Student's over batches
    at the common level, and holds the rounding too.
    """
    draws = _DRAWS if scale == "quick" else 8 * _DRAWS
    names = ("trace", "score", *(f"weight{rank}" for rank in range(1, RANKS + 1)))
    columns: dict[str, list[object]] = {name: [] for name in ("d", "scaled", *names)}
    for number, d in enumerate(DIMENSIONS):
        rng = stream("studies.saturation", number, root=root)
        queries = hadamard(d).astype(np.float64)
        keys = [rng.normal(size=(KEYS, d)) for _ in range(draws // d)]
        for scaled, score in enumerate(_SCORES):
            found = np.concatenate([_read(score, queries, k) for k in keys], axis=1)
            # a relative error r moves a mean by r times the largest score, and 1 - sum p^2 by 2 r
            together = np.concatenate(keys)
            error = 2.0 * (1.0 + score.bounds(queries, together)[0]) * weight_error(queries, together, score)
            columns["d"].append(d)
            columns["scaled"].append(scaled)
            for name, values in zip(names, found, strict=True):
                mean = batch_mean(values, among=2 * len(DIMENSIONS) * len(names))
                columns[name].append(mean + Interval.within(0.0, error))
    return Table(Kind.STATISTICAL, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]
