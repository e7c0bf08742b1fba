"""Bits of floats and tuples in registers: the compiled form and the one in plain Python say the same."""

import numpy as np
import pytest

from theory import _jit as jit
from theory.engine import fused, registers
from theory.engine.registers import as_float, as_float_single, bits, bits_single, replaced

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, -5e-324, 2.0**-1022, 1.7e308, -1.7e308, np.inf, -np.inf]
SINGLES = [np.float32(x) for x in (0.0, -0.0, 1.0, -1.0, 0.1, 1e-45, -1e-45, 3e38, -3e38, np.inf, -np.inf)]


def _bits(x):
    return bits(x)


def _there_and_back(x):
    return as_float(bits(x))


def _bits_single(x):
    return bits_single(x)


def _there_and_back_single(x):
    return as_float_single(bits_single(x))


def _second(a, b, c, new):
    return replaced((a, b, c), 1, new)


def test_bits_of_doubles():
    for function in (jit.njit(_bits), registers._bits_in_python):
        assert [function(x) for x in FLOATS] == np.array(FLOATS).view(np.int64).tolist()
    back = jit.njit(_there_and_back)
    for x in FLOATS:
        for found in (back(x), registers._float_in_python(registers._bits_in_python(x))):
            assert np.float64(found).tobytes() == np.float64(x).tobytes()
    assert np.isnan(back(np.nan))
    assert registers._float_in_python((1 << 64) + 1) == 5e-324  # an integer of the machine wraps around


def test_bits_of_singles():
    for function in (jit.njit(_bits_single), registers._bits_single_in_python):
        assert [function(x) for x in SINGLES] == np.array(SINGLES).view(np.int32).tolist()
    back = jit.njit(_there_and_back_single)
    for x in SINGLES:
        for found in (back(x), registers._float_single_in_python(registers._bits_single_in_python(x))):
            assert np.float32(found).tobytes() == x.tobytes()
    assert registers._float_single_in_python((1 << 32) + 1) == np.float32(1e-45)


def test_one_item_of_a_tuple_is_replaced():
    assert jit.njit(_second)(1.0, 2.0, 3.0, 9.0) == (1.0, 9.0, 3.0)
    given = (1.0, 2.0, 3.0)
    assert [registers._set_in_python(given, k, 9.0) for k in range(3)] == [
        (9.0, 2.0, 3.0), (1.0, 9.0, 3.0), (1.0, 2.0, 9.0),
    ]  # fmt: skip
    assert given == (1.0, 2.0, 3.0)


def _order(x):
    return fused.ordered(x)


@pytest.mark.parametrize("order", [jit.njit(_order), fused.ordered], ids=["compiled", "called"])
def test_integers_are_in_the_order_of_the_floats(order):
    rising = [-np.inf, -1.7e308, -1.0, -(2.0**-1022), -5e-324, -0.0, 0.0, 5e-324, 2.0**-1022, 0.1, 1.0, 1.7e308, np.inf]
    found = [order(x) for x in rising]
    assert found == sorted(found)
    assert len(set(found)) == len(found)
