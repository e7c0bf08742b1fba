"""Certificates at given tokens: the norm there, and a constant within a reach of them."""

import math

import numpy as np

from theory.attention import DotProduct, Measure
from theory.evidence import Claim, Interval, at_least, at_most, bug, constant, exact, hypothesis, verifies
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import certify_at, norm_at
from verify.inputs import FLOOR, draw_cloud
from verify.textbook.tokens import displacement_sizes, soft_mean

METRICS = {"mean": 1, "max": math.inf, "frobenius": 2}


def pair_norms(form, x, y):
    """The norms of the Jacobian of two tokens on the line, by derivatives of a logistic function written out."""
    rows = []
    for own, other in ((x, y), (y, x)):
        gap = own - other
        share = 1.0 / (1.0 + np.exp(-form * own * gap))
        steep = gap * share * (1.0 - share) * form
        rows.append((share + steep * (2.0 * own - other), 1.0 - share - steep * own))
    (a, b), (d, c) = rows  # of the second token the own derivative comes second in its row
    squares = a * a + b * b + c * c + d * d
    less = np.sqrt(np.maximum((a * a + c * c - b * b - d * d) ** 2 + 4.0 * (a * b + c * d) ** 2, 0.0))
    return {
        "mean": np.maximum(abs(a) + abs(c), abs(b) + abs(d)),
        "max": np.maximum(abs(a) + abs(b), abs(c) + abs(d)),
        "frobenius": np.sqrt((squares + less) / 2.0),
    }


def outputs(tokens, weights, heads, score, causal, residual):
    """What a layer makes of tokens, by the formula."""
    points = exact(tokens)
    size = len(weights["w_query"]) // heads
    scale = 1.0 / np.sqrt(exact(float(size)))
    total = [point if residual else 0.0 * point for point in points]
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        query, key = (exact(weights[name][part]) for name in ("w_query", "w_key"))
        value = exact(weights["w_out"][:, part]) @ weights["w_value"][part]
        q, k = points @ query.T + weights["b_query"][part], points @ key.T
        if score == "distance":
            q, value = points @ query.T, scale * (value @ (query.T @ query))
        for i in range(len(tokens)):
            seen = range(i + 1 if causal else len(tokens))
            gaps = [q[i] @ k[j] if score == "dot" else -((q[i] - q[j]) ** 2).sum() for j in seen]
            row = soft_mean([scale * gap for gap in gaps], [points[j] for j in seen])
            total[i] = total[i] + value @ row
    return total


