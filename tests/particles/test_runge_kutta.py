"""Fixed steps against exact rationals, SciPy's integrators and motions in closed form, on flat space and the sphere."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from theory.evidence import stream
from theory.evidence.roundoff import gamma
from theory.particles import METHODS, RK4, SPHERE, CircleField, RungeKutta, integrate, on_sphere
from theory.particles.dynamics import FLAT, Method
from theory.particles.dynamics.runge_kutta import BUTCHER6, EULER, HEUN, chart_rate, retracted


def unit(rng, n, d):
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def trees(size):
    """The rooted trees with that many nodes, each the tuple of its branches."""
    if size == 1:
        return [()]
    return sorted({tuple(sorted(branches)) for branches in forests(size - 1)})


def forests(size, largest=None):
    """The multisets of trees with that many nodes together."""
    if size == 0:
        yield ()
        return
    for first in range(min(size, largest or size), 0, -1):
        for copies in range(size // first, 0, -1):
            for same in combinations_with_replacement(trees(first), copies):
                for rest in forests(size - first * copies, first - 1) if first > 1 else [()] * (size == copies):
                    yield (*same, *rest)


def nodes(tree):
    return 1 + sum(nodes(branch) for branch in tree)


def density(tree):
    """The product of the sizes of all subtrees."""
    product = nodes(tree)
    for branch in tree:
        product *= density(branch)
    return product


def weight(method, tree):
    """The elementary weight: the sum over the tree's nodes of the products of entries along its edges."""

    def inner(stage, branches):
        product = Fraction(1)
        for branch in branches:
            product *= sum((a * inner(j, branch) for j, a in enumerate(method.a[stage])), Fraction(0))
        return product

    return sum((b * inner(i, tree) for i, b in enumerate(method.b)), Fraction(0))


