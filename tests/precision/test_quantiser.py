"""Best levels against known ones, a general optimiser and integrals; the procedure against drawn rotations and rows."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from theory.evidence import precision
from theory.precision import best_codebook, corrected_products, quantise


def density(dim):
    """The density of a coordinate of variance one."""
    if dim is None:
        return norm.pdf, 12.0
    size = math.exp(math.lgamma(dim / 2) - math.lgamma((dim - 1) / 2)) / math.sqrt(math.pi * dim)
    return (lambda x: size * max(1.0 - x * x / dim, 0.0) ** ((dim - 3) / 2)), math.sqrt(dim)


def lost(levels, dim):
    """The mean square error of levels, by quadrature."""
    f, end = density(dim)
    ends = [-end, *((a + b) / 2 for a, b in itertools.pairwise(levels)), end]
    return sum(
        quad(lambda x, c=c: (x - c) ** 2 * f(x), a, b, epsabs=1e-13, epsrel=1e-12)[0]
        for c, a, b in zip(levels, ends, ends[1:], strict=False)
    )


@pytest.mark.parametrize("dim", [None, 3, 4, 17, 128])
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_error_is_that_of_the_levels(bits, dim):
    book = best_codebook(bits, dim)
    assert lost(book.levels.mid, dim) == pytest.approx(book.distortion.mid, rel=1e-9, abs=0.0)
    assert book.distortion.width < 1e-15
    middles = (book.levels.mid[1:] + book.levels.mid[:-1]) / 2
    assert np.abs(middles - book.thresholds.mid).max() < 1e-14


@pytest.mark.parametrize("dim", [None, 5])
def test_no_optimiser_finds_better_levels(dim):
    best = best_codebook(2, dim)
    start = np.array([-1.2, -0.3, 0.5, 1.4])
    found = minimize(lambda c: lost(np.sort(c), dim), start, method="Nelder-Mead", options={"xatol": 1e-7})
    assert found.fun >= best.distortion.lo - 1e-10
    assert found.fun == pytest.approx(best.distortion.mid, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("bits", range(1, 9))
def test_uniform_coordinates_have_equal_cells(bits):
    book = best_codebook(bits, 3)
    assert 4.0**-bits in book.distortion
    cells = 2**bits
    levels = math.sqrt(3.0) * (2.0 * np.arange(cells) + 1.0 - cells) / cells
    assert np.abs(book.levels.mid - levels).max() < 1e-14


def test_one_bit_and_equal_answers_at_every_precision():
    assert 1.0 - 2.0 / math.pi == pytest.approx(best_codebook(1).distortion.mid, rel=1e-15, abs=0.0)
    with precision(60):
        assert best_codebook(4, 128).distortion == best_codebook(4, 128).distortion
        coarse = best_codebook(4, 128).distortion
    assert coarse == best_codebook(4, 128).distortion


def test_rotations_are_undone_and_lengths_kept_in_scale():
    rng = np.random.default_rng(5)
    tokens = rng.normal(size=(7, 12))
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    fine = best_codebook(8, 12)
    back = quantise(tokens, fine, rotation=turn)
    assert np.abs(back - tokens).max() < 0.05
    assert np.allclose(quantise(4.0 * tokens, fine, rotation=turn), 4.0 * back, rtol=1e-13, atol=0.0)
    plain = quantise(tokens @ turn.T, fine)
    assert np.allclose(back, plain @ turn, rtol=1e-12, atol=1e-12)


def test_planes_stand_for_whole_rows():
    """Estimates from rows drawn whole have the mean and the variance of those drawn in a plane."""
    rng = np.random.default_rng(6)
    y, k, coded = rng.normal(size=(3, 1, 5))
    r = (k - coded)[0]
    rows = rng.normal(size=(200_000, 5, 5))
    signs = np.sign(rows @ r)
    whole = y[0] @ coded[0] + math.sqrt(math.pi / 2) * np.linalg.norm(r) / 5 * ((rows @ y[0]) * signs).sum(axis=1)
    many = np.repeat(np.stack([y, k, coded]), 200_000, axis=1)
    short = corrected_products(*many, rng)
    true = float(y[0] @ k[0])
    spread = (math.pi / 2 * (y[0] @ y[0]) * (r @ r) - (y[0] @ r) ** 2) / 5
    for found in (whole, short):
        assert abs(found.mean() - true) < 6.0 * math.sqrt(spread / found.size)
        assert found.var() == pytest.approx(spread, rel=0.03, abs=0.0)


def test_refused():
    with pytest.raises(ValueError, match="bits"):
        best_codebook(9)
    with pytest.raises(ValueError, match="dim"):
        best_codebook(2, 2)
    with pytest.raises(ValueError, match="tokens"):
        quantise(np.zeros((1, 4)), best_codebook(2, 4))
    with pytest.raises(ValueError, match="coded"):
        corrected_products(np.ones((2, 3)), np.ones((2, 3)), np.ones((1, 3)), np.random.default_rng(0))
