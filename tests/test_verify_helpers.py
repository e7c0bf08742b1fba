"""What the checks of ``verify/`` derive for themselves: widths of a lattice, and laws that meet a constraint."""

import numpy as np

from theory.evidence import stream, sup_over
from theory.evidence.roundoff import average_error, gamma
from verify.attention.test_gaussian_transport import random_gaussian
from verify.maxent.test_moment_constraints import raised


def test_roots_of_random_covariances_have_orthogonal_columns():
    """On their lattice the coordinates stay independent under a distance kernel."""
    for case in range(20):
        _, root = random_gaussian(stream("tests.verify.root", case))
        assert abs(root[:, 0] @ root[:, 1]) <= gamma(16) * float(np.abs(root).max()) ** 2


def test_raised_laws_meet_the_constraint_at_least_cost():
    for case in range(50):
        rng = stream("tests.verify.raised", case)
        n = int(rng.integers(2, 20))
        a = rng.normal(size=n)
        law = rng.dirichlet(np.ones(n))
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
