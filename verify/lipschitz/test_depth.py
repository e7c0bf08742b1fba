"""Errors of tokens, and heads that are concatenated: what moves a measure by how much."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import DotProduct, Head, MultiHead, SelfAttention, step
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    verifies,
)
from theory.evidence.once import once
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import displacement, wp_line, wp_tokens
from theory.lipschitz.depth import concatenated_bound
from verify.inputs import FLOOR, UNITS, draw_cloud

ROA = ("vuckovic2020",)
METRICS = (1.0, 2.0, math.inf)
size_of = once(spectral_norm)


def joint(alpha, *, rate=2.0):
    """C_1, the constant of the mean displacement."""
    return np.exp(rate * alpha) * (1.0 + 2.0 * alpha)


def in_squares(alpha):
    """C_2, the constant of the root of the mean square."""
    return np.exp(alpha) * (1.0 + alpha) + alpha


def largest(alpha):
    """C_inf, the constant of the largest displacement."""
    return 1.0 + 2.0 * alpha


def length(parts):
    """The Euclidean length of a few intervals."""
    return np.sqrt(sum(part**2 for part in parts))


def mean_error(x, y, p, *, rooted=True):
    """The mean of the p-th powers of the displacements, to the power 1 / p."""
    apart = displacement(x, y, p)
    if p == 2.0:
        return apart / np.sqrt(exact(len(x))) if rooted else apart**2 / len(x)
    return apart / len(x) if p == 1.0 else apart


@verifies(
    Claim(
        "depth.tokens",
        "clouds are no further apart than their tokens, and attention multiplies errors of tokens by its constant at most",
        r"$W_p(m(X), m(Y)) \le (\frac1N\sum_i|x_i - y_i|^p)^{1/p}$, outputs: $C_p$ times that, $C_1 = e^{2\alpha}(1 + 2\alpha)$, $C_2 = e^\alpha(1 + \alpha) + \alpha$, $C_\infty = 1 + 2\alpha$",
        assumptions=("tokens in the ball of radius R, equal masses", "scores x'By, no mask, value matrix the identity"),
        spec=("MA.A1",),
        cites=("villani2009", *ROA),
        source_status=("derived",),
    ),
    constant("linear-mean", "mean errors grow by 1 + 2 alpha at most, as the largest does", mean=largest),
    constant("shorter", "clouds are nearer than tokens by one per cent", share=0.99),
    hypothesis("unequal", "the atoms have masses 0.9 and 0.1, and errors are averaged evenly", masses=(0.9, 0.1)),
    bug("not-rooted", "the mean square is taken for its root", rooted=False),
)
def test_tokens(run, *, mean=joint, share=1.0, masses=(0.5, 0.5), rooted=True):
    claimed = {1.0: mean, 2.0: in_squares, math.inf: largest}
    x = np.array([[0.25], [1.0]])
    for p in METRICS:
        pushed = Measure(x + np.array([[0.5], [0.0]]), masses)
        error = mean_error(x, pushed.points, p, rooted=rooted)
        yield at_most(wp_line(Measure(x, masses), pushed, p), share * error, p=p, input="one moved")
        error = mean_error(x, x + 0.5, p, rooted=rooted)
        yield at_most(wp_line(Measure(x), Measure(x + 0.5), p), share * error, p=p, input="translated")
    for name, x, y, form, radius in token_errors(run):
        layer = SelfAttention(DotProduct(form=form))
        images = [layer(exact(z), Measure(z).enclosed()) for z in (x, y)]
        alpha = spectral_norm(form) * exact(radius) ** 2
        for p in METRICS:
            error = mean_error(x, y, p, rooted=rooted)
            case = {"p": p, "n": len(x)}
            if name == "random":
                yield at_most(wp_tokens(x, y, p), share * error, input=name, **case)
            yield at_most(mean_error(*images, p), claimed[p](alpha) * error, input=f"{name}, outputs", **case)


def token_errors(run):
    """Yield a name, tokens as they are and as they are known, a form, and the radius of a ball that holds them."""
    crowd = np.ones((400, 1))  # all but one token at 1, B = -1: in the mean the others follow the one at -1
    crowd[0] = -1.0
    yield "crowd", crowd, crowd + 0.01 * (crowd < 0), np.array([[-1.0]]), 1.0
    for number, rng in enumerate(run.draws(quick=8, paper=120)):
        n = int(rng.integers(2, run.pick(quick=5, paper=6)))
        d = int(rng.integers(1, 4))
        radius = UNITS[number % len(UNITS)] * float(rng.uniform(0.5, 2.0))
        x = draw_cloud(rng, n, d, radius)
        y = x + 10.0 ** rng.uniform(-4.0, 0.0) * (draw_cloud(rng, n, d, radius) - x)
        if displacement(x, y).lo >= FLOOR * radius:
            yield "random", x, y, rng.normal(size=(d, d)) * rng.choice([0.2, 1.0]) / radius**2, radius


def head(form, value, out):
    """A head with scores x' form y, times the value matrix, through its slice of the output matrix."""
    d = form.shape[0]
    return Head(form.T * math.sqrt(d), np.eye(d), value, out)


