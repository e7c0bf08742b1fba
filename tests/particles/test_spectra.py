"""The Jacobian on the sphere against power series of the fields as printed, and eigenvalues against exact ones."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from theory.evidence.enclosure import ball, balls, coefficient, ends, precision, variable
from theory.particles.dynamics import twisted_balls
from theory.particles.exact import spectrum, sphere_jacobian

RNG = np.random.default_rng(11)
FORM, VALUE = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
ADJACENCY = np.array([[0.0, 1.0, 0.5, 0.0], [1.0, 0.0, 2.0, 0.25], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 3.0, 0.0]])


@pytest.fixture(autouse=True)
def enough():
    with precision():
        yield


def unit(tokens):
    x = balls(tokens)
    return x / np.frompyfunc(lambda s: s.sqrt(), 1, 1)((x * x).sum(axis=1))[:, np.newaxis]


def velocity(x, *, beta=1.0, form=None, value=None, normalised=True, causal=False, adjacency=None):
    """The field as it is printed, of balls or series."""
    n, d = x.shape
    b, v = (balls(np.eye(d) if m is None else m) for m in (form, value))
    out = []
    for i in range(n):
        seen = range(i + 1) if causal else range(n)
        raw = [(x[i] @ b @ x[j] * ball(beta)).exp() for j in seen]
        mass = [ball(1.0 if adjacency is None else adjacency[i, j]) for j in seen]
        weights = [m * w for m, w in zip(mass, raw, strict=True)]
        total = sum(weights[1:], weights[0]) if normalised else ball(n if adjacency is None else 1)
        mean = [sum(w * x[j, k] for w, j in zip(weights, seen, strict=True)) / total for k in range(d)]
        y = [sum(v[k, m] * mean[m] for m in range(d)) for k in range(d)]
        along = sum(x[i, k] * y[k] for k in range(d))
        out.append([y[k] - along * x[i, k] for k in range(d)])  # a bare series would be read as a sequence
    return out


def frame(x):
    """A frame by Gram and Schmidt, other than the one under test, but spanning the same space."""
    q, _ = np.linalg.qr(np.column_stack([x, np.eye(x.size)[:, : x.size - 1]]))
    return q[:, 1:]


@pytest.mark.parametrize(
    "options",
    [{}, {"beta": -2.0}, {"form": FORM, "causal": True}, {"normalised": False, "beta": 1.5},
     {"value": VALUE, "form": FORM},
     {"adjacency": ADJACENCY, "normalised": False, "beta": 0.0}, {"adjacency": ADJACENCY, "beta": 2.0}],
)  # fmt: skip
def test_the_jacobian_is_the_derivative_of_the_field(options):
    """Eigenvalues do not see the frame, so the whole spaces are compared: E J E^T against the projected derivative."""
    tokens = RNG.normal(size=(4, 3))
    x = unit(tokens)
    floats, _ = ends(x)
    found, _ = ends(sphere_jacobian(tokens, **options))
    reflected = []
    for token in floats:
        mirror = token + np.copysign(1.0, token[0]) * np.eye(3)[0]
        reflected.append((np.eye(3) - 2.0 * np.outer(mirror, mirror) / (mirror @ mirror))[:, 1:])
    for j in range(4):
        for step in frame(floats[j]).T:
            move = np.zeros(x.shape)
            move[j] = step
            moved = x + balls(move) * variable(2)
            derivative = np.array([[float(coefficient(e, 1).mid()) for e in row] for row in velocity(moved, **options)])
            for i in range(4):
                claimed = reflected[i].T @ derivative[i]
                block = found.reshape(4, 2, 4, 2)[i, :, j, :]
                np.testing.assert_allclose(block @ (reflected[j].T @ step), claimed, rtol=0, atol=1e-13)


def test_eigenvalues_of_exact_matrices():
    distinct = balls(np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]))
    for found, exact in zip(spectrum(distinct), (1.0, 2.0, 4.0), strict=True):
        assert exact in found
        assert found.width < 1e-13
    multiple = balls(np.diag([0.0, 0.0, 0.0]) - np.eye(3) + np.full((3, 3), 1.0))
    assert [exact in found for found, exact in zip(spectrum(multiple), (-1.0, -1.0, 2.0), strict=True)] == [True] * 3
    triangular = balls(np.array([[-1.0, 0.0, 0.0], [0.5, -2.0, 0.0], [0.25, 0.5, -2.0 - 2.0**-3]]))
    assert [found.width < 1e-12 for found in spectrum(triangular)] == [True] * 3


def test_the_width_of_the_entries_is_in_the_eigenvalues():
    wide = balls(np.diag([1.0, 2.0])) * ball(1).union(ball(1.01))
    low, high = spectrum(wide)
    assert low.lo <= 1.0
    assert low.hi >= 1.01
    assert high.lo <= 2.0
    assert high.hi >= 2.02


def test_eigenvalues_nearer_than_their_discs_are_listed_together():
    wide = balls(np.diag([1.0, 1.005])) * ball(1).union(ball(1.01))
    low, high = spectrum(wide)
    assert (low.lo, low.hi) == (high.lo, high.hi)
    assert low.lo <= 1.0
    assert low.hi >= 1.015


@pytest.mark.parametrize("which", ["vectors", "inverse"])
def test_a_rough_diagonalisation_still_encloses_the_eigenvalues(which, monkeypatch):
    module = import_module("theory.particles.exact.spectra")
    noise = 1e-3 * np.random.default_rng(3).uniform(-1.0, 1.0, size=(3, 3))
    exact = np.array([-1.0, 0.5, 2.0])
    inverted = np.linalg.inv
    turned = module._eigenvectors
    frame = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    if which == "vectors":
        monkeypatch.setattr(module, "_eigenvectors", lambda matrix: turned(matrix) + noise)
    else:  # an inverse that is a thousandth too large shifts every eigenvalue by a thousandth
        monkeypatch.setattr(np.linalg, "inv", lambda matrix: 1.001 * inverted(matrix))
    found = spectrum(balls(frame * exact @ frame.T))
    for interval, value in zip(found, exact, strict=True):
        assert interval.lo - 1e-14 <= value <= interval.hi + 1e-14
    assert max(interval.width for interval in found) > 1e-4
    assert max(abs(interval.mid - v) / interval.width for interval, v in zip(found, exact, strict=True)) > 1e-4


def test_where_all_see_all_the_twisted_state_is_unstable_on_the_circle_too():
    largest = spectrum(sphere_jacobian(twisted_balls(10, 1), beta=1.0))[-1]
    assert 0.25 <= largest.lo <= largest.hi <= 1.0


def test_bad_input():
    with pytest.raises(ValueError, match=r"tokens: expected directions, got the origin"):
        sphere_jacobian(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"tokens: expected shape \(n, d >= 2\), got shape \(2, 1\)"):
        sphere_jacobian(np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"form: expected shape \(3, 3\), got shape \(2, 2\)"):
        sphere_jacobian(np.ones((2, 3)), form=np.eye(2))
    with pytest.raises(ValueError, match=r"adjacency: expected a neighbour of every token, got an empty row"):
        sphere_jacobian(np.ones((2, 3)), adjacency=np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"matrix: expected a square one, got shape \(2, 3\)"):
        spectrum(balls(np.ones((2, 3))))
    with pytest.raises(ArithmeticError, match="expected real eigenvalues, got complex ones"):
        spectrum(balls(np.array([[0.0, 1.0], [-1.0, 0.0]])))


def test_a_defective_matrix_has_wide_and_valid_intervals():
    for found in spectrum(balls(np.array([[1.0, 0.5], [0.0, 1.0]]))):
        assert found.lo <= 1.0 <= found.hi
        assert found.width >= 0.5
