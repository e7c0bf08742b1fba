"""The Sinkhorn field: against the iteration written out, in a flow, and when it does not come to an end."""

import math

import numpy as np
import pytest

from theory.attention import DotProduct, SquaredDistance
from theory.evidence import exact, stream
from theory.particles import SinkhornField, flow
from theory.particles.mean_field import SinkhornClosure, log_variance_field


def scaled(scores, masses):
    """The attention weights of the doubly normalised kernel, by plain scaling."""
    kernel = np.exp(scores)
    u = np.ones(len(masses))
    v = np.ones(len(masses))
    for _ in range(3000):
        u = 1.0 / (kernel @ (masses * v))
        v = 1.0 / (kernel.T @ (masses * u))
    return u[:, np.newaxis] * kernel * (masses * v)


def test_the_field_is_what_is_printed():
    draw = stream("tests.doubly", 0)
    x = draw.normal(size=(7, 2))
    value = draw.normal(size=(2, 2))
    form = draw.normal(size=(2, 2))
    masses = draw.dirichlet(np.ones(7))
    found = SinkhornField(DotProduct(form=form), value, 5.0 * masses)(x)
    np.testing.assert_allclose(found, scaled(x @ form @ x.T, masses) @ x @ value.T, rtol=0.0, atol=1e-10)
    even = SinkhornField(SquaredDistance(0.5))(x)
    np.testing.assert_allclose(even, scaled(x @ x.T, np.full(7, 1 / 7)) @ x, rtol=0.0, atol=1e-10)


def test_the_mean_velocity_is_that_of_the_mean():
    """Columns are right, so the average of the outputs is the average of the values."""
    draw = stream("tests.doubly", 1)
    x = draw.normal(size=(9, 3))
    masses = draw.dirichlet(np.ones(9))
    np.testing.assert_allclose(
        masses @ SinkhornField(DotProduct(scale=1.0), weights=masses)(x), masses @ x, rtol=0.0, atol=1e-11
    )


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_a_coupling_that_is_not_right_yet_encloses_the_limit(tolerance):
    x = np.random.default_rng(3).normal(size=(6, 2))
    limit = SinkhornField(DotProduct(scale=0.5))(x)
    rough = SinkhornField(DotProduct(scale=0.5), tolerance=tolerance)
    assert limit in rough(exact(x))
    assert np.abs(rough(x) - limit).max() > 1e-3 * tolerance


def test_tokens_with_gaussian_masses_follow_the_closure():
    z = np.linspace(-8.0, 8.0, 33)
    masses = np.exp(-0.5 * z * z)
    alpha = 1.0
    s0 = 0.25
    law = masses / masses.sum()
    path = flow(
        SinkhornField(DotProduct(form=[[alpha]]), weights=masses),
        math.sqrt(s0) * z[:, np.newaxis],
        [0.0, 0.75],
        rtol=1e-9,
    )
    told = flow(log_variance_field(SinkhornClosure([[alpha]])), math.log(s0), [0.0, 0.75])
    found = math.log(float(law @ path.last[:, 0] ** 2))
    assert found == pytest.approx(float(told.last), rel=0.0, abs=1e-8)


def test_without_convergence_there_is_no_velocity():
    x = 5.0 * stream("tests.doubly", 2).normal(size=(6, 2))
    with pytest.raises(ArithmeticError, match=r"sweeps: expected column sums right to 1\.0e-12 after 3 sweeps, got"):
        SinkhornField(DotProduct(scale=1.0), sweeps=3)(x)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SinkhornField(DotProduct(), [[1.0, 0.0]]), "value: expected shape"),
        (lambda: SinkhornField(DotProduct(), weights=[-1.0, 2.0]), "weights: expected non-negative"),
        (lambda: SinkhornField(DotProduct(), sweeps=0), "sweeps: expected an integer of at least 1"),
        (lambda: SinkhornField(DotProduct(), tolerance=0.0), "tolerance: expected a positive"),
        (lambda: SinkhornField(DotProduct(), np.eye(2))(np.ones((3, 1))), "x: expected dimension 2"),
        (lambda: SinkhornField(DotProduct(), weights=np.ones(2))(np.ones((3, 1))), "query_weights: expected shape"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
