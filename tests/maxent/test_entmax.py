"""Entmax against its definition at sixty digits, its certificate, its derivatives, and how it reads a batch."""

import math
import warnings

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import entmax, entmax_value, entmax_vjp
from theory.maxent.sparse import entmax_alpha_derivative, entmax_support, tsallis

U = 2.0**-53
FOUR_ULP = 8 * U
NEAR_ONE = (1.0 - 1e-9, 1.0 - 1e-12, 1.0 - 2.0**-53, 1.0, 1.0 + 2.0**-52, 1.0 + 1e-12, 1.0 + 1e-9)
ALPHAS = (0.5, 0.75, 0.9, *NEAR_ONE, 1.001, 1.1, 1.25, 1.5, 1.75, 1.999, 2.0)
STEEP = (2.5, 3.0, 5.0, 10.0)


def rows():
    """Rows on which such code tends to be wrong, then random ones."""
    yield from (
        np.array([3.0]),
        np.zeros(5),
        np.full(9, -1e4),
        np.array([1.0, 1.0, 0.0]),
        np.array([1.0, 0.0]),
        np.array([0.5, 0.0]),
        np.array([0.0, -0.95]),
        np.array([1.0, 1.0 - 2.0**-53, 1.0 - 2.0**-20, 0.5, -1e-300]),
        np.array([1e4, 0.0, -1e4, 1e4 - 1.0]),
        np.array([1e300, -1e300, 1e300]),
        np.array([1.7e308, -1.7e308]),
        np.array([0.0, -math.inf, -0.25, -math.inf]),
        np.array([-math.inf, 5.0]),
        np.linspace(-3.0, 0.0, 12),
    )
    for case, (n, size) in enumerate([(2, 1.0), (5, 0.3), (12, 3.0), (24, 1.0), (12, 30.0)]):
        yield size * stream("tests.entmax.rows", case).normal(size=n)


ROWS = [pytest.param(row, id=f"{number}") for number, row in enumerate(rows())]
SMALL = np.array([0.7, 0.1, -0.4, 0.35, -3.0])


@pytest.mark.parametrize("row", ROWS)
def test_against_sixty_digits(row):
    for alpha in ALPHAS:
        assert oracle.apart(entmax(row, alpha), oracle.entmax(row, alpha)) <= FOUR_ULP


@pytest.mark.parametrize("row", ROWS)
def test_steep_orders_within_their_conditioning(row):
    """Rounding moves the base of the power by a few u, so the weight by at most that to the power 1 / (alpha - 1)."""
    for alpha in STEEP:
        bound = (8 * alpha * U) ** (1.0 / (alpha - 1.0))
        assert oracle.apart(entmax(row, alpha), oracle.entmax(row, alpha)) <= bound


@pytest.mark.parametrize("alpha", STEEP)
def test_steep_orders_on_the_edge_of_the_support(alpha):
    """The second weight is about u^(1 / (alpha - 1)); the surplus goes to it, so both are as exact as the first."""
    for steps in range(-3, 4):
        row = np.array([0.0, -1.0 / (alpha - 1.0) * (1.0 + steps * 2.0**-52)])
        found = entmax(row, alpha)
        truth = oracle.entmax(row, alpha)
        assert oracle.apart(found[:1], truth[:1]) <= 2 * (8 * alpha * U) ** (1.0 / (alpha - 1.0))
        assert abs(found.sum() - 1.0) <= 2 * U
    row = np.array([0.0, -0.999 / (alpha - 1.0)])
    assert oracle.apart(entmax(row, alpha), oracle.entmax(row, alpha)) <= 16 * FOUR_ULP


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.3, 1.5, 1.9, 2.0, 3.0])
def test_sums_of_long_rows(alpha):
    """Rounding the threshold alone would leave a sum off by u times the slope, which is n^(alpha - 1) here."""
    row = 1e-3 * stream("tests.entmax.long", 0).normal(size=2000)
    assert abs(math.fsum(entmax(row, alpha)) - 1.0) <= 32 * U


