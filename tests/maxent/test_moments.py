"""The tilt has the prescribed moments, is a tilt, and a dual certificate says that nothing is nearer."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.attention.inputs import DISGUISES, disguised
from theory import Measure
from theory.attention import boltzmann_gibbs, transform_error
from theory.evidence import Interval, stream
from theory.evidence.roundoff import gamma
from theory.maxent.gibbs import divergence, match_moments, moments

MU = Measure([[0.0], [1.0], [2.0]], [0.5, 0.25, 0.25])
LINE = np.array([[0.0], [1.0], [2.0]])


def problem(case, scale=1.0, offset=0.0):
    """A measure, features and an attainable moment, of one to three features."""
    rng = stream("tests.tilted", case)
    n, k = int(rng.integers(5, 30)), int(rng.integers(1, 4))
    mu = Measure(rng.normal(size=(n, 2)), rng.dirichlet(np.ones(n)) * 0.9 + 0.1 / n)
    features = offset + scale * rng.normal(size=(n, k))
    return mu, features, rng.dirichlet(np.ones(n)) @ features


@pytest.mark.parametrize("case", range(12))
def test_residual_is_rounding_and_is_told(case):
    mu, features, moment = problem(case)
    found = match_moments(mu, features, moment)
    size = float(np.abs(features).max())
    missed = found.measure.weights @ features - moment
    assert np.abs(missed - found.residual).max() <= 4.0 * gamma(mu.size + 4) * size
    assert np.abs(found.residual).max() <= 64.0 * gamma(mu.size + 16) * size
    tilt = boltzmann_gibbs(mu, features @ found.multiplier)
    assert np.array_equal(found.measure.weights, tilt.weights)
    assert np.array_equal(found.measure.points, mu.points)


def test_residual_of_a_solver_that_gave_up(monkeypatch):
    """What the solver reached is told, not what it should have reached."""
    monkeypatch.setattr(moments, "minimize", lambda _, start, **__: SimpleNamespace(x=start))
    monkeypatch.setattr(moments, "_STEPS", 0)
    found = match_moments(MU, LINE, [1.25])
    assert np.array_equal(found.multiplier, [0.0])
    assert np.array_equal(found.measure.weights, MU.weights)
    assert np.array_equal(found.residual, [-0.5])


@pytest.mark.parametrize("case", range(12))
def test_dual_certificate(case):
    """Any multiplier bounds the minimum from below by <l, m> - log mu(exp <l, Phi>); here the gap is zero."""
    mu, features, moment = problem(case)
    multiplier, measure, residual = match_moments(mu, features, moment)
    potential = features @ multiplier
    least = divergence(measure.weights, mu.weights)
    peak = float(potential.max())
    log_mass = peak + float(np.log(mu.weights @ np.exp(potential - peak)))
    size = 1.0 + float(np.abs(potential).max()) + float(np.abs(np.log(mu.weights)).max())
    slack = float(np.abs(multiplier) @ np.abs(residual)) + size * (transform_error(mu, potential) + gamma(4 * mu.size))
    gap = least - (float(multiplier @ moment) - log_mass) + Interval.within(0.0, slack)
    assert gap.lo <= 0.0 <= gap.hi
    assert slack <= 1e-9 * (1.0 + abs(least.mid))
    rng = stream("tests.tilted.rivals", case)
    for _ in range(5):  # laws with the same moments are farther away
        way = rng.normal(size=mu.size)
        frame = np.column_stack([np.ones(mu.size), features])
        way -= frame @ np.linalg.lstsq(frame, way, rcond=None)[0]
        step = 0.5 * float((measure.weights / np.maximum(np.abs(way), 1e-300)).min())
        rival = measure.weights + step * way
        assert divergence(rival / rival.sum(), mu.weights).hi >= least.lo - slack


def test_closed_form():
    """Two atoms: the tilt to mass p has the multiplier logit(p) - logit(q)."""
    for p, q in ((0.5, 0.25), (0.9, 0.5), (0.01, 0.75), (1.0 - 1e-5, 0.5)):
        found = match_moments(Measure([[0.0], [1.0]], [1.0 - q, q]), [[0.0], [1.0]], [p])
        logit = np.log(p / (1.0 - p)) - np.log(q / (1.0 - q))
        assert abs(found.multiplier[0] - logit) <= 16.0 * gamma(16) * (1.0 + abs(logit)) / min(p, 1.0 - p)
        assert np.abs(found.measure.weights - [1.0 - p, p]).max() <= gamma(64)


def test_own_moment_needs_no_tilt():
    found = match_moments(MU, LINE, MU.weights @ LINE)
    assert np.abs(found.multiplier).max() <= gamma(64)
    assert np.abs(found.measure.weights - MU.weights).max() <= gamma(64)


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-3, 1e3, 1e9, 1e12])
@pytest.mark.parametrize("case", range(3))
def test_units_of_the_features_do_not_matter(case, scale):
    mu, features, moment = problem(case)
    here = match_moments(mu, features, moment)
    there = match_moments(mu, scale * features, scale * moment)
    spread = np.linalg.eigvalsh(np.cov(features.T, aweights=here.measure.weights).reshape(2 * (features.shape[1],)))
    error = 1e3 * gamma(mu.size + 64) * (1.0 + np.abs(here.multiplier).max()) * np.abs(features).max() / spread.min()
    assert np.abs(there.multiplier * scale - here.multiplier).max() <= error
    assert np.abs(there.residual).max() <= 64.0 * gamma(mu.size + 16) * scale * np.abs(features).max()


@pytest.mark.parametrize("offset", [1e3, -1e6, 1e9])
def test_origin_of_the_features_does_not_matter(offset):
    found = match_moments(MU, LINE + offset, [1.25 + offset])
    assert np.abs(found.measure.weights @ LINE - 1.25).max() <= 64.0 * gamma(64) * abs(offset)


def test_atoms_without_mass_neither_help_nor_hinder():
    lean = match_moments(MU, LINE, [1.25])
    padded = Measure([*MU.points.tolist(), [9.0]], [*MU.weights.tolist(), 0.0])
    found = match_moments(padded, [*LINE.tolist(), [100.0]], [1.25])
    assert found.measure.weights[3] == 0.0
    assert np.abs(found.measure.weights[:3] - lean.measure.weights).max() <= gamma(256)
    with pytest.raises(ValueError, match=r"^moment: expected a point interior to the hull of the features"):
        match_moments(padded, [*LINE.tolist(), [100.0]], [50.0])


def test_tiny_reference_weights():
    mu = Measure.normalised(LINE, [1.0, 1e-300, 1e-300])
    found = match_moments(mu, LINE, [1.0])
    assert abs(float((found.measure.weights @ LINE)[0]) - 1.0) <= 1e-12


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1.0, 1e9])
@pytest.mark.parametrize("target", [0.0, 2.0, -0.001, 2.001, 7.0, -1e9])
def test_targets_on_the_boundary_or_outside(target, scale):
    with pytest.raises(ValueError, match=r"^moment: expected a point interior to the hull of the features, got \["):
        match_moments(MU, scale * LINE, [scale * target])


def test_targets_on_a_face_of_the_hull():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    mu = Measure(square)
    assert np.abs(match_moments(mu, square, [0.5, 0.5]).multiplier).max() <= gamma(64)
    for target in ([0.5, 0.0], [1.0, 1.0], [1.2, 0.5], [0.5, -0.2]):
        with pytest.raises(ValueError, match=r"^moment: expected a point interior"):
            match_moments(mu, square, target)


@pytest.mark.parametrize("kind", DISGUISES)
def test_arrays_taken_exactly(kind):
    expected = match_moments(MU, LINE, [1.0])
    assert np.array_equal(match_moments(MU, disguised(LINE)[kind], [1.0]).multiplier, expected.multiplier)
    assert np.array_equal(match_moments(MU, LINE, disguised(np.ones(1))[kind]).multiplier, expected.multiplier)
