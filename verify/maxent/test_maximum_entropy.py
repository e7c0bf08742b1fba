"""Attention weights solve an entropy problem: Gibbs' principle, and the energy behind the output."""

import numpy as np

from theory import Measure
from theory.attention import AttentionKernel, DotProduct, Softmatch, read
from theory.evidence import Claim, at_least, bug, constant, equals, exact, hypothesis, verifies
from theory.evidence.enclosure import coefficient, variable
from theory.evidence.once import once
from theory.maxent import studies
from theory.maxent.gibbs import divergence, expectation, log_partition
from verify import inputs, textbook
from verify.textbook import balls

GIBBS = ("donsker1975", "vuckovic2020")
PAPER = ("recalled", "derived", "refereed on paper")


@once
def shortfall(nu, reference, a, weights):
    """By how much the free energy of a law exceeds the least."""
    return divergence(nu, reference) - expectation(nu, a) + log_partition(a, weights) * exact(nu).sum()


@once
def written(nu, a, weights, reverse):
    """The divergence of a law from the Gibbs law as it is printed, or the other way round."""
    best = textbook.laws(balls(a)[np.newaxis], weights)[0]
    law = balls(nu)
    return (best * np.log(best / law)).sum() if reverse else (law * np.log(law / best)).sum()


@verifies(
    Claim(
        "maxent.gibbs",
        "a law misses the largest free energy by temperature times its divergence from softmax",
        r"$\mathrm{KL}(\nu\|\mu) - \nu(a) = \mathrm{KL}(\nu\|\Psi_{e^a}(\mu)) - \log\mu(e^a)$; uniform $\mu$: $F(p^*) - F(p) = \tau\,\mathrm{KL}(p\|p^*)$",
        assumptions=("bounded potential", r"$\nu \ll \mu$", "positive temperature"),
        spec=("MA.E1", "RA.B2", "RA.C3"),
        cites=GIBBS,
        source_status=PAPER,
    ),
    bug("reversed", "the arguments of KL are exchanged", reverse=True),
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
        measured = shortfall(nu, reference, a, mu.weights)
        kl = written(nu, a, mu.weights, reverse)
        yield equals(measured, sign * kl, scale=1.0 + float(np.ptp(a)), **case)
    table = run.study(studies.landscape)
    for tau, best, energy, short in zip(
        table["tau"].tolist(),
        table.intervals("best"),
        table.intervals("free_energy"),
        table.intervals("divergence"),
        strict=True,
    ):
        yield equals(best - energy, sign * tau**power * short, scale=tau, input="simplex", tau=tau)


def log_partition_along(x, way, form, points, masses):
    """The series of log mu(exp((x + t way)' B y)) in t: derivatives without differences."""
    here, along = (balls(at) @ balls(form) @ balls(points).T for at in (x, way))
    scores = here + along * variable(3)
    return textbook.log((masses * textbook.exp(scores)).sum())


@verifies(
    Claim(
        "maxent.energy",
        "the attention output is the gradient of the log-partition, whose Hessian is a covariance",
        r"$\nabla_x\log\mu(e^{x^\top B\,\cdot}) = B\,\Gamma_\mu(x)$ and $\nabla_x^2 = B\,\mathrm{Cov}_{S_\mu(x, \cdot)}B^\top \succeq 0$; along a line $\lambda a$ of scores $\frac d{d\lambda}\Psi_{e^{\lambda a}}(\mu)(a) = \mathrm{Var}_{\Psi_{e^{\lambda a}}(\mu)}(a)$",
        assumptions=("value matrix the identity",),
        spec=("MA.E2", "MA.E5", "RA.C2"),
        cites=(*GIBBS, "csiszar1975", "ramsauer2021"),
        source_status=PAPER,
    ),
    bug("no-form", "the gradient is the output itself, without B", formed=False),
    bug("transposed", "the gradient is B' times the output", transposed=True),
    hypothesis("counted", "the tokens count alike, whatever their masses", weighed=False),
    hypothesis("uncentred", "the Hessian is the second moment instead of the covariance", centred=0),
    bug("twice", "the means are subtracted twice from the second moment", centred=2),
)
def test_energy(run, *, formed=True, transposed=False, weighed=True, centred=1):
    for number, rng in enumerate(run.draws(quick=15, paper=150)):
        n = int(rng.integers(2, 20))
        form = rng.normal(size=(2, 2))
        mu = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)))
        x = rng.normal(size=2)
        way = rng.normal(size=2)
        if number == 0:  # tokens far on one side
            mu = Measure(0.1 * mu.points + [2.0, 1.0], mu.weights)
        masses = balls(mu.weights if weighed else np.full(n, 1.0 / n))
        energy = log_partition_along(x, way, form, mu.points, masses)
        left = (form.T if transposed else form) if formed else np.eye(2)
        size, reach, form_reach = (
            float(np.abs(mu.points).max()), *(float((np.abs(way) @ np.abs(m)).sum()) for m in (left, form)),
        )  # fmt: skip
        kernel = AttentionKernel(DotProduct(form=form), mu)
        match = Softmatch(DotProduct(form=form), mu)
        query = exact(x)[np.newaxis]
        along = exact(way)
        value = read(query, mu.points, mu.points, score=DotProduct(form=form), weights=mu.weights).log_partition[0]
        yield equals(value, coefficient(energy, 0), scale=1, part="value", n=n)
        slope = along @ left @ kernel.output(query)[0]
        scale = (reach + form_reach) * size
        yield equals(coefficient(energy, 1), slope, scale=scale, part="gradient", n=n)
        law = match.at(exact(x))
        second = law.covariance() + (1 - centred) * np.outer(law.mean(), law.mean())
        curvature = along @ form @ second @ (form.T @ along)
        yield equals(2 * coefficient(energy, 2), curvature, scale=(form_reach * size) ** 2, part="Hessian", n=n)
        yield at_least(curvature, 0, scale=(form_reach * size) ** 2, part="positive", n=n)
