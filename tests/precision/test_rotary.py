"""Phases of rotary positions against NumPy, where both round once."""

import numpy as np
import pytest

from theory.precision import rotary_phases


def test_phases_in_double_are_near_those_of_numpy():
    found = rotary_phases(5e5, 16, [0, 1, 4095], frequencies="float64", product="float64")
    right = np.outer([0.0, 1.0, 4095.0], 5e5 ** (-np.arange(0, 16, 2) / 16))
    np.testing.assert_allclose(found, right, rtol=8.0 * 2.0**-52, atol=0.0)


@pytest.mark.parametrize("form", ["float32", "float16"])
def test_frequencies_are_rounded_once(form):
    found = rotary_phases(1e4, 64, [1], frequencies=form, product="float32")[0]
    assert np.array_equal(found, (1e4 ** (-np.arange(0, 64, 2) / 64)).astype(form).astype(float))


def test_products_are_rounded_to_their_format():
    found = rotary_phases(1e4, 32, [1857], frequencies="float16", product="float16")[0]
    assert found[1] == 1045.0
    assert np.array_equal(found, found.astype(np.float16).astype(float))


def test_phases_beyond_the_format_are_refused():
    with pytest.raises(ValueError, match="positions: expected phases of at most 65504"):
        rotary_phases(1e4, 4, [65505], product="float16")


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [("dim", 3, "dim: expected an even number"), ("base", 1.0, "base: expected more than 1"),
     ("positions", [[1]], "positions: expected shape")],
)  # fmt: skip
def test_refusals(argument, value, message):
    with pytest.raises(ValueError, match=message):
        rotary_phases(**{"base": 1e4, "dim": 4, "positions": [1], argument: value})
