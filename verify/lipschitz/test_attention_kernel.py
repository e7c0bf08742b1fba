"""Attention as lookup after matching: what each of its slots, the projection and the temperature can stretch."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import AttentionKernel, Composition, Constants, Dirac, DotProduct, Softmatch, boltzmann_gibbs
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    balls,
    bug,
    constant,
    equals,
    exact,
    hull,
    hypothesis,
    limit,
    norm,
    verifies,
)
from theory.evidence.once import once
from theory.evidence.spectra import spectral_norm
from theory.lipschitz import diameter, witnesses
from theory.lipschitz.constants import query_distance, query_slope, transform_constant, with_temperature
from verify.inputs import FLOOR, UNITS, draw_pair

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
        source_status=REFEREED,
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
        n = int(rng.integers(2, 9))
        d = int(rng.integers(1, 4))
        unit = UNITS[number % len(UNITS)]
        x = rng.normal(size=d)
        there = x + 10.0 ** rng.uniform(-2.0, 1.0) * rng.normal(size=d)
        points = unit * rng.normal(size=(n, d))
        masses = rng.dirichlet(np.full(n, 0.5)) + 1e-9
        cases.append((points, masses, rng.normal(size=(d, d)), x / unit, there / unit))
    for number, (points, masses, form, x, there) in enumerate(cases):
        mu = Measure.normalised(points, masses)
        score = DotProduct(form=form)
        size = diameter(points)
        other = Measure(points, [tilt, 1.0 - tilt]) if tilt and number < 3 else mu
        after = w1(Softmatch(score, mu).at(exact(x)), Softmatch(score, other).at(exact(there)))
        scores = np.array([balls(x), balls(there)]) @ balls(form) @ balls(points).T
        weights = hull(np.exp(scores))
        moved = norm(balls(x) - balls(there))
        spread = np.ptp(hull(scores[0] - scores[1]))
        reach = hull(norm(balls(points) @ balls(form).T, axis=1)).max()
        bounds = {
            "tanh": size * np.tanh(spread / quarters),
            "query": size / halves * reach * moved,
            "mixed": size**2 / fourths * spectral_norm(form) * moved,
            "weights": size * abs(hull(np.exp(scores[0]) - np.exp(scores[1]))).max() / weights.min(),
        }
        for way, bound in bounds.items():
            yield at_most(after, bound, way=way, n=mu.size, d=mu.dim)
        if number < 3:
            u = float(2.0 * there[0])
            yield equals(after, bounds["tanh"], way="equality", u=u)
            yield equals(query_distance(exact(u), 1.0), bounds["tanh"], part="constant")
            yield equals(
                query_slope(Constants(*exact(score.constants(0.5))), 1.0) * u, bounds["mixed"], part="constant"
            )
        if number == 1:
            yield equals(after, Interval.printed("0.24492"), part="printed")


@once
def read_apart(score, value, *places):
    """How far apart the outputs are at two pairs of a law and a query, and the laws of their values."""
    asked = [(law, exact(query)) for law, query in places]
    outputs = [AttentionKernel(score, law, value).at(query) for law, query in asked]
    values = Dirac(lambda y: y @ value.T)
    laws = [Composition(Softmatch(score, law), values).at(query) for law, query in asked]
    return w1(*outputs), w1(*laws)


@verifies(
    Claim(
        "gibbs.kernel",
        "at a fixed query attention stretches W1 by at most the constant of the transform times that of the values, projected or not",
        r"$W_1(A_\mu(x), A_\nu(x)) \le \|V\|e^{\mathrm{osc}_ya(x, \cdot)}(1 + D\ell_y)W_1(\mu, \nu)$ and $W_1(A_\mu(x), A_\mu(x')) \le \|V\|\min(\frac D2\ell_x, \frac{D^2}4\ell_{xy})|x - x'|$, for barycentres and for the law of the values",
        assumptions=("scores x'By", "keys in a set of diameter D"),
        spec=("MA.L5",),
        cites=SOURCES,
        source_status=ON_PAPER,
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
        d = int(rng.integers(1, 4))
        unit = UNITS[number % len(UNITS)]
        x = rng.normal(size=d)
        pair = draw_pair(rng, d, unit)
        matrices = rng.normal(size=(2, d, d))
        cases.append((*pair, *matrices, x / unit, (x + 0.1 * rng.normal(size=d)) / unit))
    for mu, nu, form, value, x, there in cases:
        score = DotProduct(form=form)
        before = w1(mu, nu)
        keys = np.concatenate([mu.points, nu.points])
        size = diameter(keys)
        tau = spectral_norm(value) if valued else 1.0
        if before.lo < FLOOR * size.hi:
            continue
        asked = stretch * x
        slope = norm(balls(x) @ balls(form))
        moved = norm(balls(asked) - balls(there))
        scores = hull(balls(x) @ balls(form) @ balls(keys).T)
        bound = factor * tau * np.exp(np.ptp(scores)) * (1.0 + rate * size * slope) * before
        reach = hull(norm(balls(mu.points) @ balls(form).T, axis=1)).max()
        turned = tau * moved * np.minimum(size / 2.0 * reach, size**2 / 4.0 * spectral_norm(form))
        ways = {"measure": (mu, nu, asked, bound), "query": (mu, mu, there, turned)}
        for way, (one, other, query, limit_of) in ways.items():
            projected, unprojected = read_apart(score, value, (one, asked), (other, query))
            yield at_most(projected, limit_of, way=way, law="projected", n=mu.size, d=mu.dim)
            yield at_most(unprojected, limit_of, way=way, law="values", n=mu.size, d=mu.dim)


@verifies(
    Claim(
        "gibbs.temperature",
        "a temperature divides every score constant, and no constant holds for all temperatures",
        r"$a/\tau$: $W_1(\Psi\mu, \Psi\nu) \le e^{o/\tau}(1 + D\ell/\tau)W_1(\mu, \nu)$; $\mu = \frac12(\delta_{-1} + \delta_1)$, $a = xy/\tau$: $\Gamma_\mu(x) = \tanh(x/\tau)$, of slope $1/\tau = \alpha/\tau$ at $0$",
        assumptions=("positive temperature",),
        spec=("MA.L11",),
        cites=SOURCES,
        source_status=ON_PAPER,
    ),
    constant("free", "one bounds the slope in the query at every temperature", cooling=0),
    constant("square", "the slope is the inverse of the squared temperature", power=2),
    hypothesis("uneven", "one atom has three times the mass of the other", masses=(0.25, 0.75)),
    bug("forgotten", "the temperature divides the exponent only", inner=0),
)
def test_temperature(run, *, cooling=1, power=1, masses=(0.5, 0.5), inner=1):
    score = DotProduct(scale=1.0)
    for tau in (4.0, 1.0, 0.25, 0.0625):
        mu = Measure(witnesses.two_tokens(1.0).points, masses)
        t = exact(tau)
        kernel = AttentionKernel(DotProduct(scale=1.0 / tau), mu)
        secants = []
        for h in (tau * 2.0**-k for k in range(2, 8)):
            outputs = kernel.output(exact([[-h], [h]]))[:, 0]
            yield equals(outputs[1], np.tanh(h / t**power), tau=tau, part="output")
            secants.append((outputs[1] - outputs[0]) / (2.0 * h))
        slope = limit(secants, order=2)
        yield equals(slope, 1.0 / t**power, tau=tau, part="slope")
        yield at_most(slope, (1.0 / t) ** cooling, tau=tau, part="query")
        told = query_slope(with_temperature(Constants(*exact(score.constants(1.0))), t), 2.0)
        yield equals(told, 1.0 / t**power, tau=tau, part="constant")
        light, step = 2.0**-12 * math.exp(-min(6.0, 1.0 / tau)), 2.0**-12
        points = np.array([[0.0], [1.0 - step], [1.0]])
        a = np.array([0.0, 1.0 - step, 1.0]) / min(1.0 / tau, 6.0) / tau
        height = exact(a[2])
        pair = [Measure(points, w) for w in ([1.0 - light, 0.0, light], [1.0 - light, light, 0.0])]
        bound = np.exp(height) * (1.0 + height * tau ** (1 - inner))
        after = w1(*(boltzmann_gibbs(law, exact(a)) for law in pair))
        yield at_most(after, bound * w1(*pair), tau=tau, part="transform")
        yield equals(transform_constant(height, height, 1.0), bound, tau=tau, part="transform constant")
