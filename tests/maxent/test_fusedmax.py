"""The taut string against every cut in rational arithmetic, fusedmax against its certificate, its derivative, masks."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from tests.maxent import oracle
from theory.evidence import stream
from theory.maxent import entmax, fusedmax, fusedmax_vjp, sparsemax
from theory.maxent.sparse import total_variation_prox

U = 2.0**-53
ORDERS = (0.5, 1.0, 1.5, 2.0)


@pytest.mark.parametrize("strength", [0.0, 0.05, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
def test_prox_is_the_best_of_all_cuts(n, strength):
    for case in range(4):
        row = stream(f"tests.fusedmax.prox.{n}", case).normal(size=n)
        truth = oracle.total_variation_prox(row, strength)
        size = np.abs(row).max() + strength
        assert oracle.rationally_apart(total_variation_prox(row, strength), truth) <= 16 * n * U * size


@given(arrays(np.float64, 6, elements=st.integers(-4, 4).map(float)), st.integers(0, 6).map(lambda k: k / 4))
def test_prox_on_ties_and_corners(row, strength):
    """Small integers put the gates on the rays exactly."""
    truth = oracle.total_variation_prox(row, strength)
    assert oracle.rationally_apart(total_variation_prox(row, strength), truth) <= 256 * U


def subgradient(s, x, strength):
    """Return the multipliers u of a row, zero outside, that its optimality demands: x = s + strength * diff(u)."""
    return np.concatenate([[0.0], np.cumsum(x - s)]) / strength


@pytest.mark.parametrize("n", [2, 40, 1000])
def test_prox_of_long_rows_by_its_certificate(n):
    """Every multiplier is within [-1, 1], and is 1 where the row rises to its right neighbour, -1 where it falls."""
    rng = stream("tests.fusedmax.long", n)
    rows = np.concatenate([rng.normal(size=(6, n)), np.cumsum(rng.normal(size=(6, n)), axis=1)])
    strength = 0.7
    for row, x in zip(rows, total_variation_prox(rows, strength), strict=True):
        u = subgradient(row, x, strength)
        rounding = 8 * n * U * n * np.abs(row).max() / strength
        assert abs(u[-1]) <= rounding
        assert np.abs(u).max() <= 1.0 + rounding
        jumps = np.flatnonzero(np.diff(x) != 0.0)
        assert np.abs(u[jumps + 1] - np.sign(np.diff(x))[jumps]).max(initial=0.0) <= rounding


def test_known_values():
    assert np.array_equal(total_variation_prox([0.0, 1.0], 0.25), [0.25, 0.75])
    assert np.array_equal(total_variation_prox([0.0, 1.0], 0.5), [0.5, 0.5])
    assert np.array_equal(total_variation_prox([3.0], 9.0), [3.0])
    assert np.array_equal(total_variation_prox([1.0, 5.0, 1.0, 1.0], 1.0), [2.0, 3.0, 1.5, 1.5])
    assert np.abs(fusedmax([0.4, 0.3, 0.0], 0.0) - sparsemax([0.4, 0.3, 0.0])).max() <= 8 * U
    assert np.array_equal(fusedmax([1.0, 9.0, -3.0], 1e6), np.full(3, fusedmax([1.0, 9.0, -3.0], 1e6)[0]))


@pytest.mark.parametrize("alpha", ORDERS)
def test_certificate(alpha):
    """No vertex and no neighbouring law is better: F(p) against the dual bound built from the same multipliers."""
    for case in range(8):
        s = stream("tests.fusedmax.certificate", case).normal(size=8)
        strength, tau = 0.2, 0.7
        p = fusedmax(s, strength, alpha=alpha, tau=tau)
        x = total_variation_prox(s, strength)
        u = subgradient(s, x, strength)[1:-1]
        # u is a subgradient of the variation at p: the penalty is linear there
        assert abs(np.abs(np.diff(p)).sum() - u @ np.diff(p)) <= 256 * U
        floor = float(p[p > 0.0].min())
        steep = 1.0 if alpha >= 2.0 else floor ** (alpha - 2.0)
        assert oracle.certificate(x, p, alpha, tau) <= 1024 * U * steep


def test_objective_beats_random_laws():
    """A plain comparison of values, which uses nothing of the method."""
    rng = stream("tests.fusedmax.random", 0)
    s = rng.normal(size=5)

    def objective(p):
        return p @ s + 0.5 * (1.0 - (p**2).sum(axis=-1)) - 0.3 * np.abs(np.diff(p)).sum(axis=-1)

    best = fusedmax(s, 0.3)
    near = np.concatenate(
        [rng.dirichlet(np.ones(5), size=2000), 0.999 * best + 0.001 * rng.dirichlet(np.ones(5), 2000)]
    )
    assert objective(near).max() <= objective(best) + 64 * U


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_derivative(alpha):
    s = np.array([0.5, 0.45, -0.2, 1.0, 0.9, 0.3])
    strength, tau = 0.15, 0.8
    p = fusedmax(s, strength, alpha=alpha, tau=tau)
    x = total_variation_prox(s, strength)
    label = np.cumsum(np.concatenate([[True], np.diff(x) != 0.0])) - 1
    assert label.max() < 5  # some entries are fused, else the test would say nothing
    for c in np.eye(6):
        with mp.workdps(oracle.DIGITS):

            def law(given):
                runs = [[v for v, k in zip(given, label, strict=True) if k == r] for r in range(label.max() + 1)]
                base = [[v for v, k in zip(oracle.exactly(s), label, strict=True) if k == r] for r in range(len(runs))]
                means = [mp.fsum(a) / len(a) - mp.fsum(b) / len(b) for a, b in zip(runs, base, strict=True)]
                moved = [v + means[k] for v, k in zip(oracle.exactly(x), label, strict=True)]
                return oracle.entmax_of(moved, mp.mpf(alpha), mp.mpf(tau))

            slope = oracle.derivative(law, oracle.exactly(s), oracle.exactly(c))
        assert oracle.apart(fusedmax_vjp(p, c, alpha=alpha, tau=tau), slope) <= 4096 * U


def test_derivative_by_differences_of_the_map_itself():
    s = np.array([0.5, 0.45, -0.2, 1.0, 0.9, 0.3])
    c = np.array([0.3, -1.0, 0.5, 0.2, 0.9, -0.4])
    step = 2.0**-20
    moved = (fusedmax(s + step * c, 0.15) - fusedmax(s - step * c, 0.15)) / (2 * step)  # piecewise linear: no curvature
    assert np.abs(fusedmax_vjp(fusedmax(s, 0.15), c) - moved).max() <= 64 * U / step


def test_masked_entries_leave_the_sequence():
    s = np.array([0.5, -math.inf, 0.4, 1.0, -math.inf, -math.inf, 0.2])
    here = s > -math.inf
    found = fusedmax(s, 0.2, alpha=1.5)
    assert np.array_equal(found[here], fusedmax(s[here], 0.2, alpha=1.5))
    assert not found[~here].any()
    prox = total_variation_prox(s, 0.2)
    assert np.all(prox[~here] == -math.inf)
    assert np.array_equal(prox[here], total_variation_prox(s[here], 0.2))
    c = np.arange(7.0)
    product = fusedmax_vjp(found, c, alpha=1.5, mask=here)
    assert np.array_equal(product[here], fusedmax_vjp(found[here], c[here], alpha=1.5))
    assert not product[~here].any()
    assert not fusedmax(np.full((2, 3), -math.inf), 0.5).any()


def test_batches():
    scores = stream("tests.fusedmax.batch", 0).normal(size=(4, 9, 3))
    strength = np.array([0.0, 0.1, 1.0])
    alpha = np.array([[1.0], [2.0], [1.5], [0.5]])
    found = fusedmax(scores, strength, alpha=alpha, tau=0.5, axis=1)
    c = stream("tests.fusedmax.batch", 1).normal(size=scores.shape)
    product = fusedmax_vjp(found, c, alpha=alpha, tau=0.5, axis=1)
    for i, j in np.ndindex(4, 3):
        alone = fusedmax(scores[i, :, j], strength[j], alpha=alpha[i, 0], tau=0.5)
        assert np.abs(found[i, :, j] - alone).max() <= 64 * U
        one = fusedmax_vjp(found[i, :, j], c[i, :, j], alpha=alpha[i, 0], tau=0.5)
        assert np.abs(product[i, :, j] - one).max() <= 64 * U * np.abs(c).max() * 9
    assert np.array_equal(
        fusedmax(scores.astype(np.float32), 0.1), fusedmax(scores.astype(np.float32).astype(float), 0.1)
    )


def test_order_of_operations_matters():
    """The prox after the projection is another map, and so is entmax alone."""
    s = np.array([0.5, 0.45, -0.2, 1.0, 0.9, 0.3])
    assert np.abs(fusedmax(s, 0.15) - total_variation_prox(sparsemax(s), 0.15)).max() > 0.01
    assert np.abs(fusedmax(s, 0.15, alpha=1.5) - entmax(s, 1.5)).max() > 0.01
