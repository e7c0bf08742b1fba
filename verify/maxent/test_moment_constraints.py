"""The Boltzmann-Gibbs transform is nearest to its reference among the laws with its moments, and what it is not."""

from functools import cache

import numpy as np

from theory import Measure
from theory.attention import DotProduct, Softmatch, boltzmann_gibbs
from theory.evidence import (
    Claim,
    Interval,
    at_least,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    sup_over,
    verifies,
)
from theory.evidence.once import once
from theory.maxent.gibbs import divergence, entropy, match_moments
from verify import textbook
from verify.textbook import balls

CSISZAR = ("csiszar1975", "vuckovic2020")
PAPER = ("recalled", "derived", "refereed on paper")
SCORES, REFERENCE = np.array([0.0, 1.0, 2.0]), np.array([0.7, 0.2, 0.1])  # the example of what the transform is not
LINE = SCORES[:, np.newaxis]
matched = once(match_moments)


def tilt(mu, potential):
    """The transform of a measure from its definition; balls."""
    return textbook.laws(potential[np.newaxis], mu.weights)[0]


def kl(p, q):
    """The divergence between laws of balls, or of an enclosed one from one of balls, from its definition."""
    return (p * (np.log(p) - np.log(q))).sum()


def neighbour(law, frame, rng):
    """Enclose a law along a direction orthogonal to the columns of ``frame``."""
    way = rng.normal(size=law.size) if law.size > 3 else np.array([1.0, -2.0, 1.0]) * [1.0, frame.shape[1] > 1, 1.0]
    way = way - frame @ np.linalg.lstsq(frame, way, rcond=None)[0]
    moved = exact(law + 0.5 * float(np.min(law / np.maximum(np.abs(way), 1e-300))) * way)
    return moved / moved.sum()


def prescribed(run):
    """Yield a reference, scores, the mean that is prescribed, and a generator: the example in three units, then drawn."""
    example = Measure(LINE, REFERENCE)
    cases = [(example, SCORES, float(boltzmann_gibbs(example, SCORES).weights @ SCORES))]
    for rng in run.draws(quick=20, paper=200):
        n = int(rng.integers(3, 30))
        mu = Measure(rng.normal(size=(n, 1)), rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n)
        a = rng.normal(size=n)
        cases.append((mu, a, float(rng.dirichlet(np.ones(n)) @ a)))
    mu, a, m = cases[0]
    cases += [(mu, size * a, size * m) for size in (2.0**-40, 2.0**40)]
    for case, rng in zip(cases, run.streams(len(cases)), strict=True):
        yield *case, rng


@verifies(
    Claim(
        "maxent.moment",
        "the tilt with the prescribed mean score is the law nearest to the reference",
        r"$\nu(a) = m$ implies $\mathrm{KL}(\nu\|\mu) - \mathrm{KL}(\Psi_{e^{\lambda a}}(\mu)\|\mu) = \mathrm{KL}(\nu\|\Psi_{e^{\lambda a}}(\mu)) \ge 0$",
        assumptions=(r"$a$ not constant", r"$\mathrm{ess\,inf}\,a < m < \mathrm{ess\,sup}\,a$"),
        spec=("MA.E2",),
        cites=CSISZAR,
        source_status=PAPER,
    ),
    bug("sign", "the multiplier has the wrong sign", sign=-1),
    hypothesis("infeasible", "the compared law misses the prescribed mean", feasible=False),
    bug("reversed", "KL(mu||nu) is minimised instead of KL(nu||mu)", reverse=True),
)
def test_moment(run, *, sign=1, feasible=True, reverse=False):
    def cost(law, mu):
        return divergence(exact(mu.weights), law) if reverse else divergence(law, exact(mu.weights))

    for mu, a, m, rng in prescribed(run):
        n = mu.size
        column = exact(a)[:, np.newaxis]
        found = matched(mu, column, exact([m]))
        slope = sign * found.multiplier[0]
        law = boltzmann_gibbs(mu, slope * exact(a)).law()
        frame = np.column_stack([np.ones(n), a]) if feasible else np.ones((n, 1))
        nu = neighbour(found.measure.weights.mid, frame, rng)
        # a mean that is missed by a rounding costs the multiplier times as much
        missed = found.multiplier[0] * ((nu - found.measure.weights) @ a) if feasible else 0.0
        rise = cost(nu, mu) - cost(law, mu) - missed
        yield equals(rise, kl(nu, tilt(mu, slope * balls(a))), scale=1, part="Pythagoras", n=n)
        yield equals(law @ a - found.residual[0], m, scale=float(np.ptp(a)), part="mean", n=n)


