"""Certificates for given weights: no pair of clouds in the ball is stretched beyond the constant."""

import math
from functools import cache

import numpy as np

from theory.attention import Measure, MultiHead
from theory.distance import w1
from theory.evidence import Claim, Interval, at_most, bug, constant, hypothesis, verifies
from theory.lipschitz import certify
from verify.lipschitz.pairs import FLOOR, INSIDE, apart, ball, blurred, moved

NAMES = ("w_query", "w_key", "w_value", "w_out")


def drawn(rng, k):
    """Draw the matrices of one or two heads, with alpha up to about 3 on the unit ball."""
    d, heads = 1 + k % 3, 1 + k % 2
    shapes = ((2 * heads, d), (2 * heads, d), (2 * heads, d), (d, 2 * heads))
    size = rng.choice([0.3, 0.7, 1.2])
    return {name: size * rng.normal(size=shape) for name, shape in zip(NAMES, shapes, strict=True)}, heads


def line(alpha):
    """One head on the line, of the form -alpha and value 1: with d_k = 4 the score is half the product of the rows."""
    rows = {"w_query": [[2.0 * alpha], [0.0], [0.0], [0.0]], "w_key": [[-1.0], [0.0], [0.0], [0.0]]}
    rows |= {"w_value": [[1.0], [0.0], [0.0], [0.0]], "w_out": [[1.0, 0.0, 0.0, 0.0]]}
    return {name: np.array(matrix) for name, matrix in rows.items()}


def layers(run, radius):
    """Yield weights, number of heads, and a pair of clouds of the same masses in the ball of a radius."""
    share, step = 1e-4, 1e-3
    masses = np.array([share, 1.0 - share])
    lone = radius * INSIDE * np.array([[-1.0], [1.0]])
    for alpha in (1.0, 2.0):  # a light atom that all attend to is moved
        yield "line", line(alpha), 1, lone, lone + radius * np.array([[step], [0.0]]), masses
    rngs = run.streams(run.pick(quick=24, paper=160))
    for k, rng in enumerate(rngs):
        weights, heads = drawn(rng, k)
        d, n = weights["w_query"].shape[1], int(rng.integers(2, 7))
        x = ball(rng, n, d, radius)
        yield "drawn", weights, heads, x, moved(rng, x, radius), rng.dirichlet(np.full(n, 0.5)) + 1e-6


_CONSTANTS = {}  # certified once for a claim and its twins


def constants(weights, heads, again):
    """The certified constants on the unit ball, of the weights as they are or with a score that is scaled twice."""
    key = (*(weights[name].tobytes() for name in NAMES), heads, again)
    if key not in _CONSTANTS:
        root = math.sqrt(weights["w_query"].shape[0] // heads)
        changed = weights | {"w_query": weights["w_query"] / (root if again else 1.0)}
        found = certify(**changed, radius=1.0, heads=heads, search=False)
        _CONSTANTS[key] = {metric: found.row(metric).constant for metric in ("W1", "max")}
    return _CONSTANTS[key]


@cache
def _w1(first, second, masses):
    a, b = (Measure.normalised(np.array(points), np.array(masses)) for points in (first, second))
    return w1(a, b)


def distance(x, y, masses):
    """Enclose W_1 between two clouds of the same masses, once for a claim and its twins."""
    return _w1(*(tuple(map(tuple, points.tolist())) for points in (x, y)), tuple(masses.tolist()))


@verifies(
    Claim(
        "certificate.valid",
        "the constants in W1 and in the largest displacement that are certified from weights bound how far a layer moves",
        r"$W_1(T\mu, T\nu) \le C_1W_1(\mu, \nu)$ and $\max_i|F_i(X) - F_i(Y)| \le C_\infty\max_i|x_i - y_i|$ for tokens of length at most $R$, with the constants that \texttt{certify} computes from $W_Q, W_K, W_V, W_O$: the smaller of $\sum_h\|W_O^hW_V^h\|c(\alpha_h)$, $c = e^{2\alpha}(1 + 2\alpha)$ or $1 + 2\alpha$, and $\|W_O\|(|\lambda|_2 + |\kappa|_2)$; $\alpha_h = \|W_Q^{h\top}W_K^h\|R^2/\sqrt{d_k}$",
        assumptions=("scaled dot product", "no token is longer than R", "no mask"),
        spec=("MA.L6", "MA.L7", "MA.A5"),
        cites=("vuckovic2021",),
        provenance=("derived",),
    ),
    constant("half", "the constants are half as large", factor=0.5),
    hypothesis("outside", "tokens may lie at distance 1.3", radius=1.3),
    bug("scaled-twice", "the scores are divided by d_k instead of its root", again=True),
)
def test_valid(run, *, factor=1.0, radius=1.0, again=False):
    for way, weights, heads, x, y, masses in layers(run, radius):
        bound = constants(weights, heads, again)
        layer = MultiHead.from_matrices(*(weights[name] for name in NAMES), heads=heads)
        mu, nu = (Measure.normalised(points, masses) for points in (x, y))
        before = distance(x, y, masses)
        if before.lo < FLOOR:
            continue
        images, errors = zip(
            *((layer(m.points, m), layer.rounding(m.points, m) * math.sqrt(m.dim)) for m in (mu, nu)), strict=True
        )
        alpha = way if way == "drawn" else float(weights["w_query"][0, 0]) / 2
        after = blurred(distance(*images, masses), *errors)
        yield at_most(
            after, factor * bound["W1"] * before, scale=before, way=way, alpha=alpha, metric="W1", heads=heads
        )
        largest = blurred(apart(*images), *errors)
        move = apart(x, y)
        yield at_most(
            largest,
            Interval.exactly(factor * bound["max"]) * move,
            scale=move,
            way=way,
            alpha=alpha,
            metric="max",
            heads=heads,
        )
