"""Jacobians, growth of disturbances and the bound of rounding, against problems that are known and exact rationals."""

import math
from fractions import Fraction

import numpy as np
import pytest

from theory.evidence import stream
from theory.particles import METHODS, SPHERE, integrate, on_sphere
from theory.particles.dynamics import FLAT, Manufactured
from theory.particles.dynamics.perturbation import Stability, jacobian, rounding, stability


def test_the_jacobian_of_a_linear_field_is_its_matrix():
    a = stream("tests.perturbation", 0).normal(size=(3, 3))
    assert np.abs(jacobian(lambda x: x @ a.T, np.zeros((1, 3))) - a).max() <= 1e-9


def test_the_jacobian_in_charts_of_a_rotation_is_its_tangent_part():
    x, axis = np.array([[0.0, 0.0, 1.0]]), np.array([0.5, -1.0, 2.0])
    found = jacobian(lambda y: np.cross(axis, y), x, SPHERE)
    assert np.abs(found[:2, :2] - [[0.0, -2.0], [2.0, 0.0]]).max() <= 1e-9
    assert np.abs(found[2]).max() <= 1e-9
    assert np.abs(found[:, 2]).max() <= 1e-9


def test_disturbances_of_a_linear_field_grow_as_the_exponential_says():
    rates = np.array([[0.5, -1.0]])
    seen = stability([lambda x: rates * x] * 5, [np.zeros((1, 2))] * 5, 0.25, FLAT)
    assert seen.factor == pytest.approx(2.0 * math.exp(0.5), rel=1e-8, abs=0.0)  # twice what grows in unit time
    assert seen.lipschitz == pytest.approx(2.0, rel=1e-8, abs=0.0)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_the_bound_covers_the_rounding_of_a_run(method):
    """The exact run of the tableau on x' = a x multiplies by a rational at each step."""
    rate = Fraction(-3, 7)
    step = 2.0**-7
    steps = 128
    z = rate * Fraction(step)
    stages = []
    for row in method.a:
        stages.append(1 + z * sum((w * k for w, k in zip(row, stages, strict=True)), Fraction(0)))
    grown = 1 + z * sum((w * k for w, k in zip(method.b, stages, strict=True)), Fraction(0))
    found = integrate(lambda x: float(rate) * x, [1.0], step=step, steps=steps, method=method)
    bound = rounding(method, step=step, steps=steps, stable=Stability(1.0, 1.0), size=1.0, speed=1.0, relative=2.0**-52)
    off = abs(Fraction(float(found[0])) - grown**steps)
    assert 0 < off <= Fraction(bound)
    assert bound <= 1e-11


def test_the_bound_vanishes_without_steps_and_grows_with_them():
    given = {"step": 0.1, "stable": Stability(2.0, 3.0), "size": 1.0, "speed": 1.0, "relative": 1e-15}
    bounds = [rounding(METHODS[2], steps=n, **given) for n in (0, 1, 2)]
    assert bounds[0] == 0.0
    assert bounds[2] == 2.0 * bounds[1] > 0.0


@pytest.mark.parametrize("space", [FLAT, SPHERE])
def test_a_manufactured_path_solves_its_equation(space):
    rng = stream("tests.perturbation", 1)
    centre = rng.normal(size=(3, 3))
    centre *= 2.0 / np.linalg.norm(centre, axis=1, keepdims=True)
    problem = Manufactured(on_sphere(1.0), centre, rng.normal(size=(3, 3)), 0.3, 2.0, space)
    for t in (0.0, 0.7):
        x = problem.path(t)
        quotient = (problem.path(t + 1e-6) - problem.path(t - 1e-6)) / 2e-6
        assert np.abs(quotient - problem.velocity(t)).max() <= 1e-8
        assert np.abs(problem(t, x) - problem.velocity(t)).max() <= 1e-14
    if space is SPHERE:
        assert np.abs(np.einsum("ij,ij->i", x, problem.velocity(t))).max() <= 1e-15


def test_bad_input():
    with pytest.raises(ValueError, match="states: expected as many as fields"):
        stability([np.sin], [np.zeros((1, 1))], 0.1)
    with pytest.raises(ValueError, match="phase: expected shape"):
        Manufactured(np.sin, np.zeros((2, 2)), np.zeros((2, 3)), 0.1, 1.0)
    with pytest.raises(ValueError, match="swing: expected a path that stays away from the origin"):
        Manufactured(np.sin, np.ones((2, 2)), np.zeros((2, 2)), 1.0, 1.0, SPHERE)
    with pytest.raises(ValueError, match="frequency: expected a positive"):
        Manufactured(np.sin, np.ones((2, 2)), np.zeros((2, 2)), 1.0, 0.0)
