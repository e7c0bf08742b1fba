"""Largest entropy under several moments, its duality gap, and the multiplier of one mean: an inverse temperature."""

import numpy as np

from theory import Measure
from theory.attention import boltzmann_gibbs
from theory.evidence import (
    Claim,
    at_least,
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
from theory.evidence.once import once
from theory.maxent import softmax, softmax_value
from theory.maxent.gibbs import divergence, entropy, gibbs_law, match_moments, mean_multiplier
from verify import textbook

multiplier_of, law_of = once(mean_multiplier), once(gibbs_law)

JAYNES = ("jaynes1957", "csiszar1975")
SIZES = (2.0**-40, 1.0, 2.0**40)
MANY = 100_000


def constraints(run):
    """Yield features, the law whose means are prescribed, and another one: a line in three units, then random ones."""
    line = np.array([[0.0], [1.0], [2.0]])
    held = np.array([0.5, 0.1, 0.4])
    other = np.array([0.2, 0.1, 0.7])
    for size in SIZES:
        yield size * line, held, other
    for rng in run.draws(quick=8, paper=100):
        n, k = int(rng.integers(5, 20)), int(rng.integers(1, 4))
        yield rng.normal(size=(n, k)), *(rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n for _ in range(2))


@verifies(
    Claim(
        "maxent.duality",
        "the largest entropy under several moments is the least value of the dual, and a law falls short by its divergence",
        r"$A(\lambda) - \langle\lambda, \mu\rangle - H(q) = \mathrm{KL}(q\|p_\lambda)$ and $\mathrm{KL}(q\|u) = \mathrm{KL}(q\|p_\lambda) + \mathrm{KL}(p_\lambda\|u)$ for $\Phi^\top q = \mu = \Phi^\top p_\lambda$",
        assumptions=(r"$\mu$ in the relative interior of the hull of the rows of $\Phi$",),
        spec=("RA.C1",),
        cites=JAYNES,
        source_status=("recalled", "refereed on paper"),
    ),
    hypothesis("infeasible", "the compared law misses the moments", feasible=False),
    bug("reversed", "the arguments of the divergence are exchanged", reverse=True),
    constant("averaged", "the dual has the logarithm of the mean, not of the sum, of the exponentials", summed=False),
    bug("sign", "the multipliers have the wrong sign", sign=-1),
)
def test_duality(run, *, feasible=True, reverse=False, summed=True, sign=1):
    for features, q, other in constraints(run):
        n = len(features)
        largest = float(np.abs(features).max())
        case = {"n": n, "k": features.shape[1]}
        law_q = exact(q) / exact(q).sum()
        moment = law_q @ features
        found = match_moments(Measure(features), exact(features), moment)
        multiplier = sign * found.multiplier
        missed = multiplier @ found.residual
        law = boltzmann_gibbs(Measure(features), exact(features) @ multiplier).law()
        best = textbook.laws((balls(features) @ balls(multiplier))[np.newaxis])[0]
        size = 1.0 + np.log(n) + float(np.abs(features @ multiplier).max())
        yield equals(law @ features - found.residual, moment, scale=largest, part="moment", **case)
        dual = softmax_value((exact(features) - moment) @ multiplier) - (0 if summed else np.log(ball(n)))
        yield equals(dual - entropy(law) - missed, 0, scale=size, part="duality gap", **case)
        rival = law_q if feasible else exact(other) / exact(other).sum()
        own = balls(q if feasible else other) / balls(q if feasible else other).sum()
        first, second = (best, own) if reverse else (own, best)
        short = (first * np.log(first / second)).sum()
        yield equals(dual - entropy(rival), short, scale=size, part="gap", **case)
        even = exact(np.full(n, 1.0 / n))
        lead = (best * np.log(best * n)).sum()
        yield equals(divergence(rival, even) + missed, short + lead, scale=size, part="Pythagoras", **case)


@once
def largest(s, e, relative):
    """The largest entropy at a mean score, relative to the uniform law or to one that is not."""
    found = match_moments(Measure(s[:, np.newaxis]), exact(s)[:, np.newaxis], exact([e]))
    law = found.measure.weights
    tilted = np.arange(1.0, s.size + 1) * 2 / (s.size * (s.size + 1))
    value = -divergence(law, exact(tilted)) if relative else entropy(law)
    return value + found.multiplier[0] * found.residual[0]  # to the mean that is prescribed


@verifies(
    Claim(
        "maxent.entropy-slope",
        "the largest entropy at a mean score falls with it at the rate of the multiplier",
        r"$S(e) = \max\{H(p) : \langle p, s\rangle = e\}$: $S'(e) = -\lambda$, attained at $\mathrm{softmax}(\lambda s)$",
        assumptions=(r"$\min s < e < \max s$",),
        spec=("RA.C2",),
        cites=JAYNES,
        source_status=("recalled", "refereed"),
    ),
    constant("rises", "the slope is the multiplier itself", sign=1),
    bug("temperature", "the slope is the temperature, not its inverse", power=-1),
    hypothesis("relative", "the entropy is relative to a law that is not uniform", relative=True),
)
def test_entropy_slope(run, *, sign=-1, power=1, relative=False):
    cases = [(np.array([0.0, 1.0, 3.0]), 0.5)]
    for rng in run.draws(quick=4, paper=25):
        s = rng.normal(size=int(rng.integers(3, 9)))
        cases.append((s, float(rng.uniform(0.2, 2.0) * rng.choice([-1.0, 1.0]))))
    for s, at in cases:
        case = {"n": s.size, "multiplier": at}
        law = textbook.laws((balls(s) * ball(at))[np.newaxis])[0]
        mean = hull((law * balls(s)).sum())
        multiplier = multiplier_of(s, mean)
        claimed = textbook.laws((balls(s) * ball(at**power))[np.newaxis])[0]
        yield equals(softmax(multiplier * exact(s)), claimed, scale=1, part="law", **case)
        e = mean.mid
        steps = 0.2 * min(e - float(s.min()), float(s.max()) - e) * 0.5 ** np.arange(5)
        rises = [largest(s, e + h, relative) - largest(s, e - h, relative) for h in steps.tolist()]
        slopes = [rise / (exact(e + h) - (e - h)) for rise, h in zip(rises, steps.tolist(), strict=True)]
        rounded = multiplier - at  # of the mean
        yield equals(limit(slopes, order=2), sign * at**power + rounded, scale=1, part="slope", **case)


@verifies(
    Claim(
        "maxent.temperature-sign",
        "a mean above that of equal weights has a positive temperature, one below it a negative",
        r"$\lambda\,(e - \bar s) \ge 4(e - \bar s)^2 / (\max s - \min s)^2$",
        assumptions=(r"$\min s < e < \max s$",),
        spec=("RA.C2",),
        cites=(*JAYNES, "popoviciu1935"),
        source_status=("derived",),
    ),
    hypothesis("positive", "every mean has a positive temperature", signed=False),
    constant("near", "the multiplier is larger by one per cent", factor=1.01),
    bug("deviation", "the range stands without its square", power=1),
)
def test_temperature_sign(run, *, signed=True, factor=1.0, power=2):
    cases = [(size * np.array([0.0, 1.0]), share) for share in (0.505, 0.49) for size in SIZES]
    cases += [(np.array([0.0, 0.0, 4.0]), 0.4)]
    rngs = run.draws(quick=10, paper=100)
    cases += [(rng.normal(size=int(rng.integers(2, 12))) * 2.0, float(rng.uniform(0.02, 0.98))) for rng in rngs]
    for s, share in cases:
        e = float(s.min() + share * np.ptp(s))
        width = np.ptp(exact(s))
        lead = exact(e) - exact(s).mean()
        product = mean_multiplier(s, e) * (lead if signed else abs(lead))
        yield at_least(product, factor * 4 * lead**2 / width**power, scale=1, n=s.size, share=share, range=width.mid)


# a hundred scores at the top, one far below all others: below the mean of equal weights their distance counts
LOW = np.concatenate([np.ones(100), np.full(899, 0.5), np.zeros(1)])


def levels(run):
    """Yield scores, the number of the largest, and means by what they miss the top: two levels, almost two, any."""
    for n, m, delta in ((3, 1, 1.0), (5, 3, 0.5), (4, 1, 3.0), (3, 1, SIZES[0]), (5, 3, SIZES[2])):
        s = np.where(np.arange(n) < m, delta, 0.0)
        yield "two", s, m, [2.0**-k * (1.0 - m / n) * delta for k in (2, 5, 8, 11, 14)]
    almost = np.array([1.0, 1.0, 2.0**-9, 2.0**-10, 0.0])
    yield "any", almost, 2, [2.0**-k * 0.6 for k in (3, 7, 11)]
    for rng in run.draws(quick=4, paper=25):
        s = rng.permutation(64)[: int(rng.integers(3, 9))] / 16.0
        delta = float(np.diff(np.sort(s))[-1])
        yield "any", s, 1, [2.0**-k * (1.0 - 1.0 / s.size) * delta for k in (3, 7, 11)]
    yield "two", np.where(np.arange(MANY) < 3, 1.0, 0.0), 3, []


@verifies(
    Claim(
        "maxent.boundary",
        "the multiplier grows without bound as the mean approaches the largest score, and none attains it",
        r"$m$ of $n$ scores largest, by a gap $\delta$, range $R$: $\lambda R \ge \log\frac{(n - m)(\delta - \varepsilon)}{m\,\varepsilon}$ at $e = \max s - \varepsilon$, with equality for two levels; and $\max s - \langle p, s\rangle \ge \delta/(1 + \frac m{n - m}e^{\lambda R})$ at $\mathrm{softmax}(\lambda s)$",
        assumptions=("scores not all equal", r"$\lambda \ge 0$: $\varepsilon \le \frac{n - m}n\delta$ suffices"),
        spec=("RA.C2",),
        cites=JAYNES,
        source_status=("derived",),
    ),
    constant("half", "the multiplier grows with half the logarithm", factor=0.5),
    constant("near", "the bounds are two per cent larger", factor=1.02),
    bug("single", "ties at the top are counted once", tied=False),
    hypothesis("below", "the mean lies below that of equal weights", more=(("any", LOW, 100, [0.48]),)),
    hypothesis(
        "finite", "the multiplier at the boundary is that of a share of the range one thousandth inside", floor=1e-3
    ),
)
def test_boundary(run, *, factor=1.0, tied=True, floor=0.0, more=()):
    for shape, s, top, short in [*levels(run), *more]:
        n = s.size
        m = top if tied else 1
        reach = float(np.ptp(s))
        delta = float(s.max() - np.sort(s)[n - top - 1])
        case = {"shape": shape, "n": n, "m": top, "range": reach}
        for epsilon in short:
            left = ball(max(epsilon, floor * delta))
            odds = ball(n - top) * (ball(delta) - left) / (m * left)
            steep = multiplier_of(s, exact(s).max() - epsilon) * reach
            relation = equals if shape == "two" else at_least
            yield relation(steep, factor * np.log(odds), scale=1, part="multiplier", epsilon=epsilon, **case)
        for steep in (1.0, 8.0, 64.0):
            law = law_of(steep / reach * exact(s)).weights
            least = factor * delta / (1 + ball(m) / (n - top) * np.exp(ball(steep)))
            yield at_least(((s.max() - exact(s)) * law).sum(), least, part="mean", steepness=steep, **case)
