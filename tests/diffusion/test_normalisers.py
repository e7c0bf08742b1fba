"""Normalisations against dense linear algebra and power series, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest

from theory.attention import SquaredDistance
from theory.attention.sinkhorn import doubly_normalised
from theory.diffusion import (
    CircleDensity,
    PeriodicGrid,
    balance_tokens,
    chordal,
    convolve,
    convolve_reweighted,
    heat_multiplier,
)
from theory.diffusion.layers import asymmetry, velocity_field
from theory.diffusion.layers.gradient_flow import _solved
from theory.diffusion.limits import balance_error, sinkhorn_change, sweep_law
from theory.diffusion.limits.normalisers import balance_law
from theory.evidence import exact, within
from theory.evidence.enclosure import ball, balls

GRID = PeriodicGrid((64,))
X = GRID.axes[0]
P = CircleDensity([0.8, 0.0], [0.0, 0.3])(X)
H = np.sin(X)
HEAT = heat_multiplier(0.1)
RNG = np.random.default_rng(5)


def dense():
    """The kernel as a matrix that acts on functions."""
    return GRID.matrix(lambda v: GRID.multiply(v, HEAT))


def test_weights_against_a_dense_matrix():
    kernel = dense()
    masses = P * (kernel @ P) ** -0.7
    expected = (kernel @ (masses * H)) / (kernel @ masses)
    np.testing.assert_allclose(convolve_reweighted(GRID, P, H, HEAT, alpha=0.7), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        convolve_reweighted(GRID, P, H, HEAT, alpha=0.0), convolve(GRID, P, H, HEAT), rtol=0, atol=1e-15
    )


def test_balanced_law_against_the_dense_iteration():
    kernel = dense()
    right = np.ones(X.size)
    for _ in range(4000):
        left = 1.0 / (kernel @ (right * P))
        right = 1.0 / (kernel @ (left * P))
    expected = (kernel @ (right * P * H)) / (kernel @ (right * P))
    law, residual = balance_law(GRID, P, HEAT)
    assert residual < 1e-13
    np.testing.assert_allclose(law * GRID.multiply(law, HEAT), P, rtol=1e-12, atol=0)
    found, error = sinkhorn_change(GRID, P, H, HEAT)
    np.testing.assert_allclose(found, expected, rtol=0, atol=error + 1e-12)
    assert error < 1e-9


def test_a_law_that_is_not_balanced_yet_leaves_averages_inside(monkeypatch):
    exact, _ = sinkhorn_change(GRID, P, H, HEAT)
    for steps in (2, 6, 12):
        monkeypatch.setattr(
            "theory.diffusion.limits.normalisers.balance_law",
            lambda *given, steps=steps: balance_law(*given, steps=steps),
        )
        found, error = sinkhorn_change(GRID, P, H, HEAT)
        off = float(np.abs(found - exact).max())
        assert 1e-4 * error < off <= error


def test_swept_law_against_the_dense_iteration():
    kernel = dense()
    right = np.ones(X.size)
    for sweeps in range(4):
        np.testing.assert_allclose(sweep_law(GRID, P, HEAT, sweeps), right * P, rtol=1e-12, atol=0)
        right = 1.0 / (kernel @ (P / (kernel @ (right * P))))


def test_tokens_are_balanced_and_the_error_is_bounded():
    x = RNG.normal(size=(30, 2))
    masses = RNG.uniform(0.5, 2.0, size=30)
    found = balance_tokens(x, score=SquaredDistance(2.0), weights=masses)
    assert found.residual < 1e-12
    np.testing.assert_allclose(found.key_weights @ found.rows() / found.key_weights, 1.0, rtol=1e-11, atol=0)
    slow = doubly_normalised(
        x, x, score=SquaredDistance(2.0), query_weights=masses, key_weights=masses, sweeps=20000, tolerance=1e-14
    )
    np.testing.assert_allclose(found.rows(), slow.rows(), rtol=0, atol=1e-11)
    few = balance_tokens(x, score=SquaredDistance(2.0), weights=masses, steps=8)  # stopped early: the bound must hold
    off = np.abs(few.output(x) - slow.output(x)).max(axis=1)
    assert off.max() > 1e-9
    assert (off <= balance_error(few, x)).all()
    assert (balance_error(few, x) <= 1e3 * off.max()).all()
    elsewhere = balance_error(few, x, x[:3] + 0.1)
    assert elsewhere.shape == (3,)


def test_bad_input_of_normalisers():
    with pytest.raises(ValueError, match="density: expected one that stays positive"):
        convolve_reweighted(GRID, -P, H, HEAT, alpha=0.5)
    with pytest.raises(ValueError, match="alpha"):
        convolve_reweighted(GRID, P, H, HEAT, alpha=float("nan"))
    with pytest.raises(ValueError, match="density: expected shape"):
        balance_law(GRID, P[:5], HEAT)
    with pytest.raises(ValueError, match="sweeps"):
        sweep_law(GRID, P, HEAT, -1)
    with pytest.raises(ValueError, match="weights: expected positive ones"):
        balance_tokens([[0.0], [1.0]], score=chordal(0.1), weights=[1.0, 0.0])


@pytest.mark.parametrize(
    ("normaliser", "sweeps"),
    [("unnormalised", None), ("softmax", None), ("sinkhorn", 0), ("sinkhorn", 2), ("sinkhorn", None)],
)
def test_derivative_of_the_field_against_differences(normaliser, sweeps):
    x = RNG.uniform(-1, 1, size=(4, 2))
    form = np.array([[1.0, 0.4], [-0.2, 0.7]])
    value = np.array([[0.5, 1], [0, 1.0]])

    def velocity(y):
        kernel = np.exp(y @ form @ y.T)
        right = np.ones(4)
        if normaliser == "unnormalised":
            return (kernel @ y @ value.T).ravel()
        for _ in range({"softmax": 0}.get(normaliser, 500 if sweeps is None else sweeps)):
            right = 1.0 / (kernel.T @ (1.0 / (kernel @ right)))
        p = kernel * right
        return ((p / p.sum(axis=1, keepdims=True)) @ y @ value.T).ravel()

    found = velocity_field(x, form, value, normaliser=normaliser, sweeps=sweeps)
    middles = np.array([[float(b.mid()) for b in row] for row in found.derivative])
    step = 1e-5
    differences = np.empty((8, 8))
    for k in range(8):
        way = np.zeros(8)
        way[k] = step
        differences[:, k] = (velocity(x + way.reshape(4, 2)) - velocity(x - way.reshape(4, 2))) / (2 * step)
    np.testing.assert_allclose(middles, differences, rtol=0, atol=1e-8)
    assert max(float(b.rad()) for b in found.derivative.ravel()) < 1e-25
    shown = np.array([[float(b.mid()) for b in row] for row in found.velocity])
    np.testing.assert_allclose(shown.ravel(), velocity(x), rtol=0, atol=1e-13)


def test_slope_of_the_transport_cost_against_differences():
    x = RNG.uniform(-1, 1, size=(3, 2))
    form = np.array([[1.0, 0.4], [-0.2, 0.7]])

    def cost(y):
        kernel = np.exp(y @ form @ y.T)
        right = np.ones(3)
        for _ in range(500):
            left = 1.0 / (kernel @ right)
            right = 1.0 / (kernel.T @ left)
        return (np.log(left).sum() + np.log(right).sum()) / 3

    slope = velocity_field(x, form).slope
    for k, c in np.ndindex(3, 2):
        way = np.zeros((3, 2))
        way[k, c] = 1e-5
        assert float(slope[k, c].mid()) == pytest.approx((cost(x + way) - cost(x - way)) / 2e-5, rel=0, abs=1e-8)


def test_bad_input_of_the_field():
    with pytest.raises(ValueError, match="normaliser: expected one of unnormalised, softmax, sinkhorn"):
        velocity_field([[0.0]], [[1.0]], normaliser="max")
    with pytest.raises(ValueError, match="sweeps: expected none for 'softmax'"):
        velocity_field([[0.0]], [[1.0]], normaliser="softmax", sweeps=1)
    with pytest.raises(ValueError, match="form: expected shape"):
        velocity_field([[0.0, 1.0]], [[1.0]])
    with pytest.raises(ArithmeticError, match="tokens: expected"):
        velocity_field([[30.0, 0.0], [29.9, 1.0], [0.0, 30.0]], [[1.0, 0.0], [0.0, 1.0]])


def test_a_scaling_that_stops_early_still_encloses_the_limit(monkeypatch):
    x = np.array([[1.5, 0.2], [-1.2, 0.4], [0.3, -1.4], [1.4, 0.0]])
    form = np.eye(2)
    sharp = velocity_field(x, form)
    monkeypatch.setattr("theory.diffusion.layers.gradient_flow._STILL", 2.0**-20)
    rough = velocity_field(x, form)
    spread = 0.0
    for part in ("weights", "derivative", "slope"):
        for wide, narrow in zip(getattr(rough, part).ravel(), getattr(sharp, part).ravel(), strict=True):
            assert wide.contains(narrow)
            spread = max(spread, float(wide.rad()))
    assert 1e-12 < spread < 0.1  # it did stop early


def test_a_system_that_is_not_known_exactly_is_solved_for_all_of_them():
    middle, right = np.array([[2.0, 1.0], [0.5, 1.0]]), np.array([[1.0], [3.0]])
    wide = balls(middle) + ball(0).union(ball(2.0**-10))
    found = _solved(wide, balls(right))
    for added in np.ndindex(2, 2, 2, 2):
        exact = np.linalg.solve(middle + 2.0**-10 * np.array(added).reshape(2, 2), right)
        for one, value in zip(found.ravel(), exact.ravel().tolist(), strict=True):
            assert float(one.lower()) - 1e-12 <= value <= float(one.upper()) + 1e-12
    assert max(float(one.rad()) for one in found.ravel()) < 0.05


def test_asymmetry_of_a_matrix_that_may_vanish_is_unknown():
    zero = velocity_field([[0.0]], [[1.0]]).derivative * 0
    assert asymmetry(zero).hi == float("inf")


def test_constants_averaged_by_coarse_transforms_stay_inside(monkeypatch):
    off = 1e-6
    plain = PeriodicGrid.multiply
    law = balance_law(GRID, P, HEAT)
    monkeypatch.setattr("theory.diffusion.limits.normalisers.balance_law", lambda *_: law)
    monkeypatch.setattr(PeriodicGrid, "rounding", lambda *_, **__: off)
    calls = iter((off, -off, -off, off) * 4)
    monkeypatch.setattr(PeriodicGrid, "multiply", lambda *a: plain(*a) + next(calls))
    found, error = sinkhorn_change(GRID, P, np.ones_like(P), HEAT)  # the potential does not matter to constants
    assert 0.1 * error < float(np.abs(found - 1.0).max()) <= error


def test_potentials_that_are_off_by_the_error_of_a_partition_leave_averages_inside(monkeypatch):
    x = np.random.default_rng(4).normal(size=(12, 2))
    score = SquaredDistance(0.5)
    values = np.sign(x[:, :1])
    off = 1e-6
    found = balance_tokens(x, score=score)

    def averages(g):
        rows = np.exp(score.matrix(x, x) + g) * found.key_weights
        return (rows / rows.sum(axis=1, keepdims=True)) @ values

    right = averages(found.g)
    worst = 0.0
    monkeypatch.setattr("theory.diffusion.limits.normalisers.partition_error", lambda *_: off)
    for shift in (off * values[:, 0], -off * values[:, 0]):  # of rows and columns alike: they seem to agree
        rough = replace(found, f=found.g + shift, g=found.g + shift)
        apart = np.abs(averages(rough.g) - right).max(axis=1)
        bound = balance_error(rough, values)
        assert (apart <= bound).all()
        worst = max(worst, float((apart / bound).max()))
    assert worst > 0.05


def test_sweeps_hold_the_truth_where_the_density_almost_vanishes():
    """A kernel that moves nothing leaves the law as it is; transforms are off by what the largest mass rounds."""
    p = 1.0 - (1.0 - 1e-8) * np.cos(X)
    found = sweep_law(GRID, exact(p), np.ones_like, 2)
    assert p in found
    assert (np.abs(found.mid - p) / p).max() > 1e-12
    assert (found.radius / p).max() < 1e-3
    assert sweep_law(GRID, p, np.ones_like, 2) in found


def test_sweeps_of_a_wide_density_hold_all_of_them():
    """Where neighbours lend each other their masses, one sweep multiplies what each is off."""
    grid = PeriodicGrid((8,))
    middle, reach = np.ones(8), 0.9
    member = middle + reach * (-1.0) ** np.arange(8)
    beside = lambda k: np.cos(2.0 * np.pi * k / 8)  # noqa: E731  the mean of both neighbours
    assert sweep_law(grid, member, beside, 1) in sweep_law(grid, within(middle, reach), beside, 1)
