"""The layer as it was proposed: tokens averaged under the softmax of minus squared distances of learned features."""

import numpy as np

from theory import Measure, attend
from theory.attention import AttentionKernel, Softmatch, boltzmann_gibbs, read
from theory.evidence import Claim, ball, balls, bug, constant, equals, exact, hypothesis, verifies
from theory.metric import MetricScore, attention_weights, average_tokens, make_similarity, sizes_of
from verify.inputs import draw_residual
from verify.textbook import laws, residual_image, squares

RUAN = ("ruan2024",)
PATHS = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 0.75], [0.25, -1.5]])


def problems(run, *, quick=6, paper=120):
    """Yield tokens and a stream for the parameters; named tokens first."""
    for number, rng in enumerate(run.draws(quick=quick, paper=paper)):
        n, d = int(rng.integers(2, 12)), int(rng.integers(1, 5))
        drawn_tokens = float(rng.uniform(0.3, 1.5)) * rng.normal(size=(n, d))
        yield number, (drawn_tokens if number else PATHS), rng


def draw_layer(rng, kind, dim, width, size):
    """Draw the parameters of an attention."""
    similar = make_similarity(kind, dim, width)
    return similar, size * rng.normal(size=sum(sizes_of(similar.shapes)))


def average(scores, values, *, mask=None, axis=1):
    """The weights of the keys that a query sees, and the average of ``values`` under them."""
    kernel = np.exp(scores) if mask is None else np.exp(scores) * balls(mask.astype(float))
    weights = kernel / kernel.sum(axis=axis, keepdims=True)
    return weights, weights @ values


def scored(kind, similar, theta, h, *, factor=1, straight=False):
    """The scores of the three attentions as printed, and what distances are taken of."""
    d = h.shape[1]
    w = similar.width
    if kind == "self":
        q, k = (balls(h) @ balls(part.reshape(d, w)) for part in np.split(theta, 2))
        return (q @ k.T) / np.sqrt(ball(w)) * ball(factor), q
    f = balls(h) @ balls(theta.reshape(d, w)) if kind == "l2" else residual_image(similar.features(theta), h)
    f = balls(h) if straight and kind == "metric" else f
    return -squares(f) * ball(factor), f


@verifies(
    Claim(
        "metric.layer",
        "metric-attention averages the tokens themselves under the softmax of minus squared distances of their features",
        r"$H^\mathrm{new} = SH$, $S = N_r(e^{-f})$, $f(x, y) = |g(x) - g(y)|^2$, $g(x) = x + \tanh(xW + b)U + c$",
        remark=r"decided by rows of tokens, and through the score $-f/2\varepsilon$ at $\varepsilon = \frac12$; so are L2-attention with $|xW - yW|^2$ and self-attention with $-\langle xQ, yK\rangle/\sqrt w$ in the place of f",
        assumptions=("finite tokens and parameters", "no value matrix"),
        spec=("DL.E1",),
        cites=(*RUAN, "kim2021"),
        source_status=("seen",),
    ),
    bug("features", "the features are averaged, as if they were the values", own=False),
    bug("columns", "the exponentials are divided by the sums of their columns", axis=0),
    constant("bandwidth", "the exponent is one per cent larger", factor=1.01),
    hypothesis("straight", "distances are those of the tokens", straight=True),
)
def test_layer(run, *, own=True, axis=1, factor=1, straight=False):
    for number, h, rng in problems(run):
        n, d = h.shape
        tokens = exact(h)
        size = float(np.abs(h).max())
        for kind in ("metric", "l2", "self"):
            similar, theta = draw_layer(rng, kind, d, int(rng.integers(1, 5)), 0.7)
            scores, f = scored(kind, similar, theta, h, factor=factor, straight=straight)
            rows, claimed = average(scores, balls(h) if own or kind != "metric" else f, axis=axis)
            case = {"attention": kind, "n": n, "d": d, "input": number}
            yield equals(attention_weights(similar, theta, tokens), rows, scale=1, part="weights", **case)
            yield equals(average_tokens(similar, theta, tokens), claimed, scale=size, part="layer", **case)
            if kind != "self":  # by differences, through the engine
                score = MetricScore(similar.features(theta))
                yield equals(attend(tokens, h, h, score=score), claimed, scale=size, part="engine", **case)


