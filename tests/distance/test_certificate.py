"""Nothing that the solver says is believed: what is made of its proposals is a coupling and a feasible pair."""

import math
import os
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from theory.attention import Measure
from theory.distance import dense, simplex, w1, w1_line
from theory.evidence import stream


@pytest.mark.parametrize("case", range(40))
def test_nothing_the_solver_says_is_believed(case, monkeypatch):
    rng = stream("tests.certificate.garbage", case)
    mu, nu = (Measure(rng.integers(-9, 9, size=(n, 1)) * np.array([3.0, 4.0])) for n in (5, 7))
    odd = rng.choice([0.0, 1.0, -1.0, 1e-300, 1e300, np.nan, np.inf], size=(5, 7))
    signed = np.full((5, 7), 1.0 / 35.0) + np.outer(
        rng.permutation([9, -9, 0, 0, 0]), rng.permutation([9, -9] + [0] * 5)
    )
    plan = (odd, signed, rng.random((5, 7)) / 20)[case % 3]
    potential = rng.normal(size=5) * 10.0 ** rng.integers(-3, 308)
    potential[0] = rng.choice([0.0, np.nan, np.inf, -sys.float_info.max])
    monkeypatch.setattr(dense, "_propose", lambda *_: (plan, potential))
    interval = w1(mu, nu)
    exact = w1_line(mu.linear_image([[3.0, 4.0]]), nu.linear_image([[3.0, 4.0]])) / 5
    assert interval.lo <= exact.hi
    assert interval.hi >= exact.lo


def test_bounds_from_nothing(monkeypatch):
    mu = Measure([[0.0, 0.0], [3.0, 4.0]])
    nu = Measure([[6.0, 8.0], [9.0, 12.0], [12.0, 16.0]])
    monkeypatch.setattr(dense, "_propose", lambda *_: (np.zeros((2, 3)), np.zeros(2)))
    # relative: 2(d + 4)u and a few steps
    interval = w1(mu, nu)
    rounding = 2.0**-48
    assert 12.5 * (1.0 - rounding) <= interval.lo <= 12.5  # v = 5, 10, 15 from below, then u = 5, 0
    assert 20.0 <= interval.hi <= 20.0 * (1.0 + rounding)  # the largest of all distances


def test_raw_duals_of_a_stopped_solver_are_no_bound():
    rng = stream("tests.certificate.duals", 0)
    x, y = rng.normal(size=(2, 100, 2))
    mu, nu = Measure(x), Measure(y)
    cost, *_ = dense._costs(mu.points, nu.points)
    before = cost.copy()
    with pytest.warns(UserWarning, match="numItermax"):
        _, log = simplex._solver()(mu.weights, nu.weights, cost, numItermax=1, log=True)
    assert np.array_equal(cost, before)  # the certificate reads the costs after the solver had them
    raw = math.fsum(mu.weights * log["u"]) + math.fsum(nu.weights * log["v"])
    assert raw > 1.0  # costs are below one, so is their mean: this would be a false lower bound


@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e300])
def test_potentials_are_feasible_and_cannot_be_raised(size):
    rng = stream("tests.certificate.feasible", 0)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(37, 3))
    cost, _, unit, lost = dense._costs(x, y)
    u, v = dense._feasible(cost, size * rng.normal(size=40), 7 * 2.0**-52, lost)
    rounding = Fraction(14 + 2 + 3 * 4 * size) / 2**52  # of costs below one, and three steps at the size of a centred u

    def within(i, j, room):  # whether u_i + v_j <= |x_i - y_j| + room, without a root
        square = sum((Fraction(p) - Fraction(q)) ** 2 for p, q in zip(x[i].tolist(), y[j].tolist(), strict=True))
        reach = Fraction(u[i]) + Fraction(v[j]) - room
        return reach <= 0 or reach**2 <= square / Fraction(4) ** unit

    assert all(within(i, j, 0) for i in range(40) for j in range(37))
    if size < 1e300:  # beyond, the potential was given up
        assert not any(all(within(i, j, -rounding) for j in range(37)) for i in range(40))
        assert not any(all(within(i, j, -rounding) for i in range(40)) for j in range(37))


def test_a_constant_in_the_potential_is_taken_out():
    rng = stream("tests.certificate.constant", 0)
    x, y = rng.normal(size=(2, 40, 3))
    cost, _, _, lost = dense._costs(x, y)
    potential = rng.integers(-(2**20), 2**20, size=40) * 2.0**-20  # on a grid where the constant rounds nothing
    here, there = (dense._feasible(cost, potential + constant, 7 * 2.0**-52, lost) for constant in (0.0, 2.0**20))
    assert np.array_equal(here, there)


@pytest.mark.parametrize("preset", [None, "yes"])
def test_frameworks_are_hidden_only_while_the_solver_is_imported(preset, monkeypatch):
    names = [f"POT_BACKEND_DISABLE_{name}" for name in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW")]
    for name in names:
        monkeypatch.delenv(name, raising=False)
    if preset is not None:
        monkeypatch.setenv(names[1], preset)
    seen = []

    def load(name):
        seen.append((name, [os.environ.get(key) for key in names]))
        return SimpleNamespace(emd=len)

    monkeypatch.setattr(simplex, "import_module", load)
    simplex._solver.cache_clear()
    assert simplex._solver() is len
    simplex._solver.cache_clear()
    assert seen == [("ot", ["1", "1", "1", "1"])]
    assert [os.environ.get(key) for key in names] == [None, preset, None, None]
