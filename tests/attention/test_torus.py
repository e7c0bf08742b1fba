"""Chords between angles: the score, its bounds and constants, and that a turn changes nothing."""

import numpy as np
import pytest

from theory import attend
from theory.attention import DotProduct, TorusDistance, rounding
from theory.evidence import exact, stream
from theory.evidence.enclosure import hull, precision
from verify import textbook


@pytest.mark.parametrize("d", [1, 2, 3])
def test_against_balls_within_its_bounds(d):
    rng = stream("tests.torus", d)
    score = TorusDistance(3.0)
    for reach in (1e-9, 1.0, 100.0):
        x, y, v = (reach * rng.normal(size=(n, k)) for n, k in ((4, d), (30, d), (30, 2)))
        size, error = score.bounds(x, y)
        with precision():
            scores = textbook.torus_scores(x, y, beta=3.0)
            assert textbook.gap(score.matrix(x, y), scores).hi <= error
            assert max(hull(abs(s)).hi for s in scores.ravel()) <= size
            outputs = attend(x, y, v, score=score)
            assert textbook.gap(outputs, textbook.average(scores, v)).hi <= rounding(x, y, v, score=score)


def test_the_circle_is_a_dot_product_of_unit_vectors():
    x = stream("tests.torus", 9).uniform(-9.0, 9.0, size=(40, 1))
    points = np.concatenate([np.cos(x), np.sin(x)], axis=1)
    v = np.arange(40.0)[:, np.newaxis]
    plane = attend(points, points, v, score=DotProduct(scale=6.0))
    assert np.abs(attend(x, x, v, score=TorusDistance(3.0)) - plane).max() < 1e-12


def test_a_whole_turn_changes_nothing_but_rounding():
    x = stream("tests.torus", 10).normal(size=(20, 2))
    turned = x + 2.0 * np.pi * np.arange(2)
    assert np.abs(attend(x, x, x, score=TorusDistance()) - attend(turned, x, x, score=TorusDistance())).max() < 1e-13


def test_constants_hold():
    rng = stream("tests.torus", 11)
    score = TorusDistance(0.7)
    r = 0.4
    x = rng.normal(size=(60, 2))
    x *= r / np.linalg.norm(x, axis=1).max()
    a = score.matrix(x, x)
    step = 1e-6
    known = score.constants(r)
    assert np.ptp(a, axis=1).max() <= known.oscillation
    moved = x + step * np.array([1.0, 0.0])
    assert np.abs(score.matrix(moved, x) - a).max() <= step * known.query * (1 + 1e-6)
    change = score.matrix(moved, x) - a
    apart = np.linalg.norm(x[:, np.newaxis] - x[np.newaxis], axis=2)
    assert (
        np.abs(change[:, :, np.newaxis] - change[:, np.newaxis, :]).max(axis=0) <= step * known.mixed * apart + 1e-12
    ).all()


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_bad_scale(scale):
    with pytest.raises(ValueError, match=r"^scale: expected "):
        TorusDistance(scale)


def test_dimensions_must_agree():
    with pytest.raises(ValueError, match=r"^keys: expected dimension 1 as the queries, got 2$"):
        attend([[0.0]], [[0.0, 1.0]], [[1.0]], score=TorusDistance())


@pytest.mark.parametrize("carrier", [np.asarray, exact])
def test_angles_of_other_dimensions_are_refused(carrier):
    with pytest.raises(ValueError, match="expected dimension 1 as the queries"):
        TorusDistance().matrix(carrier(np.ones((2, 1))), np.ones((3, 3)))
