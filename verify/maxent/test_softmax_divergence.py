"""How far apart two softmax laws are: strong concavity, the Jeffreys identity, co-coercivity, total variation."""

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_least,
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
from theory.evidence.roundoff import U, gamma
from theory.maxent import divergence, free_energy, gibbs_law, log_softmax, softmax
from verify import textbook
from verify.maxent.laws import MANY, law, many, off
from verify.textbook import balls, hull

LEAST = 2.0**-960  # weights below 1e-300 are known absolutely only; times scores of a few thousand


def distance(p, q, power=1, times=1):
    """The sum of the absolute differences of two laws of balls, or of their squares, each so many times."""
    return (times * np.abs(p - q) ** power).sum()


def alike(x, y):
    """The first entry of every class of equal pairs, and how many are in it; balls."""
    _, first, counts = np.unique(x + 1j * y, return_index=True, return_counts=True)
    return first, balls(counts)


def pairs(run, *, quick, paper):
    """Yield scores x and y with a temperature: one pair that is near, one of a large range, then random ones."""
    yield np.array([2.0**-7, -(2.0**-7)]), np.array([-(2.0**-7), 2.0**-7]), 1.0
    yield np.array([2.0**-7, -(2.0**-7)]), np.array([-(2.0**-7), 2.0**-7]), 0.25
    yield np.array([900.0, 0.0, 1.0, -900.0]), np.array([0.0, 900.0, 2.0, -1.0]), 1.0
    yield many(), np.where(np.arange(MANY) % 2, many(0.9), 0.3), 0.7
    for size in (2.0**-40, 2.0**40):  # of scores and temperature at once
        yield size * np.array([0.5, -0.5, 0.1]), size * np.array([-0.5, 0.4, 0.3]), size
    for rng in run.draws(quick=quick, paper=paper):
        n, tau = int(rng.integers(2, 60)), float(rng.uniform(0.2, 4.0))
        y = rng.normal(size=n) * float(rng.choice([0.1, 1.0, 10.0]))
        yield y + rng.normal(size=n) * float(rng.choice([0.01, 1.0, 10.0])), y, tau


@verifies(
    Claim(
        "softmax.strong-concavity",
        "a law misses the largest free energy by at least half the temperature times its squared distance from softmax",
        r"$F_\tau(p^*) - F_\tau(p) \ge \frac\tau2\|p - p^*\|_1^2$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B3",),
        cites=("csiszar2011",),
        provenance=("recalled", "refereed on paper"),
    ),
    constant("near", "the constant is 0.51", factor=0.51),
    constant("unit-factor", "the factor tau is missing", power=0),
    hypothesis("uniform", "the distance is taken from the uniform law", uniform=True),
)
def test_strong_concavity(run, *, factor=0.5, power=1, uniform=False):
    step = 2.0**-13
    cases = [(np.zeros(2), np.array([0.5 + step, 0.5 - step]), tau) for tau in (1.0, 0.25)]
    for rng in run.draws(quick=30, paper=500):
        n, tau = int(rng.integers(2, 40)), float(rng.uniform(0.2, 4.0))
        s = rng.normal(size=n) * float(rng.choice([0.1, 1.0, 5.0]))
        share, rival = float(rng.choice([0.01, 0.3, 1.0])), rng.dirichlet(np.ones(n))
        p = share * rival + (1.0 - share) * gibbs_law(s, tau=tau).weights
        cases += [(s, p / p.sum(), tau), (s * 2.0**40, p / p.sum(), tau * 2.0**40)][: 1 + (n < 10)]
    cases.append((many(), 0.9 * gibbs_law(many()).weights + 0.1 / MANY, 1.0))
    for s, p, tau in cases:
        best, error = gibbs_law(s, tau=tau)
        size = float(np.abs(s).max()) + tau * (1.0 + np.log(s.size))
        rounded = Interval.within(0.0, (4.0 * error + gamma(2 * s.size)) * size)  # of softmax, and of the law's sum
        gap = free_energy(s, best, tau=tau) - free_energy(s, p, tau=tau) + rounded
        at, times = alike(s, p)
        exact = balls(np.full(at.size, 1 / s.size)) if uniform else law(s, tau)[at]
        squared = hull(distance(balls(p[at]), exact, times=times) ** 2)
        yield at_least(gap, factor * tau**power * squared, scale=tau * squared, n=s.size, tau=tau)


