"""Stationary laws, spectra and rates against fractions, NumPy's general solvers and Fourier matrices."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory.diffusion.layers import (
    chain_spectrum,
    count_rates,
    relaxation_rate,
    scale_rate,
    stationary_law,
    stationary_means,
)
from theory.evidence import Interval, Kind, exact, within


def test_stationary_law_in_fractions():
    rows = np.array([[2, 1, 1], [1, 2, 1], [4, 2, 2]]) / np.array([[4], [4], [8]])
    law = stationary_law(exact(rows))
    claimed = [Fraction(5, 12), Fraction(4, 12), Fraction(3, 12)]
    p = [[Fraction(v) for v in row] for row in rows.tolist()]
    residual = [sum(claimed[i] * p[i][j] for i in range(3)) - claimed[j] for j in range(3)]
    assert residual == [0, 0, 0]
    assert all(value in mass for mass, value in zip(law, claimed, strict=True))
    assert law.radius.max() < 1e-14
    assert stationary_law(rows) in law


def test_stationary_law_of_a_drawn_chain():
    rows = np.random.default_rng(2).dirichlet(np.ones(30), size=30)
    law = stationary_law(within(rows, 1e-15 * rows))
    values, vectors = np.linalg.eig(rows.T)
    vector = vectors[:, np.abs(values - 1).argmin()].real
    np.testing.assert_allclose(law.mid, vector / vector.sum(), rtol=0, atol=law.radius.max() + 1e-13)
    assert law.radius.max() < 1e-12


def test_stationary_law_of_a_slow_chain_is_off_by_many_times_what_its_rows_are():
    slow, off = 2.0**-10, 2.0**-30  # the other chain has rows that differ by 2**-30 in total variation
    law = stationary_law(within([[1 - slow, slow], [slow, 1 - slow]], off))
    bound = float(law.radius.max())
    there = [Fraction(slow) - Fraction(off), Fraction(slow) + Fraction(off)]
    apart = abs(there[0] / sum(there) - Fraction(1, 2))
    assert apart == Fraction(off) / (2 * Fraction(slow))
    assert apart <= Fraction(bound) <= Fraction(1001, 1000) * apart


def test_means_move_by_no_more_than_the_law():
    rows = np.random.default_rng(2).dirichlet(np.ones(12), size=12)
    values = np.stack([np.arange(12.0), np.ones(12)], axis=1)
    law = stationary_law(within(rows, 1e-9 * rows))
    found = stationary_means(within(rows, 1e-9 * rows), values)
    assert stationary_means(rows, values) in found
    assert found[1].width <= 1e-14
    assert 5.5 * law.radius.max() < 0.5 * found[0].width < 11.5 * law.radius.max()


def test_spectrum_of_weights_that_are_off_by_their_error():
    rows = np.array([[0.75, 0.25], [0.25, 0.75]])
    found = chain_spectrum(rows * (1.0 + 2.0**-20) / Interval(1.0 - 2.0**-20, 1.0 + 2.0**-20))
    off, error = np.abs(found.mid - [1.0, 0.5]).max(), found.radius.max()
    assert 0.99 * error <= off <= error


def test_spectrum_of_weights_that_are_exact():
    """Of the walk around a heptagon, which has cosines for eigenvalues: what is left is rounding."""
    found = chain_spectrum(exact((np.roll(np.eye(7), 1, axis=0) + np.roll(np.eye(7), -1, axis=0)) / 2.0))
    with mpmath.workdps(30):
        cosines = sorted((mpmath.cos(2 * mpmath.pi * k / 7) for k in range(7)), reverse=True)
        off = max(float(abs(mpmath.mpf(a) - b)) for a, b in zip(found.mid.tolist(), cosines, strict=True))
    assert 1e-17 < off <= found.radius.max()


def test_a_chain_that_does_not_mix_is_not_bounded():
    assert np.isinf(stationary_law(exact(np.eye(3))).radius).all()
    assert np.isinf(stationary_law(exact([[0.0, 1.0], [1.0, 0.0]])).radius).all()


def test_spectrum_of_a_reversible_chain():
    rng = np.random.default_rng(3)
    x = rng.normal(size=12)
    kernel = np.exp(-((x[:, np.newaxis] - x) ** 2)) * rng.uniform(0.5, 1.0, 12)
    rows = kernel / kernel.sum(axis=1, keepdims=True)
    found = chain_spectrum(rows)
    general = np.sort(np.linalg.eigvals(rows).real)[::-1]
    np.testing.assert_allclose(found, general, rtol=0, atol=1e-12)
    assert found[0] == pytest.approx(1.0, rel=0, abs=1e-14)


def fourier(b, wells, modes=60):
    """Rates by a general eigenvalue solver on -h'' + 2 b m sin(mx) h' in Fourier modes: not the symmetric form."""
    k = np.arange(-modes, modes + 1)
    matrix = np.diag(k.astype(float) ** 2).astype(complex)
    for j, frequency in enumerate(k):  # 2 b m sin(mx) (i k e^(ikx)) = b m k (e^(i(k+m)x) - e^(i(k-m)x))
        for step, sign in ((wells, 1.0), (-wells, -1.0)):
            if 0 <= j + step < k.size:
                matrix[j + step, j] += sign * b * wells * frequency
    return np.sort(np.linalg.eigvals(matrix).real)


