"""Rates of the farthest pair against coordinates, and the least rates against a search."""

from importlib import import_module

import numpy as np
import pytest

from theory.particles import on_sphere
from theory.particles.exact import cluster_gaps, gaps, slowest_pair, slowest_rate


def acute(rng, n, d):
    """Draw unit tokens of the positive orthant."""
    x = np.abs(rng.normal(size=(n, d)))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("normalised", [True, False])
def test_slowest_pair_is_the_growth_of_the_smallest_overlap(normalised):
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = acute(rng, 6, 4)
        beta = float(rng.uniform(0.0, 5.0))
        gap, rate = slowest_pair(gaps(x), beta=beta, normalised=normalised)
        v = on_sphere(beta, normalised=normalised)(x)
        i, j = np.unravel_index((x @ x.T).argmin(), (6, 6))
        assert gap == pytest.approx(1.0 - x[i] @ x[j], rel=1e-12, abs=0.0)
        assert rate.mid == pytest.approx(v[i] @ x[j] + x[i] @ v[j], rel=1e-9, abs=0.0)
        assert rate.width < 1e-9 * rate.mid


def test_ties_are_decided_by_the_slowest_of_them():
    given = cluster_gaps(0.75, [1] * 4)
    given[2, 3] = given[3, 2] = 0.125
    _, together = slowest_pair(given, beta=1.0, normalised=False)
    _, simplex = slowest_pair(cluster_gaps(0.75, [1] * 4), beta=1.0, normalised=False)
    assert together.mid == pytest.approx(simplex.mid, rel=1e-13, abs=0.0)


def test_least_rates_are_not_undercut():
    rng = np.random.default_rng(1)
    for _ in range(300):
        n = int(rng.integers(2, 8))
        beta = float(10.0 ** rng.uniform(-1.0, 1.0))
        given = np.minimum(gaps(acute(rng, n, 3) ** float(rng.choice([1.0, 3.0]))), 1.0)
        for normalised in (True, False):
            gap, rate = slowest_pair(given, beta=beta, normalised=normalised)
            assert rate.hi >= float(slowest_rate(gap, tokens=n, beta=beta, normalised=normalised)) * (1.0 - 1e-12)


def test_a_search_does_not_see_rounding(monkeypatch):
    module = import_module("theory.particles.studies.comparison")
    given = np.minimum(gaps(acute(np.random.default_rng(2), 6, 3)), 1.0)
    found = module._searched(np.random.default_rng(3), given, 2.0, "SA", 60)
    assert not np.array_equal(found, given)
    noise = np.random.default_rng(4)

    def rounded(*args, **options):
        start, rate = slowest_pair(*args, **options)
        return start, rate * (1.0 + 2.0**-50 * float(noise.uniform(-1.0, 1.0)))

    monkeypatch.setattr(module, "slowest_pair", rounded)
    assert np.array_equal(module._searched(np.random.default_rng(3), given, 2.0, "SA", 60), found)


def test_least_rates_at_the_witness():
    _, pair = slowest_pair(cluster_gaps(0.7, [5, 5]), beta=5.0)
    _, simplex = slowest_pair(cluster_gaps(0.7, [1] * 10), beta=5.0)
    assert (round(pair.mid, 4), round(simplex.mid, 4)) == (0.0533, 0.1230)
    assert float(slowest_rate(0.7, tokens=10, beta=5.0)) == pytest.approx(pair.mid, rel=1e-12, abs=0.0)


def test_clusters():
    np.testing.assert_array_equal(cluster_gaps(0.5, [2, 1]), [[0.0, 0.0, 0.5], [0.0, 0.0, 0.5], [0.5, 0.5, 0.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cluster_gaps(0.5, [1.5]), "sizes: expected a flat list of positive integers"),
        (lambda: cluster_gaps(0.5, []), "sizes: expected a flat list of positive integers"),
        (lambda: slowest_pair([[0.0]], beta=1.0), "gaps: expected a symmetric matrix of two or more tokens"),
        (lambda: slowest_pair([[0.0, 1.0], [0.5, 0.0]], beta=1.0), "gaps: expected a symmetric matrix"),
        (lambda: slowest_pair([[0.0, 3.0], [3.0, 0.0]], beta=1.0), "gaps: expected numbers from 0 to 2"),
        (lambda: slowest_pair([[0.0, 1.0], [1.0, 0.0]], beta=-1.0), "beta: expected a non-negative number"),
        (lambda: slowest_rate(1.5, tokens=3, beta=1.0), r"gap: expected numbers in \(0, 1\]"),
        (lambda: slowest_rate(0.5, tokens=1, beta=1.0), "tokens: expected an integer of at least 2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("gap", [[], [0.5, np.nan], np.ma.masked_array([0.5], mask=[True]), ["0.5"], [True]])
def test_a_rate_of_what_is_no_gap_is_refused(gap):
    with pytest.raises((ValueError, TypeError), match="gap: expected"):
        slowest_rate(gap, tokens=3, beta=1.0)
    with pytest.raises(TypeError, match="normalised: expected True or False"):
        slowest_rate([0.5], tokens=3, beta=1.0, normalised="no")
