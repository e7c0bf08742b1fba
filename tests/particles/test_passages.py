"""When a level is passed: widths of two runs that are hardly apart, and of what rounding moves."""

import math

import numpy as np
import pytest

from theory.evidence import Kind
from theory.particles import first_passage_time
from theory.particles.dynamics import passages

DECAYS = [(lambda x: -x, level, -math.log(level)) for level in (0.5, 0.25, 0.1, 0.01)]
BURSTS = [(lambda x: x * x, level, 1.0 - 1.0 / level) for level in (1.5, 2.0, 5.0, 20.0)]


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-5])
def test_runs_that_are_hardly_apart_still_bound_the_error(method, rtol, monkeypatch):
    monkeypatch.setattr(passages, "finer", lambda rtol, atol: (rtol / 4.0, atol / 4.0))
    used = []
    for field, level, time in DECAYS + BURSTS:
        horizon = 8.0 if level < 1.0 else 0.99
        found = first_passage_time(
            field, 1.0, lambda x, level=level: x - level, horizon, rtol=rtol, atol=rtol * 1e-2, method=method
        )
        assert found.kind is Kind.ESTIMATED
        used.append(abs(found.mid - time) / (found.width / 2.0))
    assert 0.05 < max(used) <= 1.0


def test_a_step_that_both_runs_take_is_charged_with_its_tolerance():
    found = first_passage_time(np.ones_like, 1e8, lambda x: x - (1e8 + 3.0), 50.0)
    assert abs(found.mid - 3.0) < 1e-7
    assert 2.0 * 1e-13 * 1e8 <= found.width / 2.0 <= 2.5e-5
    slow = first_passage_time(lambda x: 0.25 * np.ones_like(x), 1e8, lambda x: x - (1e8 + 3.0), 50.0)
    assert 4.0 * 2.0 * 1e-13 * 1e8 <= slow.width / 2.0 <= 1e-4