@pytest.mark.parametrize(("b", "wells"), [(Fraction(1, 2), 1), (1, 2), (2, 2), (1, 3)])
def test_rates_against_another_form(b, wells):
    rates = fourier(float(b), wells)
    found = sorted(
        (relaxation_rate(b, index, wells=wells, sector=s) for s in range(wells) for index in range(2)),
        key=lambda r: r.mid,
    )[: wells + 1]
    for interval, value in zip(found, rates[: wells + 1], strict=True):
        assert interval.lo - 1e-9 <= value <= interval.hi + 1e-9
        assert interval.width <= 1e-6
    for level in (0.05, 3.0, 20.0):
        counts = [count_rates(Fraction(level), b, wells=wells, sector=s) for s in range(wells)]
        assert sum(least for least, _ in counts) == sum(most for _, most in counts) == int((rates < level).sum())


def test_few_modes_leave_the_count_open():
    least, most = count_rates(Fraction(1, 10**6), 8, sector=1, modes=5)
    assert least == 0 < most


def test_scaled():
    found = scale_rate(Interval.exactly(2), 3, Fraction(1, 2))
    assert found.lo <= 2 * math.exp(1.5) <= found.hi
    assert found.kind is Kind.CERTIFIED
    assert found.width < 1e-14


def test_bad_input():
    with pytest.raises(ValueError, match="rows: expected weights"):
        stationary_law(np.ones((2, 2)))
    with pytest.raises(ValueError, match="rows: expected weights"):
        chain_spectrum(np.array([[1.5, -0.5], [0.5, 0.5]]))
    with pytest.raises(ValueError, match="rows"):
        stationary_law(np.ones((2, 3)) / 3)
    with pytest.raises(ValueError, match="sector: expected a number below 2"):
        count_rates(1, 1, sector=2)
    with pytest.raises(ValueError, match="height: expected a positive"):
        relaxation_rate(0)
    with pytest.raises(TypeError, match="height: expected an integer or a Fraction"):
        relaxation_rate(0.5)
    with pytest.raises(ValueError, match="modes"):
        count_rates(1, 1, modes=2)


def test_eigenvalues_of_exact_weights_are_off_by_the_rounding_of_the_solver():
    rows = np.full((32, 32), 2.0**-5)  # one eigenvalue is one, the others are zero
    found = chain_spectrum(exact(rows))
    off = float(np.abs(found.mid - np.eye(32)[0]).max())
    error = float(found.radius.max())
    assert 1e-3 * error < off <= error < 1e-12


def test_counts_of_few_modes_hold_for_all_of_them():
    missed = 0
    for level in (Fraction(k, 8) for k in range(1, 160)):
        exact = count_rates(level, 2, wells=1)
        least, most = count_rates(level, 2, wells=1, modes=4)
        assert least <= exact[0] <= exact[1] <= most
        missed += least < exact[0]
    assert missed  # there are levels at which frequencies that are left out matter