def test_no_weight_is_negative():
    """Scores a few roundings around the edge of the support."""
    for k in (1, 2, 7, 60):
        row = np.concatenate([[0.0], -1.0 + U * np.arange(k)])
        for alpha in (1.999, 2.0, 2.001, 3.0):
            p = entmax(np.stack([row, row / (alpha - 1.0)]), alpha)
            assert p.min() >= 0.0
            assert np.abs(p.sum(axis=1) - 1.0).max() <= 16 * U


@pytest.mark.parametrize("tau", [1e-3, 0.3, 7.0, 1e6])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_temperature(alpha, tau):
    bound = FOUR_ULP if alpha <= 2.0 else (8 * alpha * U) ** (1.0 / (alpha - 1.0))
    assert oracle.apart(entmax(SMALL, alpha, tau=tau), oracle.entmax(SMALL, alpha, tau)) <= bound


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.25, 1.5, 2.0, 2.5])
def test_certificate(alpha):
    """The Frank-Wolfe gap bounds what is missing; the gradient rounds where a weight rounds, by its steepness there."""
    for case in range(6):
        row = stream("tests.entmax.certificate", case).normal(size=6)
        p = entmax(row, alpha)
        floor = float(p[p > 0.0].min())
        steep = 1.0 if alpha >= 2.0 else floor ** (alpha - 2.0)
        assert oracle.certificate(row, p, alpha) <= 8 * len(row) * FOUR_ULP * steep


@pytest.mark.parametrize("alpha", [*ALPHAS, *STEEP, 1e-3, 1e3, 1e300])
def test_ties_are_kept_and_sums_are_one(alpha):
    p = entmax([2.0, -1.0, 2.0, 2.0, -1.0], alpha)
    assert p[0] == p[2] == p[3] > p[1] == p[4] >= 0.0
    assert abs(p.sum() - 1.0) <= 8 * U
    assert np.abs(entmax(np.full(7, 123.0), alpha) - 1.0 / 7.0).max() <= 2 * U


def test_infinite_order():
    assert np.array_equal(entmax([1.0, 3.0, 3.0, -math.inf], math.inf), [0.0, 0.5, 0.5, 0.0])
    assert entmax_value([1.0, 3.0, 3.0], math.inf) == 3.0
    assert not entmax_vjp([0.0, 0.5, 0.5], [1.0, 2.0, 3.0], math.inf).any()


def test_masks():
    row = np.array([0.5, -math.inf, 0.25, -1.0])
    for alpha in (0.5, 1.0, 1.5, 3.0, math.inf):
        assert np.array_equal(entmax(row, alpha)[[0, 2, 3]], entmax(row[[0, 2, 3]], alpha))
        assert entmax(row, alpha)[1] == 0.0
        assert entmax_value(row, alpha) == entmax_value(row[[0, 2, 3]], alpha)
        both = np.stack([row, np.full(4, -math.inf)])
        assert np.array_equal(entmax(both, alpha)[0], entmax(row, alpha))
        assert not entmax(both, alpha)[1].any()
        assert entmax_value(both, alpha)[1] == -math.inf
        assert not entmax_vjp(np.zeros(4), np.ones(4), alpha).any()
        assert not entmax_support(both, alpha)[1].any()


