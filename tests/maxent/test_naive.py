"""Weights without an entropy, against rational numbers and against sixty digits."""

import itertools
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from tests.attention.inputs import DISGUISES, disguised
from theory.evidence import stream
from theory.maxent.layers import cosine, cosine_law, linear_law, naive

DIGITS = 60
U = 2.0**-53


def true_cosine(law, scores):
    with mp.workdps(DIGITS):
        p, s = ([mp.mpf(float(x)) for x in v] for v in (law, scores))
        return mp.fdot(p, s) / mp.sqrt(mp.fdot(p, p) * mp.fdot(s, s))


def rows():
    yield from (
        [3.0],
        [0.0, 0.0],
        [2.0, 2.0, -1.0],
        [1e300, -1e300],
        [1.7e308, 1.7e308],
        [1e-300, 0.0],
        [-1.0, -1.0, -3.0],
    )
    for case in range(8):
        rng = stream("tests.naive.rows", case)
        yield (rng.integers(-3, 4, int(rng.integers(2, 9))) / 2.0).tolist()


ROWS = [pytest.param(row, id=f"{number}") for number, row in enumerate(rows())]


@pytest.mark.parametrize("row", ROWS)
def test_linear_law_is_a_law_on_the_largest_scores(row):
    law = linear_law(row)
    s = np.array(row)
    assert law.shape == s.shape
    assert sum(map(Fraction, law.tolist())) == 1
    assert (law >= 0.0).all()
    assert law[s < s.max()].sum() == 0.0


@pytest.mark.parametrize("row", ROWS)
def test_linear_law_goes_as_far_as_the_face_allows(row):
    s = np.array(row)
    for direction in itertools.islice(itertools.product((-1.0, 0.0, 2.0), repeat=s.size), 27):
        law = linear_law(row, towards=direction)
        reached = float(law @ np.array(direction))
        assert law[s < s.max()].sum() == 0.0
        assert abs(reached - max(np.array(direction)[s == s.max()])) <= 8 * U


def test_linear_law_of_a_solver_that_gave_up(monkeypatch):
    monkeypatch.setattr(naive, "linprog", lambda *_, **__: OptimizeResult(x=None, message="out of steps"))
    with pytest.raises(ArithmeticError, match=r"^linear program: expected a solution, got out of steps$"):
        linear_law([1.0, 0.0])


@pytest.mark.parametrize("row", [row for row in ROWS if any(row.values[0])])
def test_cosine_law_beats_every_law_on_a_grid(row):
    s = row[:4] if any(row[:4]) else [*row[:3], 1.0]
    best = true_cosine(cosine_law(s), s)
    n = len(s)
    for counts in itertools.product(range(5), repeat=n):
        if any(counts):
            assert true_cosine(counts, s) <= best + 8 * U


def test_cosine_law_is_the_positive_part():
    assert np.abs(cosine_law([2.0, 1.0, -7.0, 1.0]) - [0.5, 0.25, 0.0, 0.25]).max() <= 4 * U
    assert np.array_equal(cosine_law([0.0, -1.0]), [1.0, 0.0])
    assert np.array_equal(cosine_law([-3.0, -1.0, -2.0]), [0.0, 1.0, 0.0])
    assert np.abs(cosine_law([2e300, 1e300]) - [2 / 3, 1 / 3]).max() <= 4 * U


@pytest.mark.parametrize("case", range(20))
def test_cosine_holds_the_truth(case):
    rng = stream("tests.naive.cosine", case)
    n = int(rng.integers(1, 40))
    law = rng.dirichlet(np.ones(n))
    s = 10.0 ** rng.integers(-250, 250) * rng.normal(size=n)
    found = cosine(law, s)
    assert mp.mpf(found.lo) <= true_cosine(law, s) <= mp.mpf(found.hi)
    assert found.width <= 1e-14


def test_cosine_of_a_right_angle_and_of_none():
    assert 0.0 in cosine([1.0, 0.0], [0.0, 1.0])
    assert 1.0 in cosine([0.5, 0.5], [3.0, 3.0])
    assert -1.0 in cosine([1.0], [-1e-300])


@pytest.mark.parametrize("kind", DISGUISES)
def test_arrays_taken_exactly(kind):
    given = np.array([2.0, 1.0, -2.0])
    assert np.array_equal(linear_law(disguised(given)[kind]), linear_law(given))
    assert np.array_equal(cosine_law(disguised(given)[kind]), cosine_law(given))
    assert cosine(np.array([1.0, 0.0, 0.0]), disguised(given)[kind]) == cosine([1.0, 0.0, 0.0], given)


@pytest.mark.parametrize("low", [1.0, 1e8, 1e200])
def test_scores_far_below_zero_do_not_blur_the_smallest_angle(low):
    s = np.array([3.0, -low, 1.0, -2.0 * low]) * 1e-100
    assert np.abs(cosine_law(s) - [0.75, 0.0, 0.25, 0.0]).max() <= 8 * U
