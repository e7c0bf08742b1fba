"""How far the Boltzmann-Gibbs transform moves a law when the law, the query or the logits move."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import boltzmann_gibbs
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
    verifies,
)
from theory.lipschitz import diameter, witnesses
from theory.lipschitz.constants import logit_distance, lookup_constant, transform_constant, weight_constant
from verify.inputs import FLOOR, UNITS, draw_tilted

SOURCES = ("vuckovic2020", "delmoral2004")
REFEREED = ("derived", "refereed")
RAMPS = ((1.0, 2.0, 0.5), (3.0, 1.0, 3.0), (2.0, 0.25, 1.0))  # diameter, slope and length of the ramp
PRINTED = witnesses.light_ramp(2.0, 0.5, 1e-6, 1e-5)


def named_pairs():
    """The ramps, and the one that is printed."""
    for size, slope, ramp in RAMPS:
        yield witnesses.light_ramp(slope, ramp, 2.0**-20, 2.0**-16, size)
    yield PRINTED


def transformed(potential, *laws):
    """W1 of laws after the transform of a potential."""
    return w1(*(boltzmann_gibbs(law, exact(potential)) for law in laws))


def mean_of(law, values):
    """The mean of balls under a law."""
    weights = balls(law.weights)
    return hull((weights * values).sum() / weights.sum())


@verifies(
    Claim(
        "gibbs.transform",
        "the Boltzmann-Gibbs transform of a potential stretches W1 by at most the exponential of its oscillation times one plus diameter times slope",
        r"$W_1(\Psi_g\mu, \Psi_g\nu) \le \frac{\sup g\,(1 + D\ell)}{\max(\mu(g), \nu(g))}W_1(\mu, \nu) \le e^o(1 + D\ell)W_1(\mu, \nu)$ for $g = e^a$, and $\le \frac{\sup g + D\,\mathrm{Lip}(g)}{\max(\mu(g), \nu(g))}W_1(\mu, \nu)$ for $g > 0$",
        assumptions=("a set of diameter D, finite or not", "a potential of oscillation o and Lipschitz constant l"),
        spec=("MA.L1",),
        cites=SOURCES,
        source_status=REFEREED,
    ),
    constant("near", "the constant is one per cent smaller", factor=0.99),
    constant("no-slope", "the constant is exp(o), without diameter and slope", rate=0.0),
    constant("half-exponent", "the exponent is half the oscillation", power=0.5),
    hypothesis("far", "the set has four times the diameter", reach=4.0),
)
def test_transform(run, *, factor=1.0, rate=1.0, power=1.0, reach=1.0):
    named = [((pair.mu, pair.nu), pair.potential) for pair in named_pairs()]
    streams = enumerate(run.draws(quick=12, paper=400))
    drawn = [draw_tilted(rng, UNITS[number % len(UNITS)]) for number, rng in streams]
    for number, ((mu, nu), a) in enumerate([*named, *drawn]):
        before = w1(mu, nu)
        size = diameter(mu.points)
        if number >= len(named) and before.lo < FLOOR * size.hi:  # the printed pair is nearer, and known to 1e-19
            continue
        after = transformed(a, mu, nu)
        g = np.exp(balls(a))
        width = size / reach
        heaviest = np.maximum(mean_of(mu, g), mean_of(nu, g))
        slope, steep = (lookup_constant(exact(mu.points), v[:, np.newaxis]) for v in (exact(a), hull(g)))
        bounds = {
            "data": hull(g).max() * (1.0 + rate * width * slope) / heaviest,
            "weights": (hull(g).max() + rate * width * steep) / heaviest,
            "constant": np.exp(power * np.ptp(exact(a))) * (1.0 + rate * width * slope),
        }
        for way, bound in bounds.items():
            yield at_most(after, factor * bound * before, way=way, n=mu.size, d=mu.dim)
    mu, nu, a = PRINTED
    yield equals(transformed(a, mu, nu) / w1(mu, nu), factor * Interval.printed("8.1547"), part="printed")
    for size, slope, ramp in RAMPS:
        bound = np.exp(power * exact(slope) * ramp) * (1.0 + rate * exact(slope) * size / reach)
        yield equals(transform_constant(exact(slope) * ramp, exact(slope), size), factor * bound, part="constant")


@verifies(
    Claim(
        "gibbs.transform-sharp",
        "a light atom at the top of a ramp attains the whole constant in the limit, and so does its barycentre",
        r"$(1 - \epsilon)\delta_0 + \epsilon\delta_D$ against $(1 - \epsilon)\delta_0 + \epsilon\delta_{D - h}$: stretch $\to e^o(1 + D\ell)$ for $a = \ell\max(0, y - D + s)$, $\to 1 + 2\kappa D$ for $g = 1 + \kappa y$, and $|\Psi_g\mu(y) - \Psi_g\nu(y)|/W_1(\mu, \nu)$ likewise",
        assumptions=("the line",),
        spec=("MA.L1", "MA.L5"),
        cites=SOURCES,
        source_status=REFEREED,
    ),
    constant("near", "the limit is two per cent smaller", factor=0.98),
    constant("half-exponent", "the exponent is half the oscillation", power=0.5),
    hypothesis("heavy", "the mass of the atom stays a quarter", heavy=True),
)
def test_transform_sharp(run, *, factor=1.0, power=1.0, heavy=False):
    levels = range(8, 8 + run.pick(quick=6, paper=8))
    for size, slope, ramp in RAMPS:
        claims = {
            "ramp": np.exp(power * exact(slope) * ramp) * (1.0 + exact(slope) * size),
            "weights": 1.0 + 2.0 * exact(slope) * size,
        }
        for way, claimed in claims.items():
            ratios, means = [], []
            for k in levels:
                mu, nu, a = witnesses.light_ramp(slope, ramp, 0.25 if heavy else 2.0**-k, 2.0**-k, size)
                potential = exact(a) if way == "ramp" else np.log1p(slope * exact(mu.points[:, 0]))
                one, other = (boltzmann_gibbs(law, potential) for law in (mu, nu))
                ratios.append(w1(one, other) / w1(mu, nu))
                means.append((one.mean() - other.mean())[0] / w1(mu, nu))
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
        source_status=REFEREED,
    ),
    constant("non-expansive", "the transform does not expand total variation", none=True),
    constant("near", "the constant is two per cent smaller", factor=0.98),
    bug("one-sided", "the largest weight is taken over the atoms of the second law", seen=True),
    hypothesis("two-potentials", "the first law has half the potential", cooler=0.5),
)
def test_variation(run, *, none=False, factor=1.0, seen=False, cooler=1.0):
    pairs = [(*draw_tilted(rng), at_most) for rng in run.draws(quick=24, paper=400)]
    for o, mass in ((2.0, 1e-4), (0.5, 0.25), (8.0, 2.0**-30)):
        mu, nu, a = witnesses.light_atom(o, mass)
        pairs.append(((mu, nu), a, equals))
    for (mu, nu), a, relation in pairs:
        g = np.exp(balls(a))
        after = variation(boltzmann_gibbs(mu, exact(cooler * a)), boltzmann_gibbs(nu, exact(a)))
        largest = hull(g[nu.weights > 0.0] if seen else g).max()
        bound = 1.0 if none else largest / np.maximum(mean_of(mu, g), mean_of(nu, g))
        yield relation(after, factor * bound * variation(mu, nu), n=mu.size)
        if relation is equals and a[1] == 2.0:
            yield equals(after, Interval.printed("0.0007384"), part="printed")
    yield equals(weight_constant(exact(math.e), 0.0, 0.0, 1.0), factor * exact(math.e), part="constant")


def variation(one, other):
    """The total variation of two laws on the same atoms."""
    return abs(one.enclosed().law() - other.enclosed().law()).sum() / 2.0


@verifies(
    Claim(
        "gibbs.logits",
        "logits that are off by at most delta move the law by at most the diameter times tanh of half of it",
        r"$\|a - \tilde a\|_\infty \le \delta \Rightarrow W_1(\Psi_{e^a}\mu, \Psi_{e^{\tilde a}}\mu) \le D\tanh\frac\delta2$; equality at two atoms of equal masses with logits $\mp\frac\delta2$ and $\pm\frac\delta2$",
        assumptions=("a set of diameter D",),
        spec=("MA.L10",),
        cites=SOURCES,
        source_status=REFEREED,
    ),
    constant("quarter", "the argument of tanh is a quarter of delta", halves=4.0),
    bug("mean", "the mean error of the logits stands for the largest", mean=True),
    hypothesis("outlier", "one logit is off by one and a half times delta", outlier=1.5),
    hypothesis("uneven", "one of the two atoms has three times the mass of the other", masses=(0.25, 0.75)),
)
def test_logits(run, *, halves=2.0, mean=False, outlier=1.0, masses=(0.5, 0.5)):
    pair = Measure([[0.0], [1.0]], masses)
    third = Measure.normalised([[0.0], [1.0], [0.5]], [0.5, 0.5, 2.0**-40])
    cases = [(pair, np.array([-d, d]) / 2.0, np.array([d, -d])) for d in (1.0, 2.0**-8, 9.0)]
    cases.append((third, np.array([-0.5, 0.5, 0.0]), np.array([1.0, -1.0, 0.0])))
    for number, rng in enumerate(run.draws(quick=24, paper=400)):
        (mu, _), a = draw_tilted(rng, UNITS[number % len(UNITS)])
        cases.append((mu, a, 10.0 ** rng.uniform(-2.0, 1.0) * rng.uniform(-1.0, 1.0, size=a.size)))
    for number, (mu, a, error) in enumerate(cases):
        size = diameter(mu.points)
        off = a + error
        apart = abs(exact(off) - exact(a))
        delta = exact(float(np.mean(np.abs(error)))) if mean else apart.max()
        off[0] = a[0] + outlier * error[0]
        after = w1(*(boltzmann_gibbs(mu, exact(logits)) for logits in (a, off)))
        bound = size * np.tanh(delta / halves)
        yield at_most(after, bound, n=mu.size, delta=delta.mid)
        if number < 3:
            yield equals(after, bound, way="equality", delta=delta.mid)
            yield equals(logit_distance(delta, 1.0), bound, part="constant")
        if number == 0:
            yield equals(after, Interval.printed("0.46212"), part="printed")