def test_batches_of_orders_and_temperatures_along_any_axis():
    scores = stream("tests.entmax.batch", 0).normal(size=(3, 5, 4))
    alpha = np.array([0.5, 1.0, 1.5, math.inf])[:, np.newaxis, np.newaxis]
    tau = np.array([0.5, 1.0, 2.0, 4.0])
    found = entmax(scores, alpha, tau=tau, axis=1)
    values = entmax_value(scores, alpha, tau=tau, axis=1)
    assert found.shape == (4, 3, 5, 4)
    assert values.shape == (4, 3, 4)
    for a, i, j in np.ndindex(4, 3, 4):
        alone = entmax(scores[i, :, j], alpha[a, 0, 0], tau=tau[j])
        assert np.abs(found[a, i, :, j] - alone).max() <= 2 * FOUR_ULP
        assert abs(values[a, i, j] - entmax_value(scores[i, :, j], alpha[a, 0, 0], tau=tau[j])) <= 64 * U
    assert np.array_equal(entmax(scores, 1.5, axis=1), entmax(scores, 1.5, axis=-2))
    assert entmax(np.zeros((0, 3)), 1.5).shape == (0, 3)


def test_rows_do_not_see_each_other():
    """A block of rows ends when its slowest row does; none of the others may move meanwhile."""
    scores = 3.0 * stream("tests.entmax.blocks", 0).normal(size=(3000, 16))
    for alpha in (0.7, 1.3, 4.0):
        together = entmax(scores, alpha)
        for i in (0, 1, 1500, 2047, 2048, 2999):
            assert np.abs(together[i] - entmax(scores[i], alpha)).max() <= FOUR_ULP


def test_single_precision_is_computed_in_double():
    row = SMALL.astype(np.float32)
    assert entmax(row, 1.5).dtype == np.float64
    assert np.array_equal(entmax(row, 1.5), entmax(row.astype(np.float64), 1.5))


@pytest.mark.parametrize("row", ROWS)
def test_support_without_solving(row):
    for alpha in (0.5, 1.0, 1.25, 1.5, 2.0, 3.0, math.inf):
        inside = entmax_support(row, alpha)
        p = entmax(row, alpha)
        decided = (p > 0.0) != (inside > 0.0)
        assert np.all(p[decided] <= 1e-6)  # an entry whose weight rounding decides, or that underflows
        if alpha <= 1.0:
            assert np.array_equal(inside > 0.0, row > -math.inf)