@once
def images_apart(clouds, parts, reach):
    """How far attention in several heads takes two measures apart, after they were stretched."""
    heads = MultiHead(tuple(head(*part) for part in parts))
    laws = [Measure(reach * mu.points, mu.weights).enclosed() for mu in clouds]
    return w1(*(step(heads, law) for law in laws))


@verifies(
    Claim(
        "depth.heads",
        "heads that are concatenated move measures by the lengths of their query parts and of their measure parts, added",
        r"$W_1(T\mu, T\nu) \le \|W_O\|(|\lambda|_2 + |\kappa|_2)\,W_1(\mu, \nu)$, $\lambda_h = \|V_h\|\alpha_h$, $\kappa_h = \|V_h\|e^{2\alpha_h}(1 + 2\alpha_h)$; also $\le \sum_h\|W_hV_h\|e^{2\alpha_h}(1 + 2\alpha_h)\,W_1(\mu, \nu)$",
        assumptions=("tokens in the ball of radius R", "scores x'By, no mask"),
        spec=("MA.A5",),
        cites=("vaswani2017", *ROA),
        remark=r"whether $|\lambda|_2$ may be dropped for several heads is not known",
        source_status=("derived",),
    ),
    constant("single-exponent", "the exponents are alpha, not two alpha", rate=1),
    constant("largest-head", "the largest measure part stands for their length", pooled=Interval.largest),
    hypothesis("outside", "the tokens lie in the ball of twice the radius", reach=2.0),
    bug("no-output", "the norm of the output matrix is left out", output=False),
)
def test_heads(run, *, rate=2.0, pooled=length, reach=1.0, output=True):
    for name, clouds, parts, radius in many_heads(run):
        apart = images_apart(clouds, parts, reach)
        before = reach * w1(*clouds)
        norms = [[size_of(part[k]) for part in parts] for k in (0, 1)]
        out = size_of(np.hstack([out for _, _, out in parts]))
        alphas = [norm_of * exact(radius) ** 2 for norm_of in norms[0]]
        queries = [v * a for v, a in zip(norms[1], alphas, strict=True)]
        kappas = [v * joint(a, rate=rate) for v, a in zip(norms[1], alphas, strict=True)]
        bound = (out if output else 1) * (length(queries) + pooled(kappas))
        yield at_most(apart, bound * before, input=name, heads=len(parts))
        joined = sum(size_of(w @ v) * joint(a, rate=rate) for (_, v, w), a in zip(parts, alphas, strict=True))
        yield at_most(apart, joined * before, input=f"{name}, summed", heads=len(parts))
        own = concatenated_bound(*norms, out)(exact(radius)).constant
        added = (out if output else 1) * sum(kappas[1:], start=kappas[0])
        yield equals(own, np.minimum(bound, added), input=name, part="constant")


def many_heads(run):
    """Yield a name, two measures, form, value and output matrix of every head, and the radius of the ball."""
    line = np.eye(1)
    far = [Measure([[1.0], [-1.0 + h]], [1.0 - 1e-5, 1e-5]) for h in (0.0, 0.01)]
    yield "two alike", far, [(-line, line, line)] * 2, 1.0
    for number, rng in enumerate(run.draws(quick=8, paper=100)):
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        radius = UNITS[number % len(UNITS)] * float(rng.uniform(0.5, 2.0))
        count = int(rng.integers(1, 4))
        masses = rng.dirichlet(np.full(n, 0.4)) + 1e-9
        clouds = [Measure.normalised(draw_cloud(rng, n, d, radius), masses) for _ in range(2)]
        parts = []
        for _ in range(count):
            form = rng.normal(size=(d, d)) * rng.choice([0.1, 0.5]) / radius**2
            parts.append((form, rng.normal(size=(d, d)), rng.normal(size=(d, d))))
        yield "random", clouds, parts, radius