def conditions(method, order):
    """Whether the order conditions of all trees up to a size hold, in rationals."""
    return all(
        weight(method, tree) == Fraction(1, density(tree)) for size in range(1, order + 1) for tree in trees(size)
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_tableaux_satisfy_the_order_conditions_up_to_their_order_and_not_beyond(method):
    assert [len(trees(size)) for size in range(1, 8)] == [1, 1, 2, 4, 9, 20, 48]
    assert all(sum(row, Fraction(0)) == node for row, node in zip(method.a, method.c, strict=True))
    assert conditions(method, method.order)
    beyond = max(abs(weight(method, tree) * density(tree) - 1) for tree in trees(method.order + 1))
    assert beyond >= Fraction(1, 1000)


def test_order_conditions_see_a_weight_and_an_entry_that_are_off():
    assert not conditions(replace(RK4, b=tuple(w * Fraction(9999, 10000) for w in RK4.b)), 4)
    assert not conditions(replace(RK4, a=((), *RK4.a[1:3], (Fraction(0), Fraction(1, 100), Fraction(99, 100)))), 4)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_in_charts_tokens_stay_on_the_sphere_up_to_one_division(method):
    def off(space, steps):
        points = integrate(field, x, step=0.2, steps=steps, method=method, space=space)
        return max(abs(sum(Fraction(float(v)) ** 2 for v in row) - 1) for row in points)

    for case in (4, 5):
        rng = stream("tests.runge-kutta", case)
        n, d = int(rng.integers(3, 9)), int(rng.integers(2, 6))
        x = unit(rng, n, d)
        field = on_sphere(float(rng.uniform(0.5, 5.0)))
        for steps in (1, 30):
            assert off(SPHERE, steps) <= gamma(d + 6)
        assert off(FLAT, 30) > 1e3 * gamma(d + 6)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_a_step_of_a_polynomial_field_is_that_of_exact_rationals(method):
    step, start, time = Fraction(1, 8), Fraction(3, 4), Fraction(1, 2)

    def field(t, x):
        return x * x - t * x + t * t

    stages = []
    for row, node in zip(method.a, method.c, strict=True):
        x = start + step * sum((w * k for w, k in zip(row, stages, strict=True)), Fraction(0))
        stages.append(field(time + step * node, x))
    exact = start + step * sum((w * k for w, k in zip(method.b, stages, strict=True)), Fraction(0))
    found = integrate(field, float(start), step=float(step), steps=1, method=method, time=float(time))
    assert float(found) == pytest.approx(float(exact), rel=1e-15, abs=0.0)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_a_polynomial_in_time_is_integrated_exactly_up_to_the_order(method):
    for power in range(method.order):
        found = integrate(lambda t, x, p=power: 0 * x + t**p, [0.0], step=0.5, steps=4, method=method, time=0.0)
        assert found[0] == pytest.approx(2.0 ** (power + 1) / (power + 1), rel=1e-14, abs=0.0)


@pytest.mark.parametrize(("space_beta", "normalised"), [(0.5, True), (3.0, True), (1.0, False)])
def test_the_sphere_agrees_with_scipy(space_beta, normalised):
    x = unit(stream("tests.runge-kutta", 0), 5, 3)
    field = on_sphere(space_beta, normalised=normalised)
    there = solve_ivp(
        lambda _, y: field(y.reshape(5, 3)).ravel(), (0.0, 1.0), x.ravel(), method="DOP853", rtol=1e-13, atol=1e-14
    )
    found = integrate(field, x, step=1 / 64, steps=64, method=BUTCHER6, space=SPHERE)
    assert np.abs(found - there.y[:, -1].reshape(5, 3)).max() <= 1e-11


def test_two_tokens_without_temperature_have_a_closed_form():
    half = 0.6
    x = np.array([[math.cos(half), math.sin(half), 0.0], [math.cos(half), -math.sin(half), 0.0]])
    found = integrate(on_sphere(0.0), x, step=1 / 32, steps=32, method=BUTCHER6, space=SPHERE)
    wanted = math.atan(math.tan(half) * math.exp(-1.0))
    assert found[0, 1] == pytest.approx(math.sin(wanted), rel=1e-10, abs=0.0)
    angles = integrate(CircleField(0.0), [[half], [-half]], step=1 / 32, steps=32, method=BUTCHER6)
    assert angles[0, 0] == pytest.approx(wanted, rel=1e-10, abs=0.0)


def test_the_chart_takes_the_field_back_and_ignores_its_normal_part():
    rng = stream("tests.runge-kutta", 1)
    x = unit(rng, 4, 3)
    v = rng.normal(size=(4, 3))
    axis = rng.normal(size=3)
    v = 0.3 * (v - np.einsum("ij,ij->i", x, v)[:, None] * x)

    def turning(y):
        return np.cross(axis, y)

    rate = chart_rate(turning, x, v)
    assert np.abs(np.einsum("ij,ij->i", rate, x)).max() <= 1e-15
    moved = (retracted(x, v + 1e-6 * rate) - retracted(x, v - 1e-6 * rate)) / 2e-6
    assert np.abs(moved - turning(retracted(x, v))).max() <= 1e-9
    assert np.abs(chart_rate(lambda y: turning(y) + 5.0 * y, x, v) - rate).max() <= 1e-14


def test_rotations_of_tokens_rotate_the_run():
    rng = stream("tests.runge-kutta", 2)
    x, (turn, _) = unit(rng, 6, 3), np.linalg.qr(rng.normal(size=(3, 3)))
    kept = [integrate(on_sphere(2.0), y, step=0.1, steps=20, space=SPHERE) for y in (x, x @ turn.T)]
    assert np.abs(kept[0] @ turn.T - kept[1]).max() <= 1e-13


def test_a_run_in_two_parts_is_the_run():
    x = unit(stream("tests.runge-kutta", 3), 4, 3)
    field = on_sphere(1.0)
    whole = integrate(field, x, step=0.1, steps=7, space=SPHERE)
    stepper = RungeKutta(field, 0.1, space=SPHERE)
    y = stepper.checked(x)
    for number in range(7):
        y = stepper(number, y)
    assert whole.tobytes() == y.tobytes()
    assert integrate(field, x, step=0.1, steps=0, space=SPHERE).tobytes() == x.tobytes()
    assert not np.shares_memory(integrate(field, x, step=0.1, steps=0), x)


def test_shapes():
    assert integrate(lambda x: -x, 1.0, step=0.5, steps=2, method=EULER) == 0.25
    assert integrate(lambda x: -x, np.ones((2, 3, 4)), step=0.5, steps=1, method=HEUN).shape == (2, 3, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: integrate(np.sin, [1.0], step=0.0, steps=1), "step: expected a positive"),
        (lambda: integrate(np.sin, [1.0], step=0.1, steps=-1), "steps: expected an integer of at least 0"),
        (lambda: integrate(np.sin, [math.nan], step=0.1, steps=1), "start: expected finite"),
        (lambda: integrate(lambda _: np.zeros(3), [1.0], step=0.1, steps=1), "field: expected a value of shape"),
        (lambda: integrate(np.sin, [[1.0, 1.0]], step=0.1, steps=1, space=SPHERE), "start: expected rows of length 1"),
        (lambda: integrate(np.sin, [1.0], step=0.1, steps=1, space=SPHERE), "start: expected shape"),
        (lambda: replace(RK4, b=RK4.b[:3]), "a, b, c: expected an explicit tableau"),
        (lambda: replace(RK4, a=((), (Fraction(1),), (), ())), "a, b, c: expected an explicit tableau"),
        (lambda: replace(RK4, order=0), "order: expected an integer of at least 1"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_wrong_types():
    with pytest.raises(TypeError, match="expected Fractions"):
        Method("half", 1, ((),), (1.0,), (Fraction(0),), "nowhere")
    with pytest.raises(TypeError, match="space: expected FLAT or SPHERE"):
        integrate(np.sin, [1.0], step=0.1, steps=1, space="flat")
    with pytest.raises(TypeError, match="method: expected a Method"):
        integrate(np.sin, [1.0], step=0.1, steps=1, method="RK4")


def test_a_state_that_leaves_float64_is_an_error():
    with np.errstate(over="ignore"), pytest.raises(OverflowError, match="left float64"):
        integrate(lambda x: x**3, [1e10], step=1.0, steps=9, method=EULER)
