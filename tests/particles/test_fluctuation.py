"""Closed forms and exact finite-n moments of one attention output, against enumerations and other routes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from theory import Measure
from theory.attention import gaussian
from theory.evidence import Kind
from theory.particles.mean_field import (
    OutputMoments,
    atomic_moments,
    delta_method,
    gaussian_fluctuation,
    gaussian_moments,
    participation,
    self_normalised,
)

ATOMS = Measure([[0.0, 1.0], [1.0, 0.0], [0.5, -1.0]], [0.2, 0.5, 0.3])
TILT = np.array([1.0, 0.3])


def enumerated(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return n times bias, covariance and mean sum of squares, from all ways to draw n keys of three kinds."""
    weights = np.exp(ATOMS.points @ TILT)
    centre = (ATOMS.weights * weights) @ ATOMS.points / (ATOMS.weights @ weights)
    mean = np.zeros(2)
    second = np.zeros((2, 2))
    squares = 0.0
    for i, j in itertools.product(range(n + 1), repeat=2):
        if i + j <= n:
            counts = np.array([i, j, n - i - j])
            ways = math.factorial(n) // math.prod(math.factorial(int(c)) for c in counts)
            chance = ways * math.prod(float(m) ** int(c) for m, c in zip(ATOMS.weights, counts, strict=True))
            p = weights / (counts @ weights)
            off = (counts * p) @ ATOMS.points - centre
            mean += chance * off
            second += chance * np.outer(off, off)
            squares += chance * float(counts @ p**2)
    return n * mean, n * (second - np.outer(mean, mean)), n * squares


def middles(found: OutputMoments) -> tuple[np.ndarray, np.ndarray, float]:
    rows = [[entry.mid for entry in row] for row in found.covariance]
    return np.array([entry.mid for entry in found.bias]), np.array(rows), found.participation.mid


@pytest.mark.parametrize("n", [8, 13, 30])
def test_moments_are_those_of_all_draws(n: int) -> None:
    (found,) = atomic_moments(ATOMS, TILT, [n])
    assert found.participation.kind is Kind.CERTIFIED
    assert max(entry.width for row in found.covariance for entry in row) < 1e-14
    for seen, expected in zip(middles(found), enumerated(n), strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-12, atol=1e-14)


def test_a_gaussian_is_the_limit_of_lattices() -> None:
    lattice = gaussian([0.0], [[1.0]])
    both = gaussian_moments([[1.0]], [0.8], [8, 400]), atomic_moments(lattice, [0.8], [8, 400])
    for mine, other in zip(*both, strict=True):
        for seen, expected in zip(middles(mine), middles(other), strict=True):
            np.testing.assert_allclose(seen, expected, rtol=1e-11, atol=0.0)


def test_planar_moments_are_those_of_a_planar_lattice() -> None:
    root = np.array([[0.9, 0.0], [0.3, 0.5]])
    found, other = (
        middles(law(form, [0.4, -0.6], [50])[0])
        for law, form in ((gaussian_moments, root @ root.T), (atomic_moments, coarse(root)))
    )
    for seen, expected in zip(found, other, strict=True):
        np.testing.assert_allclose(seen, expected, rtol=2e-6, atol=1e-7)


def coarse(root: np.ndarray) -> Measure:
    """A lattice of unit step: few atoms, and the Gaussian up to 2 exp(-2 pi^2) = 5e-9 times powers of the tilt."""
    axis = np.arange(-7.0, 8.0)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return Measure.normalised(grid @ root.T, np.exp(-0.5 * (grid**2).sum(axis=1)))


@pytest.mark.parametrize(("p", "n"), [(0.1, 8), (0.4, 400), (2.0, 1000), (3.0, 8), (3.0, 10**6), (4.0, 10**3)])
def test_participation_is_that_of_the_balls(p: float, n: int) -> None:
    seen = participation(p, n)
    expected = gaussian_moments([[1.0]], [p], [n])[0].participation / n
    assert seen.kind is Kind.NUMERIC
    assert seen.lo <= expected.hi
    assert expected.lo <= seen.hi
    assert seen.width < 1e-10 * seen.mid


def test_participation_of_many_keys_is_that_of_the_delta_method() -> None:
    found = participation(1.0, 2**200)
    assert found.lo <= math.exp(1.0 - 200 * math.log(2.0)) * (1 + 1e-12)
    assert found.hi >= math.exp(1.0 - 200 * math.log(2.0)) * (1 - 1e-12)


def test_limits_of_a_law_are_second_moments_of_squared_weights() -> None:
    w = ATOMS.weights * np.exp(ATOMS.points @ TILT)
    p = w / w.sum()
    off = ATOMS.points - p @ ATOMS.points
    squared = p**2 / ATOMS.weights
    found = delta_method(ATOMS, TILT)
    np.testing.assert_allclose(found.covariance, (off.T * squared) @ off, rtol=1e-13, atol=0.0)
    np.testing.assert_allclose(found.bias, -squared @ off, rtol=1e-13, atol=0.0)


def test_limits_of_a_gaussian_are_those_of_its_lattice() -> None:
    root = np.array([[0.9, 0.0], [0.3, 0.5]])
    tilt = [0.4, -0.6]
    for seen, expected in zip(
        gaussian_fluctuation(root @ root.T, tilt), delta_method(gaussian([5.0, -3.0], root), tilt), strict=True
    ):
        np.testing.assert_allclose(seen, expected, rtol=1e-10, atol=1e-12)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="sizes: expected an integer of at least 8, got 7"):
        atomic_moments(ATOMS, TILT, [7])
    with pytest.raises(ValueError, match="tilt: expected shape"):
        atomic_moments(ATOMS, [1.0], [8])
    with pytest.raises(ValueError, match="covariance: expected a symmetric, positive definite matrix"):
        gaussian_moments([[1.0, 2.0], [2.0, 1.0]], [1.0, 0.0], [8])
    with pytest.raises(ValueError, match="tilt: expected a direction"):
        gaussian_moments([[1.0]], [0.0], [8])
    with pytest.raises(ValueError, match="tilt"):
        participation(0.0, 10)
    with pytest.raises(ValueError, match="keys: expected an integer of at least 8"):
        participation(1.0, 4)
    with pytest.raises(ValueError, match="tilt: expected shape"):
        delta_method(ATOMS, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="covariance: expected shape"):
        gaussian_fluctuation([[1.0]], [1.0, 2.0])


@pytest.mark.parametrize(("name", "value"), [("_STEP", 0.9), ("_SMALL", 8.0)])
def test_a_coarse_rule_still_holds_the_moments(name: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few nodes, or ends that leave much: both are in the width, and hardly anything else is."""
    (fine,) = gaussian_moments([[1.0]], [0.8], [400])
    monkeypatch.setattr(self_normalised, name, value)
    (coarse,) = gaussian_moments([[1.0]], [0.8], [400])
    for seen, truth in ((coarse.participation, fine.participation), (coarse.covariance[0][0], fine.covariance[0][0])):
        assert seen.lo <= truth.lo
        assert truth.hi <= seen.hi
        assert abs(seen.mid - truth.mid) > 1e6 * truth.width
