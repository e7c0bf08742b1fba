"""The lattice is a Gaussian to rounding: polynomial and exponential moments in closed form."""

import math

import numpy as np
import pytest

from tests.attention.inputs import KINDS, spoilt
from theory.attention import AttentionKernel, DotProduct, GaussianAttention, gaussian, lattice
from theory.evidence import ball, balls, hull, precision, stream
from theory.evidence.enclosure import exp
from theory.evidence.roundoff import gamma

LINE = gaussian([0.0], [[1.0]])
ROUNDING = lattice.ERROR + gamma(64)  # of the masses, of the powers, and of a sum of 49 terms


def test_one_dimension():
    assert LINE.size == 49
    assert np.array_equal(LINE.points[:, 0], np.arange(-24, 25) / 2.0)
    assert np.array_equal(LINE.weights, LINE.weights[::-1])
    truth = np.exp(-(LINE.points[:, 0] ** 2) / 2.0) * lattice.STEP / math.sqrt(2.0 * math.pi)
    assert np.abs(LINE.weights / truth - 1.0).max() <= ROUNDING


@pytest.mark.parametrize("power", range(13))
def test_moments_are_double_factorials(power):
    claimed = math.prod(range(power - 1, 0, -2)) if power % 2 == 0 else 0
    size = float(LINE.weights @ np.abs(LINE.points[:, 0]) ** power)
    assert abs(LINE.integrate(lambda z: z[:, 0] ** power)[0] - claimed) <= ROUNDING * size


@pytest.mark.parametrize("c", [-2.0, -0.3, 0.0, 1.0, 2.0])
def test_exponential_moments(c):
    """E exp(cZ) = exp(c^2 / 2), and the tilted mean is c."""
    tilted = LINE.integrate(lambda z: np.exp(c * z[:, 0]))[0]
    assert abs(tilted / math.exp(c * c / 2.0) - 1.0) <= ROUNDING
    mean = LINE.integrate(lambda z: z[:, 0] * np.exp(c * z[:, 0]))[0]
    assert abs(mean - c * math.exp(c * c / 2.0)) <= 4.0 * ROUNDING * math.exp(c * c / 2.0)


@pytest.mark.parametrize("c", [5.0, 10.0, 26.0])
def test_a_wide_lattice_takes_larger_tilts(c):
    wide = gaussian([0.0], [[1.0]], reach=37.0)
    assert wide.size == 2 * 74 + 1
    field = AttentionKernel(DotProduct(scale=1.0), wide).output([[c]])[0, 0]
    assert abs(field - c) <= 1e3 * ROUNDING * c  # the scores reach 1e3 and lose as much


@pytest.mark.parametrize("case", range(3))
def test_mean_and_covariance(case):
    rng = stream("tests.lattice.plane", case)
    mean, root = rng.normal(size=2), rng.normal(size=(2, 2))
    mu = gaussian(mean, root)
    assert mu.size == 49**2
    size = np.abs(root).sum() + np.abs(mean).max()
    assert np.abs(mu.mean() - mean).max() <= 12.0 * ROUNDING * size
    assert np.abs(mu.covariance() - root @ root.T).max() <= 4.0 * 144.0 * ROUNDING * size**2


def test_the_root_may_be_singular():
    mu = gaussian([1.0, 2.0], [[1.0, 0.0], [1.0, 0.0]])
    assert np.array_equal(mu.points[:, 1] - mu.points[:, 0], np.ones(mu.size))


def test_three_dimensions_by_product():
    mu = gaussian(np.zeros(3), np.eye(3))
    assert mu.size == 49**3
    assert np.abs(mu.covariance() - np.eye(3)).max() <= 144.0 * ROUNDING


@pytest.mark.parametrize("kind", KINDS)
def test_bad_arrays_are_refused_by_name(kind):
    with pytest.raises((ValueError, TypeError), match=r"^mean: expected "):
        gaussian(spoilt(np.zeros(2) + 3.0)[kind], np.eye(2))
    with pytest.raises((ValueError, TypeError), match=r"^root: expected "):
        gaussian(np.zeros(2), spoilt(np.ones((2, 2)))[kind])


def test_a_root_that_does_not_fit():
    with pytest.raises(ValueError, match=r"^root: expected shape \(2, 2\), got shape \(1, 1\)$"):
        gaussian(np.zeros(2), [[1.0]])


@pytest.mark.parametrize("reach", [0.0, -1.0, math.nan, math.inf, "12", 0.1, 1.0])
def test_bad_reach(reach):
    """A lattice cut too early is no Gaussian, so it is refused like any other wrong number."""
    with pytest.raises((ValueError, TypeError), match=r"^reach: expected "):
        gaussian([0.0], [[1.0]], reach=reach)


def mean_on_the_lattice(centre, variance, reach):
    """The mean of z on the lattice under weights exp(-(z - centre)^2 / 2 variance), in balls."""
    z = balls(np.arange(-reach, reach + lattice.STEP / 2, lattice.STEP))
    away = z - ball(centre)
    weights = exp(away * away / (ball(variance) * -2))
    return (weights * z).sum() / weights.sum()


@pytest.mark.parametrize("reach", [lattice.REACH, 37.0])
@pytest.mark.parametrize("variance", [1.0, 0.5, 0.2, 0.12])
def test_end_and_step_of_a_lattice_move_a_mean_by_less_than_their_widths(reach, variance):
    """Centres amid the lattice, near its end and beyond; off the lattice points, where the step shows most."""
    sharpest = 0.0
    for centre in [0.125, 1.0625, reach - 2.9, reach - 1.01, reach - 0.99, reach + 0.3, reach + 6.0]:
        width = float(lattice.end_error(np.array(centre), reach)) + float(lattice.step_error(np.array(variance)))
        with precision(256):
            off = hull(abs(mean_on_the_lattice(centre, variance, reach) - ball(centre)))
        assert off.hi <= width
        sharpest = max(sharpest, off.lo / width)
    assert sharpest > 0.01  # neither width is idle


def test_a_step_that_is_too_coarse_says_nothing():
    assert lattice.step_error(np.array(0.01)) == np.inf
    assert lattice.step_error(np.array(1.0)) < 1e-30


def test_far_queries_count_by_their_mass():
    field = GaussianAttention(DotProduct(scale=1.0), [0.0], [[1.0]])
    image = field.push()
    assert image.points.radius.max() > 1.0  # at the end of the lattice nothing is known
    assert 1.0 in image.variance()
    assert image.variance().width < 1e-5