@pytest.mark.parametrize("alpha", [0.3, 1.0 - 1e-12, 1.0, 1.0 + 1e-9, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("tau", [0.5, 3.0])
def test_value(alpha, tau):
    for row in (SMALL, 100.0 * SMALL, np.zeros(9), np.array([2.0])):
        with mp.workdps(oracle.DIGITS):
            truth = oracle.value(oracle.exactly(row), mp.mpf(alpha), mp.mpf(tau))
        size = np.abs(row).max() + tau * (1.0 + math.log(row.size))
        assert oracle.apart(entmax_value(row, alpha, tau=tau), [truth]) <= 32 * U * size


@pytest.mark.parametrize("alpha", [0.5, 1.0 - 1e-9, 1.0, 1.25, 1.5, 1.9, 2.0, 3.0])
def test_derivative_in_the_scores(alpha):
    for tau in (1.0, 0.4):
        p = entmax(SMALL, alpha, tau=tau)
        for case in range(3):
            c = stream("tests.entmax.vjp", case).normal(size=SMALL.size)
            with mp.workdps(oracle.DIGITS):
                slope = oracle.derivative(
                    lambda s: oracle.entmax_of(s, mp.mpf(alpha), mp.mpf(tau)),  # noqa: B023
                    oracle.exactly(SMALL),
                    oracle.exactly(c),
                )
            steep = max(float((p[p > 0] ** (1.0 - alpha)).max()), 1.0)  # dq/q = (2 - alpha) dp/p, dp within 4 ulp
            assert oracle.apart(entmax_vjp(p, c, alpha, tau=tau), slope) <= 32 * FOUR_ULP * steep / tau


@pytest.mark.parametrize("alpha", [0.5, 0.9, *NEAR_ONE, 1.1, 1.5, 2.0, 3.0])
def test_derivative_in_the_order(alpha):
    row = SMALL[:4]
    p = entmax(row, alpha)
    with mp.workdps(oracle.DIGITS):
        slope = oracle.derivative(lambda a: oracle.entmax_of(oracle.exactly(row), a[0]), [mp.mpf(alpha)], [mp.mpf(1)])
    assert oracle.apart(entmax_alpha_derivative(p, alpha), slope) <= 64 * FOUR_ULP


def test_the_limit_of_the_derivative_in_the_order():
    p = entmax(SMALL, 1.0)
    squares = np.log(p) ** 2
    assert np.abs(entmax_alpha_derivative(p, 1.0) + 0.5 * p * (squares - p @ squares)).max() <= 64 * U


@pytest.mark.parametrize("alpha", [0.4, *NEAR_ONE, 1.5, 2.0, 7.0])
def test_tsallis(alpha):
    for law in ([1.0], [0.5, 0.5, 0.0], [0.25] * 4, [1.0 - 2.0**-30, 2.0**-30], [0.125, 0.625, 0.25]):
        with mp.workdps(oracle.DIGITS):
            truth = oracle.tsallis(oracle.exactly(law), mp.mpf(alpha))
        assert oracle.apart(tsallis(law, alpha), [truth]) <= 16 * U * (1.0 + float(truth))


@pytest.mark.parametrize("alpha", [1e-3, 0.03, 0.047, 0.06, 0.1])
def test_tsallis_of_weights_whose_powers_overflow(alpha):
    for least in (5e-324, 1e-320, 1e-305):
        truth = oracle.tsallis(oracle.exactly([least, 1.0]), mp.mpf(alpha))
        assert oracle.apart(tsallis([least, 1.0], alpha), [truth]) <= 1024 * U * float(truth)


def test_extreme_orders_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tsallis([0.5, 0.5], 5e-324) == math.inf
        assert entmax_value([0.0, 1e-300], 5e-324) == math.inf
        for least in (5e-324, 1e-160):
            slope = entmax_alpha_derivative([least, 1.0], 1e-3)
            truth = least * (1.0 - (1e-3 - 1.0) * math.log(least)) / (1e-3 - 1.0) ** 2
            assert slope == pytest.approx([truth, -truth], rel=1e-13, abs=5e-324)


def test_tsallis_of_infinite_order_and_batches():
    law = np.array([[0.5, 1.0], [0.5, 0.0]])
    assert np.array_equal(tsallis(law, math.inf, axis=0), [0.0, 0.0])
    assert np.array_equal(tsallis(law, 2.0, axis=0), [0.25, 0.0])
    assert tsallis(law, np.array([[1.0], [2.0]]), axis=0).shape == (2, 2)
    with pytest.raises(ValueError, match=r"^weights: expected rows with sum 1"):
        tsallis([[0.5, 0.5], [0.5, 0.25]], 2.0)
    with pytest.raises(ValueError, match=r"^weights: expected non-negative masses, got -0.5"):
        tsallis([1.5, -0.5], 2.0)


@given(arrays(np.float64, 6, elements=st.floats(-5, 5)), st.floats(0.3, 4.0), st.floats(-100, 100))
def test_order_ties_shift_and_permutation(row, alpha, shift):
    p = entmax(row, alpha)
    best = np.argsort(row, kind="stable")
    assert np.all(np.diff(p[best]) >= 0.0)
    assert np.array_equal(p[row == row.max()], np.full((row == row.max()).sum(), p.max()))
    tolerance = 64 * U if alpha <= 2.0 else (256 * alpha * U) ** (1.0 / (alpha - 1.0))
    assert np.abs(entmax(row[best], alpha) - p[best]).max() <= tolerance
    moved = 2.0**-45 * (1.0 if alpha <= 2.0 else 1.0 / 2.0**-45 * (alpha * 2.0**-45) ** (1.0 / (alpha - 1.0)))
    assert np.abs(entmax(row + shift, alpha) - p).max() <= moved  # the shifted scores are rounded to 106 u
