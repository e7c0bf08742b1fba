"""Dot-product attention on a ball is Lipschitz: exponentially in W1, linearly in W-infinity, and between in W_p."""

import math

import numpy as np

from theory import Measure
from theory.attention import AttentionKernel, DotProduct, attend
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    verifies,
)
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import displacement, response_ratio, studies, witnesses, wp_line, wp_tokens
from theory.lipschitz.constants import max_norm_constant
from verify.inputs import FLOOR, INSIDE, draw_cloud, draw_layer, push_within

SOURCES = ("vuckovic2020", "castin2024")
REFEREED = ("derived", "refereed")
PRINTED = {0.25: "2.47308", 0.5: "5.43656", 1.0: "22.1672", 2.0: "272.991", 3.0: "2824"}  # exp(2 alpha)(1 + 2 alpha)


@verifies(
    Claim(
        "lipschitz.joint-witness",
        "in W1 a light atom far from all others attains the constant in the limit",
        r"$(1 - \epsilon)\delta_R + \epsilon\delta_{-R}$, $B = -\alpha/R^2$, the light atom moved: stretch $\to e^{2\alpha}(1 + 2\alpha)$ as $\epsilon \to 0$; $B > 0$, bulk at $R/2$: $e^{\alpha/4}(1 + \alpha/4)$",
        assumptions=("one dimension",),
        spec=("MA.L6",),
        cites=SOURCES,
        source_status=REFEREED,
    ),
    constant("single-exponent", "the limit is exp(alpha)(1 + 2 alpha)", rate=1.0),
    constant("more", "the limit is alpha more", rest=1.0),
    hypothesis("positive", "the form is positive", witness=witnesses.near_atom),
    bug("all-moved", "both atoms are pushed", pushed=1.0),
)
def test_joint_witness(run, *, rate=2.0, rest=0.0, witness=witnesses.far_atom, pushed=0.0):
    levels = run.pick(quick=6, paper=12)
    for (alpha, printed), radius in zip(PRINTED.items(), (2.0**-9, 1.0, 2.0**7, 1.0, 2.0**11), strict=True):
        ratios = []
        for level in range(levels):
            push = witness(alpha, 2.0 ** -(12 + level) * math.exp(-2.0 * alpha))
            push.velocities[0] = pushed
            push = push._replace(points=radius * push.points, form=push.form / radius**2)
            ratios.append(response_ratio(push, 1))
        found = limit(ratios, order=1)
        a = exact(alpha)
        claimed = np.exp(rate * a) * (1.0 + 2.0 * a) + rest * a
        yield equals(found, claimed, alpha=alpha)
        yield equals(found, Interval.printed(printed), alpha=alpha, part="printed")
        inner = limit([response_ratio(witnesses.near_atom(alpha, 2.0 ** -(12 + k)), 1) for k in range(levels)], order=1)
        yield equals(inner, np.exp(rate * a / 8.0) * (1.0 + a / 4.0), alpha=alpha, part="positive")


