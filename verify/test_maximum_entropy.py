"""Attention weights solve an entropy problem: Gibbs' principle, moment constraints, softmax, and the energy behind the output."""

import numpy as np

from theory import Measure
from theory.attention import AttentionKernel, DotProduct, Softmatch, boltzmann_gibbs, weight_error
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    hypothesis,
    limit,
    sup_over,
    total,
    verifies,
)
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.roundoff import gamma
from theory.maxent import divergence, entropy, expectation, free_energy, log_partition, softmax, studies, tilted
from verify import inputs, textbook
from verify.textbook import balls, gap, hull

GIBBS = ("donsker1975", "vuckovic2020")
CSISZAR = ("csiszar1975", "vuckovic2020")
PAPER = ("recalled", "derived", "refereed on paper")
SCORES, REFERENCE = np.array([0.0, 1.0, 2.0]), np.array([0.7, 0.2, 0.1])  # the catalogue's example
LINE = SCORES[:, np.newaxis]


def transform_error(nu, potential):
    """Bound on the relative error of the weights of a Boltzmann-Gibbs transform."""
    return weight_error(np.ones((1, 1)), potential[:, np.newaxis], DotProduct(scale=1.0), np.log(nu.weights))


@verifies(
    Claim(
        "maxent.gibbs",
        "a law misses the largest free energy by temperature times its divergence from softmax",
        r"$\mathrm{KL}(\nu\|\mu) - \nu(a) = \mathrm{KL}(\nu\|\Psi_{e^a}(\mu)) - \log\mu(e^a)$; uniform $\mu$: $F(p^*) - F(p) = \tau\,\mathrm{KL}(p\|p^*)$",
        assumptions=("bounded potential", r"$\nu \ll \mu$", "positive temperature"),
        spec=("MA.E1", "RA.B2", "RA.C3"),
        cites=GIBBS,
        provenance=PAPER,
    ),
    bug("reversed", "the order of the arguments of KL", reverse=True),
    constant("unit-factor", "the factor tau in front of KL is missing", power=0),
    bug("sign", "the divergence is subtracted", sign=-1),
    hypothesis("uniform", "the reference is taken as uniform", uniform=True),
)
def test_gibbs(run, tokens, *, reverse=False, power=1, sign=1, uniform=False):
    clouds = []
    for p in inputs.problems(run, quick=25, paper=400):
        on = p.masses > 0.0
        clouds.append((Measure.normalised(p.keys[on], p.masses[on]), p.keys[on] @ p.queries[0], p.case))
    some = Measure(tokens)
    clouds.append((some, tokens @ tokens[0] / np.sqrt(tokens.shape[1]), {"input": "tokens", "n": some.size}))
    rng = next(run.streams(1))
    for mu, a, case in clouds:
        nu = rng.dirichlet(np.full(mu.size, 0.5)) + 1e-12
        nu = nu / nu.sum()
        reference = np.full(mu.size, 1.0 / mu.size) if uniform else mu.weights
        measured = divergence(nu, reference) - expectation(nu, a) + log_partition(a, mu.weights) * total(nu)
        best, law = textbook.laws(balls(a)[np.newaxis], mu.weights)[0], balls(nu)
        kl = (best * textbook.log(best / law)).sum() if reverse else (law * textbook.log(law / best)).sum()
        yield equals(measured, sign * hull(kl), scale=1.0 + float(np.ptp(a)), **case)
    table = run.study(studies.landscape)
    for tau, best, energy, short in zip(
        table["tau"].tolist(),
        table.intervals("best"),
        table.intervals("free_energy"),
        table.intervals("divergence"),
        strict=True,
    ):
        claimed = sign * tau**power * short
        if not reverse:
            yield equals(best - energy, claimed, scale=tau, input="simplex", tau=tau)


