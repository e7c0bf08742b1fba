"""The stars: their places and masses, the answers that their docstrings promise, and the table that is made of them."""

import math

import numpy as np
import pytest

from theory.attention import Measure, SquaredDistance
from theory.distance import w1
from theory.evidence import Kind
from theory.lipschitz import displacement, studies, witnesses
from theory.lipschitz.constants import nearness_constant
from theory.lipschitz.jacobian import block_jacobian

SCALE = 0.7
SCORE = SquaredDistance(SCALE)


def row_sums(mu):
    return np.abs(block_jacobian(mu, SCORE)[:, :, 0, 0]).sum(axis=1)


@pytest.mark.parametrize("n", [3, 11, 101])
def test_two_crowds_answer_as_promised(n):
    mu = witnesses.two_sided(n, SCALE)
    c = nearness_constant(n)
    assert np.allclose(SCALE * mu.points[1:] ** 2, c + 1.0, rtol=1e-14, atol=0.0)
    assert np.allclose(mu.weights * n, [1.0, (n - 1) / 2, (n - 1) / 2], rtol=1e-14, atol=0.0)
    assert math.isclose(row_sums(mu)[0], 4.0 * c + (1.0 - c) / (1.0 + c), rel_tol=1e-13, abs_tol=0.0)
    atoms = np.repeat(mu.points, [1, (n - 1) // 2, (n - 1) // 2], axis=0)  # folding changes nothing
    assert math.isclose(row_sums(Measure(atoms))[0], row_sums(mu)[0], rel_tol=1e-12, abs_tol=0.0)


def test_even_numbers_and_one_side():
    assert np.allclose(witnesses.two_sided(6).weights * 6, [1.0, 3.0, 2.0], rtol=1e-14, atol=0.0)
    assert np.allclose(witnesses.one_sided(6).weights * 6, [1.0, 5.0], rtol=1e-14, atol=0.0)
    assert row_sums(witnesses.one_sided(101, SCALE)).max() < 0.5 * row_sums(witnesses.two_sided(101, SCALE)).max()
    assert witnesses.two_sided(5, shift=0.0).points[1, 0] == pytest.approx(
        math.sqrt(nearness_constant(5)), rel=1e-15, abs=0.0
    )


@pytest.mark.parametrize("n", [4, 9, 40])
def test_the_star_moves_by_its_column_sum(n):
    tokens = witnesses.star(n, SCALE)
    r = witnesses.star_radius(n, SCALE)
    assert math.isclose(math.exp(SCALE * r * r), math.sqrt(n - 2), rel_tol=1e-14, abs_tol=0.0)
    assert tokens.shape == (n, n)
    assert not tokens[:, -1].any()
    assert np.allclose(np.linalg.norm(tokens[1:], axis=1), r, rtol=1e-15, atol=0.0)
    blocks = block_jacobian(Measure(tokens), SCORE)
    along = blocks[:, 0, :, -1]  # answers to a push of the centre along the free axis
    claimed = (n - 1) / (2.0 * math.sqrt(n - 2) + 1.0) + 1.0 / (1.0 + (n - 1) / math.sqrt(n - 2))
    assert math.isclose(np.linalg.norm(along, axis=1).sum(), claimed, rel_tol=1e-13, abs_tol=0.0)
    assert np.abs(along[:, :-1]).max() <= 1e-15
    assert claimed > math.sqrt(n) / 2.0 - 0.25


def test_folding_keeps_the_distances():
    tokens, copies = witnesses.folded_star(12, SCALE)
    whole = witnesses.star(12, SCALE)
    assert copies.sum() == 12.0
    for pair in ((0, 1), (0, 2), (1, 2)):
        apart = np.linalg.norm(tokens[pair[0]] - tokens[pair[1]])
        assert math.isclose(apart, np.linalg.norm(whole[pair[0]] - whole[pair[1]]), rel_tol=1e-15, abs_tol=0.0)


@pytest.mark.parametrize("z", [0.5, 2.0])
def test_a_hidden_atom_is_heard_by_half(z):
    mu = witnesses.hidden_atom(z, SCALE)
    blocks = block_jacobian(mu, SCORE, queries=mu.points[1:])
    assert math.isclose(blocks[0, 1, 0, 0], 0.5, rel_tol=1e-14, abs_tol=0.0)
    assert math.isclose(mu.weights[1], 1.0 / (1.0 + math.exp(SCALE * z * z)), rel_tol=1e-14, abs_tol=0.0)


def test_table():
    table = studies.stars(scale="quick", root=1)
    assert table.kind is Kind.NUMERIC
    assert {1500, 1709, 1710, 2000, 4000} <= set(table.where(family="star", way="folded")["n"].tolist())
    folded = dict(zip(*(part for part in columns(table, "folded")), strict=True))
    for n, ratio in zip(*columns(table, "tokens"), strict=True):
        if n in folded:
            assert ratio.lo <= folded[n].hi
            assert folded[n].lo <= ratio.hi
    assert all(ratio.width <= 1e-6 * ratio.mid for ratio in table.intervals("ratio"))


def columns(table, way):
    part = table.where(family="star", way=way)
    return part["n"].tolist(), part.intervals("ratio")


def test_transport_of_the_tokens_is_the_move_of_one():
    before = witnesses.star(6)
    after = before.copy()
    after[0, -1] = 0.125
    moved = displacement(before, after, 1.0)
    assert 0.125 in moved
    assert abs(w1(Measure(before), Measure(after)).mid - 0.125 / 6) <= 1e-15


def test_bad_input():
    for make, least in (
        (witnesses.two_sided, 3),
        (witnesses.one_sided, 2),
        (witnesses.star, 4),
        (witnesses.folded_star, 4),
        (witnesses.star_radius, 4),
    ):
        with pytest.raises(ValueError, match="n: expected"):
            make(least - 1)
        with pytest.raises(TypeError, match="n: expected an integer"):
            make(float(least))
        with pytest.raises(ValueError, match="scale: expected"):
            make(least + 1, 0.0)
    with pytest.raises(ValueError, match="z: expected"):
        witnesses.hidden_atom(0.0)
