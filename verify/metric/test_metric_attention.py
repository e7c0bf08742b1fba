"""The layer as it was proposed: tokens averaged under the softmax of minus squared distances of learned features."""

import numpy as np

from theory import Measure, attend
from theory.attention import AttentionKernel, Softmatch, boltzmann_gibbs, read, rounding, transform_error
from theory.attention.output import partition_error
from theory.evidence import Claim, ball, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import average_error, gamma, softmax_error
from theory.metric import MetricScore, attention_weights, average_tokens, make_similarity
from verify.metric.residual import drawn, exact, images, parameters, squares
from verify.textbook import balls, exp, gap, laws, log

RUAN = ("ruan2024",)
PATHS = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 0.75], [0.25, -1.5]])


def problems(run, *, quick=6, paper=120):
    """Yield tokens and a stream for the parameters; named tokens first."""
    for number, rng in enumerate(run.draws(quick=quick, paper=paper)):
        n, d = int(rng.integers(2, 12)), int(rng.integers(1, 5))
        drawn_tokens = float(rng.uniform(0.3, 1.5)) * rng.normal(size=(n, d))
        yield number, (drawn_tokens if number else PATHS), rng


def averaged(scores, values, visible=None, *, axis=1):
    """The average of ``values`` under the exponentials of scores in balls, of the visible keys only."""
    kernel = exp(scores) if visible is None else exp(scores) * balls(visible.astype(float))
    return kernel / kernel.sum(axis=axis, keepdims=True), kernel / kernel.sum(axis=axis, keepdims=True) @ exact(values)


def slip(kind, similar, theta, h):
    """A bound on the relative error of every weight of the room's own layer, which takes squared distances apart."""
    n, d = h.shape
    if kind == "self":
        q, k = (np.abs(h) @ np.abs(part.reshape(d, -1)) for part in np.split(theta, 2))
        size = float((q @ k.T).max()) / np.sqrt(similar.width)
        error = gamma(2 * d + similar.width + 8) * size
    else:
        features = similar.features(theta)
        f, off = features(h), features.rounding(h)
        shift = float(np.linalg.norm(theta[-d:])) if kind == "metric" else 0.0  # the layer leaves the last bias out
        reach = float(np.linalg.norm(f, axis=1).max()) + shift + off
        size = 4.0 * reach * reach
        error = gamma(f.shape[1] + 8) * size + 8.0 * reach * off
    return softmax_error(error, 2.0 * size, n)


def scored(kind, similar, theta, h, *, factor=1, straight=False):
    """The scores of the three attentions as printed, and what distances are taken of."""
    d, w = h.shape[1], similar.width
    if kind == "self":
        q, k = (balls(h) @ balls(part.reshape(d, w)) for part in np.split(theta, 2))
        return (q @ k.T) / ball(w).sqrt() * ball(factor), q
    f = balls(h) @ balls(theta.reshape(d, w)) if kind == "l2" else images(parameters(similar.features(theta)), h)
    f = balls(h) if straight and kind == "metric" else f
    return squares(f) * -ball(factor), f


@verifies(
    Claim(
        "metric.layer",
        "metric-attention averages the tokens themselves under the softmax of minus squared distances of their features",
        r"$H^\mathrm{new} = SH$, $S = N_r(e^{-f})$, $f(x, y) = |g(x) - g(y)|^2$, $g(x) = x + \tanh(xW + b)U + c$: by rows of tokens, and through the score $-f/2\varepsilon$ at $\varepsilon = \frac12$; so are L2-attention with $|xW - yW|^2$ and self-attention with $-\langle xQ, yK\rangle/\sqrt w$ in the place of f",
        assumptions=("finite tokens and parameters", "no value matrix"),
        spec=("DL.E1",),
        cites=(*RUAN, "kim2021"),
        provenance=("seen",),
    ),
    bug("features", "the features are averaged, as if they were the values", own=False),
    bug("columns", "the exponentials are divided by the sums of their columns", axis=0),
    constant("bandwidth", "the exponent is one per cent larger", factor=1.01),
    hypothesis("straight", "distances are those of the tokens", straight=True),
)
def test_layer(run, *, own=True, axis=1, factor=1, straight=False):
    for number, h, rng in problems(run):
        n, d = h.shape
        for kind in ("metric", "l2", "self"):
            similar = make_similarity(kind, d, int(rng.integers(1, 5)))
            theta = rng.normal(size=sum(np.prod(s, dtype=int) for s in similar.shapes)) * 0.7
            scores, f = scored(kind, similar, theta, h, factor=factor, straight=straight)
            rows, claimed = averaged(scores, h if own or kind != "metric" else f, axis=axis)
            relative, case = slip(kind, similar, theta, h), {"attention": kind, "n": n, "d": d, "input": number}
            size = float(np.abs(h).max())
            yield equals(gap(attention_weights(similar, theta, h), rows, relative), 0, scale=1, part="weights", **case)
            error = average_error(size, n, relative=relative)
            yield equals(gap(average_tokens(similar, theta, h), claimed, error), 0, scale=size, part="layer", **case)
            if kind != "self":  # by differences, through the engine
                score = MetricScore(similar.features(theta))
                found, error = attend(h, h, h, score=score), rounding(h, h, h, score=score)
                yield equals(gap(found, claimed, error), 0, scale=size, part="engine", **case)


