"""Local norms against the closed forms, brute force over directions, and the power series of attention."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from theory.attention import DotProduct, Measure, SquaredDistance
from theory.evidence.enclosure import balls, hull, precision
from theory.lipschitz import Push, block_jacobian, certified_stretch, local_norm, norm_at, response_ratio
from theory.lipschitz.local_norms import weighted_norm

RNG = np.random.default_rng(11)
X = RNG.normal(size=(4, 2))
W = RNG.dirichlet(np.ones(4))
B = RNG.normal(size=(2, 2))
MU = Measure(X, W)
JACOBIAN = block_jacobian(MU, DotProduct(form=B))


def test_one_dimension_is_matrix_algebra():
    blocks = RNG.normal(size=(5, 5))
    w = RNG.dirichlet(np.ones(5))
    scaled = {1: w[:, np.newaxis] * blocks / w, 2: np.sqrt(w)[:, np.newaxis] * blocks / np.sqrt(w), math.inf: blocks}
    for p, matrix in scaled.items():
        found = local_norm(blocks[..., np.newaxis, np.newaxis], w, p)
        assert found.width < 1e-11 * found.mid
        assert float(np.linalg.norm(matrix, p)) in found


@pytest.mark.parametrize("p", [1, math.inf])
def test_suprema_over_directions(p):
    found = norm_at(MU, DotProduct(form=B), p)
    best = 0.0
    for angle in np.linspace(0.0, np.pi, 2001):
        u = np.array([math.cos(angle), math.sin(angle)])
        if p == 1:
            along = np.sqrt(((JACOBIAN @ u) ** 2).sum(axis=2))
            best = max(best, float((W[:, np.newaxis] * along / W).sum(axis=0).max()))
        else:
            best = max(best, float(np.sqrt((np.einsum("ijab,a->ijb", JACOBIAN, u) ** 2).sum(axis=2)).sum(axis=1).max()))
    assert best <= found.hi
    assert found.lo <= best * (1.0 + 1e-5)  # a grid of 2000 directions misses the best by less
    blocks = np.linalg.norm(JACOBIAN, 2, axis=(2, 3))
    sums = (W[:, np.newaxis] * blocks / W).sum(axis=0) if p == 1 else blocks.sum(axis=1)
    assert found.lo <= found.hi <= sums.max() * (1.0 + 1e-12)


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_no_displacement_is_stretched_more(p):
    norm = norm_at(MU, DotProduct(form=B), p)
    score = DotProduct(form=B)
    for _ in range(20):
        h = RNG.normal(size=X.shape)
        stretched = certified_stretch(MU, score, h, p)
        assert stretched.width < 1e-14 * stretched.mid
        assert stretched.lo <= norm.hi
        again = response_ratio(Push(X, h, W, B), p)
        assert max(stretched.lo, again.lo) <= min(stretched.hi, again.hi)


def test_the_top_singular_vector_attains():
    root = np.sqrt(W)[:, np.newaxis, np.newaxis, np.newaxis]
    flat = (root * JACOBIAN / np.sqrt(W)[:, np.newaxis, np.newaxis]).transpose(0, 2, 1, 3).reshape(8, 8)
    h = np.linalg.svd(flat)[2][0].reshape(4, 2) / np.sqrt(W)[:, np.newaxis]
    attained = certified_stretch(MU, DotProduct(form=B), h, 2)
    norm = norm_at(MU, DotProduct(form=B), 2)
    assert attained.mid == pytest.approx(norm.mid, rel=1e-13, abs=0)


def test_errors_of_the_entries_widen():
    for p in (1, 2, math.inf):
        sharp = local_norm(JACOBIAN, W, p)
        wide = local_norm(JACOBIAN, W, p, error=1e-3)
        assert wide.lo < sharp.lo < sharp.hi < wide.hi
        shifted = local_norm(JACOBIAN + 1e-3 * np.sign(RNG.normal(size=JACOBIAN.shape)), W, p)
        assert wide.lo <= shifted.hi
        assert shifted.lo <= wide.hi


def test_a_single_atom_and_a_mask():
    for p in (1, 2, math.inf):
        one = norm_at(Measure([[2.0, 1.0]]), SquaredDistance(), p)
        assert 1.0 in one
    # equal tokens without scores, seen up to one's own: the first token is felt by 1 + 1/2 + 1/3
    masked = norm_at(Measure(np.zeros((3, 1))), DotProduct(1.0), 1, causal=True)
    assert masked.lo <= 11 / 6 <= masked.hi
    zero = local_norm(np.zeros((2, 2, 2, 2)), [1.0, 1.0], 1)
    assert 0.0 in zero
    assert zero.hi < 1e-300


def test_sums_of_entries_hold_their_rounding():
    """Columns of entries on the line add up to what they add up to exactly, within the bound of a sum."""
    n = 7
    even = np.ones(7)
    for case in range(40):
        entries = np.random.default_rng(case).normal(size=(n, n))
        sums = [sum(Fraction(abs(v)) for v in column) for column in entries.T.tolist()]
        found = local_norm(entries[..., np.newaxis, np.newaxis], even, 1)
        assert found.lo <= max(sums) <= found.hi
        assert found.width / 2 >= 2.0**-53 * (8 * n + 16) * max(sums) * (1 - 1e-12)


@pytest.mark.parametrize("case", range(60))
def test_no_sum_of_rank_one_is_above_the_upper_end(case):
    """The sum of sizes of scalar products is largest at a sum of the vectors with signs, all of which are tried."""
    vectors = np.random.default_rng(case).normal(size=(10, 4))
    blocks = np.zeros((10, 10, 1, 4))
    blocks[:, 0, 0] = vectors
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=10)))
    best = float(np.linalg.norm(signs @ vectors, axis=1).max())
    found = local_norm(blocks, np.ones(10), 1)
    assert found.lo <= best * (1 + 1e-12)
    assert found.hi >= best * (1 - 1e-12)


def test_norms_in_squares_are_as_wide_as_the_lemma():
    n = 5
    blocks = np.random.default_rng(1).normal(size=(5, 5, 2, 3))
    size = math.sqrt(sum(Fraction(v) ** 2 for v in blocks.ravel().tolist()))
    found = local_norm(blocks, np.ones(n), 2)
    assert found.width / 2 >= 2.0**-53 * 64 * n * 3 * size


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_a_displacement_that_may_vanish_may_have_no_length(p):
    with precision():
        near = balls(np.zeros((2, 2))) + flint.arb(0, 1e-3)
        assert hull(weighted_norm(near, balls(np.ones(2)), p)).lo <= 0.0


def test_bad_input():
    with pytest.raises(ValueError, match="p: expected 1, 2 or inf, got 3"):
        local_norm(JACOBIAN, W, 3)
    with pytest.raises(ValueError, match="blocks: expected shape"):
        local_norm(JACOBIAN[:3], W, 1)
    with pytest.raises(ValueError, match="weights: expected positive masses"):
        local_norm(JACOBIAN, [1.0, 0.0, 0.0, 0.0], 1)
    with pytest.raises(ValueError, match="error: expected non-negative"):
        local_norm(JACOBIAN, W, 1, error=-1.0)
    with pytest.raises(ValueError, match="tangent: expected a displacement, got zero"):
        certified_stretch(MU, DotProduct(form=B), np.zeros(X.shape), 1)
    with pytest.raises(ValueError, match="tangent: expected shape"):
        certified_stretch(MU, DotProduct(form=B), np.zeros((3, 2)), 1)


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-60, 1e200, 1e300])
def test_entries_may_be_tiny_or_huge(p, size):
    plain = np.random.default_rng(3).normal(size=(3, 3, 2, 2))
    one = local_norm(plain, [0.5, 0.2, 0.3], p)
    far = local_norm(size * plain, [0.5, 0.2, 0.3], p)
    assert far.lo <= (1.0 + 1e-12) * size * one.hi + 1e-321
    assert far.hi >= (1.0 - 1e-12) * size * one.lo - 1e-321
    assert far.hi <= (1.0 + 1e-10) * size * one.hi + 1e-321
    with pytest.raises(ValueError, match="weights: expected ratios that float64 can hold"):
        local_norm(plain, [1.0, 1.0, 5e-324], p)
