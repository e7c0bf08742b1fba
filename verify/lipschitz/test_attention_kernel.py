"""Attention as lookup after matching: what each of its slots, the projection and the temperature can stretch."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import (
    AttentionKernel,
    Composition,
    Dirac,
    DotProduct,
    Softmatch,
    boltzmann_gibbs,
    transform_error,
)
from theory.evidence import Claim, Interval, at_most, ball, bug, constant, equals, hypothesis, limit, verifies
from theory.evidence.roundoff import gamma
from theory.lipschitz import witnesses
from theory.lipschitz.constants import query_distance, query_slope, transform_constant, with_temperature
from verify import textbook
from verify.inputs import UNITS
from verify.lipschitz.pairs import norm, rounded
from verify.lipschitz.tilts import FLOOR, between, clouds, diameter, length, oscillation, spread
from verify.textbook import balls, hull

SOURCES = ("vuckovic2020",)
REFEREED, ON_PAPER = ("derived", "refereed"), ("derived", "refereed on paper")


@verifies(
    Claim(
        "gibbs.query",
        "between two queries the law of the matched key moves by at most the diameter times tanh of a quarter of the range of the score difference",
        r"$W_1(S_\mu(x), S_\mu(x')) \le D_\mu\tanh\frac{\mathrm{osc}\,\Delta}4 \le \min(\frac D2\ell_x, \frac{D^2}4\ell_{xy})|x - x'|$, $\Delta = a(x, \cdot) - a(x', \cdot)$, and $\le D\,\frac{\sup|G(x, \cdot) - G(x', \cdot)|}{\inf G}$; equality at $\frac12(\delta_{-1/2} + \delta_{1/2})$, $a = xy$, $x = -x'$",
        assumptions=("keys in a set of diameter D", "the corollaries for scores x'By"),
        spec=("MA.L2", "MA.L5"),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("eighth", "the argument of tanh is an eighth of the oscillation", quarters=8.0),
    constant("query", "the constant of the query is D l / 4", halves=4.0),
    constant("mixed", "the mixed constant is divided by eight", fourths=8.0),
    hypothesis("two-references", "the second query weighs the keys by two to three", tilt=0.4),
)
def test_query(run, *, quarters=4.0, halves=2.0, fourths=4.0, tilt=None):
    keys = np.array([[-0.5], [0.5]])
    cases = [(keys, np.full(2, 0.5), np.eye(1), np.array([-u / 2.0]), np.array([u / 2.0])) for u in (2.0**-6, 1.0, 6.0)]
    for number, rng in enumerate(run.draws(quick=12, paper=250)):
        n, d, unit = int(rng.integers(2, 9)), int(rng.integers(1, 4)), UNITS[number % len(UNITS)]
        x = rng.normal(size=d)
        there = x + 10.0 ** rng.uniform(-2.0, 1.0) * rng.normal(size=d)
        points, masses = unit * rng.normal(size=(n, d)), rng.dirichlet(np.full(n, 0.5)) + 1e-9
        cases.append((points, masses, rng.normal(size=(d, d)), x / unit, there / unit))
    for number, (points, masses, form, x, there) in enumerate(cases):
        mu, score, size = Measure.normalised(points, masses), DotProduct(form=form), diameter(points)
        other = Measure(points, [tilt, 1.0 - tilt]) if tilt and number < 3 else mu
        kernels = [(Softmatch(score, m), query) for m, query in ((mu, x), (other, there))]
        after = between(*((k.at(q), spread(k.at(q), k.error(q[np.newaxis]), size)) for k, q in kernels))
        rows = [textbook.exp(balls(q) @ balls(form) @ balls(points).T) for q in (x, there)]
        difference = (balls(x) - balls(there)) @ balls(form) @ balls(points).T
        moved = hull(((balls(x) - balls(there)) ** 2).sum().sqrt())
        reach = Interval.largest(hull((row * row).sum().sqrt()) for row in balls(points) @ balls(form).T)
        norm = float(np.linalg.norm(form, 2))
        mixed = Interval.within(norm, gamma(64 * form.shape[0]) * float(np.linalg.norm(form)))
        least = -Interval.largest(-hull(g) for row in rows for g in row)
        bounds = {
            "tanh": size * hull((ball(oscillation(difference).hi) / ball(quarters)).tanh()),
            "query": size / halves * reach * moved,
            "mixed": size * size / fourths * mixed * moved,
            "weights": size * Interval.largest(hull(abs(g)) for g in rows[0] - rows[1]) / least,
        }
        for way, bound in bounds.items():
            yield at_most(after, bound, way=way, n=mu.size, d=mu.dim)
        if number < 3:
            yield equals(after, bounds["tanh"], way="equality", u=2.0 * there.item())
            yield equals(rounded(query_distance(2.0 * there.item(), 1.0)), bounds["tanh"], part="constant")
            slope = query_slope(score.constants(0.5), 1.0)
            yield equals(rounded(slope * 2.0 * there.item()), bounds["mixed"], part="constant")
        if number == 1:
            yield equals(after, Interval.printed("0.24492"), part="printed")


@verifies(
    Claim(
        "gibbs.kernel",
        "at a fixed query attention stretches W1 by at most the constant of the transform times that of the values, projected or not",
        r"$W_1(A_\mu(x), A_\nu(x)) \le \|V\|e^{\mathrm{osc}_ya(x, \cdot)}(1 + D\ell_y)W_1(\mu, \nu)$ and $W_1(A_\mu(x), A_\mu(x')) \le \|V\|\min(\frac D2\ell_x, \frac{D^2}4\ell_{xy})|x - x'|$, for barycentres and for the law of the values",
        assumptions=("scores x'By", "keys in a set of diameter D"),
        spec=("MA.L5",),
        cites=SOURCES,
        provenance=ON_PAPER,
    ),
    constant("near", "the constant of the measure is two per cent smaller", factor=0.98),
    constant("no-slope", "the constant of the measure has no slope", rate=0.0),
    bug("values", "the norm of the value matrix is left out", valued=False),
    hypothesis("long-query", "the query is half as long again", stretch=1.5),
)
def test_kernel(run, *, factor=1.0, rate=1.0, valued=True, stretch=1.0):
    light, step = 2.0**-13, 2.0**-10
    ramp = [Measure([[0.0], [1.0 - s]], [1.0 - light, light]) for s in (0.0, step)]
    cases = [(*ramp, np.eye(1), np.array([[2.0]]), np.array([3.0]), np.array([2.5]))]
    for number, rng in enumerate(run.draws(quick=8, paper=150)):
        d, unit = int(rng.integers(1, 4)), UNITS[number % len(UNITS)]
        x = rng.normal(size=d)
        pair, matrices = clouds(rng, d, unit), rng.normal(size=(2, d, d))
        cases.append((*pair, *matrices, x / unit, (x + 0.1 * rng.normal(size=d)) / unit))
    for mu, nu, form, value, x, there in cases:
        score, before = DotProduct(form=form), w1(mu, nu)
        both = np.concatenate([mu.points, nu.points])
        size, tau = diameter(both), norm(value) if valued else Interval.exactly(1.0)
        if before.lo < FLOOR * size.hi:
            continue
        asked, slope = stretch * x, length(balls(x) @ balls(form))
        scores = balls(x) @ balls(form) @ balls(both).T
        bound = factor * tau * hull(ball(oscillation(scores).hi).exp()) * (1.0 + rate * size * slope) * before
        moved, reach = (
            length(balls(asked) - balls(there)),
            Interval.largest(length(y) for y in balls(mu.points) @ balls(form).T),
        )
        turned = tau * moved * min(size / 2.0 * reach, size * size / 4.0 * norm(form), key=lambda slope: slope.hi)
        for measured, other, query, limited, way in (
            (mu, nu, asked, bound, "measure"),
            (mu, mu, there, turned, "query"),
        ):
            kernels = AttentionKernel(score, measured, value), AttentionKernel(score, other, value)
            error = sum(k.rounding(q[np.newaxis]) for k, q in zip(kernels, (asked, query), strict=True))
            apart = w1(kernels[0].at(asked), kernels[1].at(query))
            slack = Interval.within(0.0, error * math.sqrt(mu.dim))
            yield at_most(apart + slack, limited, way=way, law="projected", n=mu.size, d=mu.dim)
            laws = []
            for law, q in ((measured, asked), (other, query)):
                match = Softmatch(score, law)
                image = Composition(match, Dirac(lambda y, v=value: y @ v.T)).at(q)
                slack = gamma(mu.dim + 4) * mu.dim * float(np.abs(both).max() * np.abs(value).sum())
                laws.append(
                    (
                        image,
                        spread(image, match.error(q[np.newaxis]), diameter(image.points)) + Interval.within(0.0, slack),
                    )
                )
            yield at_most(between(*laws), limited, way=way, law="values", n=mu.size, d=mu.dim)


@verifies(
    Claim(
        "gibbs.temperature",
        "a temperature divides every score constant, and no constant holds for all temperatures",
        r"$a/\tau$: $W_1(\Psi\mu, \Psi\nu) \le e^{o/\tau}(1 + D\ell/\tau)W_1(\mu, \nu)$; $\mu = \frac12(\delta_{-1} + \delta_1)$, $a = xy/\tau$: $\Gamma_\mu(x) = \tanh(x/\tau)$, of slope $1/\tau = \alpha/\tau$ at $0$",
        assumptions=("positive temperature",),
        spec=("MA.L11",),
        cites=SOURCES,
        provenance=ON_PAPER,
    ),
    constant("free", "one bounds the slope in the query at every temperature", cooling=0),
    constant("square", "the slope is the inverse of the squared temperature", power=2),
    hypothesis("uneven", "one atom has three times the mass of the other", masses=(0.25, 0.75)),
    bug("forgotten", "the temperature divides the exponent only", inner=0),
)
def test_temperature(run, *, cooling=1, power=1, masses=(0.5, 0.5), inner=1):
    for tau in (4.0, 1.0, 0.25, 0.0625):
        mu, t = Measure(witnesses.two_tokens(1.0).points, masses), Interval.exactly(tau)
        kernel, score = AttentionKernel(DotProduct(scale=1.0 / tau), mu), DotProduct(scale=1.0)
        secants = []
        for h in (tau * 2.0**-k for k in range(2, 8)):
            x = np.array([[-h], [h]])
            outputs = [Interval.within(float(y), kernel.rounding(x)) for y in kernel.output(x)[:, 0]]
            yield equals(outputs[1], hull((balls(h) / balls(tau**power)).tanh()), tau=tau, part="output")
            secants.append((outputs[1] - outputs[0]) / (2.0 * h))
        slope = limit(secants, order=2)
        yield equals(slope, 1.0 / t**power, tau=tau, part="slope")
        yield at_most(slope, (1.0 / t) ** cooling, tau=tau, part="query")
        yield equals(
            rounded(query_slope(with_temperature(score.constants(1.0), tau), 2.0)),
            1.0 / t**power,
            tau=tau,
            part="constant",
        )
        light, step = 2.0**-12 * math.exp(-min(6.0, 1.0 / tau)), 2.0**-12
        points, a = np.array([[0.0], [1.0 - step], [1.0]]), np.array([0.0, 1.0 - step, 1.0]) / min(1.0 / tau, 6.0) / tau
        height = Interval.exactly(a[2])
        pair = [Measure(points, w) for w in ([1.0 - light, 0.0, light], [1.0 - light, light, 0.0])]
        laws = [boltzmann_gibbs(m, a) for m in pair]
        errors = [spread(law, transform_error(m, a), Interval.exactly(1.0)) for m, law in zip(pair, laws, strict=True)]
        bound = hull(ball(height.hi).exp()) * (1.0 + height * tau ** (1 - inner))
        yield at_most(between(*zip(laws, errors, strict=True)), bound * w1(*pair), tau=tau, part="transform")
        yield equals(rounded(transform_constant(height.hi, height.hi, 1.0)), bound, part="transform constant")