@verifies(
    Claim(
        "maxent.moment",
        "the tilt with the prescribed mean score is the law nearest to the reference",
        r"$\nu(a) = m$ implies $\mathrm{KL}(\nu\|\mu) - \mathrm{KL}(\Psi_{e^{\lambda a}}(\mu)\|\mu) = \mathrm{KL}(\nu\|\Psi_{e^{\lambda a}}(\mu)) \ge 0$",
        assumptions=(r"$a$ not constant", r"$\mathrm{ess\,inf}\,a < m < \mathrm{ess\,sup}\,a$"),
        spec=("MA.E2",),
        cites=CSISZAR,
        provenance=PAPER,
    ),
    bug("sign", "the multiplier has the wrong sign", sign=-1),
    hypothesis("infeasible", "the compared law misses the prescribed mean", feasible=False),
    bug("reversed", "KL(mu||nu) is minimised instead of KL(nu||mu)", reverse=True),
)
def test_moment(run, *, sign=1, feasible=True, reverse=False):
    def cost(law, mu):
        return divergence(mu.weights, law) if reverse else divergence(law, mu.weights)

    problems = [
        (Measure(LINE, REFERENCE), SCORES, float(boltzmann_gibbs(Measure(LINE, REFERENCE), SCORES).weights @ SCORES))
    ]
    for rng in run.streams(run.pick(quick=20, paper=200)):
        n = int(rng.integers(3, 30))
        mu, a = Measure(rng.normal(size=(n, 1)), rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n), rng.normal(size=n)
        problems.append((mu, a, float(rng.dirichlet(np.ones(n)) @ a)))
    for (mu, a, m), rng in zip(problems, run.streams(len(problems)), strict=True):
        found = tilted(mu, a[:, np.newaxis], [m])
        law = boltzmann_gibbs(mu, sign * a * found.multiplier[0]) if sign < 0 else found.measure
        # a law with the same mean: along a direction that carries neither mass nor score
        frame = np.column_stack([np.ones(mu.size), a]) if feasible else np.ones((mu.size, 1))
        way = (
            rng.normal(size=mu.size)
            if mu.size > 3
            else np.array([1.0, -2.0, 1.0])
            if feasible
            else np.array([1.0, 0.0, -1.0])
        )
        way -= frame @ np.linalg.lstsq(frame, way, rcond=None)[0]
        step = 0.5 * float(np.min(found.measure.weights / np.maximum(np.abs(way), 1e-300)))
        nu = found.measure.weights + step * way
        nu = nu / nu.sum()
        slack = Interval.within(0.0, 2.0 * transform_error(mu, a * found.multiplier[0]))
        # what the prescribed mean is missed by, times the multiplier
        missed = abs(found.multiplier[0]) * (abs(expectation(nu, a) - m) if feasible else Interval.exactly(0))
        missed += abs(found.multiplier[0]) * abs(expectation(found.measure.weights, a) - m)
        slack = slack + Interval(-missed.hi, missed.hi)
        rise = cost(nu, mu) - cost(law.weights, mu)
        scale = divergence(nu, found.measure.weights).hi + 1e-6
        yield equals(rise + slack, divergence(nu, law.weights), scale=scale, n=mu.size)
        yield equals(expectation(law.weights, a), m, scale=float(np.ptp(a)), n=mu.size)


# the transform of the catalogue's example, moved by t along (1, -2, 1), which keeps mass and mean score
EXAMPLE = ("{0}/({0} + {1}*exp(1) + {2}*exp(2)) + t", "{1}*exp(1)/({0} + {1}*exp(1) + {2}*exp(2)) - 2*t",
           "{2}*exp(2)/({0} + {1}*exp(1) + {2}*exp(2)) + t")  # fmt: skip


def along(summand, reference, weights=("1", "1", "1")):
    """The largest sum of ``summand`` over the three masses along the direction, in balls on a box of t."""
    masses = [mass.format(*reference) for mass in EXAMPLE]
    return sup_over(
        " + ".join(summand.format(w=w, p=f"({m})") for w, m in zip(weights, masses, strict=True)),
        tolerance=1e-5,
        t=("-0.08", "0.08"),
    )


