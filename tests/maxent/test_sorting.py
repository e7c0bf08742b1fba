"""Sparsemax against rational arithmetic, both sorted maps against their definition and against the Newton method."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import entmax, entmax15, entmax15_vjp, entmax_vjp, sparsemax, sparsemax_vjp

U = 2.0**-53
FOUR_ULP = 8 * U
MAPS = {2.0: sparsemax, 1.5: entmax15}


def rows():
    yield from (
        np.array([3.0]),
        np.zeros(5),
        np.full(64, -1e4),
        np.array([1.0, 1.0, 0.0]),
        np.array([1.0, 0.0]),
        np.array([2.0, 0.0, 0.0]),
        np.array([0.5, 0.0]),
        np.array([1e4, 0.0, -1e4, 1e4 - 1.0]),
        np.array([1e300, -1e300, 1e300]),
        np.array([1.7e308, -1.7e308]),
        np.concatenate([[0.0], np.full(50, -1.0 + 2.0**-53)]),
        np.concatenate([[0.0], np.full(50, -2.0 + 2.0**-52)]),
        np.linspace(-3.0, 0.0, 40),
    )
    for case, (n, size) in enumerate([(2, 1.0), (5, 0.3), (20, 3.0), (64, 1.0), (30, 30.0), (200, 0.01)]):
        yield size * stream("tests.sorting.rows", case).normal(size=n)


ROWS = [pytest.param(row, id=f"{number}") for number, row in enumerate(rows())]


@pytest.mark.parametrize("tau", [1.0, 0.3])
@pytest.mark.parametrize("row", ROWS)
def test_sparsemax_is_the_rational_projection(row, tau):
    truth = oracle.projection(row, tau)
    assert (
        max(abs(float(truth[i] - oracle.Fraction(float(p)))) for i, p in enumerate(sparsemax(row, tau=tau))) <= FOUR_ULP
    )


@pytest.mark.parametrize("row", [row for row in ROWS if row.values[0].size <= 20])
def test_entmax15_against_sixty_digits(row):
    for tau in (1.0, 0.3):
        assert oracle.apart(entmax15(row, tau=tau), oracle.entmax(row, 1.5, tau)) <= FOUR_ULP


@pytest.mark.parametrize("alpha", MAPS)
def test_sorting_agrees_with_the_newton_method(alpha):
    for n, size in ((1, 1.0), (3, 1.0), (64, 0.1), (64, 1.0), (64, 10.0), (700, 1.0)):
        scores = size * stream(f"tests.sorting.newton.{alpha}", n).normal(size=(40, n))
        assert np.abs(MAPS[alpha](scores) - entmax(scores, alpha)).max() <= 2 * FOUR_ULP


@given(arrays(np.float64, 7, elements=st.integers(-4, 4).map(lambda k: k / 4)))
def test_ties_and_edges(row):
    """Quarters are exact, so most thresholds fall on scores."""
    assert oracle.rationally_apart(sparsemax(row), oracle.projection(row)) <= FOUR_ULP
    p = entmax15(row)
    assert oracle.certificate(row, p, 1.5) <= 32 * FOUR_ULP
    assert np.all((p[:, np.newaxis] == p) | (row[:, np.newaxis] != row))


@pytest.mark.parametrize("name", ["sparsemax", "entmax15"])
def test_masks_axes_and_precision(name):
    law = {"sparsemax": sparsemax, "entmax15": entmax15}[name]
    row = np.array([0.5, -math.inf, 0.25, -1.0])
    assert np.array_equal(law(row)[[0, 2, 3]], law(row[[0, 2, 3]]))
    assert law(row)[1] == 0.0
    assert not law(np.full((2, 3), -math.inf)).any()
    assert law([-math.inf, -5.0])[1] == 1.0
    scores = stream("tests.sorting.axes", 0).normal(size=(3, 5, 4)).astype(np.float32)
    tau = np.array([[0.5], [1.0], [2.0]])
    found = law(scores, tau=tau, axis=1)
    assert found.dtype == np.float64
    for i, j in np.ndindex(3, 4):
        assert np.abs(found[i, :, j] - law(scores[i, :, j].astype(float), tau=tau[i, 0])).max() <= FOUR_ULP
    assert law(scores, tau=np.ones((2, 1, 1)), axis=1).shape == (2, 3, 5, 4)


def test_sums_of_long_rows():
    """Rounding the threshold alone would leave sums off by n times that."""
    row = 2.0**-16 * np.linspace(0.0, 1.0, 100_000) ** 3  # the running sums round the same way for long
    for law in (sparsemax, entmax15):
        assert abs(math.fsum(law(row)) - 1.0) <= 32 * U


def test_products_are_those_of_entmax():
    scores, c = stream("tests.sorting.vjp", 0).normal(size=(2, 5, 9))
    assert np.array_equal(sparsemax_vjp(sparsemax(scores), c, tau=2.0), entmax_vjp(sparsemax(scores), c, 2.0, tau=2.0))
    assert np.array_equal(entmax15_vjp(entmax15(scores), c), entmax_vjp(entmax15(scores), c, 1.5))
    p = sparsemax(scores[0])
    centred = np.where(p > 0.0, c[0] - c[0][p > 0.0].mean(), 0.0)
    assert np.abs(sparsemax_vjp(p, c[0]) - centred).max() <= 16 * U * np.abs(c).max()


@pytest.mark.parametrize("n", [2, 3, 6, 17, 200])
@pytest.mark.parametrize("function", [sparsemax, entmax15])
def test_a_vertex_has_exact_zeros(function, n):
    """However many scores lie beyond the reach of the largest, none of them has weight, not even 1e-60."""
    for gap in (2.0, 2.0 + 2.0**-51, 3.0, 1e6):
        assert np.array_equal(function(np.append(0.0, np.full(n - 1, -gap))), np.eye(n)[0])
