"""Dot-product attention on a ball is Lipschitz: exponentially in W1, linearly in W-infinity, and between in W_p."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import AttentionKernel, CausalKernel, DotProduct, rounding
from theory.evidence import Claim, Interval, at_most, bug, constant, equals, hypothesis, limit, verifies
from theory.evidence.roundoff import gamma
from theory.lipschitz import (
    balanced_query,
    far_atom,
    joint_constant,
    max_norm_constant,
    near_atom,
    overtaken,
    response_ratio,
    studies,
    wp_tokens,
)
from theory.lipschitz.studies.bounded import LIGHT
from verify.lipschitz.pairs import FLOOR, apart, ball, blurred, image, layer, moved, norm, rounded, rows
from verify.textbook import balls, hull

SOURCES = ("vuckovic2020", "castin2024")
REFEREED = ("derived", "refereed")
PRINTED = {  # alpha: exp(2 alpha)(1 + 2 alpha), C_1
    0.25: ("2.47308", "2.72308"),
    0.5: ("5.43656", "5.93656"),
    1.0: ("22.1672", "23.1672"),
    2.0: ("272.991", "274.991"),
    3.0: ("2824", "2827"),
}


def joint(alpha, rate=2.0, slope=2.0):
    """C_1 as it is printed, in balls; the twins change its exponent and its slope."""
    a = balls(alpha).item()
    return hull((balls(rate).item() * a).exp() * (1 + balls(slope).item() * a) + a)


@verifies(
    Claim(
        "lipschitz.joint",
        "attention on a ball is Lipschitz in W1, with a constant that is exponential in the product of norm and squared radius",
        r"$W_1(T\mu, T\nu) \le \|V\|\,C_1(\alpha)\,W_1(\mu, \nu)$ on $\mathcal P(B_R)$, $C_1(\alpha) = e^{2\alpha}(1 + 2\alpha) + \alpha$, $\alpha = \|B\|R^2$",
        assumptions=("scores x'By, no mask", "tokens in a ball of radius R"),
        spec=("MA.L6",),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("single-exponent", "the exponent is alpha, not two alpha", rate=1.0),
    constant("polynomial", "the constant is 1 + 3 alpha", rate=0.0),
    constant("half", "half the constant", share=0.5),
    constant("slope", "the factor of the exponential is 1 + 1.9 alpha", slope=1.9),
    hypothesis("outside", "the light atoms lie in the ball of twice the radius", reach=2.0),
    hypothesis("masked", "tokens carry times, and see only what is not later", masked=True),
)
def test_joint(run, *, rate=2.0, slope=2.0, share=1.0, reach=1.0, masked=False):
    for rng in run.streams(run.pick(quick=6, paper=200)):
        d, radius = int(rng.integers(1, 4)), float(rng.uniform(0.5, 2.0))
        form, value = layer(rng, d, radius)
        clouds = [ball(rng, int(rng.integers(1, 6)), d, radius)]
        clouds.append(moved(rng, clouds[0], radius) if rng.uniform() < 0.7 else ball(rng, 4, d, radius))
        masses = [rng.dirichlet(np.full(len(cloud), 0.4)) + 1e-12 for cloud in clouds]
        same = len(clouds[0]) == len(clouds[1]) and rng.uniform() < 0.7
        mu, nu = (Measure.normalised(x, masses[0] if same else w) for x, w in zip(clouds, masses, strict=True))
        before = w1(mu, nu)
        if before.lo < FLOOR * radius:
            continue
        (one, first), (other, second) = (image(m, form, value) for m in (mu, nu))
        alpha = norm(form) * Interval.exactly(radius) ** 2
        bound = norm(value) * Interval(joint(alpha.lo, rate, slope).lo, joint(alpha.hi, rate, slope).hi)
        yield at_most(blurred(w1(one, other), first, second), share * bound * before, d=d, n=mu.size, alpha=alpha.mid)
    table = run.study(studies.tightness).where(metric="W1")
    for alpha, way, stretch in rows(table):
        yield at_most(stretch, share * joint(alpha, rate, slope), alpha=alpha, way=way)
    for alpha, (_, printed) in PRINTED.items():
        light = far_atom(alpha, LIGHT * math.exp(-2.0 * alpha))
        wide = light._replace(points=reach * light.points)
        yield at_most(response_ratio(wide, 1), share * joint(alpha, rate, slope), alpha=alpha, way="far atom")
        for claimed in (joint(alpha), Interval.printed(printed)):
            yield equals(rounded(joint_constant(alpha)), claimed, alpha=alpha, part="constant")
    for gap in (1e-1, 1e-6):
        early, late = overtaken(gap)
        images, errors = [], []
        for mu in (early, late):
            values = Measure(mu.points[:, 1:])
            kernel = AttentionKernel(DotProduct(scale=1.0), values)
            errors.append(kernel.rounding(values.points))
            if masked:
                images.append(Measure(CausalKernel(DotProduct(scale=1.0), mu).output(mu.points)[:, 1:]))
            else:
                images.append(kernel.push(values))
        measured = blurred(w1(*images), *errors)
        yield at_most(measured, share * joint(1.0, rate, slope) * w1(early, late), scale=1e-6, gap=gap, way="overtaken")


@verifies(
    Claim(
        "lipschitz.joint-witness",
        "in W1 a light atom far from all others attains all but the last term of the constant in the limit",
        r"$(1 - \epsilon)\delta_R + \epsilon\delta_{-R}$, $B = -\alpha/R^2$, the light atom moved: stretch $\to e^{2\alpha}(1 + 2\alpha)$ as $\epsilon \to 0$; $B > 0$, bulk at $R/2$: $e^{\alpha/4}(1 + \alpha/4)$",
        assumptions=("one dimension",),
        spec=("MA.L6",),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("single-exponent", "the limit is exp(alpha)(1 + 2 alpha)", rate=1.0),
    constant("whole", "the limit is the whole constant, with + alpha", rest=1.0),
    hypothesis("positive", "the form is positive", witness=near_atom),
    bug("all-moved", "both atoms are pushed", pushed=1.0),
)
def test_joint_witness(run, *, rate=2.0, rest=0.0, witness=far_atom, pushed=0.0):
    levels = run.pick(quick=6, paper=12)
    for alpha, (printed, _) in PRINTED.items():
        ratios = []
        for level in range(levels):
            push = witness(alpha, 2.0 ** -(12 + level) * math.exp(-2.0 * alpha))
            push.velocities[0] = pushed
            ratios.append(response_ratio(push, 1))
        found = limit(ratios, order=1)
        a = balls(alpha).item()
        claimed = hull((balls(rate).item() * a).exp() * (1 + 2 * a)) + rest * alpha
        yield equals(found, claimed, alpha=alpha)
        yield equals(found, Interval.printed(printed), alpha=alpha, part="printed")
        inner = limit([response_ratio(near_atom(alpha, 2.0 ** -(12 + k)), 1) for k in range(levels)], order=1)
        yield equals(inner, hull((a / 4).exp() * (1 + a / 4)), alpha=alpha, part="positive")


@verifies(
    Claim(
        "lipschitz.max-norm",
        "no token moves further than one plus two alpha times the largest displacement, whatever the number of tokens",
        r"$W_\infty(T\mu, T\nu) \le \|V\|(1 + 2\alpha)W_\infty(\mu, \nu)$ and $\max_i|F_i(X) - F_i(Y)| \le \|V\|(1 + 2\alpha)\max_i|x_i - y_i|$, for any weights and for causal masks",
        assumptions=("scores x'By", "tokens in a ball of radius R"),
        spec=("MA.L7", "MA.M2"),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("single", "the constant is 1 + alpha", slope=1.0),
    constant("near", "the constant is 1 + 1.7 alpha", slope=1.7),
    hypothesis("outside", "the balanced query and its keys lie in the ball of twice the radius", reach=2.0),
)
def test_max_norm(run, *, slope=2.0, reach=1.0):
    for rng in run.streams(run.pick(quick=10, paper=300)):
        d, radius, n = int(rng.integers(1, 4)), float(rng.uniform(0.5, 2.0)), int(rng.integers(1, 6))
        form, value = layer(rng, d, radius)
        x = ball(rng, n, d, radius)
        y = moved(rng, x, radius)
        before, score = apart(x, y), DotProduct(form=form)
        if before.lo < FLOOR * radius:
            continue
        alpha = norm(form) * Interval.exactly(radius) ** 2
        bound = norm(value) * (1.0 + slope * alpha)
        weights = Measure.normalised(x, rng.dirichlet(np.full(n, 0.4)) + 1e-12).weights
        (one, first), (other, second) = (image(Measure(z, weights), form, value) for z in (x, y))
        case = {"d": d, "n": n, "alpha": alpha.mid}
        yield at_most(blurred(apart(one.points, other.points), first, second), bound * before, way="tokens", **case)
        (one, first), (other, second) = (image(Measure(z), form, value) for z in (x, y))
        pairs = (wp_tokens(x, y, math.inf), blurred(wp_tokens(one.points, other.points, math.inf), first, second))
        yield at_most(pairs[1], bound * pairs[0], way="measures", **case)
        (one, first), (other, second) = (attend_causally(z, score, value) for z in (x, y))
        yield at_most(blurred(apart(one, other), first, second), bound * before, way="causal", **case)
    table = run.study(studies.tightness).where(metric="Winf")
    for alpha, way, stretch in rows(table):
        yield at_most(stretch, 1.0 + slope * Interval.exactly(alpha), alpha=alpha, way=way)
    for alpha in (*PRINTED, 4.0, 16.0):
        push, far = balanced_query(alpha), balanced_query(reach**2 * alpha)
        wide = far._replace(points=reach * far.points, form=far.form / reach**2)
        yield at_most(response_ratio(wide, math.inf), 1.0 + slope * Interval.exactly(alpha), alpha=alpha, way="query")
        answer = Interval.exactly(alpha) + max(1.0, alpha)
        yield equals(blurred(response_ratio(push, math.inf), gamma(64) * 8.0 * alpha), answer, alpha=alpha, way="row")
        yield equals(rounded(max_norm_constant(alpha)), 1 + 2 * Interval.exactly(alpha), alpha=alpha, part="constant")


def attend_causally(x, score, value):
    """Return the outputs of causal self-attention, and how far any of them may be off."""
    times = np.arange(1.0, len(x) + 1.0)[:, np.newaxis]
    tokens = np.hstack([times, x])
    entry = rounding(x, x, x, score=score, causal=True) + gamma(x.shape[1] + 2) * float(np.abs(x).max())
    error = entry * float(np.abs(value).sum(axis=1).max()) * math.sqrt(x.shape[1]) * (1.0 + gamma(8))
    return CausalKernel(score, Measure(tokens)).output(tokens)[:, 1:] @ value.T, error