@verifies(
    Claim(
        "maxent.shannon",
        "with a reference that is not uniform, the transform does not maximise Shannon entropy at its mean score",
        r"$a = (0, 1, 2)$, $\mu = (.7, .2, .1)$: along $(1, -2, 1)$ the entropy rises from $1.09022$ to $1.09832$",
        assumptions=("reference not uniform",),
        spec=("MA.E2",),
        cites=CSISZAR,
        provenance=PAPER,
    ),
    hypothesis("uniform", "the reference is uniform: then the transform is the maximiser", reference=("1", "1", "1")),
    constant("larger", "the entropy rises by twice as much", factor=2.0),
)
def test_shannon(run, *, reference=("0.7", "0.2", "0.1"), factor=1.0):
    here = entropy(boltzmann_gibbs(Measure.normalised(LINE, np.array(reference, dtype=float)), SCORES).weights)
    best = along("-{p}*log({p})", reference)
    yield at_least(best - here, factor * 0.008, part="rise")
    yield equals(here, Interval.printed("1.09022"), part="transform")
    yield equals(best, Interval.printed("1.09832"), part="best along the direction")


@verifies(
    Claim(
        "maxent.reversed",
        "the transform does not minimise the reversed divergence at its mean score",
        r"$a = (0, 1, 2)$, $\mu = (.7, .2, .1)$: $\mathrm{KL}(\mu\|\cdot)$ falls from $.28439$ to $.26803$ along $(1, -2, 1)$",
        assumptions=("reference not uniform",),
        spec=("MA.E2",),
        cites=CSISZAR,
        provenance=PAPER,
    ),
    hypothesis("forward", "the divergence is taken in the order that the transform minimises", forward=True),
    constant("larger", "the divergence falls by twice as much", factor=2.0),
)
def test_reversed(run, *, forward=False, factor=1.0):
    text = ("0.7", "0.2", "0.1")
    law = boltzmann_gibbs(Measure(LINE, REFERENCE), SCORES).weights
    here = divergence(law, REFERENCE) if forward else divergence(REFERENCE, law)
    best = -along("-{p}*log({p}/{w})" if forward else "{w}*log({p}/{w})", text, text)
    moved = law + 0.04 * np.array([1.0, -2.0, 1.0])
    there = divergence(moved, REFERENCE) if forward else divergence(REFERENCE, moved)
    yield at_least(here - best, factor * 0.016, part="fall")
    yield equals(here, Interval.printed("0.28439"), part="transform")
    yield equals(there, Interval.printed("0.26806"), part="moved by 0.04")
    yield equals(best, Interval.printed("0.26803"), part="best along the direction")


@verifies(
    Claim(
        "maxent.multiplier",
        "the mean score grows with the multiplier at the rate of its variance",
        r"$\frac{d}{d\lambda}\Psi_{e^{\lambda a}}(\mu)(a) = \mathrm{Var}_{\Psi_{e^{\lambda a}}(\mu)}(a) > 0$",
        assumptions=(r"$a$ not constant",),
        spec=("MA.E2",),
        cites=CSISZAR,
        provenance=PAPER,
    ),
    bug("uncentred", "the second moment stands for the variance", centred=False),
    constant("deviation", "the standard deviation stands for the variance", root=True),
)
def test_multiplier(run, *, centred=True, root=False):
    for rng in run.streams(run.pick(quick=8, paper=60)):
        n, at = int(rng.integers(3, 20)), float(rng.uniform(-1.0, 1.0))
        mu, a = Measure(rng.normal(size=(n, 1)), rng.dirichlet(np.ones(n))), rng.normal(size=n) + 1.0

        def mean(multiplier, mu=mu, a=a):
            law = boltzmann_gibbs(mu, multiplier * a).weights
            return Interval.within(
                float(law @ a), float(np.abs(a).max()) * (transform_error(mu, 2.0 * a) + gamma(mu.size + 4))
            )

        slopes = [(mean(at + h) - mean(at - h)) / (2 * h) for h in (0.2, 0.1, 0.05, 0.025, 0.0125)]
        law = textbook.laws((balls(a) * balls(at).item())[np.newaxis], mu.weights)[0]
        variance = (law * balls(a) * balls(a)).sum() - ((law * balls(a)).sum() ** 2 if centred else 0)
        yield equals(limit(slopes, order=2), hull(variance.sqrt() if root else variance), scale=1, n=n)


