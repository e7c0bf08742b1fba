"""The learned score against loops, and its constants and bounds against what they bound."""

import numpy as np
import pytest

from theory.attention import SquaredDistance
from theory.metric import LinearFeatures, MetricScore, ResidualFeatures


@pytest.fixture
def g():
    rng = np.random.default_rng(2)
    return ResidualFeatures(rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=2))


@pytest.fixture
def clouds():
    rng = np.random.default_rng(3)
    return rng.normal(size=(4, 2)), rng.normal(size=(6, 2))


def test_linear_features_have_the_score_of_their_matrix(clouds):
    x, y = clouds
    w = np.array([[1.0, 2.0], [0.5, -1.0]])
    exact = -(((x @ w)[:, None] - y @ w) ** 2).sum(axis=2)
    np.testing.assert_allclose(MetricScore(LinearFeatures(w)).matrix(x, y), exact, rtol=1e-13, atol=1e-14)


def test_errors_of_both_features_are_charged():
    """Features off by all that they state, apart from each other: the score is off by all of its bound."""

    class Off:
        dim, lipschitz = 1, 1.0

        def __call__(self, x):
            return x - 0.25 * np.sign(x)  # nearer to zero than they are

        def rounding(self, _):
            return 0.25

    x, y = np.array([[3.0]]), np.array([[-2.0]])
    score = MetricScore(Off(), 0.5)
    size, error = score.bounds(x, y)
    off = abs(score.matrix(x, y).item() + 25.0)
    assert 0.999 * error <= off <= error
    assert size >= 25.0


def test_error_of_the_distances_is_charged():
    """Features that are exact leave the error of their squared distances."""

    class Exact:
        def __call__(self, x):
            return x

        def rounding(self, _):
            return 0.0

    x, y = np.array([[3.0, 1.0]]), np.array([[-2.0, 5.0], [0.0, 0.125]])
    found = MetricScore(Exact(), 0.25).bounds(x, y)
    plain = SquaredDistance(2.0).bounds(x - x, y - x)
    np.testing.assert_allclose(found, plain, rtol=1e-14, atol=0)
    assert found[1] >= plain[1] > 0.0
    assert MetricScore(Exact(), 0.25).bounds(x + 2.0**30, y + 2.0**30) == found  # lengths are those of differences


def test_bad_arguments_are_refused(g):
    with pytest.raises(TypeError, match="features: expected a map"):
        MetricScore(ResidualFeatures)
    with pytest.raises(ValueError, match=r"x: expected shape \(n, 2\)"):
        MetricScore(g).matrix(np.ones((3, 1)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="epsilon: expected a number of which float64 holds the inverse"):
        MetricScore(g, 1e-320)


def test_a_bandwidth_of_single_precision_is_widened(g, clouds):
    narrow = np.float32(0.3)
    np.testing.assert_array_equal(MetricScore(g, narrow).matrix(*clouds), MetricScore(g, float(narrow)).matrix(*clouds))
