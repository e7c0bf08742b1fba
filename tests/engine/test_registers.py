"""Bits of floats, tuples and products in registers: the compiled form and the one in plain Python say the same."""

import numpy as np
import pytest

from theory import _jit as jit
from theory.engine import fused, registers
from theory.engine.registers import (
    STRIP,
    add_products,
    as_float,
    as_float_single,
    bits,
    bits_single,
    products,
    replaced,
    squares,
)
from theory.evidence import stream

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


def _products_of(left, row, panels, number, depth, results, column):
    products(left, row, panels, number, depth, results, column)


def _squares_of(left, row, panels, number, depth, results, column):
    squares(left, row, panels, number, depth, results, column)


COMPILED = {"products": jit.njit(_products_of), "squares": jit.njit(_squares_of)}
PLAIN = {"products": registers._products_in_python, "squares": registers._squares_in_python}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "fill"), [*COMPILED.items(), *PLAIN.items()])
def test_a_block_of_sums_is_filled_and_nothing_beside_it(name, fill, kind):
    """Of small integers, so that every sum is exact."""
    rng = stream("tests.registers.products", 0)
    width = registers.columns_of_panel(np.dtype(kind))
    left = rng.integers(-9, 10, size=(3 * STRIP, 7)).astype(kind)
    panels = rng.integers(-9, 10, size=(3, 11, width)).astype(kind)
    for depth in (0, 1, 5, 7):
        results = np.full((3 * STRIP, 4 * width), 0.5, kind)
        fill(left, STRIP, panels, 2, depth, results, width)
        rows, columns = left[STRIP : 2 * STRIP, :depth], panels[2, :depth]
        expected = np.full(results.shape, 0.5, kind)
        by_hand = rows @ columns
        if name == "squares":
            by_hand = ((rows[:, :, np.newaxis] - columns) ** 2).sum(axis=1)
        expected[STRIP : 2 * STRIP, width : 2 * width] = by_hand
        assert results.tobytes() == expected.tobytes()


def _add_products_of(left, row, panels, number, depth, results, column):
    add_products(left, row, panels, number, depth, results, column)


@pytest.mark.parametrize(
    "add", [jit.njit(_add_products_of), registers._add_products_in_python], ids=["compiled", "plain"]
)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_sums_are_added_to_a_block_and_to_nothing_beside_it(add, kind):
    """The right factor in panels, or as it is from any column on."""
    rng = stream("tests.registers.added", 0)
    width = registers.columns_of_panel(np.dtype(kind))
    left = rng.integers(-9, 10, size=(3 * STRIP, 7)).astype(kind)
    panels = rng.integers(-9, 10, size=(3, 11, width)).astype(kind)
    right = rng.integers(-9, 10, size=(11, 3 * width + 1)).astype(kind)
    before = rng.integers(-9, 10, size=(3 * STRIP, 4 * width)).astype(kind)
    for factor, number, chosen in ((panels, 2, panels[2]), (right, width + 1, right[:, width + 1 : 2 * width + 1])):
        for depth in (0, 1, 7):
            results, expected = before.copy(), before.copy()
            add(left, STRIP, factor, number, depth, results, width)
            expected[STRIP : 2 * STRIP, width : 2 * width] += left[STRIP : 2 * STRIP, :depth] @ chosen[:depth]
            assert results.tobytes() == expected.tobytes()


@pytest.mark.parametrize("bits_of_register", [128, 256, 512])
def test_a_panel_is_two_registers_wide(bits_of_register, monkeypatch):
    monkeypatch.setattr(registers, "_register_bits", lambda: bits_of_register)
    assert registers.columns_of_panel(np.dtype(np.float64)) == 2 * bits_of_register // 64
    assert registers.columns_of_panel(np.dtype(np.float32)) == 2 * bits_of_register // 32


@pytest.mark.parametrize("fill", COMPILED.values(), ids=COMPILED)
def test_equal_columns_have_equal_sums(fill):
    """Bit by bit, in every row and column of the block: the order of a sum does not depend on where it stands."""
    rng = stream("tests.registers.equal", 0)
    width = registers.columns_of_panel(np.dtype(np.float64))
    left = np.tile(rng.normal(size=(1, 50)), (STRIP, 1))
    panels = np.tile(rng.normal(size=(1, 50, 1)), (1, 1, width))
    results = np.empty((STRIP, width))
    fill(left, 0, panels, 0, 50, results, 0)
    assert (results == results[0, 0]).all()


@pytest.mark.skipif(registers.products is registers._products_in_python, reason="the compiler is off")
@pytest.mark.parametrize("fill", COMPILED.values(), ids=COMPILED)
def test_a_matrix_with_gaps_is_refused(fill):
    width = registers.columns_of_panel(np.dtype(np.float64))
    with pytest.raises(Exception, match=r"No implementation of function|Invalid use of"):
        fill(np.ones((STRIP, 6))[:, ::2], 0, np.ones((1, 3, width)), 0, 3, np.empty((STRIP, width)), 0)
