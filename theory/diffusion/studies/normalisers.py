r"""How far a token's average lies from it, for five normalisations and falling bandwidths, and two small matrices.

Tokens have a normal law of variance :math:`s = 1.08` on the line; attention is the engine's, over a trapezoidal rule.
"""

from __future__ import annotations

import math

import numpy as np

from theory.attention import SquaredDistance, partition_error, read, rounding, weight_error
from theory.attention.sinkhorn import doubly_normalised
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.limits.normalisers import balance_error, balance_tokens
from theory.diffusion.limits.operators import chordal, propagate
from theory.evidence import Interval, Kind, Table, estimated
from theory.evidence.roundoff import U

NORMAL_VARIANCE = 1.08
ALPHAS = (0.0, 0.25, 0.5, 1.0)
EPSILONS = tuple(0.16 * 0.5**level for level in range(6))
PRINTED_EPSILONS = (0.02, 0.01)  # those for which coefficients are in print; both are on the ladder
SHIFT_PLACES = (0.5, 1.0, 1.5)
NODES = {"quick": (281, 401), "paper": (2801, 4001)}
REACH = 9.0  # taken: standard deviations; what lies beyond weighs 2e-18
TOKENS, WIDE = 20, 0.6  # of the matrices: quantile tokens, and their bandwidth
DENSITY = CircleDensity(np.array([1.2, 0.4]), np.array([0.0, 0.0]))


def normalisers(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return mean shifts over :math:`\varepsilon`, and the entries of two attention matrices times their size.

    Rows of the part ``shift`` hold :math:`(\int y\,P(x, dy) - x)/\varepsilon` at ``x``; those of the part ``matrix``
    :math:`nP_{ij}` for the query at the angle ``x`` and the key at the angle ``y``. The width is what rounding and the
    residual of the scaling may do, and twice what a coarser and narrower quadrature changes.
    """
    rows = []
    for epsilon in EPSILONS:
        coarse, fine = (_shifts(epsilon, nodes, REACH - 1.0 + k) for k, nodes in enumerate(NODES[scale]))
        for way, (values, errors) in fine.items():
            for k, x in enumerate(SHIFT_PLACES):
                found = estimated(values[k], coarse[way][0][k], times=2.0) + Interval.within(0.0, errors[k])
                rows.append(("shift", way, epsilon, x, 0.0, (found - x) / epsilon))
    rows += _matrices()
    parts, ways, epsilons, xs, ys, read = zip(*rows, strict=True)
    units = {"part": "1", "way": "1", "epsilon": "1", "x": "1", "y": "1", "value": "1"}
    columns = {"part": parts, "way": ways, "epsilon": epsilons, "x": xs, "y": ys, "value": read}
    return Table(Kind.ESTIMATED, units, columns)


def way_of(alpha: float) -> str:
    """Return the name of the normalisation that weights keys by their smoothed density to the power -alpha."""
    return f"alpha {alpha:g}"


def _shifts(epsilon: float, count: int, reach: float) -> dict[str, tuple[list[float], list[float]]]:
    """Return averages of the keys at the places, and bounds of their rounding, for every normalisation."""
    nodes = reach * math.sqrt(NORMAL_VARIANCE) * np.linspace(-1.0, 1.0, count)[:, np.newaxis]
    law = np.exp(-0.5 * nodes[:, 0] ** 2 / NORMAL_VARIANCE)
    score = SquaredDistance(0.5 / epsilon)
    places = np.array(SHIFT_PLACES)[:, np.newaxis]
    logs = read(nodes, nodes, np.zeros_like(nodes), score=score, weights=law).log_partition
    logs_error = partition_error(nodes, nodes, score, np.log(law)) + 64 * U * float(np.abs(logs).max())
    found = {}
    for alpha in ALPHAS:
        masses = law * np.exp(-alpha * logs)
        values = propagate(places, nodes, nodes, epsilon, weights=masses)[:, 0]
        # a relative error of the masses moves an average by as much of the keys' spread about it, of which the
        # deviation is below the root of epsilon and a mean deviation is no larger
        error = rounding(places, nodes, nodes, score=score, weights=masses)
        error += 2.0 * (alpha * logs_error + 64 * U * (1.0 + reach**2)) * math.sqrt(epsilon)
        found[way_of(alpha)] = (values.tolist(), [error] * len(SHIFT_PLACES))
    scaled = balance_tokens(nodes, score=score, weights=law)
    masses = law * np.exp(scaled.g)
    values = propagate(places, nodes, nodes, epsilon, weights=masses)[:, 0]
    error = rounding(places, nodes, nodes, score=score, weights=masses)
    found["sinkhorn"] = (values.tolist(), (error + balance_error(scaled, nodes, places)).tolist())
    return found


def _matrices() -> list[tuple[str, str, float, float, float, Interval]]:
    """Return the rows of softmax and of Sinkhorn's attention among a few quantile tokens of the circle."""
    tokens = DENSITY.tokens(TOKENS)
    score = chordal(WIDE)
    scaled = balance_tokens(tokens, score=score)
    soft = doubly_normalised(tokens, tokens, score=score, sweeps=0)
    rows = []
    for way, rule in (("alpha 0", soft), ("sinkhorn", scaled)):
        matrix = TOKENS * rule.rows()
        error = weight_error(tokens, tokens, score, rule.log_weights)
        if way == "sinkhorn":
            error += TOKENS * float(balance_error(rule, np.eye(TOKENS)).max())
        for (i, j), value in np.ndenumerate(matrix):
            width = 2.0 * error * (value if way == "alpha 0" else max(value, 1.0))
            place = (float(tokens[i, 0]), float(tokens[j, 0]))
            rows.append(("matrix", way, WIDE, *place, Interval.within(float(value), width)))
    return rows