@verifies(
    Claim(
        "softmax.jeffreys",
        "the symmetrised divergence of two softmax laws is the inner product of laws and scores",
        r"$\tau[\mathrm{KL}(p\|q) + \mathrm{KL}(q\|p)] = \langle p - q, x - y\rangle$ for $p = \mathrm{softmax}(x/\tau)$, $q = \mathrm{softmax}(y/\tau)$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B8",),
        cites=("jeffreys1946",),
        provenance=("recalled", "refereed"),
    ),
    bug("one-sided", "twice KL(p||q) stands for the sum", one_sided=True),
    constant("unit-factor", "the factor tau is missing", power=0),
    hypothesis("two-temperatures", "the second law has twice the temperature", warmer=2.0),
)
def test_jeffreys(run, *, one_sided=False, power=1, warmer=1.0):
    for x, y, tau in pairs(run, quick=25, paper=400):
        p, q = softmax(x, tau=tau), softmax(y, tau=warmer * tau)
        left, right = log_softmax(x, tau=tau), log_softmax(y, tau=warmer * tau)
        relative = max(off(x, tau), off(y, tau))  # a logarithm is off by as much, and by the rounding of its own size
        apart, mass = left - right, (2.0 * p if one_sided else p + q)
        slack = mass * (2.0 * relative * (1.0 + np.abs(apart)) + 4.0 * U * (np.abs(left) + np.abs(right)))
        terms = 2.0 * p * apart if one_sided else (p - q) * apart
        at, times = alike(x, y)
        first, second = law(x, tau)[at], law(y, warmer * tau)[at]
        exact = (times * (first - second) * (balls(x[at]) - balls(y[at]))).sum()
        scale = tau + float(np.ptp(x - y))
        plain = law(y, tau)[at]
        kl = (
            times * first * textbook.log(first / plain)
        ).sum()  # in the sum of both, whatever is added to logarithms cancels
        yield equals(tau * total(p * apart, slack + LEAST), hull(tau * kl), scale=scale, part="KL", n=x.size, tau=tau)
        yield equals(tau**power * total(terms, slack + LEAST), hull(exact), scale=scale, n=x.size, tau=tau)


@verifies(
    Claim(
        "softmax.cocoercive",
        "softmax is co-coercive: scores move along with the laws, by the temperature times squared distances",
        r"$\langle p - q, x - y\rangle \ge \tau\|p - q\|_1^2$ and $\ge 2\tau\|p - q\|_2^2$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B8",),
        cites=("baillon1977",),
        provenance=("recalled", "refereed"),
    ),
    constant("near", "the constant of the Euclidean norm is 2.1", euclidean=2.1),
    constant("nearer", "the constant of the absolute norm is 1.02", absolute=1.02),
    constant("unit-factor", "the factor tau is missing", power=0),
    hypothesis("two-temperatures", "the second law has twice the temperature", warmer=2.0),
)
def test_cocoercive(run, *, euclidean=2.0, absolute=1.0, power=1, warmer=1.0):
    near = np.array([1.0, 0.0])
    for x, y, tau in [*pairs(run, quick=25, paper=400), (near * (1.0 + 2.0**-10), near, 1.0)]:
        p, q = softmax(x, tau=tau), softmax(y, tau=warmer * tau)
        top = int(
            np.argmax(p + q)
        )  # a constant changes nothing: with that of the largest weight only others are summed
        apart, size = (x - y) - (x - y)[top], np.abs(x) + np.abs(y)
        slack = (max(off(x, tau), off(y, tau)) + gamma(4)) * np.abs(apart) + 4.0 * U * (size + size[top])
        slack[top] = 0.0
        inner = total((p - q) * apart, (p + q) * slack + LEAST)
        at, times = alike(x, y)
        exact, other = law(x, tau)[at], law(y, warmer * tau)[at]
        for name, squared, factor in (
            ("absolute", hull(distance(exact, other, times=times) ** 2), absolute),
            ("Euclidean", hull(distance(exact, other, 2, times)), euclidean),
        ):
            yield at_least(inner, factor * tau**power * squared, scale=tau * squared, norm=name, n=x.size, tau=tau)


