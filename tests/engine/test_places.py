"""No answer depends on where in memory its arguments lie: loops that ask whether arrays overlap may sum otherwise."""

import numpy as np
import pytest

from theory import engine
from theory.engine import Direction, Form, Pairs
from theory.evidence import stream
from theory.maxent import kernels as maps


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Whichever backend the suite runs on, the compiled one is asked; that of NumPy has the places of its library."""
    monkeypatch.setenv("THEORY_BACKEND", "compiled")


SIZES = (3, 9, 17, 33, 40)  # keys: fewer and more than fill the widest registers once, twice and four times


def laid(arrays, rng):
    """Return copies in one buffer, in some order, at most a few numbers apart."""
    room = np.empty(sum(array.size for array in arrays) + 20 * len(arrays) + 64)
    start, copies = int(rng.integers(64)), {}
    for k in rng.permutation(len(arrays)):
        copies[k] = room[start : start + arrays[k].size].reshape(arrays[k].shape)
        copies[k][...] = arrays[k]
        start += arrays[k].size + int(rng.integers(20))
    return [copies[k] for k in range(len(arrays))]


def assert_the_same_everywhere(ask, arrays, rng):
    """Ask again with copies that lie elsewhere."""
    wanted = ask(*arrays)
    for _ in range(8):
        assert ask(*laid(arrays, rng)) == wanted


def bits(*arrays):
    return b"".join(array.tobytes() for array in arrays)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("form", "d"), [(Form.DOT, 2), (Form.DISTANCE, 2), (Form.ADDITIVE, 2), (Form.DOT, 7)])
def test_attention_and_its_derivatives(form, d, n):
    rng = stream(f"tests.places.{form.name}.{d}", n)
    shapes = (5, d), (n, d), (n, 2), (n,), (5, d), (n, d), (n, 2), (n,), (5, 2)
    arrays = [rng.normal(size=shape) for shape in shapes]
    coefficients = np.ones(d if form is Form.ADDITIVE else 1)

    def ask(x, y, v, added, *others):
        pairs = Pairs(form, x, y, coefficients)
        read, moments = (one(pairs, v, log_weights=added) for one in (engine.attention, engine.moments))
        found = read.output, read.log_partition, *moments
        if d > 2:  # derivatives of wide features are the library's products
            return bits(*found)
        along = engine.jvp(pairs, v, Direction(*others[:4]), log_weights=added)
        back = engine.vjp(pairs, v, others[4], log_weights=added)
        return bits(*found, *along, *back)

    assert_the_same_everywhere(ask, arrays, rng)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.5, 2.0, 2.7])
def test_maps_of_rows(alpha, n):
    rng = stream(f"tests.places.maps.{alpha}", n)
    arrays = [3.0 * rng.normal(size=(4, n)), np.full(1, alpha), np.ones(1), np.empty((4, n))]

    def ask(rows, order, tau, laws):
        assert maps.over(maps.entmax_rows, rows, order, tau, laws)
        return bits(laws)

    assert_the_same_everywhere(ask, arrays, rng)
