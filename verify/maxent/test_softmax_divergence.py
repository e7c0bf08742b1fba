"""How far apart two softmax laws are: strong concavity, the Jeffreys identity, co-coercivity, total variation."""

import numpy as np

from theory.evidence import (
    Claim,
    at_least,
    at_most,
    ball,
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
from theory.maxent import log_softmax, softmax
from theory.maxent.gibbs import divergence, free_energy, gibbs_law
from verify.maxent.test_softmax_rounding import MANY, law, many


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
        n = int(rng.integers(2, 60))
        tau = float(rng.uniform(0.2, 4.0))
        y = rng.normal(size=n) * float(rng.choice([0.1, 1.0, 10.0]))
        yield y + rng.normal(size=n) * float(rng.choice([0.01, 1.0, 10.0])), y, tau


def competitors(run):
    """Yield scores, a law that competes with softmax, and a temperature: two that are near, then random ones."""
    step = 2.0**-13
    for tau in (1.0, 0.25):
        yield np.zeros(2), np.array([0.5 + step, 0.5 - step]), tau
    for rng in run.draws(quick=30, paper=500):
        n = int(rng.integers(2, 40))
        tau = float(rng.uniform(0.2, 4.0))
        s = rng.normal(size=n) * float(rng.choice([0.1, 1.0, 5.0]))
        share = float(rng.choice([0.01, 0.3, 1.0]))
        rival = rng.dirichlet(np.ones(n))
        p = share * rival + (1.0 - share) * gibbs_law(s, tau=tau).weights
        yield s, p / p.sum(), tau
        if n < 10:
            yield s * 2.0**40, p / p.sum(), tau * 2.0**40
    yield many(), 0.9 * gibbs_law(many()).weights + 0.1 / MANY, 1.0


@verifies(
    Claim(
        "softmax.strong-concavity",
        "a law misses the largest free energy by at least half the temperature times its squared distance from softmax",
        r"$F_\tau(p^*) - F_\tau(p) \ge \frac\tau2\|p - p^*\|_1^2$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B3",),
        cites=("csiszar2011",),
        source_status=("recalled", "refereed on paper"),
    ),
    constant("near", "the constant is 0.51", factor=0.51),
    constant("unit-factor", "the factor tau is missing", power=0),
    hypothesis("uniform", "the distance is taken from the uniform law", uniform=True),
)
def test_strong_concavity(run, *, factor=0.5, power=1, uniform=False):
    for s, p, tau in competitors(run):
        scores = exact(s)
        rival = exact(p) / exact(p).sum()
        n = s.size
        best = gibbs_law(scores, tau=tau).weights
        gap = free_energy(scores, best, tau=tau) - free_energy(scores, rival, tau=tau)
        at, times = alike(s, p)
        centre = balls(np.full(at.size, 1 / n)) if uniform else law(s, tau)[at]
        squared = distance(balls(p[at]), centre, times=times) ** 2
        yield at_least(gap, factor * tau**power * squared, scale=tau * squared, n=n, tau=tau)


@verifies(
    Claim(
        "softmax.jeffreys",
        "the symmetrised divergence of two softmax laws is the inner product of laws and scores",
        r"$\tau[\mathrm{KL}(p\|q) + \mathrm{KL}(q\|p)] = \langle p - q, x - y\rangle$ for $p = \mathrm{softmax}(x/\tau)$, $q = \mathrm{softmax}(y/\tau)$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B8",),
        cites=("jeffreys1946",),
        source_status=("recalled", "refereed"),
    ),
    bug("one-sided", "twice KL(p||q) stands for the sum", one_sided=True),
    constant("unit-factor", "the factor tau is missing", power=0),
    hypothesis("two-temperatures", "the second law has twice the temperature", warmer=2.0),
)
def test_jeffreys(run, *, one_sided=False, power=1, warmer=1.0):
    for x, y, tau in pairs(run, quick=25, paper=400):
        case = {"n": x.size, "tau": tau}
        scale = tau + float(np.ptp(x - y))
        warm = warmer * tau
        p, q = softmax(exact(x), tau=tau), softmax(exact(y), tau=warm)
        apart = log_softmax(exact(x), tau=tau) - log_softmax(exact(y), tau=warm)
        both = 2.0 * p if one_sided else p - q
        at, times = alike(x, y)
        first = law(x, tau)[at]
        second = law(y, warm)[at]
        plain = law(y, tau)[at]
        # in the sum of both divergences, whatever is added to the logarithms cancels
        kl = (times * first * np.log(first / plain)).sum()
        yield equals(tau * (p * apart).sum(), tau * kl, scale=scale, part="KL", **case)
        inner = (times * (first - second) * (balls(x[at]) - balls(y[at]))).sum()
        yield equals(tau**power * (both * apart).sum(), inner, scale=scale, **case)


