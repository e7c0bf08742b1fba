"""Softmax with a prior: what it maximises, and masks as priors with zeros."""

import numpy as np

from theory.evidence import Claim, at_most, ball, balls, bug, constant, equals, exact, hypothesis, verifies
from theory.maxent import frank_wolfe_gap, softmax, softmax_value
from theory.maxent.gibbs import divergence, expectation, free_energy, gibbs_law
from verify.maxent.test_softmax_rounding import MANY, law as printed, many


def priors(run):
    """Yield scores, a prior and a temperature, with the generator of a rival: a named case, then random ones."""
    cases = [(np.array([0.0, 1.0, 2.0]), np.array([0.7, 0.2, 0.1]), 0.5)]
    for rng in run.draws(quick=20, paper=300):
        n = int(rng.integers(2, 40))
        tau = float(rng.uniform(0.2, 4.0))
        prior = rng.dirichlet(np.ones(n)) * (np.arange(n) % 5 != 3)
        cases.append((rng.normal(size=n) * float(rng.choice([0.1, 1.0, 10.0])), prior / prior.sum(), tau))
    for case, rng in zip(cases, run.streams(len(cases)), strict=True):
        yield *case, rng


def drawn(run):
    """Yield scores and a temperature, with the generator of a rival."""
    for rng in run.draws(quick=25, paper=300):
        n = int(rng.integers(1, 60))
        tau = float(rng.uniform(0.2, 4.0))
        yield rng.normal(size=n) * float(rng.choice([0.1, 1.0, 100.0])) + 5.0, tau, rng


@verifies(
    Claim(
        "softmax.prior",
        "softmax maximises mean score plus entropy, or less a divergence from a prior, which it multiplies by exponentials of scores",
        r"$\max_p\,\langle p, s\rangle - \tau\,\mathrm{KL}(p\|p_0) = \tau\log\sum_i p_{0,i}e^{s_i/\tau}$ at $p^* \propto p_0e^{s/\tau} = \mathrm{softmax}(\frac s\tau + \log p_0)$; any $p$ falls short by $\tau\,\mathrm{KL}(p\|p^*)$; without a prior $\max_p\,\langle p, s\rangle + \tau H(p) = \tau\log\sum_i e^{s_i/\tau}$",
        assumptions=("finite scores", "positive temperature", r"$p \ll p_0$"),
        spec=("MA.E4", "RA.B1", "RA.B5"),
        cites=("blondel2020", "donsker1975", "vuckovic2020"),
        source_status=("recalled", "derived", "refereed on paper"),
    ),
    bug("tempered", "the prior is raised to the power 1 / tau", tempered=True),
    constant("unit-factor", "the value is the logarithm without the factor tau", power=0),
    constant("near", "the value is one in a thousand larger", factor=1.001),
    bug("mean", "the exponentials are averaged instead of summed", averaged=True),
    hypothesis("uniform", "the prior is taken as uniform", uniform=True),
)
def test_prior(run, *, tempered=False, power=1, factor=1.0, averaged=False, uniform=False):
    for s, prior, tau, rng in priors(run):
        on = prior > 0.0
        t = ball(tau)
        scores = exact(s)
        case = {"n": s.size, "tau": tau}
        reference = balls(np.full(s.size, 1.0 / s.size) if uniform else prior)[on]
        mass = (np.exp(np.log(reference) / t) if tempered else reference) * np.exp(balls(s)[on] / t)
        claimed = mass / mass.sum()
        law = softmax(scores, prior=prior, tau=tau)
        yield equals(law[on], claimed, scale=1, part="law", **case)
        yield equals(law[~on].sum(), 0, scale=1, part="law", **case)
        shifted = softmax(scores[on] / tau + np.log(exact(prior[on])))
        yield equals(shifted, claimed, scale=1, part="shifted", **case)
        size = float(np.abs(s).max()) + tau * (1.0 + float(np.abs(np.log(prior[on])).max()))
        value = softmax_value(scores, prior=prior, tau=tau)
        top = factor * t**power * np.log(mass.sum() / (s.size if averaged else 1))
        yield equals(value, top, scale=size, part="value", **case)
        rival = np.where(on, rng.dirichlet(np.ones(s.size)), 0.0)
        other = exact(rival) / exact(rival).sum()
        own = balls(rival)[on] / balls(rival).sum()
        short = value - expectation(other, s) + tau * divergence(other, exact(prior))
        yield equals(short, t * (own * np.log(own / claimed)).sum(), scale=size, part="shortfall", **case)
        held = law[on].lo > 0.0
        slope = s[on][held] - tau * np.log(law[on][held] / reference[held])
        yield at_most(frank_wolfe_gap(slope, law[on][held]), 0, scale=tau, part="certificate", **case)
    for s, tau, rng in drawn(run):
        n = s.size
        t = ball(tau)
        case = {"n": s.size, "tau": tau}
        top = factor * t**power * np.log(np.exp(balls(s) / t).sum() / (n if averaged else 1))
        size = float(np.abs(s).max()) + tau * (1 + np.log(n))
        best = gibbs_law(exact(s), tau=tau).weights
        yield equals(free_energy(exact(s), best, tau=tau), top, scale=size, part="no prior", **case)
        for rival in (rng.dirichlet(np.ones(n)), np.eye(n)[int(rng.integers(n))]):
            law = exact(rival) / exact(rival).sum()
            yield at_most(free_energy(exact(s), law, tau=tau), top, scale=size, part="no prior", **case)


@verifies(
    Claim(
        "softmax.mask",
        "a mask conditions the law, and moves it by exactly twice the mass that it removes",
        r"softmax with $-\infty$ off $A$ is $p(\cdot\,|A)$, and $\|p(\cdot\,|A) - p\|_1 = 2p(A^c)$",
        assumptions=(r"$A$ not empty",),
        spec=("RA.B5",),
        source_status=("recalled", "refereed on paper"),
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
        case = {"n": s.size, "kept": int(kept.sum())}
        claimed = printed(s, 1.0)
        inside = claimed[kept].sum()
        _, at = np.unique(s + 1j * kept, return_index=True)  # equal weights once
        whole = softmax(exact(s))
        law = softmax(np.where(kept, s, masked), tau=exact(1.0)) if renormalised else np.where(kept, whole, 0.0)
        conditioned = np.where(kept[at], claimed[at] / inside, 0 * claimed[at])
        yield equals(law[at], conditioned, scale=1, part="law", **case)
        moved = abs(law - whole).sum()
        yield equals(moved, factor * (1 - inside), scale=1, part="distance", **case)
