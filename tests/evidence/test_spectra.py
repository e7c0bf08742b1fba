"""Singular values and eigenvalues lie in their enclosures, of exact matrices and of wide ones."""

import numpy as np
import pytest

from theory.evidence import Intervals, exact, stream
from theory.evidence.spectra import eigenvalues, exact_rank, singular_values, spectral_norm

ROTATION = np.array([[3.0, -4.0], [4.0, 3.0]]) / 5.0


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (4, 4)])
def test_known_singular_values(shape):
    rng = stream("tests.spectra", sum(shape))
    signs = rng.choice([-1.0, 1.0], size=shape[0])
    matrix = np.eye(*shape) * np.arange(1.0, shape[1] + 1.0) * signs[:, np.newaxis]
    found = singular_values(matrix)
    assert np.arange(1.0, min(shape) + 1.0)[::-1] in found
    assert found.width.max() < 1e-12


@pytest.mark.parametrize("case", range(5))
def test_of_a_wide_matrix_every_member_is_held(case):
    rng = stream("tests.spectra.wide", case)
    middle = rng.normal(size=(4, 3))
    held = singular_values(Intervals(middle - 0.01, middle + 0.01))
    for _ in range(20):
        member = middle + rng.choice([-0.01, 0.01], size=(4, 3))
        assert (held.lo <= np.linalg.svd(member)[1] + 1e-14).all()
        assert (held.hi >= np.linalg.svd(member)[1] - 1e-14).all()
    assert held.width.max() <= 2.0 * 0.01 * np.sqrt(12.0) + 1e-12


def test_a_singular_matrix_is_seen():
    found = singular_values(np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0]))
    assert found.lo.tolist()[1:] == [0.0, 0.0]
    assert 25.0 in spectral_norm(np.outer([3.0, 4.0], [3.0, 4.0]))


def test_known_eigenvalues():
    turned = exact(ROTATION) @ np.diag([-2.0, 7.0]) @ ROTATION.T
    found = eigenvalues(turned)
    assert np.array([-2.0, 7.0]) in found
    assert found.width.max() < 1e-12


def test_what_is_no_matrix():
    with pytest.raises(ValueError, match=r"^matrix: expected shape \(m, n\), got shape \(3,\)"):
        singular_values([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"^matrix: expected a square one, got shape \(2, 3\)"):
        eigenvalues(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        ([[0.0, 0.0], [0.0, 0.0]], 0),
        ([[0.0, 1.0], [0.0, 2.0]], 1),
        ([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]], 2),
        (np.outer([1, 2, 3], [0.1, 0.2, 0.4]), 1),
        ([[0.1, 0.3], [1, 3]], 2),  # three times a tenth is no three tenths
    ],
)
def test_ranks_are_exact(matrix, rank):
    assert exact_rank(matrix) == rank


def test_integers_beside_floats_keep_their_digits():
    assert exact_rank([[2**53 + 1, 0.5], [2**53, 0.5]]) == 2
