"""The constants that the learned score states on a ball, and what they bound: how far attention moves measures."""

import numpy as np

from theory import Measure, w1
from theory.attention import AttentionKernel, Constants
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    limit,
    norm,
    verifies,
)
from theory.evidence.spectra import spectral_norm
from theory.lipschitz.constants import score_constant
from theory.metric import MetricScore, ResidualFeatures
from verify.inputs import FLOOR, UNITS, draw_cloud, draw_residual, push_within

KIM = ("ruan2024", "kim2021")


ROUNDED_UP = Interval(1.0, 1.0 + 2.0**-38)  # the Lipschitz constant, twice a factor, by a thousand roundings


def steep(branch, dim=2):
    """Features that stretch by 1 + branch at the origin along the first axis, and hardly less in a small ball."""
    axis = np.eye(dim)[:1]
    return ResidualFeatures(axis.T, np.zeros(1), branch * axis, np.zeros(dim))


def statement(g, radius, epsilon, *, power=2, share=1):
    """The constants as claimed."""
    lipschitz = 1 + share * spectral_norm(g.inner) * spectral_norm(g.outer)
    beta, across = 1 / (2 * exact(epsilon)), 2 * lipschitz * radius
    slope = 2 * beta * across * lipschitz
    return {"oscillation": beta * across**power, "query": slope, "key": slope, "mixed": 2 * beta * lipschitz**2}


def variation(score, x, y):
    """The oscillation of the scores of queries with keys, and their difference quotients."""
    queries, keys = exact(x), exact(y)
    a = score.matrix(queries, keys)
    step, over = norm(queries[0] - queries[1]), norm(keys[0] - keys[1])
    return {
        "oscillation": np.ptp(a, axis=1).max(),
        "query": abs(a[0] - a[1]).max() / step,
        "key": abs(a[:, 0] - a[:, 1]).max() / over,
        "mixed": abs(a[0, 0] - a[0, 1] - a[1, 0] + a[1, 1]) / (step * over),
    }


@verifies(
    Claim(
        "metric.constants",
        "on a ball the learned score varies no more than the Lipschitz constant of its features allows, and just so much in small balls",
        r"$L = 1 + \|U\|\|W\|$, $D = 2LR$, $\beta = \frac1{2\varepsilon}$: oscillation $\le \beta D^2$, Lipschitz constants $\le 2\beta DL$ in either slot, mixed constant $\le 2\beta L^2$ on $B_R$",
        remark=r"all four are attained as $R \to 0$ for $U = \|U\|W^\top$",
        assumptions=("residual features",),
        spec=("DL.E2", "MA.D4"),
        cites=KIM,
        source_status=("derived",),
    ),
    constant("near", "the branch counts two per cent less", share=0.98),
    bug("rooted", "the oscillation is beta times the diameter", power=1),
    hypothesis("half-ball", "the ball has half the radius", reach=0.5),
)
def test_constants(run, *, share=1, power=2, reach=1):
    for number, rng in enumerate(run.draws(quick=6, paper=120)):
        d = int(rng.integers(1, 4))
        unit = UNITS[number % len(UNITS)]
        radius = unit * float(rng.uniform(0.3, 2.0))
        epsilon = unit**2 * float(rng.uniform(0.2, 2.0))
        g = draw_residual(rng, d, int(rng.integers(1, 4)), float(rng.uniform(0.1, 2.0)), unit)
        x, y = draw_cloud(rng, 4, d, radius), draw_cloud(rng, 4, d, radius)
        claimed = statement(g, reach * radius, epsilon, power=power, share=share)
        score = MetricScore(g, epsilon)
        if (x[0] == x[1]).all() or (y[0] == y[1]).all():  # both at one end of an interval
            continue
        for name, value in variation(score, x, y).items():
            yield at_most(value, claimed[name], part=name, d=d)
        for name, value in score.constants(radius)._asdict().items():
            yield equals(exact(value), ROUNDED_UP * claimed[name], part=f"stated {name}", d=d)
    g = steep(0.5)
    found = {}
    for k in range(4, 10):  # ends of a diameter, and points a little inside
        radius = 2.0**-k
        ends = np.array([[-radius, 0.0], [-radius * (1 - 2.0**-k), 0.0], [radius, 0.0], [radius * (1 - 2.0**-k), 0.0]])
        claimed = statement(g, radius * reach, 0.5, power=power, share=share)
        for name, value in variation(MetricScore(g, 0.5), ends[:2], ends[[2, 3, 0]]).items():
            found.setdefault(name, []).append(value / claimed[name])
            yield at_most(value, claimed[name], part=name, d=2)
    for name, ratios in found.items():
        yield equals(limit(ratios, order=2 if name == "oscillation" else 1), 1, part=f"attained, {name}")


@verifies(
    Claim(
        "metric.lipschitz",
        "the theorem for any score holds for the learned one: its four constants bound how far attention moves a measure",
        r"$W_1(\mu A_\mu, \nu A_\nu) \le [\min(\frac D2\ell_x, \frac{D^2}4\ell_{xy}) + e^o(1 + D\ell_y)]\,W_1(\mu, \nu)$ on $B_R$",
        remark=r"$D = 2R$, and $o, \ell_x, \ell_y, \ell_{xy}$ are those of the learned score; no bound below two would do: three tokens on the line, $\varepsilon = 0.15$",
        assumptions=("tokens in a ball", "any weights"),
        spec=("DL.E2", "MA.L6"),
        cites=("ruan2024", "vuckovic2021"),
        source_status=("derived",),
    ),
    constant("doubling", "attention at most doubles a distance", most=2.0),
    hypothesis("narrow", "the bandwidth is taken to be a thousand times as large", wider=1000.0),
    bug("constant-score", "the constants are those of a score that does not vary", flat=True),
    constant("more", "nor would any bound below two and a half", least=2.5),
)
def test_lipschitz(run, *, most=None, wider=1.0, flat=False, least=2):
    middle = [np.array([[-0.5], [shift], [0.5]]) for shift in (-(2.0**-7), 2.0**-7)]
    cases = [(steep(0.5, 1), 0.15, 0.5, *(Measure.normalised(x, np.ones(3)) for x in middle))]
    for number, rng in enumerate(run.draws(quick=8, paper=150)):
        n = int(rng.integers(2, 7))
        d = int(rng.integers(1, 4))
        unit = UNITS[number % len(UNITS)]
        radius = unit * float(rng.uniform(0.2, 1.0))
        g = draw_residual(rng, d, 3, float(rng.uniform(0.1, 1.0)), unit)
        points = draw_cloud(rng, n, d, radius)
        masses = rng.dirichlet(np.ones(n))
        pair = (Measure(points, masses), Measure(push_within(rng, points, radius), masses))
        cases.append((g, unit**2 * float(rng.uniform(0.2, 2.0)), radius, *pair))
    for number, (g, epsilon, radius, mu, nu) in enumerate(cases):
        score = MetricScore(g, epsilon)
        before = w1(mu, nu)
        if before.lo < FLOOR * radius:  # nothing moved
            continue
        after = w1(*(AttentionKernel(score, law).push(law.enclosed()) for law in (mu, nu)))
        stated = MetricScore(g, wider * epsilon).constants(radius)
        stated = Constants(0.0, 0.0, 0.0, 0.0) if flat else stated
        bound = most or score_constant(Constants(*exact(np.array(stated))), exact(2.0 * radius))
        yield at_most(after, bound * before, n=mu.size, d=mu.dim, input=number)
        if number == 0:
            yield at_least(after / before, least, part="expansion")
