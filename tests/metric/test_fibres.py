"""Points with the same feature, and means over them, against closed forms."""

import math

import numpy as np
import pytest

from theory.metric import ResidualFeatures
from theory.metric.fibres import fibre_mean, find_fibre

FOLD = ResidualFeatures([[1.0]], [0.0], [[-2.0]], [0.0])  # x - 2 tanh x, odd, with zeros at 0 and +- 1.915
STRAIGHT = ResidualFeatures([[1.0]], [0.0], [[2.0]], [0.0])
ROOT = 1.9150080481545375


def test_an_odd_fold_has_three_points_over_zero():
    np.testing.assert_allclose(find_fibre(FOLD, 0.0, (-4.0, 4.0)), [-ROOT, 0.0, ROOT], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(find_fibre(FOLD, 0.0, (-1.0, 4.0)), [0.0, ROOT], rtol=1e-13, atol=1e-13)
    assert find_fibre(FOLD, 4.0, (-4.0, 4.0)).tolist() == pytest.approx([4.0], rel=1e-12, abs=0)
    assert find_fibre(STRAIGHT, 0.3, (-4.0, 4.0)).tolist() == pytest.approx([0.3], rel=1e-12, abs=0)


def test_ends_of_the_interval_belong_to_it():
    for end in (-2.0, 2.0):
        assert end in find_fibre(STRAIGHT, end, (-2.0, 2.0))


def test_means_weigh_by_density_over_slope():
    inner, outer = 1.0, abs(1.0 - 2.0 * (1.0 - math.tanh(ROOT) ** 2))  # |g'| at zero and at the roots
    shares = np.array([1 / outer, 2.0 / inner, 3.0 / outer])
    values = np.array([5.0, 7.0, 11.0])
    found = fibre_mean(
        FOLD,
        0.0,
        lambda x: np.interp(x, [-ROOT, 0, ROOT], values),
        lambda x: 2.0 + np.sign(np.round(x, 6)),
        (-4.0, 4.0),
    )
    assert found == pytest.approx(float(shares @ values / shares.sum()), rel=1e-12, abs=0)
    assert fibre_mean(STRAIGHT, 0.5, np.cos, np.exp, (-2.0, 2.0)) == pytest.approx(math.cos(0.5), rel=1e-12, abs=0)


def test_bad_arguments_are_refused():
    plane = ResidualFeatures(np.eye(2), np.zeros(2), np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match="features: expected dimension 1, got 2"):
        find_fibre(plane, 0.0, (-1.0, 1.0))
    with pytest.raises(ValueError, match=r"x: expected a point of \[-1.0, 1.0\], got 2.0"):
        find_fibre(FOLD, 2.0, (-1.0, 1.0))
    top = math.acosh(math.sqrt(2.0))  # where 1 = 2 / cosh^2
    with pytest.raises(ValueError, match="x: expected a fibre away from folds"):
        find_fibre(FOLD, top, (-4.0, 4.0))
    with pytest.raises(ValueError, match="density: expected non-negative"):
        fibre_mean(FOLD, 0.0, np.cos, lambda x: 0.0 * x, (-4.0, 4.0))
    with pytest.raises(ValueError, match="density: expected non-negative"):
        fibre_mean(FOLD, 0.0, np.cos, lambda x: x, (-4.0, 4.0))
