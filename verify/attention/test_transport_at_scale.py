"""The distance between clouds too large for the matrix of their costs."""

from functools import cache

import numpy as np

from theory import Measure, w1
from theory.evidence import (
    Claim,
    Run,
    at_least,
    at_most,
    bug,
    constant,
    exact,
    hypothesis,
    norm,
    outcome,
    verifies,
)
from verify.textbook import balls


@cache
def shifted(scale, root, centred, reflected):
    """Bounds of the distance of a cloud to its shift, which a claimed factor does not change, and the shift."""
    run = Run("distance.large", scale, root)
    found = []
    n = run.pick(quick=1500, paper=20_000)
    for rng, dim in zip(run.streams(2), (2, 3), strict=True):
        points = np.round(rng.normal(size=(n, dim)), 6)
        shift = np.round(2.0 + rng.random(dim), 6)
        mu = Measure.normalised(points, rng.dirichlet(np.full(n, 2.0)))
        centre = shift if centred else np.zeros(dim)
        image = mu.enclosed().push_forward(lambda x: shift - x if reflected else x + shift)  # noqa: B023
        nu = image.push_forward(lambda x: x - centre)  # noqa: B023
        found.append((n, dim, norm(balls(shift)), w1(mu, nu, atoms=n // 2)))
    return found


@cache
def small(scale, root):
    """Distances of clouds that are small enough for the matrix, and their bounds without it."""
    run = Run("distance.large", scale, root)
    m = 300
    found = []
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
        source_status=("derived",),
    ),
    constant("longer", "the distance is five per cent longer", factor=1.05),
    constant("shorter", "the distance is five per cent shorter", factor=0.95),
    bug("means", "the clouds are moved onto each other before they are compared", centred=True),
    hypothesis("reflected", "the measure is reflected as well as shifted", reflected=True),
)
def test_large(run, *, factor=1.0, centred=False, reflected=False):
    def ends(inside, claimed, part, **case):  # the plan is the solver's own, and so is what it leaves open
        yield outcome(at_most(exact(inside.lo, inside.kind), claimed, part=f"{part}below", **case))
        yield outcome(at_least(exact(inside.hi, inside.kind), claimed, part=f"{part}above", **case))

    for n, dim, apart, inside in shifted(run.scale, run.root, centred, reflected):
        yield from ends(inside, factor * apart, "translation, ", n=n, d=dim)
    for m, distance, inside in small(run.scale, run.root):
        yield from ends(inside, factor * distance, "", n=m, d=2, width=inside.width / inside.hi)
