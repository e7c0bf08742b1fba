"""A moment subspace represents a law by few numbers; projecting twice is projecting once."""

import math

import numpy as np
import pytest

from theory import Measure
from theory.attention import Dirac, MomentSubspace, Projected, barycentres, symmetric_pairs
from theory.evidence import stream
from theory.evidence.roundoff import gamma


def test_closed_forms():
    mu = Measure([[0.0], [4.0]], [0.75, 0.25])  # mean 1, variance 3
    assert np.array_equal(barycentres().project(mu).points, [[1.0]])
    assert np.array_equal(symmetric_pairs().moment(mu), [1.0, 4.0])
    pair = symmetric_pairs().project(mu)
    assert np.array_equal(pair.points, [[1.0 - math.sqrt(3.0)], [1.0 + math.sqrt(3.0)]])
    assert np.array_equal(pair.weights, [0.5, 0.5])
    assert np.array_equal(symmetric_pairs().project(Measure([[-2.0], [2.0]])).points, [[-2.0], [2.0]])


@pytest.mark.parametrize("case", range(10))
def test_projection_keeps_the_moments(case):
    rng = stream("tests.moments.keep", case)
    n = int(rng.integers(2, 20))
    mu = Measure(rng.normal(size=(n, 1)), rng.dirichlet(np.ones(n)))
    size = float(np.abs(mu.points).max()) ** 2 + 1.0
    for subspace in (barycentres(), symmetric_pairs()):
        once = subspace.project(mu)
        assert np.abs(subspace.moment(once) - subspace.moment(mu)).max() <= 8.0 * gamma(n + 16) * size
    assert np.array_equal(barycentres().project(barycentres().project(mu)).points, barycentres().project(mu).points)


@pytest.mark.parametrize("copies", [1, 2, 3, 7, 10, 49])
def test_equal_tokens_are_a_pair_at_one_place(copies):
    """Rounding must not turn a law without spread into a moment that no law has."""
    for place in (0.1, 1.0 / 3.0, 1.7, -2.9, 1e-8, 1e8):
        pair = symmetric_pairs().project(Measure(np.full((copies, 1), place)))
        assert np.abs(pair.points - place).max() <= 2.0 * abs(place) * math.sqrt(gamma(4 * copies + 16))


def test_a_moment_that_no_law_has():
    with pytest.raises(ValueError, match=r"^moment: expected a second moment of at least 1\.0, got 0\.5$"):
        symmetric_pairs().section(np.array([1.0, 0.5]))


def test_pairs_live_on_the_line():
    for mu in (Measure([[1.0, 2.0], [3.0, 4.0]]), Measure([[1.0, 2.0, 3.0]])):
        with pytest.raises(ValueError, match=r": expected "):
            symmetric_pairs().project(mu)


def test_a_subspace_of_the_reader_s_own():
    """Laws of the plane represented by the mean of their first coordinate."""
    first = MomentSubspace(lambda y: y[:, 0], lambda m: Measure([[m[0], 0.0]]))
    assert np.array_equal(first.project(Measure([[1.0, 5.0], [3.0, 7.0]])).points, [[2.0, 0.0]])


def test_projected_kernel():
    spread = Projected(Dirac(lambda y: y + 1.0), barycentres())
    assert np.array_equal(spread.at([1.0, 2.0]).points, [[2.0, 3.0]])
