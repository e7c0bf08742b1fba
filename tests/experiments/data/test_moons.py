"""The two moons, as scikit-learn draws them."""

import numpy as np
import pytest
from scipy import stats

from theory.evidence import stream
from theory.experiments.data.moons import draw_two_moons


def generator(case):
    return stream("tests.metric.moons", case)


def in_order(x, y):
    return np.array(sorted((int(label), *point) for point, label in zip(np.round(x, 12), y, strict=True)))


@pytest.mark.parametrize("points", [2, 7, 100])
def test_moons_of_scikit_learn_without_noise(points):
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = draw_two_moons(points, 0.0, generator(0))
    assert np.allclose(in_order(x, y), in_order(*datasets.make_moons(points, noise=None)), rtol=0.0, atol=1e-11)


def test_noise_of_scikit_learn():
    """Same law: in the two directions of each class, the two samples pass Kolmogorov and Smirnov's test."""
    datasets = pytest.importorskip("sklearn.datasets")
    x, y = draw_two_moons(20000, 0.2, generator(1))
    theirs, labels = datasets.make_moons(20000, noise=0.2, random_state=3)
    for label in (0, 1):
        for direction in np.eye(2):
            p = stats.ks_2samp(x[y == label] @ direction, theirs[labels == label] @ direction).pvalue
            assert p > 1e-4


def test_noise_has_its_size_and_the_order_is_random():
    rng = generator(2)
    x, y = draw_two_moons(20001, 0.3, rng)
    upper = x[y == 0]
    assert (len(upper), len(x)) == (10000, 20001)
    # the mean square of a point of a unit circle with noise in two coordinates is 1 + 2 * 0.3**2; its variance from
    # the noise: 4 * 0.3**2 + 4 * 0.3**4
    error = np.sqrt((4 * 0.3**2 + 4 * 0.3**4) / len(upper))
    assert abs(np.mean(np.sum(upper**2, axis=1)) - 1.18) < 4.5 * error
    runs = np.count_nonzero(np.diff(y)) + 1
    assert abs(runs - 10001) < 4.5 * np.sqrt(5000)


def test_bad_input():
    with pytest.raises(ValueError, match="points: expected an integer of at least 2"):
        draw_two_moons(1, 0.1, generator(3))
    with pytest.raises(ValueError, match="noise: expected a number that is not negative"):
        draw_two_moons(4, -0.1, generator(3))
