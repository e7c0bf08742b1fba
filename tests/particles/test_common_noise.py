"""Probabilities of ends against sums on a lattice and drawn pairs; steps of the scheme against the coefficients."""

import math

import numpy as np
import pytest

from theory.evidence.enclosure import ball, coefficient, hull, power_series, precision
from theory.particles.exact import antipodal_probability, antipodal_threshold, common_noise, common_noise_step


def on_a_lattice(beta, dim, overlap):
    """The quotient of integrals of the scale, by the rule of the trapezium in the other variable."""
    w = np.linspace(-80.0, 80.0, 640_001)
    step = w[1] - w[0]
    falls = 1.0 / np.cosh(beta * (1.0 - np.tanh(w)))
    inner = np.concatenate([[0.0], np.cumsum((falls[1:] + falls[:-1]) / 2.0 * step)])
    scale = np.exp(-(dim - 2) * (inner - np.interp(0.0, w, inner))) / np.cosh(w)
    whole = np.concatenate([[0.0], np.cumsum((scale[1:] + scale[:-1]) / 2.0 * step)])
    return 1.0 - float(np.interp(math.atanh(overlap), w, whole)) / whole[-1]


@pytest.mark.parametrize(("beta", "dim", "overlap"), [(1.0, 3, 0.0), (0.75, 3, -0.5), (1.5, 5, 0.25), (1.25, 4, 0.0)])
def test_a_lattice_agrees(beta, dim, overlap):
    found = antipodal_probability(beta, dim, overlap=overlap)
    assert found.mid == pytest.approx(on_a_lattice(beta, dim, overlap), rel=1e-6, abs=0.0)
    assert found.width < 1e-14


def test_threshold_and_what_is_below():
    assert antipodal_threshold(3).hi < 1e-15
    for dim in (4, 9):
        found = antipodal_threshold(dim)
        assert math.cosh(2.0 * found.mid) == pytest.approx(dim - 2.0, rel=1e-14, abs=0.0)
        assert antipodal_probability(found.lo, dim).hi == 0.0


def test_what_is_just_above_the_threshold_is_not_zero():
    """In three dimensions that is every inverse temperature; to second order it is the square times log 2."""
    for beta in (1e-6, 1e-20, 1e-150):
        found = antipodal_probability(beta, 3)
        assert found.lo <= math.log(2.0) * beta**2 * (1.0 + 1e-6)
        assert found.hi >= found.lo >= math.log(2.0) * beta**2 * (1.0 - 1e-6)


def test_series_of_the_hyperbolic_sine():
    for z in (0.0, 0.5, -7.0):
        with precision():
            found = hull(common_noise._sinhc(ball(z)))
        assert found.mid == pytest.approx(math.sinh(z) / z if z else 1.0, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("z", [0.5, -7.0, 30.0])
def test_terms_that_are_left_out_of_it_are_within_the_ball(z):
    with precision(2400):
        x = ball(z)
        assert (common_noise._sinhc(x) * x - (x.exp() - (-x).exp()) / 2).contains(0)


@pytest.mark.parametrize(("low", "high"), [(-0.75, -0.5), (0.25, 0.5), (-0.25, 0.125)])
def test_the_factor_over_a_panel_encloses_the_factor_at_its_ends(low, high):
    with precision():
        factor = common_noise._smooth(ball(1.5), 5)
        panel, *ends = (
            coefficient(factor(power_series([place, ball(1), ball(0)])), 0)
            for place in (ball(low).union(ball(high)), ball(low), ball(high))
        )
        assert all(panel.contains(end) for end in ends)
        assert not ends[0].overlaps(ends[1])


@pytest.mark.parametrize("overlap", [-0.75, 0.0, 0.5])
def test_one_step_has_the_drift_and_the_variance(overlap):
    dim, beta, step, pairs = 4, 1.25, 1e-3, 400_000
    tokens = np.zeros((pairs, 2, dim))
    tokens[:, 0, 0] = 1.0
    tokens[:, 1, :2] = overlap, math.sqrt(1.0 - overlap**2)
    noise = np.random.default_rng(8).normal(size=(pairs, dim, dim)) * math.sqrt(step)
    moved = common_noise_step(tokens, beta, step, noise)
    assert np.abs((moved**2).sum(axis=2) - 1.0).max() < 1e-12
    after = (moved[:, 0] * moved[:, 1]).sum(axis=1) - overlap
    c = 0.5 / math.cosh(beta * (1.0 - overlap) / 2.0) ** 2
    a, b = 1.0 - c * (1.0 - overlap), overlap + c * (1.0 - overlap)
    drift = -(dim - 1) * a * overlap + (dim - 2 + overlap**2) * b
    variance = 2.0 * (1.0 - overlap**2) ** 2 * (1.0 - c)
    assert abs(after.mean() / step - drift) < 6.0 * math.sqrt(variance / step / pairs) + 0.02
    assert after.var() / step == pytest.approx(variance, rel=0.02, abs=0.0)


def test_drawn_pairs_in_five_dimensions():
    pairs = 1500
    tokens = np.zeros((pairs, 2, 5))
    tokens[:, 0, 0] = tokens[:, 1, 1] = 1.0
    rng = np.random.default_rng(9)
    for _ in range(300):
        tokens = common_noise_step(tokens, 1.5, 0.02, rng.normal(size=(pairs, 5, 5)) * math.sqrt(0.02))
    share = float(((tokens[:, 0] * tokens[:, 1]).sum(axis=1) < 0.0).mean())
    assert abs(share - antipodal_probability(1.5, 5).mid) < 0.05


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: antipodal_threshold(2), "dim"),
        (lambda: antipodal_probability(1.0, 2), "dim"),
        (lambda: antipodal_probability(0.0, 3), "beta"),
        (lambda: antipodal_probability(17.0, 3), "beta"),
        (lambda: antipodal_probability(1.0, 3, overlap=1.0), "overlap"),
        (lambda: common_noise_step(np.ones((3, 2)), 1.0, 0.1, np.zeros((3, 2, 2))), "tokens"),
        (lambda: common_noise_step(np.ones((3, 2, 1)), 1.0, 0.1, np.zeros((3, 2, 2))), "noise"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
