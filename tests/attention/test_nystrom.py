"""Landmarks: exact with all of them, against rational arithmetic with some, the bound holds, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.attention import exact
from theory.attention import DotProduct, SquaredDistance
from theory.attention.variants import (
    attend_nystrom,
    landmark_error,
    nystrom_error,
    nystrom_weights,
    segment_means,
    through_landmarks,
)
from theory.evidence import stream
from theory.evidence.roundoff import gamma

TOKENS = np.array([[1.0, 2.0], [0.0, 1.0], [-1.0, 0.0]])
PLAIN = DotProduct(scale=1.0)


def rng(case=0):
    return stream("tests.nystrom", case)


def inverted(matrix):
    """The inverse of a matrix of fractions, by elimination."""
    n = len(matrix)
    rows = [[*map(Fraction, row), *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        at = next(r for r in range(i, n) if rows[r][i] != 0)
        rows[i], rows[at] = rows[at], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i], strict=True)]
    return np.array([row[n:] for row in rows], dtype=object)


@pytest.mark.parametrize("score", [PLAIN, SquaredDistance(0.5)])
def test_all_tokens_give_attention(score):
    for n in (1, 2, 5):
        q = k = 2.0 * np.eye(n) + 0.2 * rng(n).normal(size=(n, n))
        law = nystrom_weights(q, k, query_landmarks=q, key_landmarks=k, score=score)
        truth, _ = exact.laws(exact.scores(score, q, k))
        error = nystrom_error(q, k, query_landmarks=q, key_landmarks=k, score=score)
        assert exact.apart(law, truth) <= error
        assert error < 1e-11
        assert np.allclose(
            attend_nystrom(q, k, q, query_landmarks=q, key_landmarks=k, score=score), law @ q, rtol=0.0, atol=1e-12
        )


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_product_against_fractions(count):
    draw = rng(10 + count)
    left, right = draw.normal(size=(5, count)), draw.normal(size=(count, 6))
    middle = draw.normal(size=(count, count)) + 2.0 * np.eye(count)
    exactly = np.vectorize(Fraction, otypes=[object])
    truth = exactly(left) @ inverted(middle.tolist()) @ exactly(right)
    found = exactly(through_landmarks(left, middle, right))
    error = landmark_error(left, middle, right)
    assert max(abs(found - truth).ravel()) <= error < 1e-11


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("relative", [1e-12, 1e-6, 1e-2])
def test_entries_that_are_off_are_paid_for(relative, size):
    """The outer entries are too large and the middle ones too small: of what is charged, three quarters are needed."""
    outer = (1.0 + relative) * np.eye(3)
    middle = size * (1.0 - relative) * np.eye(3)
    off = np.abs(through_landmarks(outer, middle, outer) - np.eye(3) / size).max()
    error = landmark_error(outer, middle, outer, relative=relative)
    assert 0.7 * error <= off <= error


def test_a_singular_middle_has_no_bound():
    assert landmark_error(np.ones((1, 2)), np.ones((2, 2)), np.ones((2, 1))) == math.inf
    assert np.allclose(through_landmarks(np.ones((1, 2)), np.ones((2, 2)), np.ones((2, 1))), 1.0, rtol=1e-14, atol=0.0)


def test_means_of_segments():
    assert np.array_equal(segment_means([[0.0], [2.0], [5.0], [7.0]], 2), [[1.0], [6.0]])
    assert np.array_equal(segment_means([[0.0], [2.0], [7.0]], 2), [[1.0], [7.0]])
    assert np.array_equal(segment_means(TOKENS, 3), TOKENS)


def test_other_bad_arguments_are_refused():
    with pytest.raises(ValueError, match=r"^key_landmarks: expected shape \(2, 2\), got shape \(3, 2\)"):
        nystrom_weights(TOKENS, TOKENS, query_landmarks=TOKENS[:2], key_landmarks=TOKENS)
    with pytest.raises(ValueError, match=r"^middle: expected a square matrix, got shape \(2, 3\)"):
        through_landmarks(np.ones((1, 2)), np.ones((2, 3)), np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"^left: expected shape \(n, 2\), got shape \(1, 3\)"):
        through_landmarks(np.ones((1, 3)), np.ones((2, 2)), np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"^right: expected shape \(2, d\), got shape \(3, 1\)"):
        through_landmarks(np.ones((1, 2)), np.ones((2, 2)), np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"^middle: expected a matrix whose pseudo-inverse float64 holds"):
        through_landmarks(np.eye(2), 1e-320 * np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match=r"^right: expected shape \(2, d\), got shape \(5, 2\)"):
        landmark_error(np.ones((2, 2)), np.eye(2), np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"^relative: expected a non-negative bound, got -1.0"):
        landmark_error(np.eye(2), np.eye(2), np.eye(2), relative=-1.0)
    with pytest.raises(ValueError, match=r"^count: expected at most the number of points, 3, got 4"):
        segment_means(TOKENS, 4)


def test_means_of_segments_that_overflow():
    """The exact mean of the doubles, rounded once and once per addition, beside columns that are tiny."""
    points = np.array(
        [[1.5e308, 1e-300], [1.25e308, 3e-300], [-1.75e308, 5e-300], [1.75e308, -7e-300], [1.7e308, 2e-300]]
    )
    means = segment_means(points, 2)
    for row, part in zip(means, (points[:3], points[3:]), strict=True):
        exact = [sum(map(Fraction, column), Fraction(0)) / len(part) for column in part.T.tolist()]
        for found, truth, column in zip(row.tolist(), exact, part.T.tolist(), strict=True):
            slack = gamma(4) * float(sum(abs(Fraction(c)) for c in column) / len(part))
            assert abs(Fraction(found) - truth) <= slack