@verifies(
    Claim(
        "metric.graph",
        "on a graph a pair that is not adjacent has similarity zero, so that components do not see each other",
        r"$S = N_r(A\circ e^{-f})$ for the adjacency $A$ with loops: $S_{ij} = 0$ where $A_{ij} = 0$, and the layer of a disconnected graph is the layer of each component",
        assumptions=("every node has a neighbour",),
        spec=("DL.E1",),
        cites=RUAN,
        source_status=("seen", "derived"),
    ),
    bug("zero-score", "the score of such a pair is zero instead of its weight", masked="score"),
    bug("late", "weights are cut after the rows were divided by their sums", masked="late"),
    hypothesis("complete", "the graph is complete", masked="nothing"),
)
def test_graph(run, *, masked="weight"):
    for number, h, rng in problems(run):
        n, d = h.shape
        similar, theta = draw_layer(rng, "metric", d, 3, 0.5)
        part = np.arange(n) % 2  # two components, in each a random graph with loops
        mask = (part[:, np.newaxis] == part) & ((rng.uniform(size=(n, n)) < 0.7) | np.eye(n, dtype=bool))
        scores, _ = scored("metric", similar, theta, h)
        if masked == "score":
            scores = np.where(mask, scores, ball(0))
        rows, _ = average(scores, balls(h), mask=mask if masked == "weight" else None)
        if masked == "late":
            rows = rows * balls(mask.astype(float))
        case = {"n": n, "d": d, "input": number}
        size = float(np.abs(h).max())
        found = attention_weights(similar, theta, exact(h), mask=mask)
        yield equals(found, rows, scale=1, part="weights", **case)
        if not mask.all():
            yield equals(found[~mask], rows[~mask], scale=1, part="not adjacent", **case)
        whole = average_tokens(similar, theta, exact(h), mask=mask)
        for own in (part == k for k in np.unique(part)):
            block = np.ix_(own, own)
            claimed = rows[block] @ balls(h[own])
            alone = average_tokens(similar, theta, exact(h[own]), mask=mask[block])
            yield equals(whole[own], claimed, scale=size, part="component", **case)
            yield equals(alone, claimed, scale=size, part="component by itself", **case)


@verifies(
    Claim(
        "metric.protocol",
        "the learned score is a score like any other: the Boltzmann-Gibbs transform, softmatch, transport and partition function take it",
        r"$a = -|g(x) - g(y)|^2/2\varepsilon$: $S_\nu(x, \cdot) = \Psi_{e^{a(x, \cdot)}}(\nu)$, its barycentre, $\log\nu(e^{a(x, \cdot)})$ and the image of a measure, each within the stated rounding",
        assumptions=("finite features", "any weights of the tokens, any bandwidth"),
        spec=("DL.E1", "MA.D4"),
        cites=(*RUAN, "vuckovic2020"),
        source_status=("derived",),
    ),
    constant("bandwidth", "the exponent is f over the bandwidth, without the half", half=1.0),
    bug("equal", "the weights of the tokens are ignored", weighted=False),
    hypothesis("straight", "distances are those of the points", straight=True),
)
def test_protocol(run, *, half=2.0, weighted=True, straight=False):
    for rng in run.draws(quick=6, paper=120):
        n = int(rng.integers(2, 12))
        d = int(rng.integers(1, 4))
        epsilon = 2.0 ** float(rng.integers(-4, 3))
        g = draw_residual(rng, d, int(rng.integers(1, 5)), float(rng.uniform(0.2, 2.0)))
        nu = Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n)))
        x = rng.normal(size=(3, d))
        keys, queries = (balls(p) if straight else residual_image(g, p) for p in (nu.points, x))
        scores = squares(queries, keys) / -(ball(half) * ball(epsilon))
        masses = nu.weights if weighted else np.full(n, 1.0 / n)
        rows = laws(scores, masses)
        score = MetricScore(g, epsilon)
        case = {"n": n, "d": d, "epsilon": epsilon}
        size = float(np.abs(nu.points).max())
        yield equals(Softmatch(score, nu).rows(exact(x)), rows, scale=1, part="softmatch", **case)
        transform = boltzmann_gibbs(nu, score.matrix(exact(x), exact(nu.points))[0])
        yield equals(transform.law(), rows[0], scale=1, part="transform", **case)
        image = AttentionKernel(score, nu).push(Measure.normalised(x, np.ones(3)).enclosed())
        yield equals(image.points, rows @ balls(nu.points), scale=size, part="image", **case)
        found = read(exact(x), nu.points, nu.points, score=score, weights=nu.weights).log_partition
        claimed = np.log((np.exp(scores) * balls(masses)).sum(axis=1))
        yield equals(found, claimed, scale=1, part="partition", **case)
