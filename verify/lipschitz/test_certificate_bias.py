"""Certificates of layers with biases: that of the queries enters the constants, the others change nothing."""

import math
from functools import cache

import numpy as np

from theory.attention import Measure, MultiHead, step
from theory.distance import w1
from theory.evidence import Claim, Interval, at_most, bug, constant, hypothesis, verifies
from theory.lipschitz import displacement, witnesses
from theory.lipschitz.certificate import as_attention_weights, certify, enclose_stretch
from theory.lipschitz.constants import opposed_ratio
from verify.inputs import FLOOR, INSIDE, draw_cloud, push_within

SIZES = ((1.0, 1.0, 1.0), (2.0**-6, 2.0**9, 2.0**-7), (2.0**5, 2.0**-8, 2.0**10))  # radius, of the queries, of values
NAMES = ("w_query", "w_key", "w_value", "w_out")


def drawn(rng, k):
    """Draw a radius, matrices of one or two heads and all four biases, of alpha and |c|R up to about 3."""
    d, heads, (radius, turn, value) = 1 + k % 3, 1 + k % 2, SIZES[k // 2 % 3]
    shapes = ((2 * heads, d), (2 * heads, d), (2 * heads, d), (d, 2 * heads))
    scales = (turn, 1.0 / (turn * radius**2), value, 1.0 / turn)
    matrices = {name: t * 0.6 * rng.normal(size=shape) for name, t, shape in zip(NAMES, scales, shapes, strict=True)}
    biases = [rng.normal(size=2 * heads) * size for size in (turn * radius, 1.0 / (turn * radius), value * radius)]
    return matrices, biases, heads, radius


def line(alpha, gamma, radius, turn, value, heads=1):
    """Equal heads on the line: the form -alpha over the squared radius, the shift -gamma over the radius."""
    rows = {"w_query": [[2.0 * alpha * turn]] + [[0.0]] * 3, "w_key": [[-1.0 / (turn * radius**2)]] + [[0.0]] * 3}
    matrices = {name: np.array(matrix * heads) for name, matrix in (rows | {"w_value": [[value]]}).items()}
    return matrices, np.array([2.0 * gamma * turn * radius, 0.0, 0.0, 0.0] * heads)


_MEASURED = {}  # once for a claim and its twins


def pushed(run, reach):
    """List matrices, query bias, heads, radius, and W_1 and the largest displacement before and after the layer.

    The layer that is measured has no biases: its tokens have one more coordinate, which is one, and its matrices one
    more column. What certificates make of a bias is not used.
    """
    key = (run.scale, run.root, reach)
    if key in _MEASURED:
        return _MEASURED[key]
    kept = _MEASURED[key] = []
    for k, rng in enumerate(run.draws(quick=24, paper=160)):
        matrices, biases, heads, radius = drawn(rng, k)
        n, d = int(rng.integers(2, 7)), matrices["w_query"].shape[1]
        x = draw_cloud(rng, n, d, reach * radius)
        clouds = [np.column_stack([c, np.ones(n)]) for c in (x, push_within(rng, x, reach * radius))]
        masses = rng.dirichlet(np.full(n, 0.5)) + 1e-6
        laws = [Measure.normalised(points, masses) for points in clouds]
        before = w1(*laws)
        if before.lo < FLOOR * radius:
            continue
        wide = [np.column_stack([matrices[name], bias]) for name, bias in zip(NAMES[:3], biases, strict=True)]
        layer = MultiHead.from_matrices(*wide, matrices["w_out"], heads=heads)
        one, other = (step(layer, law.enclosed()) for law in laws)
        moves = displacement(*clouds), displacement(one.points, other.points)
        kept.append((matrices, biases[0], heads, radius, (before, w1(one, other)), moves, {"draw": k}))
    return kept


@cache
def attained(reach):
    """List metric, matrices, bias, heads, radius, options of the layer, and a stretch near the constant."""
    found = []
    for size in SIZES:
        radius = size[0]
        share = witnesses.straining_mass(3.0)
        for metric, (alpha, gamma), heads, options, law, p in (
            ("W1", (1.0, 2.0), 1, {}, [1e-6, 1.0], 1),
            ("W1", (0.0, 0.25), 1, {}, [1e-6, 1.0], 1),
            ("W2", (1.0, 2.0), 1, {}, [share, 1.0 - share], 2),
            ("W2", (1.0, 2.0), 4, {}, [share, 1.0 - share], 2),
            ("mean", (0.5, 0.5), 1, {"n": 64}, [1.0, 63.0], 1),
            ("frobenius", (1.0, 1.0), 1, {"n": 1000}, leaders(2.0, 1000), 2),
            ("frobenius", (0.0, 1.0), 1, {"n": 2, "causal": True}, np.ones(2), 2),
            ("mean", (0.0, 0.125), 1, {"n": 50, "causal": True}, np.ones(50), 1),
        ):
            weights, bias = line(alpha, gamma, *size, heads)
            masses = np.array(law)
            points, tangent = (side * np.ones((len(masses), 1)) for side in (reach * radius * INSIDE, 0.0))
            points[0], tangent[0] = -points[0], 1.0
            layer = layer_of(weights, bias, heads, **options)
            found.append(
                (metric, weights, bias, heads, radius, options, enclose_stretch(layer, points, tangent, masses, p)[0])
            )
        # 20 = exp(2 (1 + 0.5)) tokens opposite to a query outweigh what its form and bias add to its own key
        weights, bias = line(-1.0, -0.5, *size)
        ends = np.array([[-1.0]] * 20 + [[1.0]])
        for causal in (False, True):
            layer = layer_of(weights, bias, 1, causal=causal)
            bound = enclose_stretch(layer, reach * radius * INSIDE * ends, ends, np.ones(21), math.inf)[0]
            metrics = ("max",) if causal else ("Winf", "max")
            found += [(metric, weights, bias, 1, radius, {"causal": causal}, bound) for metric in metrics]
    return found


def leaders(alpha, n):
    """Return how many of n tokens lead, and how many follow, where they strain squares most."""
    few = round(n / (1.0 + opposed_ratio(alpha)))
    return [float(few), float(n - few)]


def layer_of(weights, bias, heads, *, n=None, causal=False):
    """Return the layer of weights; ``n`` is for the constants."""
    return as_attention_weights(
        **weights, w_out=None, heads=heads, causal=causal, residual=False, score="dot", b_query=bias
    )


_CONSTANTS = {}  # certified once for a claim and its twins


def constants(weights, bias, heads, radius, share, **options):
    """The certified constants on a ball with a part of the bias."""
    key = (*(matrix.tobytes() for matrix in weights.values()), bias.tobytes(), heads, radius, share, *options.items())
    if key not in _CONSTANTS:
        found = certify(**weights, b_query=share * bias, radius=radius, heads=heads, search=False, **options)
        _CONSTANTS[key] = {row.metric: row.constant for row in found.rows}
    return _CONSTANTS[key]


@verifies(
    Claim(
        "certificate.query-bias",
        "a bias of the queries adds its image under the keys to the norm of the form; other biases change nothing",
        r"With scores $\sigma\langle W_Qx + b_Q, W_Ky + b_K\rangle$ and outputs $W_O(W_V\cdot + b_V) + b_O$ the constants that \texttt{certify} computes bound how far a layer moves, $\alpha = \|B\|R^2$, $\beta = (\|B\|R + |c|)R$, $B = \sigma W_Q^\top W_K$, $c = \sigma W_K^\top b_Q$, heads as in certificate.valid: $e^{2\beta}(1 + 2\beta)$ in $W_1$, $\alpha + \max_u\sqrt{(e^{2\beta}(1-u) + u)(1 + 4\beta^2u(1-u))}$ in $W_2$, $1 + \alpha + \beta$ in $W_\infty$ and of the largest displacement under any mask, $\alpha + e^{2\beta}(1 + 2\beta)H_n$ of the mean displacement under a causal mask, the least of $\sqrt n(1 + \beta) + \alpha$, $e^\beta(1 + \beta) + \alpha$ and $\sqrt{(1 + \alpha + \beta)(n\kappa(\beta) + \alpha)}$ in the Frobenius norm without a mask, $\kappa(\beta) = \max_PP(1 + 2\beta(1 - P))$, or by those of certificate.columns where they are smaller",
        assumptions=("dot product", "no token is longer than R", "under a causal mask displacements alone"),
        spec=("MA.L6", "MA.L7", "MA.L8", "MA.A5", "MA.M2", "MA.K3"),
        cites=("vuckovic2021",),
        source_status=("derived",),
    ),
    constant("half", "the constants are half as large", factor=0.5),
    constant("near", "the constants are one per cent smaller", factor=0.99),
    constant("half-bias", "half the bias is enough", share=0.5),
    hypothesis("outside", "tokens may lie at distance 1.3 R", reach=1.3),
    bug("dropped", "the bias is dropped without a word", share=0.0),
)
def test_query_bias(run, *, factor=1.0, share=1.0, reach=1.0):
    for *given, (before, after), (move, largest), case in pushed(run, reach):
        bound = constants(*given, share)
        yield at_most(after, factor * bound["W1"] * before, part="W1", **case)
        yield at_most(largest, factor * bound["max"] * move, part="max", **case)
    for metric, *given, options, found in attained(reach):
        bound = constants(*given, share, **options)[metric]
        part = f"{metric} causal" if options.get("causal") else metric
        case = {"heads": given[2], "radius": given[3], **options}
        yield at_most(found, Interval.exactly(factor * bound), part=part, way="nearly attained", **case)
