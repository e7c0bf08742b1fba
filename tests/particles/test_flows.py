"""Flows against closed forms; the width of an observation covers what is really off."""

import math
from importlib import import_module

import numpy as np
import pytest

from theory.evidence import Interval
from theory.particles import Trajectory, first_passage_time, flow, on_sphere
from theory.particles.dynamics.flows import moved_by, safety_of


def covers(interval, value):
    return interval.lo <= value <= interval.hi


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "LSODA", "BDF"])
def test_exponential_is_covered_by_every_method(method):
    times = [0.0, 0.5, 2.0, 6.0]
    found = flow(lambda x: -x, [1.0, 3.0], times, method=method, rtol=1e-9, atol=1e-13).observe(lambda x: x[1])
    for t, interval in zip(times, found, strict=True):
        assert covers(interval, 3.0 * math.exp(-t))
        assert interval.width < 1e-5


def test_rotation_keeps_its_phase():
    spin = np.array([[0.0, -1.0], [1.0, 0.0]])
    trajectory = flow(lambda x: spin @ x, [1.0, 0.0], np.linspace(0.0, 40.0, 5))
    for t, interval in zip(trajectory.times, trajectory.observe(lambda x: x[0]), strict=True):
        assert covers(interval, math.cos(t))
        assert interval.width < 1e-7


def test_the_finer_run_takes_other_steps_than_the_coarser_one():
    """Between stops so near that both tolerances allow a single step, two runs of one step each would agree."""
    spin = np.array([[0.0, -1.0], [1.0, 0.0]])
    trajectory = flow(lambda x: spin @ x, [1.0, 0.0], 0.8 * np.arange(61), rtol=1e-5, atol=1e-8)
    for t, interval in zip(trajectory.times, trajectory.observe(lambda x: x[0]), strict=True):
        assert covers(interval, math.cos(t))


def test_the_difference_of_the_runs_is_taken_twice():
    """The true error is the difference itself where the coarser run is right by chance: here both are made up."""
    states = np.array([[0.0], [1.0]])
    for safety, width in ((2.0, 2.0), (10.0, 10.0)):
        made = Trajectory(np.array([0.0, 1.0]), states, 0.5 * states, 0, safety=safety)
        assert made.observe(lambda x: x[0])[1].width == pytest.approx(width, rel=1e-12, abs=0.0)
    assert safety_of("DOP853") == 2.0
    assert safety_of("LSODA") == safety_of("BDF") == 10.0


def test_a_scalar_and_a_matrix_are_states():
    assert flow(lambda y: -y, 1.0, [0.0, 1.0]).last.shape == ()
    x = np.eye(3)[:2]
    assert flow(on_sphere(1.0), x, [0.0, 1.0]).states.shape == (2, 2, 3)


def test_two_tokens_meet_as_the_closed_form_says():
    """With beta = 0 the angle between two tokens obeys d phi = - sin phi, so tan(phi / 2) decays as exp(-t)."""
    start = np.array([[1.0, 0.0], [math.cos(2.0), math.sin(2.0)]])
    times = np.linspace(0.0, 5.0, 6)
    found = flow(on_sphere(0.0), start, times).observe(lambda x: math.atan2(*reversed(cross_and_dot(x))))
    for t, interval in zip(times, found, strict=True):
        assert covers(interval, 2.0 * math.atan(math.tan(1.0) * math.exp(-t)))


def cross_and_dot(x):
    return float(x[0] @ x[1]), float(x[0, 0] * x[1, 1] - x[0, 1] * x[1, 0])


def test_an_observation_that_cancels_is_wide():
    x = flow(lambda x: -x, [1.0, 1.0 + 1e-3], [0.0, 30.0])
    plain = x.observe(lambda x: x[0])[-1]
    cancelling = x.observe(lambda x: 1.0 + x[0])[-1]
    assert plain.width < cancelling.width


def test_tokens_of_even_dimension_are_displaced_against_each_other():
    """A distance of two tokens that have met is not known better than their places."""
    met = np.array([[0.6, 0.8], [0.6, 0.8]])
    size = moved_by(lambda x: float(np.abs(x[0] - x[1]).max()), met, 1000)
    assert size >= 1000 * 2.0**-53