@verifies(
    Claim(
        "lipschitz.max-norm",
        "no token moves further than one plus two alpha times the largest displacement, whatever the number of tokens",
        r"$W_\infty(T\mu, T\nu) \le \|V\|(1 + 2\alpha)W_\infty(\mu, \nu)$ and $\max_i|F_i(X) - F_i(Y)| \le \|V\|(1 + 2\alpha)\max_i|x_i - y_i|$, for any weights and for causal masks; a query at $R$ of no mass, keys at $\pm R$, the law $\frac12 \pm \frac1{8\alpha}$: $2\alpha + \frac1{8\alpha}$, $\alpha \ge 1$",
        assumptions=("scores x'By", "tokens in a ball of radius R"),
        spec=("MA.L7", "MA.M2"),
        cites=SOURCES,
        source_status=("derived",),
    ),
    constant("single", "the constant is 1 + alpha", slope=1.0),
    constant("near", "the constant is 1 + 1.9 alpha", slope=1.9),
    constant("row", "the query that is answered most finds both keys equally likely", lean=0.0),
    hypothesis("outside", "the balanced query and its keys lie in the ball of twice the radius", reach=2.0),
)
def test_max_norm(run, *, slope=2.0, reach=1.0, lean=1.0):
    for x, y, weights, radius, form, value in pushed(run):
        n, d = x.shape
        before = displacement(x, y)
        score = DotProduct(form=form)
        if before.lo < FLOOR * radius:
            continue
        alpha = spectral_norm(form) * exact(radius) ** 2
        bound = spectral_norm(value) * (1.0 + slope * alpha)
        case = {"d": d, "n": n, "alpha": alpha.mid}
        images = [AttentionKernel(score, Measure(z, weights), value).output(exact(z)) for z in (x, y)]
        yield at_most(displacement(*images), bound * before, part="tokens", **case)
        laws = [Measure(z).enclosed() for z in (x, y)]
        after = [AttentionKernel(score, law, value).push(law) for law in laws]
        if d == 1:
            start, end = wp_line(*laws, math.inf), wp_line(*after, math.inf)
        else:
            start = wp_tokens(x, y, math.inf)
            end = wp_tokens(*(law.points for law in after), math.inf)
        yield at_most(end, bound * start, part="measures", **case)
        images = [attend(z, z, z @ value.T, score=score, causal=True) for z in (exact(x), exact(y))]
        yield at_most(displacement(*images), bound * before, part="causal", **case)
    table = run.study(studies.tightness).where(metric="Winf")
    for alpha, way, stretch in zip(table["alpha"], table["way"], table["stretch"], strict=True):
        yield at_most(stretch, 1.0 + slope * exact(alpha), alpha=float(alpha), way=str(way))
    for alpha in (*PRINTED, 4.0, 16.0):
        a = exact(alpha)
        push = witnesses.balanced_query(alpha)
        far = witnesses.balanced_query(reach**2 * alpha)
        wide = far._replace(points=reach * far.points, form=far.form / reach**2)
        yield at_most(response_ratio(wide, math.inf), 1.0 + slope * a, alpha=alpha, way="query")
        answer = response_ratio(with_odds(push, alpha, 0.5), math.inf)
        yield equals(answer, a + max(1.0, alpha), alpha=alpha, part="row", way="balanced")
        if alpha >= 1.0:
            answer = response_ratio(with_odds(push, alpha, 0.5 + lean / (8 * ball(alpha))), math.inf)
            yield equals(answer, 2 * a + 1 / (8 * a), alpha=alpha, part="row", way="leaning")
            yield at_most(answer, 1.0 + slope * a, alpha=alpha, way="leaning")
        yield equals(max_norm_constant(a), 1 + slope * a, alpha=alpha, part="constant")


def with_odds(push, alpha, share):
    """The balanced query with masses, in balls, under which it finds this share of its attention at its own side."""
    share = ball(share)
    return push._replace(masses=np.array([ball(0), share * (-2 * ball(alpha)).exp(), 1 - share], dtype=object))


def pushed(run):
    """Yield clouds, moved ones, weights, a radius, a form and a value matrix: random, then a query amid opposed keys.

    The query is the last token and the key at R itself, and 54 others are at -R, so that under alpha = 2 it finds both
    places almost equally likely.
    """
    for rng in run.draws(quick=10, paper=300):
        d = int(rng.integers(1, 4))
        radius = float(10.0 ** rng.uniform(-3.0, 3.0))
        n = int(rng.integers(1, 6))
        form, value = draw_layer(rng, d, radius)
        value *= 10.0 ** rng.uniform(-3.0, 3.0)
        x = draw_cloud(rng, n, d, radius)
        y = push_within(rng, x, radius)
        yield x, y, Measure.normalised(x, rng.dirichlet(np.full(n, 0.4)) + 1e-12).weights, radius, form, value
    for radius, size in ((1.0, 1.0), (2.0**-9, 2.0**7)):
        side = INSIDE * radius * np.append(-np.ones(54), 1.0)[:, np.newaxis]
        form, value = np.array([[2.0 / radius**2]]), np.array([[size]])
        yield side, (1.0 - 2.0**-10) * side, np.full(55, 1.0 / 55.0), radius, form, value
