"""How far the Boltzmann-Gibbs transform moves a law when the law, the query or the logits move."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import boltzmann_gibbs, transform_error
from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    total,
    verifies,
)
from theory.evidence.roundoff import U
from theory.lipschitz import witnesses
from theory.lipschitz.constants import logit_distance, transform_constant, weight_constant
from verify import textbook
from verify.inputs import UNITS
from verify.lipschitz.pairs import rounded
from verify.lipschitz.tilts import (
    FLOOR,
    average,
    between,
    diameter,
    exact,
    oscillation,
    spread,
    steepness,
    tilted,
    transformed,
)
from verify.textbook import balls, hull

SOURCES = ("vuckovic2020", "delmoral2004")
REFEREED = ("derived", "refereed")
RAMPS = ((1.0, 2.0, 0.5), (3.0, 1.0, 3.0), (2.0, 0.25, 1.0))  # diameter, slope and length of the ramp
PRINTED = witnesses.light_ramp(2.0, 0.5, 1e-6, 1e-5)


def witnesses():
    """The ramps, and the one that is printed."""
    for size, slope, ramp in RAMPS:
        yield witnesses.light_ramp(slope, ramp, 2.0**-20, 2.0**-16, size)
    yield PRINTED


@verifies(
    Claim(
        "gibbs.transform",
        "the Boltzmann-Gibbs transform of a potential stretches W1 by at most the exponential of its oscillation times one plus diameter times slope",
        r"$W_1(\Psi_g\mu, \Psi_g\nu) \le \frac{\sup g\,(1 + D\ell)}{\max(\mu(g), \nu(g))}W_1(\mu, \nu) \le e^o(1 + D\ell)W_1(\mu, \nu)$ for $g = e^a$, and $\le \frac{\sup g + D\,\mathrm{Lip}(g)}{\max(\mu(g), \nu(g))}W_1(\mu, \nu)$ for $g > 0$",
        assumptions=("a set of diameter D, finite or not", "a potential of oscillation o and Lipschitz constant l"),
        spec=("MA.L1",),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("near", "the constant is one per cent smaller", factor=0.99),
    constant("no-slope", "the constant is exp(o), without diameter and slope", rate=0.0),
    constant("half-exponent", "the exponent is half the oscillation", power=0.5),
    hypothesis("far", "the set has four times the diameter", reach=4.0),
)
def test_transform(run, *, factor=1.0, rate=1.0, power=1.0, reach=1.0):
    named = [((w.mu, w.nu), w.potential) for w in witnesses()]
    streams = enumerate(run.draws(quick=12, paper=400))
    drawn = [tilted(rng, UNITS[number % len(UNITS)]) for number, rng in streams]
    for number, ((mu, nu), a) in enumerate([*named, *drawn]):
        before, size = w1(mu, nu), diameter(mu.points)
        if (
            number >= len(named) and before.lo < FLOOR * size.hi
        ):  # the printed pair is nearer, and its laws known to 1e-19
            continue
        after = between(*(transformed(m, a, size) for m in (mu, nu)))
        g, width, slope = textbook.exp(balls(a)), size / reach, steepness(mu.points, a)
        largest, masses = Interval.largest(map(hull, g)), [hull(average(m, g)) for m in (mu, nu)]
        bounds = {
            "data": largest * (1.0 + rate * width * slope) / Interval.largest(masses),
            "weights": (largest + rate * width * steepness(mu.points, g)) / Interval.largest(masses),
            "constant": hull((ball(power) * ball(oscillation(a).hi)).exp()) * (1.0 + rate * width * slope),
        }
        for way, bound in bounds.items():
            yield at_most(after, factor * bound * before, way=way, n=mu.size, d=mu.dim)
    mu, nu, a = PRINTED
    size = Interval.exactly(1.0)
    ratio = between(*(transformed(m, a, size) for m in (mu, nu))) / w1(mu, nu)
    yield equals(ratio, factor * Interval.printed("8.1547"), part="printed")
    for size, slope, ramp in RAMPS:
        bound = hull((ball(power) * slope * ramp).exp()) * (1.0 + rate * slope * size / reach)
        yield equals(rounded(transform_constant(slope * ramp, slope, size)), factor * bound, part="constant")


@verifies(
    Claim(
        "gibbs.transform-sharp",
        "a light atom at the top of a ramp attains the whole constant in the limit, and so does its barycentre",
        r"$(1 - \epsilon)\delta_0 + \epsilon\delta_D$ against $(1 - \epsilon)\delta_0 + \epsilon\delta_{D - h}$: stretch $\to e^o(1 + D\ell)$ for $a = \ell\max(0, y - D + s)$, $\to 1 + 2\kappa D$ for $g = 1 + \kappa y$, and $|\Psi_g\mu(y) - \Psi_g\nu(y)|/W_1(\mu, \nu)$ likewise",
        assumptions=("the line",),
        spec=("MA.L1", "MA.L5"),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("near", "the limit is two per cent smaller", factor=0.98),
    constant("half-exponent", "the exponent is half the oscillation", power=0.5),
    hypothesis("heavy", "the mass of the atom stays a quarter", heavy=True),
)
def test_transform_sharp(run, *, factor=1.0, power=1.0, heavy=False):
    for size, slope, ramp in RAMPS:
        o = ball(slope) * ball(ramp)
        claims = {
            "ramp": hull((ball(power) * o).exp()) * (1.0 + Interval.exactly(slope) * size),
            "weights": 1.0 + 2.0 * Interval.exactly(slope) * size,
        }
        for way, claimed in claims.items():
            ratios, means = [], []
            for k in range(8, 8 + run.pick(quick=6, paper=8)):
                mu, nu, a = witnesses.light_ramp(slope, ramp, 0.25 if heavy else 2.0**-k, 2.0**-k, size)
                a = a if way == "ramp" else np.log1p(slope * mu.points[:, 0])  # the logarithm is off by few roundings
                (one, first), (other, second) = (transformed(m, a, Interval.exactly(size)) for m in (mu, nu))
                slack = first + second + spread(one, 8 * U * (1.0 + slope * size), Interval.exactly(2.0 * size))
                ratios.append((w1(one, other) + slack) / w1(mu, nu))
                terms = np.concatenate([one.weights, -other.weights]) * np.tile(mu.points[:, 0], 2)
                means.append((total(terms, U * np.abs(terms)) + slack) / w1(mu, nu))
            yield equals(limit(ratios, order=1), factor * claimed, way=way, D=size, part="transform")
            yield equals(limit(means, order=1), factor * claimed, way=way, D=size, part="barycentre")


@verifies(
    Claim(
        "gibbs.variation",
        "the transform multiplies total variation by at most the largest weight over the mean weight, which two atoms attain",
        r"$\|\Psi_g\mu - \Psi_g\nu\|_{TV} \le \frac{\sup g}{\max(\mu(g), \nu(g))}\|\mu - \nu\|_{TV}$, with equality for $(1 - \epsilon)\delta_0 + \epsilon\delta_1$ and $\delta_0$, $g(1) \ge g(0)$",
        assumptions=(r"$0 < g \le \sup g < \infty$",),
        spec=("MA.L1'",),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("non-expansive", "the transform does not expand total variation", none=True),
    constant("near", "the constant is two per cent smaller", factor=0.98),
    bug("one-sided", "the largest weight is taken over the atoms of the second law", seen=True),
    hypothesis("two-potentials", "the first law has half the potential", cooler=0.5),
)
def test_variation(run, *, none=False, factor=1.0, seen=False, cooler=1.0):
    pairs = [tilted(rng) for rng in run.draws(quick=24, paper=400)]
    for o, mass in ((2.0, 1e-4), (0.5, 0.25), (8.0, 2.0**-30)):
        mu, nu, a = witnesses.light_atom(o, mass)
        pairs.append(((mu, nu), a))
    for number, ((mu, nu), a) in enumerate(pairs):
        p, q = (boltzmann_gibbs(m, c * a) for m, c in ((mu, cooler), (nu, 1.0)))
        terms = np.abs(exact(p.weights) - exact(q.weights))
        error = sum(2.0 * transform_error(m, a) for m in (mu, nu))
        rest = [math.fsum(np.sort(law.weights)[:-1].tolist()) for law in (p, q)]  # all but the largest, as in spread
        after = hull(terms.sum() / 2) + Interval.within(0.0, error * sum(rest))
        before = hull(np.abs(exact(mu.weights) - exact(nu.weights)).sum() / 2)
        g = textbook.exp(balls(a))
        largest = Interval.largest(hull(b) for b, w in zip(g, nu.weights, strict=True) if w > 0.0 or not seen)
        bound = 1.0 if none else largest / Interval.largest(hull(average(m, g)) for m in (mu, nu))
        relation = equals if number >= len(pairs) - 3 else at_most
        yield relation(after, factor * bound * before, n=mu.size)
        if number == len(pairs) - 3:
            yield equals(after, Interval.printed("0.0007384"), part="printed")
    yield equals(rounded(weight_constant(math.e, 0.0, 0.0, 1.0)), factor * Interval.exactly(math.e), part="constant")


@verifies(
    Claim(
        "gibbs.logits",
        "logits that are off by at most delta move the law by at most the diameter times tanh of half of it",
        r"$\|a - \tilde a\|_\infty \le \delta \Rightarrow W_1(\Psi_{e^a}\mu, \Psi_{e^{\tilde a}}\mu) \le D\tanh\frac\delta2$; equality at two atoms with logits $\mp\frac\delta2$ and $\pm\frac\delta2$",
        assumptions=("a set of diameter D",),
        spec=("MA.L10",),
        cites=SOURCES,
        provenance=REFEREED,
    ),
    constant("quarter", "the argument of tanh is a quarter of delta", halves=4.0),
    bug("mean", "the mean error of the logits stands for the largest", mean=True),
    hypothesis("outlier", "one logit is off by one and a half times delta", outlier=1.5),
)
def test_logits(run, *, halves=2.0, mean=False, outlier=1.0):
    pair, third = Measure([[0.0], [1.0]]), Measure.normalised([[0.0], [1.0], [0.5]], [0.5, 0.5, 2.0**-40])
    cases = [(pair, np.array([-d, d]) / 2.0, np.array([d, -d])) for d in (1.0, 2.0**-8, 9.0)]
    cases.append((third, np.array([-0.5, 0.5, 0.0]), np.array([1.0, -1.0, 0.0])))
    for number, rng in enumerate(run.draws(quick=24, paper=400)):
        (mu, _), a = tilted(rng, UNITS[number % len(UNITS)])
        cases.append((mu, a, 10.0 ** rng.uniform(-2.0, 1.0) * rng.uniform(-1.0, 1.0, size=a.size)))
    for number, (mu, a, error) in enumerate(cases):
        size, off = diameter(mu.points), a + error
        delta = Interval.largest(abs(e) for e in map(hull, balls(off) - balls(a)))
        delta = Interval.exactly(float(np.mean(np.abs(error)))) if mean else delta
        off[0] = a[0] + outlier * error[0]
        after = between(transformed(mu, a, size), transformed(mu, off, size))
        bound = size * hull((ball(delta.hi) / ball(halves)).tanh())
        yield at_most(after, bound, n=mu.size, delta=delta.mid)
        if number < 3:
            yield equals(after, bound, way="equality", delta=delta.mid)
            yield equals(rounded(logit_distance(delta.mid, 1.0)), bound, part="constant")
        if number == 0:
            yield equals(after, Interval.printed("0.46212"), part="printed")
