"""Certificates by the weight of single tokens: means of n tokens, and distance attention by what is near."""

import math
from functools import cache

import numpy as np

from theory.evidence import Claim, Interval, at_most, bug, constant, exact, hypothesis, verifies
from theory.evidence.spectra import spectral_norm
from theory.lipschitz.certificate import as_attention_weights, certify, enclose_stretch
from verify.inputs import FLOOR, INSIDE, draw_cloud, push_within
from verify.textbook.tokens import displacement_sizes, soft_mean

RADII = (1.0, 2.0**-6, 2.0**5)


def outputs(tokens, query, key, bias, causal, score):
    """What a head makes of tokens, by the formula; values are the tokens, of distance attention times its form."""
    points = exact(tokens)
    q, k = (points @ exact(matrix.T) for matrix in (query, key))
    q = q + exact(bias)
    scale = 1.0 / np.sqrt(exact(float(len(query))))
    rows = []
    for i in range(len(tokens)):
        seen = range(i + 1 if causal else len(tokens))
        gaps = [q[i] @ k[j] if score == "dot" else -((q[i] - k[j]) ** 2).sum() for j in seen]
        row = soft_mean([scale * gap for gap in gaps], [points[j] for j in seen])
        rows.append(row if score == "dot" else scale * (exact(query.T) @ (exact(query) @ row)))
    return rows


_MEASURED = {}  # once for a claim and its twins


