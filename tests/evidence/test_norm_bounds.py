"""Upper bounds of norms: nearly the norms, and with their rounding."""

import numpy as np
import pytest

from theory.evidence import Intervals, exact, norm, norm_bounds as bounds
from theory.evidence.norm_bounds import norm_bound, norm_bounds


def test_norms_of_many_matrices_are_bounded_nearly():
    rng = np.random.default_rng(4)
    for shape in ((6, 3, 3), (6, 2, 5), (6, 5, 2), (1, 1, 1)):
        for size in (1.0, 1e-150, 1e150):
            matrices = size * rng.normal(size=shape)
            truth = np.linalg.norm(matrices, 2, axis=(1, 2))
            found = norm_bounds(matrices)
            assert (truth * (1.0 - 1e-14) <= found).all()
            assert (found <= truth * 2.0 ** (1.0 / 16.0)).all()
    assert norm_bounds(np.zeros((2, 3, 3))).max() < 1e-100
    wide = Intervals(-np.ones((1, 2, 2)), np.ones((1, 2, 2)))
    assert 2.0 <= norm_bounds(wide)[0] <= 2.1  # all ones are among them
    for wrong in (np.ones((2, 2)), np.ones((0, 2, 2))):
        with pytest.raises(ValueError, match="matrices: expected shape"):
            norm_bounds(wrong)


def test_norms_of_many_matrices_charge_their_rounding():
    """A rank of one leaves nothing over but rounding, of products with eleven terms that are no floats."""
    vector = np.sqrt(np.arange(1.0, 12.0)) / 3.0
    for scale in np.linspace(1.0, 2.0, 50):
        matrix = exact(scale * vector)[:, np.newaxis] * vector
        truth = norm(exact(scale * vector)) * norm(exact(vector))
        assert norm_bounds(matrix[np.newaxis])[0] >= truth.lo
        assert norm_bounds(matrix[np.newaxis])[0] <= truth.hi * (1.0 + 1e-13)
    many = norm_bounds(np.ones((1, 200, 1)))[0]  # two hundred roundings of the square, and a few of its powers
    assert 1.0 + 100.0 * 2.0**-53 <= many / np.sqrt(200.0) <= 1.0 + 120.0 * 2.0**-53


def test_the_norm_of_a_large_matrix_is_confirmed():
    rng = np.random.default_rng(5)
    for shape in ((30, 30), (50, 20), (20, 50)):
        for size in (1.0, 1e-200, 1e200):
            matrix = size * rng.normal(size=shape)
            truth = np.linalg.norm(matrix, 2)
            assert truth * (1.0 - 1e-13) <= norm_bound(matrix) <= truth * 1.01
    assert norm_bound(np.zeros((3, 2))) == 0.0
    assert norm_bound([[0.0, 2.0]]) == pytest.approx(2.0, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("n", [2, 7, 40, 150])
def test_what_cholesky_lets_pass_is_charged(n, monkeypatch):
    """At the least level at which the algorithm ends, which rounding may put below the norm, the bound still holds."""
    matrix = np.ones((n, n))  # of the norm n, and with a square that is exact
    monkeypatch.setattr(bounds, "_SWEEPS", 3)
    low, high = -1e-3, 1e-3
    for _ in range(60):
        middle = (low + high) / 2.0
        monkeypatch.setattr(bounds, "_MARGINS", (middle,))
        low, high = (low, middle) if norm_bound(matrix) < np.inf else (middle, high)
    monkeypatch.setattr(bounds, "_MARGINS", (high,))
    assert n <= norm_bound(matrix) <= n * (1.0 + 1e-9)


def test_cholesky_is_charged_as_the_lemma_says(monkeypatch):
    """The level is twice the square of the norm, so that the trace of what is positive is known."""
    n, u = 500, 2.0**-53
    matrix = np.zeros((n, n))
    matrix[0, 0] = 0.5  # of this size no entry is scaled
    monkeypatch.setattr(bounds, "_MARGINS", (1.0,))
    trace, whole, unit = 0.25 + (n - 1) * 0.5, 0.25, norm_bound(matrix) ** 2
    lost = (n + 2) * u * (trace + whole) + 8.0 * u * 0.5
    assert unit - 0.5 == pytest.approx(lost, rel=1e-2, abs=0.0)
