"""Hemispheres against enumeration, exact null vectors against fractions, the chart, the studies, and bad input."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from theory.evidence import Kind, stream
from theory.particles.exact import (
    central_projection,
    diameter,
    hemisphere_margins,
    hemisphere_probability,
    sign_patterns,
)
from theory.particles.exact.cone import _bounded, null_vector
from theory.particles.studies import cones
from theory.particles.studies.cone import CONE_TOKENS as TOKENS, above


def in_hemisphere(points):
    """Decide by the extreme rays: each is orthogonal to d - 1 of the points, which are integers here."""
    n, d = points.shape
    if n <= d:
        return np.linalg.matrix_rank(points) == n
    for chosen in combinations(range(n), d - 1):
        ray = np.linalg.svd(points[list(chosen)])[2][-1]
        sides = np.sign(np.delete(points, chosen, axis=0) @ ray)
        if (sides > 0).all() or (sides < 0).all():
            return True
    return False


@pytest.mark.parametrize(("n", "d"), [(4, 2), (5, 3), (7, 3), (6, 4), (3, 3), (2, 5)])
def test_margins_against_extreme_rays(n, d):
    rng = stream("tests.cone", 10 * n + d)
    clouds = rng.normal(size=(60, n, d))
    lower, upper = hemisphere_margins(clouds)
    assert (lower <= upper).all()
    for cloud, low, high in zip(clouds, lower, upper, strict=True):
        inside = in_hemisphere(cloud)
        assert inside == (low > 0.0)
        assert inside == (high > 1e-12)


def test_margins_are_the_largest():
    lower, upper = hemisphere_margins([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [-1.0, 0.0]], [[3.0, 0.0], [0.0, 1.0]]])
    assert np.allclose(lower, [1.0, 0.0, 1.0], rtol=0.0, atol=1e-9)
    assert np.allclose(upper, [1.0, 0.0, 1.0], rtol=0.0, atol=1e-9)


def test_margins_of_many_clouds_do_not_depend_on_how_many():
    clouds = stream("tests.cone", 1).normal(size=(520, 4, 2))
    lower, _ = hemisphere_margins(clouds)
    assert np.array_equal(lower[510:] > 0.0, hemisphere_margins(clouds[510:])[0] > 0.0)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 3), (3, 1), (4, 2), (5, 3), (6, 3)])
def test_patterns_against_enumeration(n, d):
    x = stream("tests.cone", 100 + 10 * n + d).integers(1, 100, size=(n, d)).astype(float)
    found = sum(in_hemisphere(np.array(s)[:, np.newaxis] * x) for s in product((-1.0, 1.0), repeat=n)) if d > 1 else 2
    assert sign_patterns(x) == found == 2**n * hemisphere_probability(n, d)


def test_points_that_are_not_in_general_position():
    with pytest.raises(ArithmeticError, match="general position"):
        sign_patterns([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])


def test_null_vectors():
    matrix = [[Fraction(entry) for entry in row] for row in ((2, 1, 4), (1, 1, 3))]
    assert null_vector(matrix) == [-1, -2, 1]
    assert null_vector([[Fraction(1), Fraction(2), Fraction(0)], [Fraction(2), Fraction(4), Fraction(1)]]) is None
    swapped = [[Fraction(0), Fraction(1), Fraction(1)], [Fraction(1), Fraction(0), Fraction(1)]]
    assert null_vector(swapped) == [-1, -1, 1]


def test_probabilities():
    assert hemisphere_probability(6, 3) == Fraction(1, 2)
    assert hemisphere_probability(10, 4) == Fraction(130, 512)
    assert hemisphere_probability(5, 5) == hemisphere_probability(1, 1) == 1
    assert hemisphere_probability(3, 1) == Fraction(1, 4)
    for n in range(1, 20):  # where fewer binomials are left out than added, too
        for d in range(1, 22):
            assert hemisphere_probability(n, d) == Fraction(sum(math.comb(n - 1, k) for k in range(d)), 2 ** (n - 1))
    assert hemisphere_probability(10**5, 5 * 10**4) == Fraction(1, 2)


def test_chart_and_diameter():
    x = np.array([[0.6, 0.8], [-0.6, 0.8], [0.0, 1.0]])
    y = central_projection(x, [0.0, 1.0])
    assert np.allclose(y, [[0.75, 1.0], [-0.75, 1.0], [0.0, 1.0]], rtol=0.0, atol=1e-15)
    assert abs(diameter(y) - 1.5) < 1e-15
    assert diameter([[1.0, 2.0]]) == 0.0


def test_study():
    table = cones(scale="quick", root=5)
    assert table.kind is Kind.ESTIMATED
    assert (table.where(part="hits", n=5, d=5)["value.lo"] == 1500.0).all()
    for run in ("SA", "USA", "causal"):
        before, after = (table.where(part=part, run=run).middles("value") for part in ("before", "after"))
        assert (after < before).all()
    start = above(stream("tests.cone", 2))
    assert start.shape == (TOKENS, 3)
    assert start[:, 2].min() > 0.05


def test_bad_input():
    with pytest.raises(ValueError, match=r"clouds: expected shape \(k, n, d\)"):
        hemisphere_margins([[1.0, 2.0]])
    with pytest.raises(ValueError, match="clouds: expected finite"):
        hemisphere_margins([[[np.inf, 0.0]]])
    with pytest.raises(ValueError, match="points: expected at most 20, got 21"):
        sign_patterns(np.eye(21))
    with pytest.raises(ValueError, match=r"tokens: expected positive heights over the axis, got -1\.0 at 1"):
        central_projection([[0.0, 1.0], [0.0, -1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"axis: expected shape \(2,\)"):
        central_projection([[0.0, 1.0]], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="n: expected an integer of at least 1"):
        hemisphere_probability(0, 3)
    with pytest.raises(ValueError, match=r"^n: expected n \* min\(d, n - d\) of at most 10000000000, got n = 1000000"):
        hemisphere_probability(10**6, 10**5)


def test_margins_are_bounds_of_what_the_numbers_are():
    rng = stream("tests.cone", 1)
    for _ in range(200):
        x = rng.normal(size=(3, 4))
        w = rng.uniform(-1.0, 1.0, size=4)
        law = rng.uniform(size=3)
        ends = [Fraction(float(end[0])) for end in _bounded(x[np.newaxis], w[np.newaxis], law[np.newaxis])]
        rows, weights = ([[Fraction(v) for v in row] for row in given] for given in (x.tolist(), [law.tolist()]))
        least = min(sum(a * Fraction(b) for a, b in zip(row, w.tolist(), strict=True)) for row in rows)
        sums = [sum(m * v for m, v in zip(weights[0], column, strict=True)) for column in zip(*rows, strict=True)]
        most = sum(map(abs, sums)) / sum(weights[0])
        assert least - Fraction(1, 2**46) < ends[0] <= least
        assert most <= ends[1] < most + Fraction(1, 2**42)
