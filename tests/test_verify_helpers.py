"""What the checks of ``verify/`` derive for themselves: widths of a lattice, and laws that meet a constraint."""

import numpy as np
import pytest

from theory.attention import lattice
from theory.evidence import ball, stream, sup_over
from theory.evidence.enclosure import balls, exp, hull, precision
from theory.evidence.roundoff import average_error, gamma
from verify.attention.test_gaussian_transport import coarseness, cut, random_gaussian, typical
from verify.maxent.test_moment_constraints import raised


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
        width = float(cut(np.array(centre), reach)) + float(coarseness(np.array(variance)))
        with precision(256):
            off = hull(abs(mean_on_the_lattice(centre, variance, reach) - ball(centre)))
        assert off.hi <= width
        sharpest = max(sharpest, off.lo / width)
    assert sharpest > 0.01  # neither width is idle


def test_a_step_that_is_too_coarse_says_nothing():
    assert coarseness(np.array(0.01)) == np.inf
    assert coarseness(np.array(1.0)) < 1e-30


def test_roots_of_random_covariances_have_orthogonal_columns():
    """On their lattice the coordinates stay independent under a distance kernel."""
    for case in range(20):
        _, root = random_gaussian(stream("tests.verify.root", case))
        assert abs(root[:, 0] @ root[:, 1]) <= gamma(16) * float(np.abs(root).max()) ** 2


def test_errors_of_few_points_count_by_their_mass():
    mu = lattice.gaussian([0.0], [[1.0]])
    errors = np.where(np.abs(mu.points[:, 0]) > 7.0, 1.0, 0.0)
    assert 0.0 < typical(errors, mu) < 1e-5
    assert typical(np.ones(mu.size), mu) >= 1.0


def test_raised_laws_meet_the_constraint_at_least_cost():
    for case in range(50):
        rng = stream("tests.verify.raised", case)
        n = int(rng.integers(2, 20))
        a, law = rng.normal(size=n), rng.dirichlet(np.ones(n))
        least = float(rng.uniform(a.min(), a.max()))
        mixed = raised(law, a, least)
        slack = 4.0 * average_error(float(np.abs(a).max()), n)
        assert mixed @ a >= least - slack
        if law @ a >= least:
            assert np.abs(mixed - law).max() <= gamma(2 * n)
        else:
            assert abs(mixed @ a - least) <= slack
            assert np.count_nonzero(mixed > law) == 1


def test_slope_of_the_spread_map_is_bounded_on_the_whole_half_line():
    """1 + v - 2 v^2 with v = 1/(1 + u) covers every u >= 0, and reaches 9/8 at u = 3."""
    supremum = sup_over("1 + 1*v - 2*v**2", v=(0, 1))
    assert supremum.lo <= 9 / 8 <= supremum.hi <= 9 / 8 + 2e-6
