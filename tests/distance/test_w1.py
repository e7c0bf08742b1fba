"""The interval holds the distance: exact assignment, closed forms and the line say so."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from theory.attention import Measure
from theory.attention.measure import EnclosedMeasure
from theory.distance import w1, w1_line
from theory.evidence import Interval, Kind, exact, stream, within

BITS = 2600  # of the oracle; squares of doubles have their last bit above 2**-2200
NARROW = 1e-9  # the largest relative width with which a distance is accepted
PYTHAGORAS = {2: ((3, 4), 5), 3: ((2, 3, 6), 7), 8: ((1, 1, 1, 1, 2, 2, 2, 0), 4)}
CLOUD = st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4), st.integers(1, 9)), min_size=1, max_size=6)


def floor_distance(x, y):
    """Return the Euclidean distance of two points in units of ``2**-BITS``, rounded down."""
    square = sum((Fraction(p) - Fraction(q)) ** 2 for p, q in zip(x.tolist(), y.tolist(), strict=True))
    return math.isqrt((square.numerator << 2 * BITS) // square.denominator)


def assignment(x, y):
    """Bracket the distance of two uniform clouds of n atoms by dynamic programming over the subsets of targets."""
    n = len(x)
    best = {0: 0}
    for atom in x:
        cost = [floor_distance(atom, target) for target in y]
        grown = {}
        for taken, value in best.items():
            for j in range(n):
                if not taken >> j & 1:
                    wider = taken | 1 << j
                    grown[wider] = min(grown.get(wider, value + cost[j]), value + cost[j])
        best = grown
    least = best[2**n - 1]
    return Fraction(least, n << BITS), Fraction(least + n, n << BITS)


def meets(interval: Interval, bracket) -> bool:
    return interval.lo <= bracket[1] and interval.hi >= bracket[0]


def slant(line: Measure, d: int) -> Measure:
    """Put a cloud of the line on a slanted one, of which the unit has an integer length."""
    return line.push_forward(lambda t: t * np.array(PYTHAGORAS[d][0], dtype=float))


def on_the_line(mu: Measure, nu: Measure, d: int) -> tuple[Fraction, Fraction]:
    exact = w1_line(mu, nu)
    return PYTHAGORAS[d][1] * Fraction(exact.lo), PYTHAGORAS[d][1] * Fraction(exact.hi)


def test_oracle():
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    low, high = assignment(square, square[::-1] + np.array([3.0, 4.0]))
    assert low <= 5 <= high
    low, high = assignment(square, np.full((4, 2), 0.5))
    assert low**2 <= Fraction(1, 2) <= high**2


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-14, 1e-12, 1.0, 1e12, 1e200, 1e300])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_every_scale(scale, d):
    rng = stream("tests.w1.scale", d)
    x, y = rng.normal(size=(2, 6, d)) * scale
    interval = w1(Measure(x), Measure(y))
    assert meets(interval, assignment(x, y))
    assert interval.width <= NARROW * interval.lo


@pytest.mark.parametrize("far", [1e16, 1e22, 1e30])
@pytest.mark.parametrize("case", range(3))
def test_costs_of_every_size_at_once(far, case):
    rng = stream("tests.w1.spread", case)
    x, y = rng.normal(size=(2, 6, 3)) * 1e-3
    x[0] += far
    y[rng.integers(0, 6)] += far * (1.0 if case else 1e2)
    for iterations in (1, 10_000_000):
        assert meets(w1(Measure(x), Measure(y), iterations=iterations), assignment(x, y))


@pytest.mark.parametrize("case", range(5))
def test_coordinates_of_every_size_at_once(case):
    rng = stream("tests.w1.coordinates", case)
    x, y = rng.normal(size=(2, 5, 3)) * 10.0 ** rng.integers(-320, 300, size=(2, 5, 3))
    with np.errstate(all="raise"):
        interval = w1(Measure(x), Measure(y))
    assert meets(interval, assignment(x, y))


@pytest.mark.parametrize("step", [2.0**-52, 5e-324])
def test_collapsed_clouds(step):
    rng = stream("tests.w1.collapsed", 0)
    centre = 1.0 if step > 1e-300 else 0.0
    x, y = centre + rng.integers(0, 5, size=(2, 6, 2)) * step
    interval = w1(Measure(x), Measure(y))
    assert meets(interval, assignment(x, y))
    assert interval.hi <= max((1.0 + NARROW) * interval.lo, math.nextafter(interval.lo, math.inf))


def test_small_differences_of_large_coordinates():
    rng = stream("tests.w1.constant", 0)
    x, y = np.ones((2, 6, 2))
    x[:, 1], y[:, 1] = rng.normal(size=(2, 6)) * 1e-200
    interval = w1(Measure(x), Measure(y))
    assert meets(interval, assignment(x, y))
    assert interval.width <= NARROW * interval.lo


@pytest.mark.parametrize("apart", [2.0**-600, 0.6 * 2.0**-537, 0.87 * 2.0**-537])
def test_squares_that_vanish_are_charged(apart):
    interval = w1(Measure.dirac([2.0**479, 0.0]), Measure.dirac([2.0**479, apart]))
    assert apart in interval  # squared this is zero, or rounded down or up to 2**-1074
    assert interval.hi < 2.0**-500


def test_one_atom_each_charges_the_rounding_of_a_distance():
    for case in range(60):
        rng = stream("tests.w1.pair", case)
        x, y = rng.normal(size=(2, 1, int(rng.integers(2, 65))))
        assert meets(w1(Measure(x), Measure(y)), assignment(x, y))


def test_one_atom_against_many():
    rng = stream("tests.w1.one", 0)
    mu = Measure(rng.normal(size=(1, 3)))
    nu = Measure.normalised(rng.normal(size=(80, 3)), rng.exponential(size=80))
    masses = [Fraction(w) for w in nu.weights.tolist()]
    floors = [floor_distance(mu.points[0], y) for y in nu.points]
    low = sum(w * f for w, f in zip(masses, floors, strict=True)) / sum(masses) / (1 << BITS)
    for interval in (w1(mu, nu), w1(nu, mu)):
        assert meets(interval, (low, low + Fraction(1, 1 << BITS)))
        assert interval.width <= NARROW * interval.lo


@pytest.mark.parametrize("d", sorted(PYTHAGORAS))
@pytest.mark.parametrize("iterations", [1, 10, 50, 2**64 - 1])
def test_translation_also_when_stopped_early(d, iterations):
    rng = stream("tests.w1.translation", d)
    points = rng.integers(-(2**20), 2**20, size=(200, d)) * 2.0**-18
    mu = Measure.normalised(points, rng.exponential(size=200))
    interval = w1(mu, Measure(points + np.array(PYTHAGORAS[d][0]), mu.weights), iterations=iterations)
    assert PYTHAGORAS[d][1] in interval
    assert interval.kind is Kind.CERTIFIED
    assert (interval.width <= NARROW * interval.lo) == (iterations > 50)  # the width shows that the solver was stopped


@pytest.mark.parametrize("d", sorted(PYTHAGORAS))
@pytest.mark.parametrize(
    "masses",
    [
        lambda rng, n: np.ones(n),  # noqa: ARG005
        lambda rng, n: rng.integers(1, 10, size=n) / 10,
        lambda rng, n: rng.exponential(size=n),
        lambda rng, n: rng.integers(0, 3, size=n) / 2 + (np.arange(n) == 0),
        lambda rng, n: 2.0 ** -rng.integers(0, 60, size=n).astype(float),
        lambda rng, n: np.where(np.arange(n) % 2, 1e-300, rng.exponential(size=n)),
    ],
    ids=["uniform", "tenths", "random", "zeros", "dyadic", "tiny"],
)
def test_weights(masses, d):
    for case, (n, m) in enumerate([(60, 60), (60, 45), (2, 90)]):
        rng = stream("tests.w1.weights", case)
        mu, nu = (Measure.normalised(rng.integers(-999, 999, size=(k, 1)), masses(rng, k)) for k in (n, m))
        interval = w1(slant(mu, d), slant(nu, d))
        assert meets(interval, on_the_line(mu, nu, d))
        assert interval.width <= NARROW * interval.lo
        assert meets(w1(slant(mu, d), slant(nu, d), iterations=3), on_the_line(mu, nu, d))


def test_line_in_the_plane():
    rng = stream("tests.w1.axis", 0)
    mu, nu = (Measure.normalised(t, rng.exponential(size=150)) for t in rng.normal(size=(2, 150, 1)))
    flat = [Measure(np.column_stack([law.points, np.zeros(150)]), law.weights) for law in (mu, nu)]
    exact = w1_line(mu, nu)
    assert meets(w1(*flat), (Fraction(exact.lo), Fraction(exact.hi)))


def test_a_distance_of_little_mass():
    mu = Measure([[0.0, 0.0], [3.0, 4.0]], [1.0, 1e-300])
    interval = w1(mu, Measure.dirac([0.0, 0.0]))
    assert 5 * Fraction(1e-300) / (1 + Fraction(1e-300)) in interval
    assert interval.hi < 1e-298  # only the lower end is rounded at the size of the potentials


def test_same_measure():
    rng = stream("tests.w1.same", 0)
    points = rng.normal(size=(50, 3))
    order = rng.permutation(50)
    assert w1(Measure(points), Measure(points[order])).lo == 0.0
    mu = Measure([[0.1, 0.2], [0.3, 0.7]])
    assert w1(mu, mu) == Interval.exactly(0.0)  # its plan is the diagonal, where the costs are exactly zero
    assert w1(Measure(np.ones((4, 2))), Measure(np.ones((3, 2)))) == Interval.exactly(0.0)


def test_atoms_without_mass_have_no_say():
    mu = Measure([[0.0, 0.0], [1e300, 0.0]], [1.0, 0.0])
    nu = Measure([[3.0, 4.0], [0.0, -1e300]], [1.0, 0.0])
    assert w1(mu, nu) == w1(Measure.dirac([0.0, 0.0]), Measure.dirac([3.0, 4.0]))


def test_beyond_the_range_of_doubles():
    far = w1(Measure.dirac([-1.7e308, 0.0]), Measure.dirac([1.7e308, 0.0]))
    assert (far.lo, far.hi) == (sys.float_info.max, math.inf)


@given(CLOUD, CLOUD, CLOUD, st.sampled_from([1e-13, 1.0, 1e13]))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_metric(first, second, third, scale):
    mu, nu, rho = (
        Measure.normalised([[x * scale, y * scale] for x, y, _ in law], [k for *_, k in law])
        for law in (first, second, third)
    )
    direct = w1(mu, nu)
    assert meets(direct, (w1(nu, mu).lo, w1(nu, mu).hi))
    assert direct.lo <= (w1(mu, rho) + w1(rho, nu)).hi


@given(CLOUD, CLOUD, st.randoms(use_true_random=False))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_names_of_atoms_do_not_matter(first, second, random):
    mu, nu = (Measure.normalised([[x, y] for x, y, _ in law], [k for *_, k in law]) for law in (first, second))
    parts = [(x, w / 2) for x, w in zip(mu.points.tolist(), mu.weights.tolist(), strict=True) for _ in range(2)]
    random.shuffle(parts)
    halved = Measure([x for x, _ in parts], [w for _, w in parts])
    direct, renamed = w1(mu, nu), w1(halved, nu)
    assert meets(direct, (renamed.lo, renamed.hi))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"nu": Measure([[0.0, 0.0, 0.0]])}, ValueError, r"^nu: expected dimension 2, got 3$"),
        ({"nu": [[0.0, 0.0]]}, TypeError, r"^nu: expected a Measure, got list$"),
        ({"mu": None}, TypeError, r"^mu: expected a Measure, got NoneType$"),
        ({"iterations": 0}, ValueError, r"^iterations: expected an integer of at least 1, got 0$"),
        (
            {"iterations": 2**64},
            ValueError,
            r"^iterations: expected an integer below 2\*\*64, got 18446744073709551616",
        ),
        ({"iterations": 1e6}, TypeError, r"^iterations: expected an integer, got float$"),
    ],
)
def test_bad_input(arguments, error, words):
    plane = Measure([[0.0, 0.0]])
    with pytest.raises(error, match=words):
        w1(**{"mu": plane, "nu": plane, **arguments})


def test_what_atoms_and_masses_are_off_is_in_the_distance():
    """All atoms may stand in one corner of their boxes, and one atom may take mass of the other: both are attained."""
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.25, 2.0]])
    moved = w1(EnclosedMeasure(within(places, 0.125), exact(np.full(3, 0.25))), Measure(places))
    assert 0.125 * math.sqrt(2.0) <= moved.hi <= 0.125 * math.sqrt(2.0) * (1.0 + NARROW)
    assert moved.lo == 0.0
    mass = np.array([0.25, 0.75])
    shifted = w1(EnclosedMeasure(exact(places[:2]), within(mass, 0.0625)), Measure(places[:2], mass))
    assert 0.0625 <= shifted.hi <= 0.25
    assert shifted.lo == 0.0
