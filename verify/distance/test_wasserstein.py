"""The distance that every estimate is stated in: its interval holds the truth, whatever the solver did."""

import numpy as np

from theory import Measure, w1
from theory.distance import w1_line
from theory.evidence import (
    Claim,
    at_least,
    at_most,
    bug,
    constant,
    equals,
    exact,
    hypothesis,
    norm,
    outcome,
    verifies,
)
from theory.evidence.once import once
from verify.textbook import balls

apart_of = once(w1)

VILLANI = ("villani2009",)


def shifted(rng, dim):
    """A cloud and a shift."""
    n = int(rng.integers(2, 40))
    points = np.round(rng.normal(size=(n, dim)), 6)
    shift = np.round(rng.normal(size=dim), 6)
    masses = rng.dirichlet(np.full(n, 0.5))
    mu = Measure.normalised(points, masses)
    return mu, shift


def plain(rng):
    """A cloud and a shift of few bits, so that no sum of the two is rounded and an interval stands alone."""
    n, dim = int(rng.integers(2, 40)), int(rng.integers(2, 9))
    masses = rng.dirichlet(np.full(n, 0.5))
    points = rng.integers(-(2**20), 2**20, size=(n, dim))
    shift = rng.integers(1, 2**20, size=dim)
    return points / 2.0**18, shift / 2.0**18, masses / masses.sum()


def steep():
    """Two atoms and shifts whose squares are summed with nearly the largest error, all up or all down."""
    for size in (90 / 128, 91 / 128):  # the square is 0.494 or 0.505 units in the last place of the first one
        shift = np.full(64, size * 2.0**-26)
        shift[0] = 1.0
        yield np.eye(2, 64) / 1024.0, shift, np.array([0.75, 0.25])


@verifies(
    Claim(
        "distance.translation",
        "translating a measure moves it by the length of the shift",
        r"$W_1(\mu, \mu(\cdot - t)) = |t|$",
        cites=VILLANI,
        source_status=("derived",),
    ),
    constant("near", "the distance is one in a thousand larger", factor=1.001),
    constant("shorter", "the distance is one in a thousand smaller", factor=0.999),
    bug("taxicab", "the length is measured by the sum of the coordinates", taxicab=True),
    hypothesis("reflected", "the measure is reflected as well as shifted", reflected=True),
)
def test_translation(run, *, factor=1.0, taxicab=False, reflected=False):
    for points, shift, masses in (*(plain(rng) for rng in run.draws(quick=16, paper=200)), *steep()):
        length = np.abs(balls(shift)).sum() if taxicab else norm(balls(shift))
        image = shift - points if reflected else points + shift
        for size in (2.0**-40, 1.0, 2.0**40):
            mu, nu = (Measure(size * x, masses) for x in (points, image))
            claimed = length * size * factor
            case = {"n": mu.size, "d": mu.dim, "size": size}
            yield equals(apart_of(mu, nu), claimed, part="all pairs", **case)
            inside = apart_of(mu, nu, atoms=mu.size - 1)  # over few arcs, of which the solver says how many
            yield outcome(at_most(exact(inside.lo, inside.kind), claimed, part="below", **case))
            yield outcome(at_least(exact(inside.hi, inside.kind), claimed, part="above", **case))


@verifies(
    Claim(
        "distance.line",
        "on a line in the plane the transport plan costs what the distribution functions say",
        r"$W_1(\mu, \nu) = \int |F_\mu - F_\nu|\,dx$",
        cites=VILLANI,
        source_status=("derived",),
    ),
    constant("near", "the distance is one in a thousand larger", factor=1.001),
    bug("means", "only the means are compared", means=True),
    hypothesis("bent", "the clouds lie on a parabola that leaves the line", bend=0.1),
)
def test_line(run, *, factor=1.0, means=False, bend=0.0):
    for rng in run.draws(quick=16, paper=200):
        n, m = int(rng.integers(2, 40)), int(rng.integers(2, 40))
        mu = Measure(rng.normal(size=(n, 1)), rng.dirichlet(np.full(n, 0.5)))
        nu = Measure(rng.normal(size=(m, 1)) + 0.2, rng.dirichlet(np.full(m, 0.5)))
        flat = [Measure(np.column_stack([law.points, bend * law.points**2]), law.weights) for law in (mu, nu)]
        claimed = abs(mu.enclosed().mean() - nu.enclosed().mean())[0] if means else w1_line(mu, nu)
        yield equals(w1(*flat), factor * claimed, scale=w1_line(mu, nu), n=n, m=m)


@verifies(
    Claim(
        "distance.stopped-early",
        "the interval holds the distance however early the solver stops",
        r"feasible potentials bound $W_1$ from below and a repaired plan from above",
        cites=("flamary2021", *VILLANI),
        source_status=("derived",),
    ),
    constant("longer", "the true distance is one per cent larger", factor=1.01),
    constant("shorter", "the true distance is one per cent smaller", factor=0.99),
    hypothesis("reflected", "the measure is reflected as well as shifted", reflected=True),
)
def test_stopped_early(run, *, factor=1.0, reflected=False):
    for rng in run.draws(quick=8, paper=60):
        mu, shift = shifted(rng, dim=2)
        length = norm(balls(shift)) * factor
        image = mu.enclosed().push_forward(lambda x: shift - x if reflected else x + shift)  # noqa: B023
        for iterations in (1, 4, 16, 64, 10_000):  # where a solver stops is its own
            inside = w1(mu, image, iterations=iterations)
            case = {"n": mu.size, "iterations": iterations}
            yield outcome(at_most(exact(inside.lo, inside.kind), length, part="below", **case))
            yield outcome(at_least(exact(inside.hi, inside.kind), length, part="above", **case))