@verifies(
    Claim(
        "softmax.total-variation",
        "two softmax laws differ in total variation by at most tanh of a quarter of the range of the score difference",
        r"$\frac12\|p - q\|_1 \le \tanh\frac{\max(x - y) - \min(x - y)}{4\tau}$, with equality for two scores of odds $e^{\pm\varrho/2}$",
        assumptions=("finite scores", "positive temperature"),
        spec=("MA.L2", "RA.B8"),
        cites=("cohen2023",),
        provenance=("derived", "refereed"),
    ),
    constant("near", "the bound is two per cent smaller", factor=0.98),
    bug("norm", "the largest difference of the scores stands for their range", norm=True),
    hypothesis("two-temperatures", "the second law has twice the temperature", warmer=2.0),
)
def test_total_variation(run, *, factor=1.0, norm=False, warmer=1.0):
    extremal = [(np.array([r / 4, -r / 4]), np.array([-r / 4, r / 4]), 1.0) for r in (2.0**-3, 1.0, 8.0)]
    for number, (x, y, tau) in enumerate([*extremal, *pairs(run, quick=25, paper=400)]):
        p, q = softmax(x, tau=tau), softmax(y, tau=warmer * tau)
        variation = total(np.abs(p - q) / 2, (p + q) * (max(off(x, tau), off(y, tau)) + 2 * U) + LEAST)
        at, _ = alike(x, y)
        apart = [hull(d) for d in balls(x[at]) - balls(y[at])]
        top, bottom = Interval.largest(apart), Interval.largest(-d for d in apart)
        reach = Interval.largest([top, bottom]).hi if norm else (top + bottom).hi
        bound = hull((ball(reach) / (4 * ball(tau))).tanh())
        relation = equals if number < len(extremal) else at_most
        yield relation(variation, factor * bound, scale=bound, n=x.size, tau=tau, range=reach / tau)


@verifies(
    Claim(
        "softmax.sharp-constants",
        "no larger constants hold: each is the limit at two scores that come together",
        r"at $\mathrm{softmax}(h, -h)$, $h \to 0$: $\mathrm{KL}(p\|u)/\|p - u\|_1^2 \to \frac12$, co-coercivity $\to 2$, $\|p - u\|_1\tau/R \to \frac12$, $(V - \bar s - \tau\log n)\tau/R^2 \to \frac18$",
        assumptions=("two scores",),
        spec=("RA.B3", "RA.B4", "RA.B8"),
        provenance=("recalled", "derived", "refereed"),
    ),
    constant("pinsker", "the constant of strong concavity is 0.51", pinsker=0.51),
    constant("cocoercive", "the constant of co-coercivity is 2.1", cocoercive=2.1),
    constant("warm", "the laws are within 0.45 R / tau of uniform", warm=0.45),
    constant("hoeffding", "Hoeffding's constant is two per cent smaller", hoeffding=0.98 / 8),
    hypothesis("unbalanced", "the limit law has weights 0.7 and 0.3", shift=0.42),
)
def test_sharp_constants(run, *, pinsker=0.5, cocoercive=2.0, warm=0.5, hoeffding=0.125, shift=0.0):
    found = {name: [] for name in ("pinsker", "cocoercive", "warm", "hoeffding")}
    for k in range(6):
        h = 2.0 ** -(4 + k)
        x, y = np.array([shift + h, -shift - h]), np.array([shift, -shift])
        p, q = law(x, 1.0), law(y, 1.0)
        way, spread = balls(x) - balls(y), 2 * ball(h)
        value = textbook.log(textbook.exp(balls(x)).sum() / textbook.exp(balls(y)).sum()) - (q * way).sum()
        found["pinsker"].append(divergence(*(gibbs_law(z).weights for z in (x, y))) / hull(distance(p, q) ** 2))
        found["cocoercive"].append(hull(((p - q) * way).sum() / distance(p, q, 2)))
        found["warm"].append(hull(distance(p, q) / spread))
        found["hoeffding"].append(hull(value / spread**2))
    claimed = {"pinsker": pinsker, "cocoercive": cocoercive, "warm": warm, "hoeffding": hoeffding}
    for name, ratios in found.items():
        yield equals(limit(ratios, order=1 if shift else 2), claimed[name], constant=name)
