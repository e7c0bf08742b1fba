"""Exponential and logarithm of the maps of rows in ball arithmetic: dense and adverse points, compiled or not."""

import math
import types
from decimal import Decimal

import numpy as np
import pytest

from tests.attention import exact
from tests.engine.test_exponential import IN_PYTHON, TERMS, near
from theory.engine import elementary
from theory.engine.elementary import EXP_ERROR, LOG_ERROR
from theory.evidence import ball, stream
from theory.evidence.enclosure import balls, exp, hull, log, precision, sup_over
from theory.evidence.roundoff import U


def plain(function):
    """Return a function of the module as it is written, on the intrinsics in Python."""
    return types.FunctionType(function.__code__, {**vars(elementary), **IN_PYTHON})


EXPONENTIALS = (elementary.exp, plain(elementary._exp))
LOGARITHMS = (elementary.log, plain(elementary._log))
WAYS = ["compiled", "python"]


def exponents():
    """Return multiples of half of log 2 and what lies beside them, numbers of every size, zeros and denormals."""
    rng = stream("tests.elementary.exponents", 0)
    halves = 0.5 * np.log(2.0) * np.arange(-2040.0, 40.0)
    small = 2.0 ** np.arange(-1074.0, 0.0, 11.0)
    dense = [rng.uniform(-0.35, 0.35, 2500), rng.uniform(-708.0, 700.0, 1000), -rng.exponential(size=500)]
    return np.concatenate([near(halves[::20], np.float64), small, -small, [0.0, -0.0], *dense])


def positives():
    """Return numbers beside 1 and beside powers of two times the root of two, and of every size."""
    rng = stream("tests.elementary.positives", 0)
    beside = 1.0 + rng.choice([-1.0, 1.0], 1000) * 10.0 ** rng.uniform(-16.0, -1.0, 1000)
    roots = near(np.sqrt(2.0) * 2.0 ** np.arange(-20.0, 20.0), np.float64)
    return np.concatenate([
        beside, roots, near(2.0 ** np.arange(-20.0, 20.0), np.float64), rng.uniform(0.5, 2.0, 1500),
        rng.uniform(0.7071, 0.72, 1500), rng.uniform(1.4, 1.4142, 1500),
        np.exp(rng.uniform(-708.0, 709.0, 1000)), [np.finfo(float).tiny, np.finfo(float).max],
    ])  # fmt: skip


@pytest.mark.parametrize("function", EXPONENTIALS, ids=WAYS)
def test_exponential(function):
    """Within its bound everywhere, which is no looser than it must be."""
    points = exponents()
    with precision():
        truth = exp(balls(points))
    apart = exact.relatively_apart(np.array([function(x, 0.0) for x in points]), truth)
    assert 0.6 * EXP_ERROR <= apart <= EXP_ERROR


@pytest.mark.parametrize("function", EXPONENTIALS, ids=WAYS)
def test_exponential_of_more_digits(function):
    """What the last digit of the argument hides is not lost."""
    points = stream("tests.elementary.more", 0).uniform(-300.0, 0.0, 500)
    more = points * 2.0**-54
    with precision():
        truth = exp(balls(points) + balls(more))
    found = np.array([function(x, y) for x, y in zip(points, more, strict=True)])
    assert exact.relatively_apart(found, truth) <= EXP_ERROR + U * 2.0**-30


@pytest.mark.parametrize("function", EXPONENTIALS, ids=WAYS)
def test_exponential_that_underflows(function):
    """Rounded once more on the way to zero, which it reaches; the end of the range is not passed."""
    points = -np.linspace(700.0, 760.0, 400)
    with precision():
        truth = exp(balls(points))
        for x, y in zip(points, truth, strict=True):
            raised = ball(2.0) ** 1074  # of which float64 keeps the digits
            assert hull(abs(ball(function(x, 0.0)) - y) * raised).hi <= 0.5000001 + EXP_ERROR * hull(y * raised).hi
    assert [function(x, 0.0) for x in (-745.2, -760.0, -1e4, -1.7e308, -math.inf)] == [0.0] * 5
    assert function(-745.1, 0.0) == 5e-324
    assert function(1e4, 0.0) == function(709.0, 0.0) < math.inf


@pytest.mark.parametrize("function", LOGARITHMS, ids=WAYS)
def test_logarithm(function):
    """The sum of two is within the bound, and the first of them is that sum rounded, or next to it."""
    points = positives()
    found = [function(x) for x in points]
    with precision():
        shares = []
        for x, (first, second) in zip(points, found, strict=True):
            truth = ball(x).log()
            if x == 1.0:
                assert (first, second) == (0.0, 0.0)
                continue
            shares.append(hull(abs((ball(first) + ball(second) - truth) / truth)).hi)
            assert abs(second) <= math.ulp(first)
    assert 0.6 * LOG_ERROR <= max(shares) <= LOG_ERROR


def test_the_polynomial_is_as_near_as_derived():
    """The supremum of its relative error over the whole interval, in units of u, by branch and bound."""
    given = [0.0, 1.0, *(float(getattr(elementary, f"_T{k}")) for k in range(11))]
    with precision(256):
        apart = [(given[k] if k < len(given) else 0.0) - ball(1) / math.factorial(k) for k in range(1, TERMS)]
        texts = [f"{Decimal((2**53 * a).mid().str(50, radius=False)):f}" for a in apart]
    horner = "0"
    for text in reversed(texts):
        horner = f"(({horner})*r + ({text}))"
    rest = 2**53 * 2.0 * 0.34667**TERMS / math.factorial(TERMS)  # of the series, geometric from there on
    for sign in ("", "-"):
        supremum = sup_over(f"{sign}({horner}*r)/exp(r)", tolerance=1e-4, r=("-0.34667", "0.34667"))
        assert supremum.hi + 2.0 * rest <= 0.01
        assert supremum.lo >= 0.0


def test_log_2_in_two_parts():
    """The upper one has 32 bits, so that any exponent times it is exact."""
    with precision():
        total = ball(elementary._HIGH) + ball(elementary._LOW)
        assert hull(abs(total - log(ball(2.0)))).hi <= 2.0**-85
    assert (elementary._HIGH * 2.0**32).is_integer()
