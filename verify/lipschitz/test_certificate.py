"""Certificates for given weights: no pair of clouds in the ball is stretched beyond the constant, in any metric."""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from theory.attention import Measure, MultiHead, step
from theory.distance import w1
from theory.evidence import Claim, Interval, at_most, bug, constant, hypothesis, verifies
from theory.lipschitz import displacement, local_norm, witnesses
from theory.lipschitz.certificate import as_attention_weights, certify, enclose_stretch, product_norm
from theory.lipschitz.constants import opposed_ratio
from verify.inputs import FLOOR, INSIDE, draw_cloud, push_within

NAMES = ("w_query", "w_key", "w_value", "w_out")
SIZES = ((1.0, 1.0, 1.0), (2.0**-6, 2.0**9, 2.0**-7), (2.0**5, 2.0**-8, 2.0**10))  # radius, of the queries, of values


def drawn(rng, k):
    """Draw a radius and the matrices of one or two heads, of any size, with alpha up to about 3 on that ball."""
    d, heads, (radius, turn, value) = 1 + k % 3, 1 + k % 2, SIZES[k // 2 % 3]
    shapes = ((2 * heads, d), (2 * heads, d), (2 * heads, d), (d, 2 * heads))
    size = rng.choice([0.3, 0.7, 1.2])
    scales = (turn, 1.0 / (turn * radius**2), value, 1.0 / turn)
    matrices = {name: t * size * rng.normal(size=shape) for name, t, shape in zip(NAMES, scales, shapes, strict=True)}
    return matrices, heads, radius


def line(alpha, radius, turn, value, heads=1):
    """Equal heads on the line, of the form -alpha over the squared radius: d_k = 4 halves the product of the rows."""
    rows = {
        "w_query": [[2.0 * alpha * turn], [0.0], [0.0], [0.0]],
        "w_key": [[-1.0 / (turn * radius**2)]] + [[0.0]] * 3,
    }
    return {name: np.array(matrix * heads) for name, matrix in (rows | {"w_value": [[value]]}).items()}


def layers(run, reach):
    """Yield weights, number of heads, the radius, and a pair of clouds of the same masses in the ball it stands for."""
    share, step = 1e-4, 1e-3
    masses = np.array([share, 1.0 - share])
    for alpha, size in zip((1.0, 2.0, 1.0), SIZES, strict=True):  # a light atom that all attend to is moved
        radius = size[0]
        lone = reach * radius * INSIDE * np.array([[-1.0], [1.0]])
        weights = line(alpha, *size) | {"w_out": np.eye(1)}
        yield "line", weights, 1, radius, lone, lone + radius * np.array([[step], [0.0]]), masses
    for k, rng in enumerate(run.draws(quick=24, paper=160)):
        weights, heads, radius = drawn(rng, k)
        d = weights["w_query"].shape[1]
        n = int(rng.integers(2, 7))
        x = draw_cloud(rng, n, d, reach * radius)
        yield (
            "drawn",
            weights,
            heads,
            radius,
            x,
            push_within(rng, x, reach * radius),
            rng.dirichlet(np.full(n, 0.5)) + 1e-6,
        )


_CONSTANTS = {}  # certified once for a claim and its twins


def constants(weights, heads, radius, again, **options):
    """The certified constants on a ball, of the weights as they are or with a score that is scaled twice."""
    key = (*(matrix.tobytes() for matrix in weights.values()), heads, radius, again, *options.items())
    if key not in _CONSTANTS:
        scale = heads / weights["w_query"].shape[0] if again else None
        found = certify(**weights, radius=radius, heads=heads, search=False, scale=scale, **options)
        _CONSTANTS[key] = {row.metric: row.constant for row in found.rows}
    return _CONSTANTS[key]


@cache
def attained_layers(reach):
    """List metric, weights, heads, radius, options of the layer, and a stretch near the constant: for every row."""
    found = []
    for size, residual in product(SIZES, (False, True)):
        radius = size[0]
        added = {"residual": residual}
        for metric, alpha, heads, options, law, p in (
            ("W1", 2.0, 1, {}, [1e-5, 1.0], 1),
            ("W2", 3.0, 1, {}, [witnesses.straining_mass(3.0), 1.0 - witnesses.straining_mass(3.0)], 2),
            ("W2", 3.0, 4, {}, [witnesses.straining_mass(3.0), 1.0 - witnesses.straining_mass(3.0)], 2),
            ("mean", 1.0, 1, {"n": 64}, [1.0, 63.0], 1),
            ("frobenius", 2.0, 1, {"n": 1000}, leaders(2.0, 1000), 2),
            ("frobenius", 3.0, 1, {"n": 50, "causal": True}, np.ones(50), 2),
            ("mean", 0.0, 1, {"n": 50, "causal": True}, np.ones(50), 1),
            ("frobenius", 0.5, 1, {"n": 2, "causal": True}, np.ones(2), 2),
            ("W1", 2.0, 2, {"summed": True}, [1e-5, 1.0], 1),
            ("W1", 2.0, 4, {}, [1e-5, 1.0], 1),
        ):
            if heads > 1 and residual:  # side by side they have more coordinates than a token
                continue
            weights = line(alpha, *size, heads)
            if options.get("summed"):
                weights["w_out"] = np.ones((1, heads))
            masses = np.array(law)
            points, tangent = (side * np.ones((len(masses), 1)) for side in (reach * radius * INSIDE, 0.0))
            points[0], tangent[0] = -points[0], 1.0
            bound = enclose_stretch(layer_of(weights, heads, **options, **added), points, tangent, masses, p)[0]
            found.append((metric, weights, heads, radius, options | added, bound))
        push = witnesses.balanced_query(4.0)
        weights = line(-4.0, *size)
        # the query: a light atom
        points = reach * radius * INSIDE * push.points
        masses = np.maximum(push.masses, 1e-12)
        bound = enclose_stretch(layer_of(weights, 1, **added), points, push.velocities, masses, math.inf)[0]
        found += [(metric, weights, 1, radius, added, bound) for metric in ("Winf", "max")]
        weights, ends = line(-0.25, *size), np.array([[-1.0], [1.0]])  # its query sees both ends, under a mask too
        points = reach * radius * INSIDE * ends
        bound = enclose_stretch(layer_of(weights, 1, causal=True, **added), points, ends, np.ones(2), math.inf)[0]
        found.append(("max", weights, 1, radius, {"causal": True, **added}, bound))
        found += [(*case, together_at(size, case[-1])) for case in distance_layers(size, residual)]
    return found


def distance_layers(size, residual):
    """Yield metric, weights, heads, radius and options of distance attention that is nearly flat, for every row."""
    radius, _, value = size
    tied = np.array([[math.sqrt(0.02) / radius], [0.0], [0.0], [0.0]])
    weights = {"w_query": tied, "w_key": tied, "w_value": np.array([[value]])}
    for metric in ("W1", "W2", "Winf", "mean", "max", "frobenius"):
        yield metric, weights, 1, radius, {"score": "distance", "residual": residual}
    for metric in ("mean", "max", "frobenius"):
        yield metric, weights, 1, radius, {"score": "distance", "residual": residual, "causal": True, "n": 2}


@cache
def together(size, residual, causal):
    """The stretch of tokens that move on together."""
    _, weights, heads, _, options = next(distance_layers(size, residual))
    layer = layer_of(weights, heads, **options, causal=causal)
    return enclose_stretch(layer, np.zeros((2, 1)), np.ones((2, 1)), np.ones(2), 1)[0]


def together_at(size, options):
    """The same at the options of a row."""
    return together(size, options["residual"], options.get("causal", False))


def leaders(alpha, n):
    """Return how many of n tokens lead, and how many follow, where they strain squares most."""
    few = round(n / (1.0 + opposed_ratio(alpha)))
    return [float(few), float(n - few)]


def layer_of(weights, heads, *, n=None, causal=False, residual=False, score="dot", summed=False):
    """Return the layer of weights; ``n`` is for the constants, ``summed`` for the reader."""
    given = {"w_out": None, **weights}
    return as_attention_weights(**given, heads=heads, causal=causal, residual=residual, score=score)


_MEASURED = {}  # once for a claim and its twins


def pushed(run, reach):
    """List weights, heads and radius, W_1 and the largest displacement before and after the layer, and the case."""
    key = (run.scale, run.root, reach)
    if key not in _MEASURED:
        _MEASURED[key] = []
        for way, weights, heads, radius, x, y, masses in layers(run, reach):
            laws = [Measure.normalised(points, masses) for points in (x, y)]
            before = w1(*laws)
            if before.lo < FLOOR * radius:
                continue
            layer = MultiHead.from_matrices(*(weights[name] for name in NAMES), heads=heads)
            one, other = (step(layer, law.enclosed()) for law in laws)
            moves = displacement(x, y), displacement(one.points, other.points)
            case = {"way": way, "heads": heads, "radius": radius}
            _MEASURED[key].append(((weights, heads, radius), (before, w1(one, other)), moves, case))
    return _MEASURED[key]


def max_of(bound, times):
    """Return the constant of the largest of equal heads from that of all, which is so many times as large."""
    return bound / times


@verifies(
    Claim(
        "certificate.valid",
        "in every metric the constant that is certified from weights bounds how far a layer moves",
        r"$W_p(T\mu, T\nu) \le C_pW_p(\mu, \nu)$, $p = 1, 2, \infty$, and the mean, the largest and the root of the squared displacements of $n$ tokens grow by no more than their constants, for tokens of length at most $R$ and $T$ the layer of heads $h$ with matrices $W_Q^h, W_K^h, W_V^h$ (of $d_k$ rows), $W_O^h$, the columns of $W_O$ at head $h$, with the constants that \texttt{certify} computes of them: in $W_1$ and $W_\infty$ the smaller of $\sum_h\|W_O^hW_V^h\|c(\alpha_h)$, $c(\alpha) = e^{2\alpha}(1 + 2\alpha)$ for $p = 1$, $1 + 2\alpha$ for $p = \infty$, and $\|W_O\|(|\lambda|_2 + |\kappa|_2)$, $\lambda_h = \|W_V^h\|\alpha_h$, $\kappa_h = \|W_V^h\|e^{2\alpha_h}(1 + 2\alpha_h)$ for $p = 1$, $\|W_V^h\|(1 + \alpha_h)$ for $p = \infty$; $\alpha_h = \|W_Q^{h\top}W_K^h\|R^2/\sqrt{d_k}$; without a mask the constants of lipschitz.single-form stand in the sums for $p = 1, 2$ where they are smaller; in the others those of lipschitz.refined-w2, depth.heads, dot-product.frobenius and certificate.columns; for distance attention those of certificate.distances and distance-attention.max-norm; one more with a residual",
        assumptions=(
            r"scaled dot product; or distances with tied queries and keys and the values $W_V^hA_hx$, $A_h = W_Q^{h\top}W_Q^h/\sqrt{d_k}$",
            "no token is longer than R",
            "under a causal mask displacements alone",
        ),
        spec=("MA.L6", "MA.L7", "MA.A5"),
        cites=("vuckovic2021",),
        source_status=("derived",),
    ),
    constant("half", "the constants are half as large", factor=0.5),
    constant("near", "the constants are one per cent smaller", factor=0.99),
    constant("fifth", "the constants are a fifth, which every row has a layer above", factor=0.2),
    constant("short", "of the largest displacement alone, the constant is six tenths", part_of={"max": 0.6}),
    hypothesis("outside", "tokens may lie at distance 1.3 R", reach=1.3),
    bug("scaled-twice", "the scores are divided by d_k instead of its root", again=True),
    bug("largest-head", "heads whose outputs are added have the constant of the largest of them", added=max_of),
    bug("one-of-several", "heads side by side have the constant of the largest of them", joined=max_of),
    bug("root-dropped", "under a mask squares add up to those of one token", rooted=False),
)
def test_valid(
    run, *, factor=1.0, reach=1.0, again=False, part_of=None, added=None, joined=None,
    rooted=True,
):  # fmt: skip
    parts = part_of or {}
    for given, (before, after), (move, largest), case in pushed(run, reach):
        bound = constants(*given, again)
        yield at_most(after, factor * bound["W1"] * before, part="W1", **case)
        yield at_most(largest, factor * parts.get("max", 1.0) * bound["max"] * move, part="max", **case)
    for metric, weights, heads, radius, options, found in attained_layers(reach):
        asked = {name: flag for name, flag in options.items() if name != "summed"}
        bound = factor * parts.get(metric, 1.0) * constants(weights, heads, radius, again, **asked)[metric]
        if heads > 1:
            change = added if options.get("summed") else joined
            bound = bound if change is None else change(bound, heads if options.get("summed") else math.sqrt(heads))
        if metric == "frobenius" and options.get("causal") and not rooted:
            bound = bound / math.sqrt(options["n"])
        case = {"heads": heads, "radius": radius, **options}
        yield at_most(found, Interval.exactly(bound), part=row_of(metric, **asked), way="nearly attained", **case)


def row_of(metric, *, n=None, causal=False, residual=False, score="dot"):
    """Name a row of the table that certify prints."""
    flags = (("causal", causal), ("residual", residual), ("distance", score == "distance"))
    return " ".join([metric, *(word for word, holds in flags if holds)])


def summed(n, lost):
    """Return numbers of which a sum in floats loses all but the first, where they add up to one another."""
    values = np.full(n, lost)
    values[0] = 1.0
    return values


@verifies(
    Claim(
        "certificate.norms",
        "the norms that certificates rest on are enclosed, also where rounding takes thousands of units off",
        r"$\|AB\|_2$ is within $(64\max(m, k) + 2n)u|A|_F|B|_F$ of what is computed for shapes $(m, n)$, $(n, k)$ with $8n > \min(m, k)$, and a sum of the sizes of $n$ blocks within $(8n + 16dd')u$ of it: rows $(1, \epsilon, \dots, \epsilon)$ of which the small terms are below half a unit of the sum, and columns of random numbers",
        assumptions=("float64",),
        spec=("MA.A5",),
        cites=(),
        source_status=("derived",),
    ),
    constant("part", "a two hundredth part of the width is enough", charged=Fraction(1, 200)),
    bug("uncharged", "nothing is charged", charged=0),
    bug("rows", "the rows are added up, not the columns", p=math.inf),
)
def test_norms(run, *, charged=1, p=1):
    for size in (1.0, 2.0**40):
        for power in (12, 18):
            row = size * summed(2**power, 2.0**-27)
            exact = Fraction(size) ** 2 * (1 + (2**power - 1) * Fraction(1, 2**54))
            yield held(
                product_norm(row[np.newaxis], row[:, np.newaxis]), exact, charged, 64 + 2 * 2**power, part="product"
            )
        columns = [summed(100, 2.0**-54)]
        columns += [rng.normal(size=100) for rng in run.draws(quick=4, paper=40)]
        for column in columns:
            blocks = np.zeros((100, 100, 1, 1))
            blocks[:, 0, 0, 0] = size * column
            exact = Fraction(size) * sum(Fraction(abs(v)) for v in column.tolist())
            yield held(local_norm(blocks, np.ones(100), p), exact, charged, 8 * 100 + 16, part="sum")


def held(found, exact, charged, units, **case):
    """Find that the exact number is within the charged part of so many units of the middle, and of the width."""
    middle = Fraction(found.lo) / 2 + Fraction(found.hi) / 2
    width = Fraction(found.hi) - Fraction(found.lo)
    most = charged * min(width / 2, units * exact / 2**53)
    return at_most(abs(exact - middle), Interval.exactly(most), scale=Interval.exactly(exact), units=units, **case)
