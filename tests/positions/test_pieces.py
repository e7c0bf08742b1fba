"""Pieces of admissible bases against a mesh in floats, and the bounds that carry them against what they bound."""

import itertools
import math

import numpy as np
import pytest

from theory.positions import admissible_bases, least_sum_beyond
from theory.positions.pieces import _rates, longest_in
from theory.positions.rotary import extend


def plain_sums(base, most, dim):
    """Sums of cosines in floats."""
    turns = base ** (-2.0 * np.arange(dim // 2) / dim)
    return np.cos(np.arange(most + 1)[:, np.newaxis] * turns).sum(axis=1)


@pytest.mark.parametrize(
    ("dim", "most", "hi"), [(32, 200, 2000.0), (64, 300, 4000.0), (128, 100, 600.0), (16, 40, 500.0)]
)
def test_pieces_are_those_of_a_mesh(dim, most, hi):
    pieces = admissible_bases(hi, most, dim)
    ends = [end for piece in pieces for end in piece]
    assert all(one.hi < other.lo for one, other in itertools.pairwise(ends))
    for base in np.geomspace(1.01, hi * 0.999, 3000):
        within = any(piece.opens.hi < base < piece.closes.lo for piece in pieces)
        least = plain_sums(base, most, dim).min()
        assert least >= -1e-12 if within else least < 1e-6
    for end in ends[:-1]:
        assert end.width <= 2.0**-33 * end.lo
        assert abs(plain_sums(end.mid, most, dim).min()) < 1e-6


def test_every_base_or_none():
    assert [piece.opens.hi for piece in admissible_bases(50.0, 1, 8)] == [1.0]
    assert admissible_bases(50.0, 1, 2)[0].closes.hi == math.inf
    assert admissible_bases(50.0, 5, 2) == ()
    assert admissible_bases(2.0, 3, 4) == ()


def test_cells_are_positive_on_a_mesh_and_follow_one_another():
    cells = extend(longest_in, math.log(900.0), math.log(5000.0), 255, 128)
    assert cells[0].lo == math.log(900.0)
    assert cells[-1].hi == math.log(5000.0)
    assert all(one.hi == other.lo for one, other in itertools.pairwise(cells))
    for cell in cells[::5]:
        for u in np.linspace(cell.lo, cell.hi, 4):
            assert plain_sums(math.exp(u), 255, 128).min() > 0.0


def test_the_rate_is_nearly_reached():
    u = math.log(200.0)  # the second of two planes turns by b**-1/2: where m times that is 90 degrees, the sine is one
    distance = round(math.pi / 2 * math.exp(u / 2))
    step = 1e-5
    moved = abs(plain_sums(math.exp(u + step), distance, 4)[distance] - plain_sums(math.exp(u), distance, 4)[distance])
    rate = _rates(u, distance, 4)[distance - 1]
    assert 0.999 * rate.hi < moved / step <= rate.hi


@pytest.mark.parametrize("base", [5e4, 2e5])
def test_sums_beyond_a_base(base):
    found = least_sum_beyond(base, 255, 128)
    for larger in np.geomspace(base, 1e9, 60):
        assert plain_sums(larger, 255, 128).min() >= found.lo - 1e-9
    assert found.hi >= plain_sums(base, 255, 128).min() - 1e-9


@pytest.mark.parametrize("change", [{"hi": 1.0}, {"dim": 7}, {"most": 0}])
def test_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        admissible_bases(**{"hi": 100.0, "most": 10, "dim": 8, **change})
