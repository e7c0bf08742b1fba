"""The distance between clouds too large for the matrix of their costs."""

from functools import cache

import numpy as np

from theory import Measure, w1
from theory.evidence import Claim, Interval, Run, at_least, at_most, bug, constant, hypothesis, outcome, verifies
from theory.evidence.roundoff import gamma
from verify.textbook import balls, hull


@cache
def shifted(scale, root, centred, reflected):
    """Bounds of the distance of a cloud to its shift, which a claimed factor does not change, and the shift."""
    run, found = Run("distance.large", scale, root), []
    n = run.pick(quick=1500, paper=20_000)
    for rng, dim in zip(run.streams(2), (2, 3), strict=True):
        points, shift = np.round(rng.normal(size=(n, dim)), 6), np.round(2.0 + rng.random(dim), 6)
        mu = Measure.normalised(points, rng.dirichlet(np.full(n, 2.0)))
        nu = Measure((shift - points if reflected else points + shift) - (shift if centred else 0.0), mu.weights)
        worst = gamma(2) * float(np.abs(points).max() + np.abs(shift).max()) * np.sqrt(dim)
        found.append((n, dim, worst, hull((balls(shift) * balls(shift)).sum().sqrt()), w1(mu, nu, atoms=n // 2)))
    return found


@cache
def small(scale, root):
    """Distances of clouds that are small enough for the matrix, and their bounds without it."""
    run, m, found = Run("distance.large", scale, root), 300, []
    for rng in run.draws(quick=2, paper=6):
        mu, nu = (Measure(rng.normal(size=(m, 2)) + k, rng.dirichlet(np.ones(m))) for k in (0.0, 0.5))
        found.append((m, w1(mu, nu), w1(mu, nu, atoms=m // 2)))
    return found


@verifies(
    Claim(
        "distance.large",
        "a plan over few arcs and a repaired potential enclose the distance of large clouds",
        r"$\int \phi\,d\mu - \int \phi\,d\nu \le W_1(\mu, \nu) \le \int |x - y|\,\pi(dx, dy)$ for 1-Lipschitz $\phi$ and a coupling $\pi$",
        assumptions=("finitely many atoms",),
        cites=("villani2009",),
        provenance=("derived",),
    ),
    constant("longer", "the distance is five per cent longer", factor=1.05),
    constant("shorter", "the distance is five per cent shorter", factor=0.95),
    bug("means", "the clouds are moved onto each other before they are compared", centred=True),
    hypothesis("reflected", "the measure is reflected as well as shifted", reflected=True),
)
def test_large(run, *, factor=1.0, centred=False, reflected=False):
    for n, dim, worst, apart, inside in shifted(run.scale, run.root, centred, reflected):
        length = apart * factor
        yield outcome(
            at_most(Interval.within(inside.lo, worst), length, part="translation, below", n=n, d=dim)
        )  # the plan is the solver's own
        yield outcome(at_least(Interval.within(inside.hi, worst), length, part="translation, above", n=n, d=dim))
    for m, distance, inside in small(run.scale, run.root):
        exact = factor * distance
        yield outcome(
            at_most(Interval.exactly(inside.lo), exact, part="below", n=m, d=2, width=inside.width / inside.hi)
        )
        yield outcome(
            at_least(Interval.exactly(inside.hi), exact, part="above", n=m, d=2, width=inside.width / inside.hi)
        )
