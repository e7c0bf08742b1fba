"""Certificates at given tokens whose positions turn queries and keys: by the formula, whatever the first position."""

import math
from operator import mul

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    as_intervals,
    at_least,
    at_most,
    ball,
    balls,
    bug,
    constant,
    exact,
    hull,
    hypothesis,
    precision,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import certify_at
from verify import textbook
from verify.inputs import FLOOR, draw_cloud
from verify.textbook.tokens import displacement_sizes, soft_mean

METRICS = ("mean", "max", "frobenius")
FIRST = 3  # position of the first token, of which nothing depends
PLANES = {"halves": lambda k, size: (k, k + size // 2), "neighbours": lambda k, _: (2 * k, 2 * k + 1)}
OTHER = {"halves": "neighbours", "neighbours": "halves"}


def turned(vectors, base, pairs):
    """Queries or keys, shape (n, size), turned plane by plane by their positions, of balls or enclosures."""
    rows = []
    for place, vector in enumerate(vectors):
        size = len(vector)
        row = list(vector)
        for k in range(size // 2):
            with precision():
                angle = (FIRST + place) * (ball(base).log() * ball(-2 * k) / size).exp()
                cos, sin = angle.cos(), angle.sin()
            if not isinstance(vectors, np.ndarray):
                cos, sin = hull(cos), hull(sin)
            a, b = PLANES[pairs](k, size)
            row[a], row[b] = cos * vector[a] - sin * vector[b], sin * vector[a] + cos * vector[b]
        rows.append(row)
    return rows


def outputs(tokens, weights, heads, base, pairs, causal, residual):
    """What a layer makes of tokens, by the formula."""
    points = exact(tokens)
    size = len(weights["w_query"]) // heads
    scale = 1.0 / np.sqrt(exact(float(size)))
    total = [point if residual else 0.0 * point for point in points]
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        value = exact(weights["w_out"][:, part]) @ weights["w_value"][part]
        q, k = (
            turned(points @ exact(weights[f"w_{side}"][part].T) + weights[f"b_{side}"][part], base, pairs)
            for side in ("query", "key")
        )
        for i in range(len(tokens)):
            seen = range(i + 1 if causal else len(tokens))
            scores = [scale * sum(map(mul, q[i], k[j])) for j in seen]
            total[i] = total[i] + value @ soft_mean(scores, [points[j] for j in seen])
    return total


def line_norms(tokens, weights, base, pairs, causal):
    """The norms of the Jacobian of tokens on the line, of which two have the last, by power series of the formula."""
    n = len(tokens)
    with precision():
        columns = []
        for way in np.eye(n):
            x = balls(tokens) + balls(way) * variable(2)
            q, k = (
                turned(x[:, np.newaxis] * balls(weights[f"w_{s}"][:, 0]) + balls(weights[f"b_{s}"]), base, pairs)
                for s in ("query", "key")
            )
            rows = []
            for i in range(n):
                seen = range(i + 1 if causal else n)
                raw = [textbook.exp(sum(map(mul, q[i], k[j])) / ball(len(q[i])).sqrt()) for j in seen]
                mean = sum(map(mul, raw, x), start=ball(0)) / sum(raw, start=ball(0))
                rows.append(coefficient(mean, 1))
            columns.append(rows)
        found = {
            "mean": max((sum(abs(entry) for entry in rows) for rows in columns), key=lambda b: b.mid()),
            "max": max((sum(abs(rows[i]) for rows in columns) for i in range(n)), key=lambda b: b.mid()),
        }
        if n == 2:
            (a, c), (b, d) = columns
            squares = a * a + b * b + c * c + d * d
            less = ((a * a + c * c - b * b - d * d) ** 2 + 4 * (a * b + c * d) ** 2).sqrt()
            found["frobenius"] = ((squares + less) / 2).sqrt()
        return {metric: hull(size) for metric, size in found.items()}


def lines():
    """Weights of layers of tokens on the line, tokens, base, pairs and mask."""
    for form, angle, tokens, causal in (
        (0.5, 0.25, (-0.625, -0.625), False),
        (0.5, 3.5, (0.5, -1.0), False),
        (1.0, 2.4, (0.25, -1.0), False),
        (2.0, 1.17, (0.75, 0.75), False),
        (1.0, 2.4, (0.75, -0.375), True),
        (2.0, 1.0, (0.0, 0.0), False),  # scores have no derivatives there: all growth is by second ones
    ):
        weights = {
            "w_query": np.array([[form * math.sqrt(0.5)], [0.0]]),
            "w_key": 2.0 * np.array([[math.cos(angle)], [math.sin(angle)]]),
            "b_query": np.zeros(2),
            "b_key": np.zeros(2),
        }
        yield weights, np.array(tokens), 100.0, "halves", causal
    weights = {
        "w_query": np.array([[1.0], [0.5], [0.0], [1.0]]),
        "w_key": np.array([[0.5], [-1.0], [1.0], [0.0]]),
        "b_query": np.array([0.0, 1.0, 0.5, 0.0]),
        "b_key": np.array([1.0, 0.0, -0.5, 1.0]),
    }
    for pairs in PLANES:
        yield weights, np.array([0.5, -0.25]), 10.0, pairs, False
        yield weights, np.array([0.5, -0.25, 1.0, 0.75]), 10.0, pairs, True


def at_line(reach, turns, swapped, keys):
    """List certificates of tokens on the line, the norms there and those at the ends of the reach."""
    found = []
    for weights, tokens, base, pairs, causal in lines():
        given = {**weights, "b_key": keys * weights["b_key"]}
        here = certified(given, tokens[:, np.newaxis], base, pairs, turns, swapped, causal=causal, reach=reach)
        case = {"n": len(tokens), "base": base, "pairs": pairs, "causal": causal}
        found.append((here, weights, tokens, case))
    return found


def certified(weights, tokens, base, pairs, turns, swapped, **options):
    """The certificate at tokens; ``w_value`` is one on the line."""
    given = {"w_value": np.eye(1), **weights}
    positions = {"base": base, "pairs": OTHER[pairs] if swapped else pairs} if turns else {}
    return certify_at(tokens, **given, **positions, **options)


_KEPT = {}  # once for a claim and its twins


def kept(key, make):
    """Return what was made for a key before, or make it."""
    if key not in _KEPT:
        _KEPT[key] = make()
    return _KEPT[key]


def ends(weights, tokens, far, case):
    """The largest norms where all tokens have moved as far as this, to either side."""
    options = (weights, case["base"], case["pairs"], case["causal"])
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * min(len(tokens), 2))).reshape(-1, min(len(tokens), 2))
    moves = [np.resize(sign, len(tokens)) for sign in signs]
    norms = [line_norms(tokens + far * move, *options) for move in moves]
    return {metric: max((norm[metric] for norm in norms), key=lambda size: size.mid) for metric in norms[0]}


def drawn(run, beyond):
    """List certificates of drawn layers, and displacements within a multiple of the reach before and after."""
    found = []
    for k, rng in enumerate(run.draws(quick=8, paper=80)):
        d, heads, n, size = 1 + k % 3, 1 + k % 2, int(rng.integers(2, 5)), 2 + 2 * (k // 2 % 2)
        shapes = dict.fromkeys(("w_query", "w_key", "w_value"), (heads * size, d)) | {"w_out": (d, heads * size)}
        weights = {name: 0.7 * rng.normal(size=shape) for name, shape in shapes.items()}
        weights |= {name: 0.5 * rng.normal(size=heads * size) for name in ("b_query", "b_key")}
        options = {"heads": heads, "causal": bool(k // 2 % 2), "residual": bool(k // 3 % 2)}
        base, pairs = float(rng.choice([2.0, 100.0, 1e4])), tuple(PLANES)[k % 2]
        tokens, reach = draw_cloud(rng, n, d, 1.5), float(rng.choice([1e-3, 0.03, 0.2]))
        here = certified(weights, tokens, base, pairs, True, False, reach=reach, **options)
        clouds = [tokens + beyond * draw_cloud(rng, n, d, reach * (1.0 - 2.0**-30)) for _ in range(2)]
        before = displacement_sizes(*(exact(cloud) for cloud in clouds))
        if before["mean"].lo >= FLOOR:
            after = displacement_sizes(*(outputs(y, weights, base=base, pairs=pairs, **options) for y in clouds))
            found.append((here, before, after, {"draw": k, "n": n, "base": base, "pairs": pairs, **options}))
    return found


def many(rng):
    """List norms of more numbers than a Jacobian is made of: at one place weights depend on positions alone."""
    n, d = 33, 64
    weights = {"w_query": rng.normal(size=(2, d)), "w_key": rng.normal(size=(2, d)), "w_value": rng.normal(size=(3, d))}
    weights |= {"b_query": rng.normal(size=2), "b_key": rng.normal(size=2)}
    place = rng.normal(size=d) / 16.0
    here = certified(weights, np.tile(place, (n, 1)), 100.0, "halves", True, False, reach=1e-9)
    tokens = exact(np.tile(place, (n, 1)))
    q, k = (turned(tokens @ weights[f"w_{s}"].T + weights[f"b_{s}"], 100.0, "halves") for s in ("query", "key"))
    root = np.sqrt(exact(2.0))
    raw = [[np.exp(sum(map(mul, one, other)) / root) for other in k] for one in q]
    laws = [[entry / sum(row[1:], start=row[0]) for entry in row] for row in raw]
    columns = [sum(column[1:], start=column[0]) for column in zip(*laws, strict=True)]
    size = spectral_norm(exact(weights["w_value"]))
    matrix = as_intervals(np.array(laws, dtype=object))
    truths = {"mean": Interval.largest(columns) * size, "max": size, "frobenius": spectral_norm(matrix) * size}
    return [(metric, here.row(metric).norm, truths[metric]) for metric in METRICS]


@verifies(
    Claim(
        "certificate.local-rotary",
        "at given tokens whose positions turn queries and keys the norm is enclosed, and within a reach the bound holds",
        r"Scores $\sigma\langle T_i(W_Qx_i + b_Q), T_j(W_Kx_j + b_K)\rangle$, $T_i$ the rotary positions of one base, of tokens that follow one another: the norms of the Jacobian of the layer at $n$ tokens, of the mean, the largest and the root of the squared displacements, lie in the intervals that are computed, and within the reach the bound is a Lipschitz constant, as in certificate.local with $B_{ij} = \sigma W_Q^\top T_{j-i}W_K$ for $B$ and $\sigma\|W_Q\|\|W_K\|$ for its norm; neither depends on the first position",
        assumptions=(
            "dot products",
            "every token within r of where it is",
            "coordinates turned in pairs that are known",
        ),
        spec=("MA.L7", "MA.A5"),
        cites=(),
        source_status=("derived",),
    ),
    constant("half", "norms and bounds are half as large", factor=0.5),
    constant("growth", "norms grow by two fifths of what is charged", growth=0.4),
    hypothesis("beyond", "tokens may move by three times the reach", beyond=3.0),
    bug("unmoved", "the norm at the tokens is taken as the bound", moved=False),
    bug("unturned", "positions are left out", turns=False),
    bug("swapped", "other coordinates are turned together", swapped=True),
    bug("unbiased-keys", "the bias of the keys is dropped, as without positions", keys=0.0),
)
def test_local_rotary(run, *, factor=1.0, growth=1.0, beyond=1.0, moved=True, turns=True, swapped=False, keys=1.0):
    reach = 2.0**-7
    for k, (here, weights, tokens, case) in enumerate(
        kept(("line", turns, swapped, keys), lambda: at_line(reach, turns, swapped, keys))
    ):
        options = (weights, case["base"], case["pairs"], case["causal"])
        truths = kept(("norms", k), lambda tokens=tokens, options=options: line_norms(tokens, *options))
        far = beyond * reach * (1.0 - 2.0**-30)
        edges = kept(("ends", k, beyond), lambda w=weights, x=tokens, far=far, case=case: ends(w, x, far, case))
        for metric, truth in truths.items():
            row = here.row(metric)
            yield at_most(truth, factor * Interval.exactly(row.norm.hi), part=f"{metric}, norm", **case)
            yield at_least(truth, Interval.exactly(row.norm.lo) / factor, part=f"{metric}, norm", **case)
            bound = row.norm.hi + growth * (row.bound - row.norm.hi) if moved else row.norm.hi
            yield at_most(edges[metric], Interval.exactly(factor * bound), part=f"{metric}, reach", **case)
    for here, before, after, case in kept((run.scale, run.root, beyond), lambda: drawn(run, beyond)):
        for metric in METRICS:
            row = here.row(metric)
            most = Interval.exactly(factor * (row.bound if moved else row.norm.hi)) * before[metric]
            yield at_most(after[metric], most, part=f"{metric}, reach", **case)
    for k, rng in enumerate(run.draws(quick=1, paper=4)):
        for metric, norm, truth in kept((run.scale, run.root, "many", k), lambda rng=rng: many(rng)):
            yield at_most(truth, Interval.exactly(factor * norm.hi), part=f"{metric}, many tokens", n=33)
            yield at_least(truth, Interval.exactly(norm.lo / factor), part=f"{metric}, many tokens", n=33)
