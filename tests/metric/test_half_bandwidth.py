"""Multipliers of a layer against Bessel functions of another library."""

import numpy as np
import pytest
from scipy.special import ive, spherical_in

from theory.metric.half_bandwidth import _enclose_multipliers, _quadrature_error, laplacian_rate, wave_multipliers
from theory.metric.studies import half_bandwidth


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", [3, 5, 7])
def test_few_tokens_leave_what_the_width_says(epsilon, n):
    """A quadrature much too coarse is off by a hundredth to a tenth of its width."""
    b = 1 / epsilon
    shares = []
    for space, bessel in (("circle", ive), ("sphere", spherical_in)):
        found = _enclose_multipliers(space, 3, epsilon, n)
        for degree, value in enumerate(found, start=1):
            exact = bessel(degree, b) / bessel(0, b)
            assert value.lo <= exact <= value.hi
            shares.append(abs(value.mid - exact) / value.width)
    if n == 5:
        assert max(shares) > 0.01  # the truth is near the edge


def test_what_a_quadrature_leaves_bounds_the_tail_of_the_series():
    for b in (0.4, 4.0, 200.0):
        first = 9 + int(2 * b)
        tail = 2.0 * sum(ive(k, b) for k in range(first, first + 400))
        means = {"circle": ive(0, b), "sphere": spherical_in(0, b) * np.exp(-b)}
        for space, mean in means.items():
            left = 4.0 * tail / (mean - 2.0 * tail)
            assert left <= _quadrature_error(space, b, first) <= 2.0 * left
    assert _quadrature_error("circle", 100.0, 2) == np.inf


def test_rates_are_those_of_the_laplacian():
    assert [laplacian_rate("circle", k) for k in (1, 2, 3)] == [1, 4, 9]
    assert [laplacian_rate("sphere", k) for k in (1, 2, 3)] == [2, 6, 12]


def test_the_study_has_the_bandwidths_in_use():
    table = half_bandwidth(scale="quick", root=0)
    assert {0.5, 1.0} <= set(table["epsilon"].tolist())
    assert table["epsilon"].min() == 2.0**-8
    assert max(v.width for v in table.intervals("multiplier")) < 1e-8


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="degrees: expected at most 3, got 4"):
        wave_multipliers("circle", 4, 0.5)
