"""On the line the interval is the exact value: against the monotone coupling, which shares no code with it."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from theory.attention import Measure
from theory.distance import w1, w1_line
from theory.evidence import Interval, Kind, stream

SIZES = st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 9)), min_size=1, max_size=8)


def monotone_cost(mu: Measure, nu: Measure) -> Fraction:
    """Cost of the monotone coupling, optimal on the line: fill the leftmost demand from the leftmost supply."""
    queues = []
    for law in (mu, nu):
        total = sum(Fraction(w) for w in law.weights.tolist())
        atoms = zip(law.points[:, 0].tolist(), law.weights.tolist(), strict=True)
        queues.append(sorted([Fraction(z), Fraction(w) / total] for z, w in atoms))
    cost, (left, right) = Fraction(0), queues
    while left and right:
        moved = min(left[0][1], right[0][1])
        cost += moved * abs(left[0][0] - right[0][0])
        for queue in queues:
            queue[0][1] -= moved
            if queue[0][1] == 0:
                queue.pop(0)
    assert not left
    assert not right
    return cost


def tight(interval: Interval, value: Fraction) -> bool:
    return value in interval and interval.hi <= math.nextafter(interval.lo, math.inf)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-12, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("case", range(4))
def test_random_clouds(scale, case):
    rng = stream("tests.line.random", case)
    n, m = rng.integers(1, 40, size=2)
    mu = Measure.normalised(
        rng.normal(size=(n, 1)) * scale, rng.exponential(size=n) * 10.0 ** rng.integers(-300, 1, size=n)
    )
    nu = Measure.normalised(rng.normal(size=(m, 1)) * scale, rng.exponential(size=m))
    assert tight(w1_line(mu, nu), monotone_cost(mu, nu))


@given(SIZES, SIZES)
@settings(deadline=None, derandomize=True)
def test_atoms_at_equal_places_and_tied_weights(left, right):
    mu, nu = (Measure.normalised([[z] for z, _ in law], [k / 10 for _, k in law]) for law in (left, right))
    assert tight(w1_line(mu, nu), monotone_cost(mu, nu))


def test_closed_forms():
    assert w1_line(Measure([[0.0], [1.0]]), Measure([[0.5]])) == Interval.exactly(0.5)
    assert w1_line(Measure([[-0.0], [0.0]]), Measure([[0.0]])) == Interval.exactly(0.0)
    thirds = w1_line(Measure([[0.0]]), Measure([[0.0], [0.0], [1.0]]))  # equal doubles have equal shares, exactly 1/3
    assert tight(thirds, Fraction(1, 3))


def test_same_measure_is_at_distance_zero():
    rng = stream("tests.line.same", 0)
    mu = Measure.normalised(rng.normal(size=(50, 1)), rng.exponential(size=50))
    order = rng.permutation(50)
    assert w1_line(mu, Measure(mu.points[order], mu.weights[order])) == Interval.exactly(0.0)


def test_translation_is_exact():
    rng = stream("tests.line.translation", 0)
    points = rng.integers(-(2**40), 2**40, size=(2000, 1)) * 2.0**-30
    masses = rng.exponential(size=2000)
    mu = Measure.normalised(points, masses)
    assert w1_line(mu, Measure(points + 0.375, mu.weights)) == Interval.exactly(0.375)


def test_beyond_the_range_of_doubles():
    far = w1_line(Measure([[-1.7e308]]), Measure([[1.7e308]]))
    assert (far.lo, far.hi) == (sys.float_info.max, math.inf)


def test_dimension_one_is_always_exact():
    rng = stream("tests.line.door", 0)
    mu = Measure(rng.normal(size=(9, 1)))
    nu = Measure(rng.normal(size=(7, 1)))
    assert w1(mu, nu, iterations=1) == w1_line(mu, nu)
    assert w1_line(mu, nu).kind is Kind.CERTIFIED


def test_bad_input():
    line, plane = Measure([[0.0]]), Measure([[0.0, 0.0]])
    with pytest.raises(ValueError, match=r"^mu: expected dimension 1, got 2$"):
        w1_line(plane, plane)
    with pytest.raises(ValueError, match=r"^nu: expected dimension 1, got 2$"):
        w1_line(line, plane)
    with pytest.raises(TypeError, match=r"^mu: expected a Measure, got ndarray$"):
        w1_line(np.zeros((1, 1)), line)
