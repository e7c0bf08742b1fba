"""The width of a loss holds the loss at sixty digits, and is no wider than the roundings that it charges."""

import math

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import Kind, stream
from theory.maxent import entmax, entmax_value, studies
from theory.maxent.losses import law_error, loss_interval, stationarity_residual

U = 2.0**-53
ORDERS = (0.5, 0.75, 1.0, 1.0 + 1e-9, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def truth(scores, target, alpha, tau):
    """The three terms at sixty digits; at infinite order the largest score less the mean one."""
    s, y = oracle.exactly(scores), oracle.exactly(target)
    y = [v / mp.fsum(y) for v in y]
    if alpha == math.inf:
        return max(s) - mp.fsum(a * b for a, b in zip(s, y, strict=True))
    return oracle.loss(s, y, mp.mpf(alpha), mp.mpf(tau))


def cases():
    for case in range(6):
        rng = stream("tests.loss-interval", case)
        n = int(rng.integers(1, 7))
        tau = float(rng.choice([0.3, 1.0, 3.0]))
        yield rng.normal(size=n) * float(rng.choice([0.1, 1.0, 5.0])), tau, rng
    yield np.array([2.0, 0.0, 0.0]), 1.0, stream("tests.loss-interval", 6)  # on the edge of a support at order 3/2


@pytest.mark.parametrize("alpha", [*ORDERS, math.inf])
def test_the_truth_is_inside(alpha):
    for s, tau, rng in cases():
        n = s.size
        targets = (rng.dirichlet(np.full(n, 0.5)), np.eye(n)[0], np.eye(n)[n - 1], entmax(s, alpha, tau=tau))
        for y in targets:
            found = loss_interval(s, y, alpha, tau=tau)
            with mp.workdps(oracle.DIGITS):
                assert mp.mpf(found.lo) <= truth(s, y, alpha, tau) <= mp.mpf(found.hi)
            assert found.kind is Kind.NUMERIC
            assert found.width <= 2.0**15 * U * (tau + float(np.ptp(s)))


@pytest.mark.parametrize("alpha", ORDERS)
def test_laws_and_maxima_are_as_near_as_bounded(alpha):
    for s, tau, _ in cases():
        law = oracle.entmax(s, alpha, tau)
        assert oracle.apart(entmax(s, alpha, tau=tau), law) <= law_error(s, alpha, tau=tau)
        rho = stationarity_residual(s, alpha, tau=tau)
        size = tau + float(np.abs(s).max())
        assert rho <= 64 * U * (1.0 + float(np.ptp(s)) / tau)
        with mp.workdps(oracle.DIGITS):
            off = abs(oracle.value(oracle.exactly(s), alpha, tau) - mp.mpf(float(entmax_value(s, alpha, tau=tau))))
        assert off <= tau * rho + 64 * U * size


def test_small_losses_are_known_relatively():
    """Where the target is all but predicted the width falls with the loss."""
    found = loss_interval([30.0, 0.0, 0.0], [1.0, 0.0, 0.0], 1.0)
    assert found.width <= 1e-11 * found.mid
    near = loss_interval([0.98 * 4.0, 0.0, 0.0], [1.0, 0.0, 0.0], 1.25)
    assert 4e-9 < near.lo <= near.hi < 6e-9
    assert loss_interval([2.0, 0.0], [1.0, 0.0], 1.5).hi <= U


def test_an_underflow_leaves_the_loss_unknown():
    assert loss_interval([0.0, 5e3], [1.0, 0.0], 1.0).hi == math.inf
    assert law_error([0.0, 5e3], 1.0) == math.inf
    assert loss_interval([0.0, 5e3], [1.0, 0.0], 1.5).width <= 1e-12 * 5e3


def test_the_study_holds_the_truth():
    table = studies.losses(scale="quick", root=1)
    loss = table.intervals("loss")
    columns = ("panel", "alpha", "range", "classes", "lead", "shortfall")
    rows = list(zip(*(table[name].tolist() for name in columns), strict=True))
    assert {row[:2] for row in rows if row[0] == "two"} == {("two", alpha) for alpha in studies.ORDERS}
    for row in range(0, len(rows), 17):
        panel, alpha, spread, classes, lead, shortfall = rows[row]
        k, s = (0, [lead, 0.0]) if panel == "two" else (1, [spread / 2.0 * x for x in studies.LOGITS])
        assert (classes, spread, shortfall) == (len(s), max(s) - min(s), max(s) - s[k])
        with mp.workdps(oracle.DIGITS):
            exact = truth(s, np.eye(len(s))[k], alpha, 1.0)
            assert mp.mpf(loss[row].lo) <= exact <= mp.mpf(loss[row].hi)
        assert loss[row].width <= 1e-11
    margins = {(a, x) for p, a, _, _, x, _ in rows if p == "two"}
    assert {(a, 1.0 / (a - 1.0)) for a in studies.ORDERS if 1.0 < a < math.inf} <= margins


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, math.inf])
def test_a_gap_beyond_the_range_of_floats_leaves_the_loss_unknown(alpha):
    found = loss_interval([1.0, 0.0], [0.0, 1.0], alpha, tau=1e-320)
    assert (found.lo, found.hi) == (-math.inf, math.inf)