@verifies(
    Claim(
        "metric.graph",
        "on a graph a pair that is not adjacent has similarity zero, so that components do not see each other",
        r"$S = N_r(A\circ e^{-f})$ for the adjacency $A$ with loops: $S_{ij} = 0$ where $A_{ij} = 0$, and the layer of a disconnected graph is the layer of each component",
        assumptions=("every node has a neighbour",),
        spec=("DL.E1",),
        cites=RUAN,
        provenance=("seen", "derived"),
    ),
    bug("zero-score", "the score of such a pair is zero instead of its weight", masked="score"),
    bug("late", "weights are cut after the rows were divided by their sums", masked="late"),
    hypothesis("complete", "the graph is complete", masked="nothing"),
)
def test_graph(run, *, masked="weight"):
    for number, h, rng in problems(run):
        n, d = h.shape
        similar = make_similarity("metric", d, 3)
        theta = rng.normal(size=sum(np.prod(s, dtype=int) for s in similar.shapes)) * 0.5
        part = np.arange(n) % 2  # two components, in each a random graph with loops
        visible = (part[:, np.newaxis] == part) & ((rng.uniform(size=(n, n)) < 0.7) | np.eye(n, dtype=bool))
        scores, _ = scored("metric", similar, theta, h)
        if masked == "score":
            scores = np.where(visible, scores, ball(0))
        rows, _ = averaged(scores, h, visible if masked == "weight" else None)
        if masked == "late":
            rows = rows * balls(visible.astype(float))
        found, relative = attention_weights(similar, theta, h, mask=visible), slip("metric", similar, theta, h)
        case = {"n": n, "d": d, "input": number}
        yield equals(gap(found, rows, relative), 0, scale=1, part="weights", **case)
        if (~visible).any():
            yield equals(gap(found[~visible], rows[~visible]), 0, scale=1, part="not adjacent", **case)
        whole, size = average_tokens(similar, theta, h, mask=visible), float(np.abs(h).max())
        error = average_error(size, n, relative=relative)
        for k in sorted(set(part.tolist())):
            own = part == k
            alone = rows[np.ix_(own, own)] @ balls(h[own])
            yield equals(gap(whole[own], alone, error), 0, scale=size, part="component", **case)
            lone = average_tokens(similar, theta, h[own], mask=visible[np.ix_(own, own)])
            yield equals(gap(lone, alone, error), 0, scale=size, part="component by itself", **case)


@verifies(
    Claim(
        "metric.protocol",
        "the learned score is a score like any other: the Boltzmann-Gibbs transform, softmatch, transport and partition function take it",
        r"$a = -|g(x) - g(y)|^2/2\varepsilon$: $S_\nu(x, \cdot) = \Psi_{e^{a(x, \cdot)}}(\nu)$, its barycentre, $\log\nu(e^{a(x, \cdot)})$ and the image of a measure, each within the stated rounding",
        assumptions=("finite features", "any weights of the tokens, any bandwidth"),
        spec=("DL.E1", "MA.D4"),
        cites=(*RUAN, "vuckovic2020"),
        provenance=("derived",),
    ),
    constant("bandwidth", "the exponent is f over the bandwidth, without the half", half=1.0),
    bug("equal", "the weights of the tokens are ignored", weighted=False),
    hypothesis("straight", "distances are those of the points", straight=True),
)
def test_protocol(run, *, half=2.0, weighted=True, straight=False):
    for rng in run.draws(quick=6, paper=120):
        n, d, epsilon = int(rng.integers(2, 12)), int(rng.integers(1, 4)), 2.0 ** float(rng.integers(-4, 3))
        g = drawn(rng, d, int(rng.integers(1, 5)), float(rng.uniform(0.2, 2.0)))
        nu, x = Measure(rng.normal(size=(n, d)), rng.dirichlet(np.ones(n))), rng.normal(size=(3, d))
        f, q = (balls(p) if straight else images(parameters(g), p) for p in (nu.points, x))
        scores = squares(q, f) / -(ball(half) * ball(epsilon))
        masses = nu.weights if weighted else np.full(n, 1.0 / n)
        rows, score = laws(scores, masses), MetricScore(g, epsilon)
        kernel, case = Softmatch(score, nu), {"n": n, "d": d, "epsilon": epsilon}
        yield equals(gap(kernel.rows(x), rows, kernel.error(x)), 0, scale=1, part="softmatch", **case)
        a = score.matrix(x[:1], nu.points)[0]
        error = np.expm1(transform_error(nu, a) + 2.0 * score.bounds(x, nu.points)[1])
        yield equals(gap(boltzmann_gibbs(nu, a).weights, rows[0], error), 0, scale=1, part="transform", **case)
        image, size = AttentionKernel(score, nu), float(np.abs(nu.points).max())
        out = image.push(Measure.normalised(x, np.ones(3)))
        yield equals(gap(out.points, rows @ balls(nu.points), image.rounding(x)), 0, scale=size, part="image", **case)
        parts = read(x, nu.points, nu.points, score=score, weights=nu.weights).log_partition
        claimed = log((exp(scores) * balls(masses)).sum(axis=1))
        error = partition_error(x, nu.points, score, np.log(nu.weights))
        yield equals(gap(parts, claimed, error), 0, scale=1, part="partition", **case)