@verifies(
    Claim(
        "softmax.cocoercive",
        "softmax is co-coercive: scores move along with the laws, by the temperature times squared distances",
        r"$\langle p - q, x - y\rangle \ge \tau\|p - q\|_1^2$ and $\ge 2\tau\|p - q\|_2^2$",
        assumptions=("finite scores", "positive temperature"),
        spec=("RA.B8",),
        cites=("baillon1977",),
        source_status=("recalled", "refereed"),
    ),
    constant("near", "the constant of the Euclidean norm is 2.1", euclidean=2.1),
    constant("nearer", "the constant of the absolute norm is 1.02", absolute=1.02),
    constant("unit-factor", "the factor tau is missing", power=0),
    hypothesis("two-temperatures", "the second law has twice the temperature", warmer=2.0),
)
def test_cocoercive(run, *, euclidean=2.0, absolute=1.0, power=1, warmer=1.0):
    near = np.array([1.0, 0.0])
    for x, y, tau in [*pairs(run, quick=25, paper=400), (near * (1.0 + 2.0**-10), near, 1.0)]:
        p = softmax(exact(x), tau=tau)
        q = softmax(exact(y), tau=warmer * tau)
        top = int(np.argmax(p.mid + q.mid))  # a constant changes nothing: with that of the largest weight others count
        apart = exact(x) - exact(y)
        inner = ((p - q) * (apart - apart[top])).sum()
        at, times = alike(x, y)
        first = law(x, tau)[at]
        second = law(y, warmer * tau)[at]
        squares = {
            "absolute": absolute * distance(first, second, times=times) ** 2,
            "Euclidean": euclidean * distance(first, second, 2, times),
        }
        for name, squared in squares.items():
            yield at_least(inner, tau**power * squared, scale=tau * squared, norm=name, n=x.size, tau=tau)


@verifies(
    Claim(
        "softmax.total-variation",
        "two softmax laws differ in total variation by at most tanh of a quarter of the range of the score difference",
        r"$\frac12\|p - q\|_1 \le \tanh\frac{\max(x - y) - \min(x - y)}{4\tau}$, with equality for two scores of odds $e^{\pm\varrho/2\tau}$, $\varrho$ that range",
        assumptions=("finite scores", "positive temperature"),
        spec=("MA.L2", "RA.B8"),
        cites=("cohen2023",),
        source_status=("derived", "refereed"),
    ),
    constant("near", "the bound is two per cent smaller", factor=0.98),
    bug("norm", "the largest difference of the scores stands for their range", norm=True),
    hypothesis("two-temperatures", "the second law has twice the temperature", warmer=2.0),
)
def test_total_variation(run, *, factor=1.0, norm=False, warmer=1.0):
    extremal = [(np.array([r / 4, -r / 4]), np.array([-r / 4, r / 4]), 1.0) for r in (2.0**-3, 1.0, 8.0)]
    for number, (x, y, tau) in enumerate([*extremal, *pairs(run, quick=25, paper=400)]):
        p = softmax(exact(x), tau=tau)
        q = softmax(exact(y), tau=warmer * tau)
        variation = abs(p - q).sum() / 2
        apart = exact(x) - exact(y)
        reach = abs(apart).max() if norm else apart.max() - apart.min()
        bound = np.tanh(reach / (4 * exact(tau)))
        relation = equals if number < len(extremal) else at_most
        yield relation(variation, factor * bound, scale=bound, n=x.size, tau=tau, range=reach.mid / tau)


@verifies(
    Claim(
        "softmax.sharp-constants",
        "no larger constants hold: each is the limit at two scores that come together",
        r"at $\mathrm{softmax}(h, -h)$, $h \to 0$: $\mathrm{KL}(p\|u)/\|p - u\|_1^2 \to \frac12$, co-coercivity $\to 2$, $\|p - u\|_1\tau/R \to \frac12$, $(V - \bar s - \tau\log n)\tau/R^2 \to \frac18$",
        assumptions=("two scores",),
        spec=("RA.B3", "RA.B4", "RA.B8"),
        source_status=("recalled", "derived", "refereed"),
    ),
    constant("pinsker", "the constant of strong concavity is 0.51", pinsker=0.51),
    constant("cocoercive", "the constant of co-coercivity is 2.1", cocoercive=2.1),
    constant("warm", "the laws are within 0.45 R / tau of uniform", warm=0.45),
    constant("hoeffding", "Hoeffding's constant is two per cent smaller", hoeffding=0.98 / 8),
    hypothesis("unbalanced", "the limit law has weights 0.7 and 0.3", shift=0.42),
)
def test_sharp_constants(run, *, pinsker=0.5, cocoercive=2.0, warm=0.5, hoeffding=0.125, shift=0.0):
    claimed = {"pinsker": pinsker, "cocoercive": cocoercive, "warm": warm, "hoeffding": hoeffding}
    found = {name: [] for name in claimed}
    for k in range(6):
        h = 2.0 ** -(4 + k)
        x, y = np.array([shift + h, -shift - h]), np.array([shift, -shift])
        p = law(x, 1.0)
        q = law(y, 1.0)
        way = balls(x) - balls(y)
        reach = 2 * ball(h)
        value = np.log(np.exp(balls(x)).sum() / np.exp(balls(y)).sum()) - (q * way).sum()
        near, limit_law = (gibbs_law(exact(z)).weights for z in (x, y))
        found["pinsker"].append(divergence(near, limit_law) / hull(distance(p, q) ** 2))
        found["cocoercive"].append(hull(((p - q) * way).sum() / distance(p, q, 2)))
        found["warm"].append(hull(distance(p, q) / reach))
        found["hoeffding"].append(hull(value / reach**2))
    for name, ratios in found.items():
        yield equals(limit(ratios, order=1 if shift else 2), claimed[name], constant=name)