@verifies(
    Claim(
        "maxent.relaxed",
        "above the mean of the reference the constraint may be relaxed to at least",
        r"if $m \ge \mu(a)$, every $\nu$ with $\nu(a) \ge m$ has $\mathrm{KL}(\nu\|\mu) \ge \mathrm{KL}(\Psi_{e^{\lambda a}}(\mu)\|\mu)$",
        assumptions=(r"$\lambda(m) \ge 0$",),
        spec=("MA.E2",),
        cites=CSISZAR,
        provenance=PAPER,
    ),
    hypothesis("negative-multiplier", "the target lies below the mean of the reference", above=False),
    constant("slack", "the relaxed minimum is five per cent larger", factor=1.05),
)
def test_relaxed(run, *, above=True, factor=1.0):
    for rng in run.streams(run.pick(quick=10, paper=100)):
        n = int(rng.integers(3, 20))
        mu, a = Measure(rng.normal(size=(n, 1)), rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n), rng.normal(size=n)
        end = float(a.max() if above else a.min())
        found = tilted(mu, a[:, np.newaxis], [0.5 * float(mu.weights @ a) + 0.5 * end])
        least = divergence(found.measure.weights, mu.weights)
        slack = Interval.within(
            0.0, 2.0 * float(np.abs(found.multiplier[0] * found.residual[0])) + gamma(4 * n) * (1 + least.hi)
        )
        rivals = [
            found.measure.weights,
            *(boltzmann_gibbs(found.measure, 2.0 * rng.uniform() * a).weights for _ in range(5)),
        ]
        for nu in rivals if above else [*rivals, mu.weights]:
            yield at_least(divergence(nu, mu.weights) + slack, factor * least, scale=least, n=n)


@verifies(
    Claim(
        "maxent.vector",
        "the dot-product transform is the law nearest to the reference with its own mean",
        r"$\Psi_{e^{x^\top B\,\cdot}}(\mu)$ minimises $\mathrm{KL}(\nu\|\mu)$ under $\int y\,\nu(dy) = m$, with tilt $B^\top x$",
        assumptions=("mean interior to the convex hull",),
        spec=("MA.E3",),
        cites=CSISZAR,
        provenance=PAPER,
    ),
    bug("transposed", "the tilt is Bx", transposed=True),
    hypothesis("first-only", "only the first coordinate of the mean is prescribed", coordinates=1),
)
def test_vector(run, *, transposed=False, coordinates=2):
    for rng in run.streams(run.pick(quick=12, paper=120)):
        n, form, x = int(rng.integers(8, 25)), rng.normal(size=(2, 2)) / 2, rng.normal(size=2)
        mu = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)) * 0.5 + 0.5 / n)
        law = Softmatch(DotProduct(form=form), mu).at(x)
        tilt = form @ x if transposed else form.T @ x
        found = tilted(mu, mu.points[:, :coordinates], law.mean()[:coordinates])
        claimed = np.append(found.multiplier, np.zeros(2 - coordinates))
        # Newton's last step bounds the distance to the root: the residual over the least curvature
        spread = np.linalg.eigvalsh(found.measure.covariance()[:coordinates, :coordinates]).min()
        missed = np.abs(found.residual).max() + 4 * gamma(4 * n + 64) * np.abs(mu.points).max()
        yield equals(gap(claimed, balls(tilt), 4 * missed / spread), 0, scale=1, part="tilt", n=n)