@verifies(
    Claim(
        "maxent.vector",
        "the dot-product transform is the law nearest to the reference with its own mean",
        r"$\Psi_{e^{x^\top B\,\cdot}}(\mu)$ minimises $\mathrm{KL}(\nu\|\mu)$ under $\int y\,\nu(dy) = m$, with tilt $B^\top x$",
        assumptions=("mean interior to the convex hull",),
        spec=("MA.E3",),
        cites=CSISZAR,
        source_status=PAPER,
    ),
    bug("transposed", "the tilt is Bx", transposed=True),
    hypothesis("first-only", "only the first coordinate of the mean is prescribed", coordinates=1),
)
def test_vector(run, *, transposed=False, coordinates=2):
    for rng in run.draws(quick=12, paper=120):
        n = int(rng.integers(8, 25))
        form = rng.normal(size=(2, 2)) / 2
        x = rng.normal(size=2)
        mu = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)) * 0.5 + 0.5 / n)
        reference = exact(mu.weights)
        some = mu.points[:, :coordinates]
        law = Softmatch(DotProduct(form=form), mu).at(exact(x)).law()
        turned = form if transposed else form.T
        claimed = tilt(mu, balls(mu.points) @ (balls(turned) @ balls(x)))
        nu = neighbour(law.mid, np.column_stack([np.ones(n), some]), rng)
        missed = ((nu - law) @ some) @ (turned @ exact(x))[:coordinates]
        rise = divergence(nu, reference) - divergence(law, reference) - missed
        yield equals(rise, kl(nu, claimed), scale=1, part="Pythagoras", n=n)
        # the dual finds the same least divergence; its slope in the moment is the multiplier
        found = match_moments(mu, exact(some), law @ some)
        least = divergence(found.measure.weights, reference) - found.multiplier @ found.residual
        yield equals(least, kl(claimed, balls(mu.weights)), scale=1, part="dual", n=n)


def raised(law, a, least):
    """The law mixed with the unit mass where ``a`` is largest, as little as lifts its mean of ``a`` to ``least``."""
    mean = float(law @ a)
    top = int(np.argmax(a))
    share = max(0.0, (least - mean) / (a[top] - mean))
    mixed = (1.0 - share) * law
    mixed[top] += share
    return mixed / mixed.sum()


@verifies(
    Claim(
        "maxent.relaxed",
        "above the mean of the reference the constraint may be relaxed to at least",
        r"if $m \ge \mu(a)$, every $\nu$ with $\nu(a) \ge m$ has $\mathrm{KL}(\nu\|\mu) \ge \mathrm{KL}(\Psi_{e^{\lambda a}}(\mu)\|\mu)$",
        assumptions=(r"$\lambda(m) \ge 0$",),
        spec=("MA.E2",),
        cites=CSISZAR,
        source_status=PAPER,
    ),
    hypothesis("negative-multiplier", "the target lies below the mean of the reference", above=False),
    constant("slack", "the relaxed minimum is five per cent larger", factor=1.05),
)
def test_relaxed(run, *, above=True, factor=1.0):
    for rng in run.draws(quick=10, paper=100):
        n = int(rng.integers(3, 20))
        mu = Measure(rng.normal(size=(n, 1)), rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n)
        a = rng.normal(size=n)
        m = 0.5 * float(mu.weights @ a) + 0.5 * float(a.max() if above else a.min())
        found = match_moments(mu, exact(a)[:, np.newaxis], exact([m]))
        least = kl(tilt(mu, found.multiplier[0] * balls(a)), balls(mu.weights))
        nearest = match_moments(mu, a[:, np.newaxis], [m]).measure
        rivals = [("tilt", boltzmann_gibbs(nearest, 2.0 * rng.uniform() * a).weights) for _ in range(5)]
        rivals += [("law", raised(rng.dirichlet(np.ones(n)), a, m)) for _ in range(5)]
        for name, weights in [("transform", nearest.weights), *rivals, ("reference", raised(mu.weights, a, m))]:
            nu = exact(weights) / exact(weights).sum()
            # a mean that is missed by a rounding costs the multiplier times as much
            missed = found.multiplier[0] * np.minimum((nu - found.measure.weights) @ a, 0.0)
            value = divergence(nu, exact(mu.weights)) - missed
            yield at_least(value, factor * least, scale=least, n=n, rival=name)


# the transform of the example, moved by t along (1, -2, 1), which keeps mass and mean score
EXAMPLE = ("{0}/({0} + {1}*exp(1) + {2}*exp(2)) + t", "{1}*exp(1)/({0} + {1}*exp(1) + {2}*exp(2)) - 2*t",
           "{2}*exp(2)/({0} + {1}*exp(1) + {2}*exp(2)) + t")  # fmt: skip


@cache
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
        source_status=PAPER,
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
        source_status=PAPER,
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
