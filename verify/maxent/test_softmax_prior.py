"""Softmax with a prior: what it maximises, and masks as priors with zeros."""

import numpy as np

from theory.evidence import (
    Claim,
    Interval,
    at_most,
    ball,
    bug,
    constant,
    equals,
    hypothesis,
    softmax_error,
    total,
    verifies,
)
from theory.evidence.roundoff import EXP_ULPS, U, gamma
from theory.maxent import divergence, expectation, free_energy, gibbs_law, softmax, softmax_value
from theory.maxent.certificate import frank_wolfe_gap
from verify import textbook
from verify.maxent.laws import MANY, law as printed, many
from verify.textbook import balls, gap, hull

LEAST = 2.0**-960  # weights below 1e-300 are known absolutely only; times scores of a few thousand


@verifies(
    Claim(
        "softmax.prior",
        "softmax maximises mean score plus entropy, or less a divergence from a prior, which it multiplies by exponentials of scores",
        r"$\max_p\,\langle p, s\rangle - \tau\,\mathrm{KL}(p\|p_0) = \tau\log\sum_i p_{0,i}e^{s_i/\tau}$ at $p^* \propto p_0e^{s/\tau} = \mathrm{softmax}(\frac s\tau + \log p_0)$; any $p$ falls short by $\tau\,\mathrm{KL}(p\|p^*)$; without a prior $\max_p\,\langle p, s\rangle + \tau H(p) = \tau\log\sum_i e^{s_i/\tau}$",
        assumptions=("finite scores", "positive temperature", r"$p \ll p_0$"),
        spec=("MA.E4", "RA.B1", "RA.B5"),
        cites=("blondel2020", "donsker1975", "vuckovic2020"),
        provenance=("recalled", "derived", "refereed on paper"),
    ),
    bug("tempered", "the prior is raised to the power 1 / tau", tempered=True),
    constant("unit-factor", "the value is the logarithm without the factor tau", power=0),
    constant("near", "the value is one in a thousand larger", factor=1.001),
    bug("mean", "the exponentials are averaged instead of summed", averaged=True),
    hypothesis("uniform", "the prior is taken as uniform", uniform=True),
)
def test_prior(run, *, tempered=False, power=1, factor=1.0, averaged=False, uniform=False):
    cases = [(np.array([0.0, 1.0, 2.0]), np.array([0.7, 0.2, 0.1]), 0.5)]
    for rng in run.draws(quick=20, paper=300):
        n, tau = int(rng.integers(2, 40)), float(rng.uniform(0.2, 4.0))
        prior = rng.dirichlet(np.ones(n)) * (np.arange(n) % 5 != 3)
        cases.append((rng.normal(size=n) * float(rng.choice([0.1, 1.0, 10.0])), prior / prior.sum(), tau))
    for (s, prior, tau), rng in zip(cases, run.streams(len(cases)), strict=True):
        n, on, t = s.size, prior > 0.0, ball(tau)
        reference = balls(np.full(n, 1.0 / n) if uniform else prior)[on]
        weight = textbook.exp(textbook.log(reference) / t) if tempered else reference
        mass = weight * textbook.exp(balls(s)[on] / t)
        exact = mass / mass.sum()
        reach = float(np.ptp(s)) / tau
        relative = softmax_error(2 * U * reach, reach, n) + gamma(4)
        law = softmax(s, prior=prior, tau=tau)
        yield equals(gap(law[on], exact, relative * law[on] + LEAST), 0, scale=1, part="law", n=n, tau=tau)
        yield equals(total(law[~on]), 0, scale=1, part="law", n=n, tau=tau)
        logs = np.log(prior[on])
        wide = float(np.ptp(s[on] / tau + logs))
        error = softmax_error(U * (2 * float(np.abs(s).max()) / tau + 2 * EXP_ULPS * np.abs(logs).max()), wide, n)
        shifted = softmax(s[on] / tau + logs)
        yield equals(gap(shifted, exact, error * shifted + LEAST), 0, scale=1, part="shifted", n=n, tau=tau)
        size = float(np.abs(s).max()) + tau * (1.0 + float(np.abs(logs).max()))
        found = float(softmax_value(s, prior=prior, tau=tau))
        value = Interval.within(found, tau * relative + (2 * EXP_ULPS + 6) * U * (size + abs(found)))
        top = factor * hull(t**power * (mass.sum() / (n if averaged else 1)).log())
        yield equals(value, top, scale=size, part="value", n=n, tau=tau)
        rival = np.where(on, rng.dirichlet(np.ones(n)), 0.0)
        rival = rival / rival.sum()
        rounded = Interval.within(0.0, gamma(2 * n) * (size + abs(found)))  # of the rival's sum
        short = value - expectation(rival, s) + tau * divergence(rival, prior) + rounded
        kl = balls(rival)[on] * textbook.log(balls(rival)[on] / exact)
        yield equals(short, hull(t * kl.sum()), scale=size, part="shortfall", n=n, tau=tau)
        held = law[on] > LEAST
        slope = balls(s)[on][held] - t * textbook.log(balls(law[on][held]) / reference[held])
        rise = frank_wolfe_gap(slope, law[on][held] / law[on][held].sum())
        allowed = Interval.within(0.0, 4.0 * tau * (relative + gamma(n)) * (1.0 + reach))
        yield at_most(rise + allowed, 0, scale=tau, part="certificate", n=n, tau=tau)
    for rng in run.draws(quick=25, paper=300):
        n, tau = int(rng.integers(1, 60)), float(rng.uniform(0.2, 4.0))
        s, t = rng.normal(size=n) * float(rng.choice([0.1, 1.0, 100.0])) + 5.0, ball(tau)
        mass = textbook.exp(balls(s) / t).sum() / (n if averaged else 1)
        top, size = factor * hull(t**power * mass.log()), float(np.abs(s).max()) + tau * (1 + np.log(n))
        best, error = gibbs_law(s, tau=tau)
        reached = free_energy(s, best, tau=tau) + Interval.within(0.0, 4 * error * size)
        yield equals(reached, top, scale=size, part="no prior", n=n, tau=tau)
        for law in (rng.dirichlet(np.ones(n)), np.eye(n)[int(rng.integers(n))]):
            short = free_energy(s, law, tau=tau) + Interval.within(0.0, gamma(2 * n) * size)  # the law's own rounding
            yield at_most(short, top, scale=size, part="no prior", n=n, tau=tau)