@verifies(
    Claim(
        "maxent.softmax",
        "softmax maximises mean score plus entropy, and the maximum is logsumexp",
        r"$\max_{p \in \Delta}\langle p, s\rangle + \tau H(p) = \tau\log\sum_i e^{s_i/\tau}$, attained at $\mathrm{softmax}(s/\tau)$",
        assumptions=("finite scores", "positive temperature"),
        spec=("MA.E4", "RA.B1"),
        cites=("blondel2020", *GIBBS),
        provenance=PAPER,
    ),
    constant("no-temperature", "the maximum is logsumexp(s/tau) without the factor tau", power=0),
    constant("near", "the maximum is one in a thousand larger", factor=1.001),
    bug("mean", "the exponentials are averaged instead of summed", averaged=True),
)
def test_softmax(run, *, power=1, factor=1.0, averaged=False):
    for rng in run.streams(run.pick(quick=25, paper=300)):
        n, tau = int(rng.integers(1, 60)), float(rng.uniform(0.2, 4.0))
        s = rng.normal(size=n) * float(rng.choice([0.1, 1.0, 100.0])) + 5.0
        mass = textbook.exp(balls(s) / balls(tau).item()).sum() / (n if averaged else 1)
        top = hull(mass.log() * balls(tau).item() ** power * balls(factor).item())
        best, error = softmax(s, tau=tau)
        size = float(np.abs(s).max()) + tau * (1 + np.log(n))
        yield equals(
            free_energy(s, best, tau=tau) + Interval.within(0.0, 4 * error * size), top, scale=size, n=n, tau=tau
        )
        for law in (rng.dirichlet(np.ones(n)), np.eye(n)[int(rng.integers(n))]):
            yield at_most(
                free_energy(s, law, tau=tau) + Interval.within(0.0, gamma(4 * n) * size), top, scale=size, n=n, tau=tau
            )


@verifies(
    Claim(
        "maxent.energy",
        "the attention output is the gradient of the log-partition, whose Hessian is a covariance",
        r"$\nabla_x\log\mu(e^{x^\top B\,\cdot}) = B\,\Gamma_\mu(x)$ and $\nabla_x^2 = B\,\mathrm{Cov}_{S_\mu(x, \cdot)}B^\top \succeq 0$",
        assumptions=("value matrix the identity",),
        spec=("MA.E5",),
        cites=GIBBS,
        provenance=PAPER,
    ),
    bug("no-form", "the gradient is the output itself, without B", formed=False),
    bug("transposed", "the gradient is B' times the output", transposed=True),
    hypothesis("uncentred", "the Hessian is the second moment instead of the covariance", centred=False),
)
def test_energy(run, *, formed=True, transposed=False, centred=True):
    for rng in run.streams(run.pick(quick=15, paper=150)):
        n, form = int(rng.integers(2, 20)), rng.normal(size=(2, 2))
        mu, x, way = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n))), rng.normal(size=2), rng.normal(size=2)
        # t -> log mu(exp((x + t way)' B y)) as a power series with ball coefficients: derivatives without differences
        here, along = balls(x) @ balls(form) @ balls(mu.points).T, balls(way) @ balls(form) @ balls(mu.points).T
        energy = textbook.log((balls(mu.weights) * textbook.exp(here + along * variable(3))).sum())
        left = (form.T if transposed else form) if formed else np.eye(2)
        score, size = (
            DotProduct(form=form),
            float(np.abs(mu.points).max() * np.abs(form).sum() * np.abs(way).sum()) + 1.0,
        )
        error = weight_error(x[np.newaxis], mu.points, score, np.log(mu.weights)) + gamma(4 * n + 64)
        slope = Interval.within(
            float(way @ left @ AttentionKernel(score, mu).output(x[np.newaxis])[0]), 4 * error * size
        )
        yield equals(hull(coefficient(energy, 1)), slope, scale=size, part="gradient", n=n)
        law = Softmatch(score, mu).at(x)
        second = law.covariance() if centred else law.covariance() + np.outer(law.mean(), law.mean())
        curvature = Interval.within(float(way @ form @ second @ form.T @ way), 16 * error * size**2)
        yield equals(2 * hull(coefficient(energy, 2)), curvature, scale=size**2, part="Hessian", n=n)
        yield at_least(curvature, 0, scale=size**2, part="sign", n=n)