def drawn(run, reach, score):
    """List matrices, bias, radius, mask, and the displacements of tokens before and after a head."""
    key = (run.scale, run.root, reach, score)
    if key not in _MEASURED:
        _MEASURED[key] = []
        for k, rng in enumerate(run.draws(quick=10, paper=120)):
            d, n, radius = 1 + k % 3, int(rng.integers(2, 6)), RADII[k // 2 % 3]
            query, own = rng.choice([0.3, 1.0]) * rng.normal(size=(2, 2, d)) / radius
            bias = np.zeros(2) if score == "distance" else rng.choice([0.0, 0.5]) * rng.normal(size=2)
            x = draw_cloud(rng, n, d, reach * radius)
            y = push_within(rng, x, reach * radius)
            before = displacement_sizes(exact(x), exact(y))
            if before["mean"].lo < FLOOR * radius:
                continue
            other = query if score == "distance" else own
            after = displacement_sizes(*(outputs(tokens, query, other, bias, bool(k % 2), score) for tokens in (x, y)))
            _MEASURED[key].append(((query, other, bias), radius, bool(k % 2), n, before, after))
    return _MEASURED[key]


@cache
def constants(given, radius, score, **options):
    """The certified constants of a head on the line, or of matrices given by their bytes."""
    query, key, bias = given
    value = np.eye(len(query[0]))
    biases = {"b_query": np.array(bias)} if score == "dot" else {}
    found = certify(np.array(query), np.array(key), value, radius, score=score, search=False, **biases, **options)
    return {row.metric: row.constant for row in found.rows}


def certified(matrices, radius, score, **options):
    """The certified constants, once for a claim and its twins."""
    given = tuple(tuple(map(tuple, m)) if m.ndim == 2 else tuple(m) for m in matrices)
    return constants(given, radius, score, **options)


def stretch(matrices, score, points, tangent, masses, p, *, causal=False):
    """The stretch of a displacement by the head."""
    query, key, _ = matrices
    value = np.eye(query.shape[1])
    layer = as_attention_weights(query, key, value, None, heads=1, causal=causal, residual=False, score=score)
    return enclose_stretch(layer, points, tangent, masses, p)[0]


@cache
def attained(reach):
    """List metric, matrices, radius, mask, number of tokens and a stretch: one token opposite to all others."""
    found = []
    for radius in RADII:
        for metric, alpha, n, causal in (
            ("mean", 0.5, 64, True), ("mean", 0.125, 5, True), ("mean", 1.0, 64, False), ("mean", 3.0, 4000, False),
            ("frobenius", 0.5, 64, True), ("frobenius", 0.5, 2, True), ("frobenius", 1.0, 30, False),
        ):  # fmt: skip
            matrices = (np.array([[alpha / radius]]), np.array([[-1.0 / radius]]), np.zeros(1))
            ends = np.array([[-1.0], [1.0]]) if not causal else np.array([[-1.0]] + [[1.0]] * (n - 1))
            masses = np.array([1.0, n - 1.0]) if not causal else np.ones(n)
            moves = np.where(ends < 0.0, 1.0, 0.0)
            points = reach * radius * INSIDE * ends
            p = 1 if metric == "mean" else 2
            bound = stretch(matrices, "dot", points, moves, masses, p, causal=causal)
            found.append((metric, matrices, radius, {"causal": causal, "n": n}, bound))
    return found


@verifies(
    Claim(
        "certificate.columns",
        "what one of n tokens can move is bounded by the weight it can have in every row",
        r"$n$ tokens of length at most $R$, scores with $\|B_{ij}\|R^2 \le \alpha$ within $\pm\beta$, $|b_{ij}(x_i)|R \le \beta$, as in certificate.query-bias and certificate.rotary; $\phi_i = \max_{P \le p_i}P(1 + 2\beta(1 - P))$, $p_i = 1/(1 + (i - 1)e^{-2\beta})$: the mean displacement grows by at most $\|V\|(\alpha + n\phi_n)$, under a causal mask by $\|V\|(\max(1, \alpha) + \sum_{i=2}^n\phi_i)$, and the root of the sum of squares by the root of the product of that with $\|V\|(1 + \alpha + \beta)$",
        assumptions=("dot product", "no token is longer than R", "positions fixed"),
        spec=("MA.M2", "MA.K3"),
        cites=(),
        source_status=("derived",),
    ),
    constant("near", "the constants are one per cent smaller", factor=0.99),
    constant("tenth", "without a mask the constant of the mean is ten per cent smaller", share={"mean": 0.9}),
    constant("half", "in squares the constant is half as large", share={"frobenius": 0.5, "frobenius causal": 0.5}),
    hypothesis("outside", "tokens may lie at distance 1.3 R", reach=1.3),
    bug("one-less", "one token less is counted", less=1),
)
def test_columns(run, *, factor=1.0, share=None, reach=1.0, less=0):
    parts = share or {}
    for matrices, radius, causal, n, before, after in drawn(run, reach, "dot"):
        bound = certified(matrices, radius, "dot", causal=causal, n=n - less)
        for metric in ("mean", "frobenius"):
            part = f"{metric} causal" if causal else metric
            most = factor * parts.get(part, 1.0) * bound[metric] * before[metric]
            yield at_most(after[metric], most, part=part, way="drawn", n=n, radius=radius)
    for metric, matrices, radius, options, found in attained(reach):
        part = f"{metric} causal" if options["causal"] else metric
        asked = {**options, "n": options["n"] - less}
        bound = factor * parts.get(part, 1.0) * certified(matrices, radius, "dot", **asked)[metric]
        yield at_most(found, Interval.exactly(bound), part=part, way="nearly attained", radius=radius, **options)


@cache
def far_query(slope, reach):
    """List the rows of a query opposite to two heavy atoms, each of which is far from it and from their mean."""
    root = max(np.roots([2.0, 3.0, -4.0, -4.0]).real)
    s = 1.0 - root * root / 2.0
    atoms = np.array([[s, math.sqrt(1.0 - s * s)], [s, -math.sqrt(1.0 - s * s)], [-1.0, 0.0]])
    found = []
    for radius in RADII:
        points = reach * radius * INSIDE * atoms
        away = (points - points[2]) / np.linalg.norm(points - points[2] + np.array([[0.0], [0.0], [1.0]]), axis=1)[
            :, None
        ]
        moves = np.array([-away[0], away[1], [0.0, 1.0]])
        tied = np.sqrt(math.sqrt(2.0) * slope) / radius * np.eye(2)
        masses = np.array([1.0, 1.0, 1e-120])
        matrices = (tied, tied, np.zeros(2))
        bound = stretch(matrices, "distance", points, moves, masses, math.inf)
        found += [("Winf", matrices, radius, {}, bound), ("max", matrices, radius, {}, bound)]
        masked = stretch(matrices, "distance", points, moves, masses, math.inf, causal=True)
        found.append(("max", matrices, radius, {"causal": True}, masked))
    return found


@cache
def together(reach):
    """List rows that tokens attain which move on together, or the first alone under a mask, where the form is nearly nothing."""
    found = []
    for radius in RADII:
        tied = np.array([[0.02 / radius]])
        matrices = (tied, tied, np.zeros(1))
        bound = stretch(matrices, "distance", np.zeros((2, 1)), np.ones((2, 1)), np.ones(2), 1)
        found += [(metric, matrices, radius, {}, bound) for metric in ("W1", "W2", "mean", "frobenius")]
        found.append(("frobenius", matrices, radius, {"n": 2, "causal": True}, bound))
        first = stretch(matrices, "distance", np.zeros((2, 1)), np.eye(2)[:, :1], np.ones(2), 1, causal=True)
        found.append(("mean", matrices, radius, {"n": 2, "causal": True}, first))
    return found


def light(reach):
    """List the rows of a light atom that many queries at some distance attend to, away from their mean."""
    found = []
    for radius in RADII:
        tied = np.array([[1.0 / radius]])
        matrices = (tied, tied, np.zeros(1))
        for metric, p, law in (("W1", 1, [1e-4, 0.5, 0.5]), ("W2", 2, [0.1, 0.5, 0.4])):
            points = reach * radius * INSIDE * np.array([[-1.0], [0.0], [1.0]])
            moves = np.array([[1.0], [0.0], [0.0]])
            found.append((metric, matrices, radius, {}, stretch(matrices, "distance", points, moves, np.array(law), p)))
    return found


def laws(run, reach):
    """Yield points of a law, its weights, a root of the form, a point of the ball and its radius."""
    for radius in RADII:
        for size in (0.05, 0.2, 1.0):
            ends = reach * radius * INSIDE * np.array([[-1.0], [1.0]])
            yield ends, np.array([0.5, 0.5]), np.array([[size / radius]]), np.zeros(1), radius
    for k, rng in enumerate(run.draws(quick=10, paper=120)):
        d, n, radius = 1 + k % 3, int(rng.integers(2, 6)), RADII[k // 2 % 3]
        tied = rng.choice([0.3, 1.0]) * rng.normal(size=(d, d)) / radius
        weights = rng.dirichlet(np.full(n, 0.5)) + 2.0**-30
        cloud = draw_cloud(rng, n + 1, d, reach * radius)
        yield cloud[1:], weights / weights.sum(), tied, cloud[0], radius


def attracted(points, weights, tied, y):
    """How much of the weights of all queries the unit mass at y attracts, by the formula."""
    x, w, root = exact(points), exact(weights), exact(tied.T)
    apart = (x[:, np.newaxis] - x[np.newaxis]) @ root
    far = (x - exact(y)) @ root
    gaps = (far * far).sum(axis=1)[:, np.newaxis] - (apart * apart).sum(axis=2)
    return (w / (np.exp(gaps) * w).sum(axis=1)).sum()


@verifies(
    Claim(
        "certificate.distances",
        "distance attention on a ball: variances bound the largest displacement, and what all queries together give to a token bounds the others",
        r"Scores $-\langle x - y, A(x - y)\rangle$, outputs $A\sum_jP_{ij}x_j$, tokens of length at most $R$, $o = 4\|A\|R^2$: $W_\infty$ and the largest displacement, under any mask, grow by at most $\|A\|(1 + \frac54o)$, $W_p$ without a mask by $\|A\|[(1 + \frac4{3\sqrt3}o)^{1 - 1/p}K^{1/p} + \frac o2]$, $K = \max_{2s \ge \sqrt o}e^{o/2 - s^2}(1 + 2\sqrt os)$, $p = 1, 2$, as $\int\rho_x(y)\mu(dx) \le e^{o/4}$ for the density $\rho_x(y)$ of the weights of the query $x$; $n$ tokens anywhere, under any mask, in the mean by $\|A\|K_1$ and in the root of the sum of squares by the $\|A\|$-fold of distance-attention.atoms",
        assumptions=("tied queries and keys", "no token is longer than R, or tokens anywhere"),
        spec=("MA.R8", "MA.R2"),
        cites=("kim2021",),
        source_status=("derived",),
    ),
    constant("near", "the constant of the largest displacement has the slope 4.9", slope=0.98),
    constant("half", "the constants are half as large", factor=0.5),
    constant("few", "the constants are a few per cent smaller", factor=0.97),
    constant("eighth", "all queries together give at most the exponential of an eighth", given=0.125),
    hypothesis("outside", "tokens may lie at distance 1.3 R", reach=1.3),
)
def test_distances(run, *, factor=1.0, slope=1.0, reach=1.0, given=0.25):
    for points, weights, tied, y, radius in laws(run, reach):
        spread = 4.0 * spectral_norm(exact(tied)) * spectral_norm(exact(tied)) * radius**2
        case = {"n": len(points), "radius": radius}
        yield at_most(attracted(points, weights, tied, y), np.exp(given * spread), part="together", **case)
    for matrices, radius, causal, n, before, after in drawn(run, reach, "distance"):
        bound = certified(matrices, radius, "distance", causal=causal, n=n)
        for metric in ("mean", "max", "frobenius"):
            part = f"{metric} causal" if causal else metric
            most = factor * bound[metric] * before[metric]
            yield at_most(after[metric], most, part=part, way="drawn", n=n, radius=radius)
    for cases, share in ((far_query(60.0, reach), slope), (together(reach), 1.0), (light(reach), 1.0)):
        for metric, matrices, radius, options, found in cases:
            part = f"{metric} causal" if options.get("causal") else metric
            bound = factor * share * certified(matrices, radius, "distance", **options)[metric]
            yield at_most(found, Interval.exactly(bound), part=part, way="nearly attained", radius=radius, **options)
