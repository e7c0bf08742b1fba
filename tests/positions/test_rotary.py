"""Rotary positions against complex numbers and plain cosines, and ruled out bases against a mesh."""

import itertools
import math

import numpy as np
import pytest

from theory.evidence import precision
from theory.positions import cosine_sums, least_base, least_sum, rotate, rule_out


def plain_sums(base, most, dim):
    """Sums of cosines in floats."""
    turns = base ** (-2.0 * np.arange(dim // 2) / dim)
    return np.cos(np.arange(most + 1)[:, np.newaxis] * turns).sum(axis=1)


def test_rotation_of_complex_numbers():
    tokens = np.random.default_rng(3).normal(size=(4, 6))
    places = np.array([0, 1, 5, 1000])
    found = rotate(tokens, places, 50.0)
    turns = 50.0 ** (-2.0 * np.arange(3) / 6)
    plane = (tokens[:, 0::2] + 1j * tokens[:, 1::2]) * np.exp(1j * places[:, np.newaxis] * turns)
    assert np.abs(found.mid[:, 0::2] - plane.real).max() < 1e-12
    assert np.abs(found.mid[:, 1::2] - plane.imag).max() < 1e-12
    assert found.width.max() < 1e-11


@pytest.mark.parametrize(("base", "dim"), [(2.0, 2), (100.0, 8), (1e4, 128), (5e5, 64)])
def test_sums_of_cosines(base, dim):
    found = cosine_sums(base, np.arange(301), dim)
    assert np.abs(found.mid - plain_sums(base, 300, dim)).max() < 1e-10
    assert found.width.max() < 1e-10
    assert found.lo[0] <= dim / 2 <= found.hi[0]
    least = least_sum(base, 300, dim)
    assert least.lo <= found.lo.min() + 1e-15
    assert least.hi >= found.lo.min()


def test_what_is_ruled_out_is_not_admissible_on_a_mesh():
    cells = rule_out(1.0, 300.0, 100, 16)
    assert cells[0].lo == 0.0
    assert all(one.hi == other.lo for one, other in itertools.pairwise(cells))
    for cell in cells:
        for u in np.linspace(cell.lo, cell.hi, 5):
            assert plain_sums(math.exp(u), 100, 16)[cell.distance] < 1e-9


def test_least_base_of_a_mesh():
    found = least_base(1e5, 200, 32)
    mesh = np.geomspace(2.0, found.lo * (1.0 - 1e-9), 4000)
    assert all(plain_sums(base, 200, 32).min() < 0.0 for base in mesh)
    assert plain_sums(found.hi, 200, 32).min() >= -1e-12
    assert found.width <= 2.0**-9 * found.lo
    with precision(200):
        assert least_base(1e5, 200, 32) == found


def test_nothing_found_is_no_base():
    assert least_base(50.0, 1000, 32).hi == math.inf


@pytest.mark.parametrize(
    ("change", "words"), [({"base": 1.0}, "base"), ({"dim": 7}, "dim"), ({"distances": np.array([-1])}, "distances")]
)
def test_refused(change, words):
    with pytest.raises(ValueError, match=words):
        cosine_sums(**{"base": 10.0, "distances": np.array([1]), "dim": 8, **change})