def test_an_observation_that_leaves_the_numbers_is_unknown():
    found = flow(lambda x: -x, 1.0, [0.0, 1.0]).observe(lambda x: math.nan if x < 0.9 else 1.0)
    assert found[1] == Interval.unknown(found[1].kind)


def test_passage_of_a_level():
    found = first_passage_time(lambda x: -x, 1.0, lambda x: x - 0.25, 10.0)
    assert covers(found, math.log(4.0))
    assert found.width < 1e-9


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: flow(lambda x: x, 1.0, [0.0]), ValueError, "times: expected at least two increasing"),
        (lambda: flow(lambda x: x, 1.0, [0.0, 0.0]), ValueError, "times: expected at least two increasing"),
        (lambda: flow(lambda x: x, 1.0, [0.0, 1.0], method="euler"), ValueError, "method: expected one of DOP853"),
        (lambda: flow(lambda x: x, 1.0, [0.0, 1.0], rtol=1e-20), ValueError, "rtol: expected at least"),
        (lambda: flow(lambda x: x[:1], [1.0, 2.0], [0.0, 1.0]), ValueError, "field: expected velocities of shape (2,)"),
        (lambda: flow(lambda x: x**2, 1.0, [0.0, 2.0]), ArithmeticError, "field: expected a solution up to"),
        (
            lambda: first_passage_time(lambda x: -x, 1.0, lambda x: x + 1.0, 3.0),
            ArithmeticError,
            "event: expected it to happen",
        ),
        (
            lambda: first_passage_time(lambda x: -x, 1.0, lambda x: x - 1.0, 3.0),
            ValueError,
            "event: expected a number other",
        ),
        (
            lambda: first_passage_time(lambda x: -x, 1.0, lambda x: x - 0.5, -3.0),
            ValueError,
            "horizon: expected a positive",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_two_runs_that_agree_are_off_by_the_tolerance_of_a_step_and_by_rounding():
    state = np.array([[1.0], [3.0]])
    tolerance = (2.0**-20, 2.0**-22)
    for evaluations, given in ((0, tolerance), (10**6, (0.0, 0.0))):
        made = Trajectory(np.array([0.0, 1.0]), state, state, evaluations, tolerance=given)
        off = (2.0**-52 * evaluations + given[0]) * 3.0 + given[1]  # of the state, and of what is seen of it
        seen = made.observe(lambda x: 2.0 * x[0])[1]
        assert seen.lo <= 2.0 * (3.0 - off) < 2.0 * (3.0 + off) <= seen.hi
        assert seen.width < 10.0 * off


def test_a_function_that_rounds_is_observed_with_its_rounding():
    missed = 0.0
    for k in range(1, 200):
        state = np.full((2, 1), 1.0 + k / 256)
        made = Trajectory(np.array([0.0, 1.0]), state, state, 0)
        seen = made.observe(lambda x: x[0] / 49.0 * 49.0 / 7.0 * 7.0)[1]
        assert covers(seen, state[0, 0])
        missed = max(missed, abs(seen.mid - state[0, 0]))
    assert missed > 0.0


def test_a_passage_of_two_runs_that_differ_holds_both_ends(monkeypatch):
    module = import_module("theory.particles.dynamics.passages")
    plain = module._arrival
    for method, times in (("DOP853", 2.0), ("LSODA", 10.0)):
        seen = []

        def arrival(*given, seen=seen):
            t, state, speed = plain(*given)
            seen.append(t + 1e-6 * len(seen))  # the second, coarser run is made to arrive late
            return seen[-1], state, speed

        monkeypatch.setattr(module, "_arrival", arrival)
        found = first_passage_time(lambda x: -x, 1.0, lambda x: x - 0.25, 10.0, method=method)
        assert found.width >= 1.99 * times * abs(seen[1] - seen[0]) > 1e-6
        assert covers(found, math.log(4.0))


def test_a_passage_holds_what_rounding_moves_the_event_by(monkeypatch):
    module = import_module("theory.particles.dynamics.passages")
    monkeypatch.setattr(module, "moved_by", lambda *_: 1e-6)
    found = first_passage_time(lambda x: -x, 1.0, lambda x: x - 0.25, 10.0)
    for shift in (-1e-6, 1e-6):  # of the event; it passes zero at the speed 1/4
        assert covers(found, math.log(4.0 / (1.0 + 4.0 * shift)))
