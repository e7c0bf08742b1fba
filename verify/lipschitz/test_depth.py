"""Errors of tokens, and heads that are concatenated: what moves a measure by how much."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import DotProduct, Head, MultiHead, SelfAttention
from theory.evidence import Claim, Interval, at_most, bug, constant, equals, hypothesis, verifies
from theory.evidence.roundoff import gamma
from theory.lipschitz import displacement, wp_line, wp_tokens
from theory.lipschitz.depth import concatenated_bound
from verify.inputs import UNITS
from verify.lipschitz.networks import draw_cloud, joint, largest, length, norm, rising, rounding_of

ROA = ("vuckovic2020",)
FLOOR = 1e-8  # of the radius: what rounding makes of nearer inputs looks like a violation
METRICS = (1.0, 2.0, math.inf)


@verifies(
    Claim(
        "depth.tokens",
        "clouds are no further apart than their tokens, and attention multiplies errors of tokens by its constant at most",
        r"$W_p(m(X), m(Y)) \le (\frac1N\sum_i|x_i - y_i|^p)^{1/p}$, outputs: $C_p$ times that, $C_1 = e^{2\alpha}(1 + 2\alpha) + \alpha$, $C_2 = e^\alpha(1 + \alpha) + \alpha$, $C_\infty = 1 + 2\alpha$",
        assumptions=("tokens in the ball of radius R, equal masses", "scores x'By, no mask, value matrix the identity"),
        spec=("MA.A1",),
        cites=("villani2009", *ROA),
        provenance=("derived", "refereed on paper"),
    ),
    constant("linear-mean", "mean errors grow by 1 + 2 alpha at most, as the largest does", mean=largest),
    constant("shorter", "clouds are nearer than tokens by one per cent", share=0.99),
    hypothesis("unequal", "the atoms have masses 0.9 and 0.1, and errors are averaged evenly", masses=(0.9, 0.1)),
    bug("not-rooted", "the mean square is taken for its root", rooted=False),
)
def test_tokens(run, *, mean=joint, share=1.0, masses=(0.5, 0.5), rooted=True):
    claimed = {1.0: mean, 2.0: lambda alpha: rising(lambda a: a.exp() * (1 + a) + a, alpha), math.inf: largest}

    def error(x, y, p):
        apart = displacement(x, y, p)
        if p == 2.0:
            return (apart**2 / x.shape[0]) if not rooted else apart / Interval.exactly(x.shape[0]).sqrt()
        return apart / x.shape[0] if p == 1.0 else apart

    x = np.array([[0.25], [1.0]])
    for p in METRICS:
        pushed = Measure(x + np.array([[0.5], [0.0]]), masses)
        yield at_most(
            wp_line(Measure(x, masses), pushed, p), share * error(x, pushed.points, p), p=p, input="one moved"
        )
        yield at_most(wp_line(Measure(x), Measure(x + 0.5), p), share * error(x, x + 0.5, p), p=p, input="translated")
    crowd = np.ones((400, 1))  # all but one token at 1, B = -1: in the mean the others follow the one at -1
    crowd[0] = -1.0
    inputs = [("crowd", crowd, crowd + 0.01 * (crowd < 0), np.array([[-1.0]]), 1.0)]
    for number, rng in enumerate(run.draws(quick=8, paper=120)):
        n, d = int(rng.integers(2, run.pick(quick=5, paper=6))), int(rng.integers(1, 4))
        radius = UNITS[number % len(UNITS)] * float(rng.uniform(0.5, 2.0))
        x = draw_cloud(rng, n, d, radius)
        y = x + 10.0 ** rng.uniform(-4.0, 0.0) * (draw_cloud(rng, n, d, radius) - x)
        if displacement(x, y).lo < FLOOR * radius:
            continue
        inputs.append(("random", x, y, rng.normal(size=(d, d)) * rng.choice([0.2, 1.0]) / radius**2, radius))
    for name, x, y, form, radius in inputs:
        layer = SelfAttention(DotProduct(form=form))
        images = [layer(z, Measure(z)) for z in (x, y)]
        off = max(rounding_of(form, None, Measure(z)) for z in (x, y))
        alpha = norm(form) * Interval.exactly(radius) ** 2
        for p in METRICS:
            if name == "random":
                yield at_most(wp_tokens(x, y, p), share * error(x, y, p), p=p, input=name, n=len(x))
            moved = displacement(*images, p, error=off)
            moved = moved / (
                1 if p == math.inf else Interval.exactly(len(x)) if p == 1.0 else Interval.exactly(len(x)).sqrt()
            )
            yield at_most(moved, claimed[p](alpha) * error(x, y, p), p=p, input=f"{name}, outputs", n=len(x))


def head(form, value, out):
    """A head with scores x' form y, times the value matrix, through its slice of the output matrix."""
    d = form.shape[0]
    return Head(form.T * math.sqrt(d), np.eye(d), value, out)


