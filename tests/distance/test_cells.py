"""The parts of the large path: common mass, cells, staircases and envelopes, each against its definition."""

from fractions import Fraction

import numpy as np
import pytest

from theory.attention import Measure
from theory.distance.cells import cells, centres, halvings, members, staircase
from theory.distance.envelope import least, measure
from theory.distance.excess import excess
from theory.evidence import stream


def test_excess_is_the_exact_difference():
    mu = Measure([[0.0, 1.0], [0.0, 1.0], [2.0, 2.0], [-0.0, 5.0]], [0.1, 0.2, 0.3, 0.4])
    nu = Measure([[0.0, 5.0], [0.0, 1.0], [7.0, 7.0]], [0.4, 0.1, 0.5])
    law = [Fraction(w) for w in mu.weights.tolist()], [Fraction(w) for w in nu.weights.tolist()]
    (a, b), (total, rest) = law, (sum(part) for part in law)
    difference = {
        (0.0, 1.0): (a[0] + a[1]) / total - b[1] / rest,
        (2.0, 2.0): a[2] / total,
        (0.0, 5.0): a[3] / total - b[0] / rest,
        (7.0, 7.0): -b[2] / rest,
    }
    x, supply, y, demand, share = excess(mu, nu)
    assert sum(supply) == sum(demand)
    found = {tuple(p): share * s / sum(supply) for p, s in zip(x.tolist(), supply, strict=True)}
    found |= {tuple(p): -share * s / sum(demand) for p, s in zip(y.tolist(), demand, strict=True)}
    assert found == {place: mass for place, mass in difference.items() if mass}


def test_excess_of_a_measure_over_itself():
    mu = Measure([[1.0], [2.0], [1.0]], [0.2, 0.5, 0.3])
    x, supply, y, demand, share = excess(mu, Measure(mu.points[::-1], mu.weights[::-1]))
    assert (len(x), supply, len(y), demand, share) == (0, [], 0, [], 0)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 7), (64, 64), (100, 37)])
def test_cells_are_halvings(n, m):
    rng = stream("tests.cells.halvings", 0)
    x = rng.normal(size=(n, 3)) * [1.0, 10.0, 1.0]
    y = rng.normal(size=(m, 3))
    first, second = halvings(x, y)
    assert sorted(first.tolist()) == list(range(n))
    assert sorted(second.tolist()) == list(range(m))
    if n > 1:  # the widest coordinate is cut first
        half = cells(n, 2)
        assert x[first][half == 0, 1].max() <= x[first][half == 1, 1].min()


def test_cells_nest_and_none_is_empty():
    for n in (1, 5, 16, 17, 100):
        for count in (1, 4, 16, 1000):
            fine, coarse = cells(n, 4 * count), cells(n, count)
            assert sorted(set(coarse.tolist())) == list(range(min(n, count)))
            if 4 * count <= n:
                assert np.array_equal(fine // 4, coarse)


def test_cells_of_translated_clouds_are_translated():
    rng = stream("tests.cells.translated", 0)
    x = rng.integers(-999, 999, size=(200, 2)).astype(float)
    y = x[::-1] + np.array([64.0, -8.0])
    first, second = halvings(x, y)
    assert np.array_equal(x[first] + np.array([64.0, -8.0]), y[second])


def test_centres_and_members():
    z = np.array([[0.0], [4.0], [10.0]])
    masses = np.array([0.25, 0.75, 2.0])
    cell = np.array([0, 0, 1])
    middle, heavy = centres(z, masses, cell)
    assert middle.tolist() == [[3.0], [10.0]]
    assert heavy.tolist() == [1.0, 2.0]
    rows, columns = members(cell, np.array([0, 1, 1, 1]), np.array([0, 1]), np.array([1, 0]))
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 0),
    ]


def test_staircase():
    rng = stream("tests.cells.staircase", 0)
    first = rng.integers(1, 9, size=30).astype(float)
    second = rng.integers(1, 9, size=20).astype(float)
    second[-1] += max(first.sum() - second.sum(), 0.0)
    first[-1] += max(second.sum() - first.sum(), 0.0)
    rows, columns, masses = staircase(first, second)
    assert np.array_equal(np.bincount(rows, masses), first)  # integers: nothing rounds
    assert np.array_equal(np.bincount(columns, masses), second)
    assert (np.diff(rows) >= 0).all()
    assert (np.diff(columns) >= 0).all()
    rows, columns, masses = staircase(np.array([0.5, 0.5]), np.array([0.5, 0.5 + 2.0**-50]))
    assert rows.max() == columns.max() == 1  # an excess by rounding goes to the last
    assert masses.sum() == 1.0 + 2.0**-50


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("count", [1, 8, 10_000])
def test_envelope_skips_nothing_that_matters(d, size, count, monkeypatch):
    monkeypatch.setenv("THEORY_BACKEND", "compiled")  # the oracle skips nothing at all
    assert_nothing_skipped(700, 300, d, size, count)


def test_envelope_of_few_skips_nothing_that_matters(monkeypatch):
    """Few enough for kernels that run as Python."""
    monkeypatch.setenv("THEORY_BACKEND", "compiled")
    assert_nothing_skipped(120, 60, 2, 0.1, 1)


def assert_nothing_skipped(n, m, d, size, count):
    rng = stream("tests.cells.envelope", d)
    s = rng.normal(size=(n, d)) * rng.choice([1e-3, 1.0], size=(n, 1))
    z = rng.normal(size=(m, d))
    s, z = (cloud[np.lexsort(cloud.T)] for cloud in (s, z))
    ruler, lift = measure(s, z)
    s, z = np.ldexp(s, lift), np.ldexp(z, lift)
    heights = size * rng.normal(size=n)
    values, cones = least(ruler, z, s, heights, count)
    terms = ruler.between(z, s) - heights
    assert np.array_equal(values, terms.min(axis=1))
    best = np.sort(terms, axis=1)[:, : min(count, n)]
    assert np.array_equal(np.sort(np.take_along_axis(terms, cones, axis=1), axis=1), best)


def test_envelope_of_exact_distances():
    """On a lattice of Pythagorean triples the distances are known; one slip around the computed envelope holds it."""
    rng = stream("tests.cells.exact", 0)
    t = rng.integers(-999, 999, size=200)
    r = rng.integers(-999, 999, size=150)
    z, s = np.outer(t, [2.0, 3.0, 6.0]), np.outer(r, [2.0, 3.0, 6.0])
    ruler, lift = measure(s, z)
    heights = rng.normal(size=150)
    values, _ = least(ruler, np.ldexp(z, lift), np.ldexp(s, lift), heights, 1)
    unit = Fraction(2) ** (ruler.unit - lift)
    exact = [
        min(7 * abs(int(p) - int(q)) / unit - Fraction(h) for q, h in zip(r, heights.tolist(), strict=True)) for p in t
    ]
    slip = Fraction(ruler.slip(heights))
    assert all(abs(Fraction(value) - truth) <= slip for value, truth in zip(values.tolist(), exact, strict=True))
    assert slip < Fraction(2) ** -45
