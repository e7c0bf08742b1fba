"""The closest pair in shifted exponents, against the plain field and a plain integrator."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from theory.particles import on_sphere
from theory.particles.exact import JOINED, ClosestPair, follow_coarsening, follow_pair
from theory.particles.exact.merging import interaction_energy, shortfall


def circle(*angles):
    return np.column_stack([np.cos(angles), np.sin(angles)])


THREE = circle(0.0, 0.8, 2.2)
MASSES = np.array([0.5, 0.2, 0.3])
SPACE = np.array([[0.0, 0.0, 1.0], [0.6, 0.0, 0.8], [0.0, 0.96, 0.28], [-1.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("x", "m"), [(THREE, MASSES), (SPACE, np.array([0.1, 0.4, 0.2, 0.3])), (THREE[:2], MASSES[:2])]
)
@pytest.mark.parametrize("beta", [0.5, 6.0])
def test_velocities_are_the_field_in_another_clock(x, m, beta):
    pair = ClosestPair(x, m, beta)
    found = pair.velocities(np.array(x))
    found[2:] *= math.exp(-beta * pair.gap)
    plain = math.exp(beta * pair.missing) * on_sphere(beta, weights=m)(x)
    np.testing.assert_allclose(found, plain, rtol=0.0, atol=1e-12)


def test_gap_and_angle_are_those_of_the_overlaps():
    pair = ClosestPair(THREE, MASSES, 2.0)
    assert pair.angle == pytest.approx(0.8, rel=1e-14, abs=0.0)
    assert pair.gap == pytest.approx(math.cos(0.8) - math.cos(1.4), rel=1e-13, abs=0.0)
    assert ClosestPair(THREE[:2], MASSES[:2], 2.0).gap == math.inf


def test_clocks_are_those_of_a_plain_integrator():
    """Time by an integrator of the field; the running clock as one more entry of its state."""
    beta, end = 5.0, 0.3
    field = on_sphere(beta, weights=MASSES)

    def velocity(_, y):
        x = y[:-1].reshape(3, 2)
        return np.append(field(x).ravel(), math.exp(-beta * shortfall(x)[0, 1]))

    def event(_, y):
        return float(np.linalg.norm(y[:2] - y[2:4])) - 2.0 * math.sin(end / 2.0)

    event.terminal = True
    run = solve_ivp(velocity, (0.0, 1e3), np.append(THREE.ravel(), 0.0), events=event, rtol=1e-11, atol=1e-13)
    found = follow_pair(THREE, MASSES, beta, [0.5, end])
    last, time = run.y_events[0][0], run.t_events[0][0]
    assert found.running[-1].mid == pytest.approx(last[-1], rel=1e-8, abs=0.0)
    assert found.log_time[-1].mid == pytest.approx(math.log(time), rel=0.0, abs=1e-8)
    assert found.frozen[-1].mid == pytest.approx(time * math.exp(-beta * found.pair.missing), rel=1e-8, abs=0.0)
    assert found.others[-1].mid == pytest.approx(float(np.linalg.norm(last[4:6] - THREE[2])), rel=1e-7, abs=0.0)
    assert found.first[-1].mid == pytest.approx(math.atan2(last[1], last[0]), rel=1e-8, abs=0.0)
    assert found.energy[-1].mid == pytest.approx(
        interaction_energy(last[:-1].reshape(3, 2), MASSES, beta), rel=1e-9, abs=0.0
    )


def test_a_pair_does_not_depend_on_the_frame():
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    x = SPACE @ turn
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    one, two = (follow_pair(y, [0.1, 0.4, 0.2, 0.3], 7.0, [0.3]) for y in (SPACE, x))
    assert one.running[0].mid == pytest.approx(two.running[0].mid, rel=1e-10, abs=0.0)
    assert one.others[0].mid == pytest.approx(two.others[0].mid, rel=1e-9, abs=0.0)


def test_a_distance_below_float64_is_not_zero():
    (found,) = follow_pair(THREE, MASSES, 5000.0, [0.3]).others
    assert found.lo <= 0.0 < found.hi < 1e-300


def test_coarsening_joins_until_one_is_left():
    runs = list(follow_coarsening(circle(1.6, 0.0, 2.6, 0.6), [0.4, 0.3, 0.2, 0.1], 20.0, lambda top: [0.5 * top]))
    assert [len(run.pair.points) for run in runs] == [4, 3, 2]
    assert all(run.angles[-1] == JOINED for run in runs)
    assert [run.pair.weights.sum() for run in runs] == pytest.approx([1.0] * 3, rel=1e-14, abs=0.0)
    assert sorted(runs[-1].pair.weights.tolist()) == pytest.approx([0.4, 0.6], rel=1e-14, abs=0.0)


def test_two_pairs_at_once_are_refused():
    with pytest.raises(ArithmeticError, match="one after the other"):
        list(follow_coarsening(circle(0.0, 0.3, 1.6, 1.95), [0.25] * 4, 2.0, lambda top: [0.5 * top]))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: ClosestPair(THREE[::-1], MASSES, 1.0), "points"),
        (lambda: ClosestPair(2.0 * THREE, MASSES, 1.0), "points"),
        (lambda: ClosestPair(THREE[[0, 0, 2]], MASSES, 1.0), "points"),
        (lambda: ClosestPair(THREE[:1], MASSES[:1], 1.0), "points"),
        (lambda: ClosestPair(THREE, [0.5, 0.0, 0.5], 1.0), "weights"),
        (lambda: ClosestPair(THREE, MASSES[:2], 1.0), "weights"),
        (lambda: ClosestPair(THREE, MASSES, 0.0), "beta"),
        (lambda: follow_pair(THREE, MASSES, 1.0, [0.9]), "angles"),
        (lambda: follow_pair(THREE, MASSES, 1.0, [0.3, 0.4]), "angles"),
        (lambda: follow_pair(THREE, MASSES, 1.0, [0.3, 0.0]), "angles"),
    ],
)
def test_bad_input_is_refused(call, word):
    with pytest.raises(ValueError, match=f"^{word}: expected"):
        call()


def test_the_end_of_an_approach_is_off_by_twice_what_two_runs_differ_by_and_by_rounding():
    found = follow_pair(THREE, MASSES, 6.0, [0.4, 0.1])
    far = replace(found.trajectory, coarse=found.trajectory.states + 1e-6)
    assert replace(found, trajectory=far).slip >= 1.999e-6
    long = replace(found.trajectory, coarse=found.trajectory.states, evaluations=10**6)
    assert replace(found, trajectory=long).slip >= 10**6 * 2.0**-52
