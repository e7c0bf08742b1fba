r"""Log-partition, entropy, mean and covariance of the values under each row, in one pass over the keys.

A tile of keys has a mass :math:`Z'`, means :math:`\mu', \bar s'` of the values and of the scores, and a centred second
moment :math:`M' = \sum_j w_j (v_j - \mu')(v_j - \mu')^\top`. It joins what was gathered before by

.. math:: M \leftarrow M + M' + \frac{Z Z'}{Z + Z'} (\mu' - \mu)(\mu' - \mu)^\top, \qquad
          \mu \leftarrow \mu + \frac{Z'}{Z + Z'} (\mu' - \mu), \qquad Z \leftarrow Z + Z',

so that nothing is squared before it is centred. The entropy is :math:`\log Z - \bar s` with scores relative to the
running maximum.

References
----------
T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance, *The American Statistician* 37
(1983), 242-247.
"""

from __future__ import annotations

import math

import numpy as np

from theory._jit import njit
from theory.engine.exponential import LEAST, LN2
from theory.engine.pairs import TILE, Array, Counts, Pairs
from theory.engine.rows import columns, dot, fill_scores, weigh
from theory.engine.threads import over_rows


def _centred(a: Array, b: Array, w: Array, mean_a: float, mean_b: float) -> float:
    """Return the sum of ``w (a - mean_a)(b - mean_b)``."""
    total = 0.0
    for j in range(w.size):
        total += w[j] * ((a[j] - mean_a) * (b[j] - mean_b))
    return total


centred = njit(_centred, sums=True)


def _moments(
    form: int, queries: Array, keys: Array, values: Array, log_weights: Array, coefficients: Array, visible: Counts,
    output: Array, log_partition: Array, entropy: Array, covariance: Array,
) -> None:  # fmt: skip
    width = values.shape[0]
    scores, buffer, here = np.empty(TILE), np.empty(TILE), np.empty(width)
    for i in range(queries.shape[0]):
        peak = -np.inf
        mass = 0.0
        score = 0.0
        output[i], covariance[i] = 0.0, 0.0
        for start in range(0, visible[i], TILE):
            tile = buffer[: min(TILE, visible[i] - start)]
            seen = scores[: tile.size]
            top = fill_scores(form, queries[i], keys, log_weights, coefficients, start, tile)
            if top > peak:
                if mass > 0.0:
                    shrink = math.exp(peak - top)
                    mass *= shrink
                    covariance[i] *= shrink
                    score += peak - top
                peak = top
            for j in range(tile.size):
                seen[j] = max(tile[j] - peak, LEAST * LN2)  # as the exponential takes it, or a lost weight would count
            added = weigh(tile, peak)
            if added == 0.0:
                continue
            share = added / (mass + added)
            score = (mass * score + dot(tile, seen)) / (mass + added)  # no summand is positive: nothing cancels
            for c in range(width):
                here[c] = dot(tile, values[c, start : start + tile.size]) / added
            for c in range(width):
                left = values[c, start : start + tile.size]
                for e in range(c + 1):
                    right = values[e, start : start + tile.size]
                    apart = (here[c] - output[i, c]) * (here[e] - output[i, e])
                    covariance[i, c, e] += centred(left, right, tile, here[c], here[e]) + mass * share * apart
            for c in range(width):
                output[i, c] += share * (here[c] - output[i, c])
            mass += added
        log_partition[i] = peak + math.log(mass)
        entropy[i] = math.log(mass) - score
        for c in range(width):
            for e in range(c + 1):
                covariance[i, c, e] /= mass
                covariance[i, e, c] = covariance[i, c, e]


_gather = njit(_moments)


def moments(pairs: Pairs, values: Array, log_weights: Array, visible: Counts) -> tuple[Array, Array, Array, Array]:
    """Return output (m, d_v), log-partition (m,), entropy (m,) and covariance of the values (m, d_v, d_v) per row."""
    m = pairs.queries.shape[0]
    n = pairs.keys.shape[0]
    d_v = values.shape[1]
    output, log_partition = np.empty((m, d_v)), np.empty(m)
    entropy, covariance = np.empty(m), np.empty((m, d_v, d_v))
    keys, moved = columns(pairs.keys), columns(values)

    def run(part: slice) -> None:
        _gather(
            int(pairs.form), pairs.queries[part], keys, moved, log_weights, pairs.coefficients, visible[part],
            output[part], log_partition[part], entropy[part], covariance[part],
        )  # fmt: skip

    over_rows(run, m, m * n)
    return output, log_partition, entropy, covariance