@verifies(
    Claim(
        "depth.heads",
        "heads that are concatenated move measures by the lengths of their query parts and of their measure parts, added",
        r"$W_1(T\mu, T\nu) \le \|W_O\|(|\lambda|_2 + |\kappa|_2)\,W_1(\mu, \nu)$, $\lambda_h = \|V_h\|\alpha_h$, $\kappa_h = \|V_h\|e^{2\alpha_h}(1 + 2\alpha_h)$; also $\le \sum_h\|W_hV_h\|C_1(\alpha_h)$",
        assumptions=("tokens in the ball of radius R", "scores x'By, no mask"),
        spec=("MA.A5",),
        cites=("vaswani2017", *ROA),
        provenance=("derived", "refereed on paper"),
    ),
    constant("single-exponent", "the exponents are alpha, not two alpha", rate=1),
    constant("largest-head", "the largest measure part stands for their length", pooled=Interval.largest),
    hypothesis("outside", "the tokens lie in the ball of twice the radius", reach=2.0),
    bug("no-output", "the norm of the output matrix is left out", output=False),
)
def test_heads(run, *, rate=2, pooled=length, reach=1.0, output=True):
    line = np.eye(1)
    far = [Measure([[1.0], [-1.0 + h]], [1.0 - 1e-5, 1e-5]) for h in (0.0, 0.01)]
    inputs = [("two alike", far, [(-line, line, line)] * 2, 1.0)]
    for number, rng in enumerate(run.draws(quick=8, paper=100)):
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        radius = UNITS[number % len(UNITS)] * float(rng.uniform(0.5, 2.0))
        count = int(rng.integers(1, 4))
        masses = rng.dirichlet(np.full(n, 0.4)) + 1e-9
        clouds = [Measure.normalised(draw_cloud(rng, n, d, radius), masses) for _ in range(2)]
        parts = [
            (
                rng.normal(size=(d, d)) * rng.choice([0.1, 0.5]) / radius**2,
                rng.normal(size=(d, d)),
                rng.normal(size=(d, d)),
            )
            for _ in range(count)
        ]
        inputs.append(("random", clouds, parts, radius))
    for name, clouds, parts, radius in inputs:
        heads = MultiHead(tuple(head(*part) for part in parts))
        both = [Measure(heads(reach * mu.points, Measure(reach * mu.points, mu.weights)), mu.weights) for mu in clouds]
        error = sum(heads.rounding(reach * mu.points, Measure(reach * mu.points, mu.weights)) for mu in clouds)
        apart = w1(*both) + Interval.within(0.0, error * math.sqrt(both[0].dim) * (1.0 + gamma(4)))
        alphas = [norm(form) * Interval.exactly(radius) ** 2 for form, _, _ in parts]
        values = [norm(value) for _, value, _ in parts]
        queries = [v * a for v, a in zip(values, alphas, strict=True)]
        kappas = [v * (joint(a, rate=rate) - a) for v, a in zip(values, alphas, strict=True)]
        out = norm(np.hstack([out for _, _, out in parts]))
        bound = (out if output else 1) * (length(queries) + pooled(kappas))
        before = reach * w1(*clouds)
        yield at_most(apart, bound * before, input=name, heads=len(parts))
        joined = sum(norm(w @ v) * joint(a, rate=rate) for (_, v, w), a in zip(parts, alphas, strict=True))
        yield at_most(apart, joined * before, input=f"{name}, summed", heads=len(parts))
        norms = [[np.linalg.norm(part[k], 2) for part in parts] for k in (0, 1)]
        own = concatenated_bound(*norms, out.mid)(radius).constant
        yield equals(Interval.within(own, 1e3 * gamma(64) * own), bound, input=name, part="constant")