def drawn(rng, k):
    """Draw the weights of a layer, tokens, a reach and two clouds within it."""
    d, heads, n = 1 + k % 3, 1 + k % 2, int(rng.integers(2, 6))
    shapes = dict.fromkeys(("w_query", "w_key", "w_value"), (2 * heads, d)) | {"w_out": (d, 2 * heads)}
    weights = {name: 0.7 * rng.normal(size=shape) for name, shape in shapes.items()}
    weights["b_query"] = 0.5 * rng.normal(size=2 * heads)
    score, causal, residual = "dot" if k % 4 < 2 else "distance", bool(k // 2 % 2), bool(k // 3 % 2)
    if score == "distance":
        weights["w_key"] = weights["w_query"]
    tokens = draw_cloud(rng, n, d, 1.5)
    reach = float(rng.choice([1e-3, 0.03, 0.2]))
    moves = [draw_cloud(rng, n, d, reach * (1.0 - 2.0**-30)) for _ in range(2)]
    return weights, heads, score, causal, residual, tokens, reach, moves


_KEPT = {}  # once for a claim and its twins


def kept(key, make):
    """Return what was made for a key before, or make it."""
    if key not in _KEPT:
        _KEPT[key] = make()
    return _KEPT[key]


def cases(run, beyond):
    """List certificates of drawn layers, and displacements within a multiple of the reach before and after."""
    found = []
    for k, rng in enumerate(run.draws(quick=12, paper=120)):
        weights, heads, score, causal, residual, tokens, reach, moves = drawn(rng, k)
        biases = {"b_query": weights["b_query"]} if score == "dot" else {}
        matrices = {name: array for name, array in weights.items() if name != "b_query"}
        options = {"heads": heads, "score": score, "causal": causal, "residual": residual}
        here = certify_at(tokens, **matrices, **biases, reach=reach, **options)
        clouds = [tokens + beyond * move for move in moves]
        before = displacement_sizes(*(exact(cloud) for cloud in clouds))
        if before["mean"].lo < FLOOR:
            continue
        after = displacement_sizes(*(outputs(cloud, weights, **options) for cloud in clouds))
        found.append((here, before, after, {"draw": k, "n": len(tokens), **options}))
    return found


def lines(reach):
    """List certificates of two tokens on the line, with the form and the places."""
    found = []
    for form, x, y in ((-1.0, 1.0, -1.0), (-1.0, 0.5, -0.25), (2.0, 0.75, 0.5), (0.0, 1.0, 0.5)):
        here = certify_at([[x], [y]], [[1.0]], [[form]], [[1.0]], reach=reach)
        found.append((here, form, x, y))
    return found


@verifies(
    Claim(
        "certificate.local",
        "the norm of a layer at given tokens is enclosed, and within a reach of them the bound is a Lipschitz constant",
        r"The Jacobian of a layer at $n$ tokens $X$ has norms, of the mean, the largest and the root of the squared displacements, in the intervals that are computed; and for $Y, Z$ with $|y_i - x_i|, |z_i - x_i| \le r$ the displacement between their outputs is at most the bound there times that between them: the norm at $X$ and the sums over columns, rows, or the smaller of the root of their product and the root of the sum of squares, of $\rho_{ij}(\|U\| + |Uu_{ij}||b_{ij}|) + (P_{ij} + \rho_{ij})[\|U\|\nu_{ij}|b_{ij}| + (|Uu_{ij}| + \|U\|\nu_{ij})\ell_br]$ and, on the diagonal, $\sum_j\rho_{ij}|Uu_{ij}||a_{ij}| + (P_{ij} + \rho_{ij})[\|U\|\nu_{ij}|a_{ij}| + (|Uu_{ij}| + \|U\|\nu_{ij})\ell_ar]$, over heads",
        assumptions=("dot products or tied distances", "every token within r of where it is"),
        spec=("MA.L7", "MA.A5"),
        cites=(),
        source_status=("derived",),
    ),
    constant("half", "norms and bounds are half as large", factor=0.5),
    constant("growth", "norms grow by two thirds of what is charged", growth=2.0 / 3.0),
    hypothesis("beyond", "tokens may move by three times the reach", beyond=3.0),
    bug("unmoved", "the norm at the tokens is taken as the bound", moved=False),
    bug("turned", "tokens are taken in the opposite places", sign=-1.0),
)
def test_local(run, *, factor=1.0, beyond=1.0, growth=1.0, moved=True, sign=1.0):
    for reach in (2.0**-10, 2.0**-5):
        for here, form, x, y in kept(("line", reach), lambda reach=reach: lines(reach)):
            for metric in METRICS:
                row = here.row(metric)
                case = {"form": form, "x": x, "y": y, "reach": reach}
                truth = pair_norms(form, exact(sign * x), exact(y))[metric]
                yield at_most(truth, factor * Interval.exactly(row.norm.hi), part=f"{metric}, norm", **case)
                yield at_least(truth, Interval.exactly(row.norm.lo) / factor, part=f"{metric}, norm", **case)
                bound = row.norm.hi + growth * (row.bound - row.norm.hi) if moved else row.norm.hi
                for one in (-1.0, 1.0):
                    for other in (-1.0, 1.0):
                        far = beyond * reach * (1.0 - 2.0**-30)
                        norm = pair_norms(form, exact(x + one * far), exact(y + other * far))[metric]
                        yield at_most(norm, Interval.exactly(factor * bound), part=f"{metric}, reach", **case)
    key = (run.scale, run.root, beyond)
    for here, before, after, case in kept(key, lambda: cases(run, beyond)):
        for metric in METRICS:
            row = here.row(metric)
            bound = row.bound if moved else row.norm.hi
            most = Interval.exactly(factor * bound) * before[metric]
            yield at_most(after[metric], most, part=f"{metric}, reach", **case)
    yield from at_many_tokens(run, factor, growth if moved else 0.0, beyond)
    for k, rng in enumerate(run.draws(quick=6, paper=60)):
        key = (run.scale, run.root, "plain", k)
        for metric, norm, truth, case in kept(key, lambda k=k, rng=rng: plain(k, rng)):
            yield at_most(
                Interval.exactly(truth.lo), Interval.exactly(factor * norm.hi), part=f"{metric}, norm", **case
            )
            yield at_least(
                Interval.exactly(truth.hi), Interval.exactly(norm.lo / factor), part=f"{metric}, norm", **case
            )


def at_many_tokens(run, factor, growth, beyond):
    """Findings where the Jacobian is stored in floats, and where it is bounded by parts."""
    for k, rng in enumerate(run.draws(quick=1, paper=4)):
        for metric, norm, truth in kept((run.scale, run.root, "many", k), lambda rng=rng: many(rng)):
            yield at_most(truth, Interval.exactly(factor * norm.hi), part=f"{metric}, many tokens", n=33)
            yield at_least(truth, Interval.exactly(norm.lo / factor), part=f"{metric}, many tokens", n=33)
    for way, n, d in (("stored", 130, 20), ("parts", 520, 4)):
        for heads, form, gap, far in ((1, 1.0, 0.5, 0.25), (2, 0.5, 1.0, 2.0**-5), (1, -1.0, 0.75, 0.0)):
            here = kept((way, heads, form), lambda way=(n, d, heads, form, gap, far): clusters(*way))
            case = {"n": n, "heads": heads, "form": form, "gap": gap}
            there = cluster_norms(n, heads, exact(form), exact(gap))
            moves = [cluster_norms(n, heads, exact(form), exact(gap + side * beyond * far)) for side in (1.0, -1.0)]
            for metric in METRICS:
                row, truth = here.row(metric), there[metric]
                yield at_most(truth, factor * Interval.exactly(row.norm.hi), part=f"{metric}, {way}", **case)
                yield at_least(truth, Interval.exactly(row.norm.lo) / factor, part=f"{metric}, {way}", **case)
                bound = row.norm.hi + growth * (row.bound - row.norm.hi)
                for moving in moves:
                    yield at_most(moving[metric], Interval.exactly(factor * bound), part=f"{metric}, {way}", **case)


def many(rng):
    """List the norms of more numbers than a Jacobian is made of: tokens at one place, which all see all alike."""
    value = rng.normal(size=(3, 64))
    query, key = rng.normal(size=(2, 3, 64))
    tokens = np.tile(rng.normal(size=64) / 8.0, (33, 1))
    here = certify_at(tokens, query, key, value, reach=1e-9)
    return [(metric, here.row(metric).norm, spectral_norm(exact(value))) for metric in METRICS]


def clusters(n, d, heads, form, gap, reach):
    """A certificate of heads that are alike and see one coordinate, half of the tokens at a gap above and half below."""
    first = np.eye(d)[:1]
    tokens = gap * np.repeat([1.0, -1.0], n // 2)[:, np.newaxis] * first
    query, key = (np.repeat(size * first, heads, axis=0) for size in (form, 1.0))
    stacked = {"w_value": np.repeat(first, heads, axis=0), "w_out": np.ones((1, heads)), "heads": heads}
    return certify_at(tokens, query, key, **stacked, scale=1.0, reach=reach or 2.0**-20)


def cluster_norms(n, heads, form, gap):
    """The norms of its Jacobian, a symmetric matrix: of means of the clusters, and of what differs within them."""
    square = form * gap * gap
    lean = 1.0 - 2.0 / (1.0 + np.exp(2.0 * square))
    own = square * (1.0 - lean * lean)
    same, other = ((1.0 + side * lean) / 2.0 * (1.0 + side * square * (1.0 - side * lean)) for side in (1.0, -1.0))
    row = (1.0 - 2.0 / n) * abs(same) + abs(2.0 / n * same + own) + abs(other)
    both = np.maximum(abs(same + other + own), abs(same - other + own))
    return {"mean": heads * row, "max": heads * row, "frobenius": heads * np.maximum(both, abs(own))}


def plain(k, rng):
    """List norms at tokens of one head without matrices but its form, and the same by another instrument."""
    d, n = 1 + k % 3, int(rng.integers(2, 6))
    form = rng.normal(size=(d, d))
    tokens = draw_cloud(rng, n, d, 1.5)
    causal = bool(k % 2)
    here = certify_at(tokens, np.eye(d), form, np.eye(d), scale=1.0, causal=causal, reach=1e-3)
    mu = Measure(tokens, np.full(n, 1.0 / n))
    score = DotProduct(form=form)
    return [
        (metric, here.row(metric).norm, norm_at(mu, score, p, causal=causal), {"draw": k, "n": n, "causal": causal})
        for metric, p in METRICS.items()
    ]