@verifies(
    Claim(
        "softmax.mask",
        "a mask conditions the law, and moves it by exactly twice the mass that it removes",
        r"softmax with $-\infty$ off $A$ is $p(\cdot\,|A)$, and $\|p(\cdot\,|A) - p\|_1 = 2p(A^c)$",
        assumptions=(r"$A$ not empty",),
        spec=("RA.B5",),
        provenance=("recalled", "refereed on paper"),
    ),
    hypothesis("finite", "a score of -10 stands for the mask", masked=-10.0),
    constant("once", "the law moves by the mass that is removed", factor=1.0),
    bug("not-renormalised", "weights off A are set to zero and the others kept", renormalised=False),
)
def test_mask(run, *, masked=-np.inf, factor=2.0, renormalised=True):
    cases = [(np.array([1.0, 1.0, 0.0, 0.5]), np.array([True, True, True, False]))]  # a mask of -10 leaves 7.0e-6
    for rng in run.draws(quick=25, paper=400):
        n = int(rng.integers(2, 60))
        kept = rng.random(n) < rng.uniform(0.1, 0.95)
        kept[int(rng.integers(n))] = True
        cases.append((rng.normal(size=n) * float(rng.choice([0.1, 1.0, 10.0])), kept))
    cases.append((many(), np.arange(MANY) % 5 > 0))
    for s, kept in cases:
        n, reach = s.size, float(np.ptp(s)) + (10.0 if masked > -np.inf else 0.0)
        relative = softmax_error(0.0, reach, n)
        exact = printed(s, 1.0)
        inside, (_, at) = exact[kept].sum(), np.unique(s + 1j * kept, return_index=True)  # equal weights once
        whole = softmax(s)
        law = softmax(np.where(kept, s, masked)) if renormalised else np.where(kept, whole, 0.0)
        conditioned = np.where(kept[at], exact[at] / inside, 0 * exact[at])
        yield equals(
            gap(law[at], conditioned, relative * law[at] + LEAST), 0, scale=1, part="law", n=n, kept=int(kept.sum())
        )
        moved = total(np.abs(law - whole), (law + whole) * (relative + U) + LEAST)
        yield equals(moved, factor * hull(1 - inside), scale=1, part="distance", n=n, kept=int(kept.sum()))
