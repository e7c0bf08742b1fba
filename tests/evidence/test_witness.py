"""A witness has few bits, is the same for points that differ by rounding, and ties are broken by order."""

import math

import numpy as np
import pytest

from theory.evidence import coarse, first_best


def test_a_witness_has_few_bits():
    values = np.array([1.0 / 3.0, -1e300, 5e-324, 0.0, 123456.789])
    for bits in (1, 12, 53):
        mantissa, _ = np.frexp(coarse(values, bits))
        assert np.array_equal(np.ldexp(mantissa, bits), np.round(np.ldexp(mantissa, bits)))
    assert np.array_equal(coarse(values, 53), values)
    assert np.array_equal(coarse(coarse(values)), coarse(values))


def test_a_witness_is_near_and_does_not_see_rounding():
    values = np.random.default_rng(0).normal(size=4000)
    assert float(np.abs(coarse(values) / values - 1.0).max()) <= 2.0**-12
    nearby = coarse(values * (1.0 + 2.0**-50))
    assert np.count_nonzero(nearby != coarse(values)) <= 1  # of 4000 about 4000 * 2^12 * 2^-50


def test_the_first_of_equal_values_is_best():
    assert first_best([1.0, 2.0, 2.0 * (1.0 + 1e-12), 1.5]) == 1
    assert first_best([-1.0 - 1e-12, -1.0, -3.0]) == 0
    assert first_best([0.0, 1e-3]) == 1


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: coarse([math.nan]), "values"),
        (lambda: coarse([1.0], bits=0), "bits"),
        (lambda: coarse([1.0], bits=54), "bits"),
        (lambda: first_best([]), "values"),
        (lambda: first_best([math.inf]), "values"),
        (lambda: first_best([1.0], tolerance=0.0), "tolerance"),
    ],
)
def test_what_is_no_witness_is_refused(call, name):
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        call()
