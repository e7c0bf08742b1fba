"""The exponential of the kernels in ball arithmetic: dense and adverse points, compiled or not, and its polynomial."""

import math
import types
from decimal import Decimal

import numpy as np
import pytest

from theory.engine import exponential, registers
from theory.engine.exponential import ERROR, LEAST, LEAST_SINGLE, LN2, LOG2E
from theory.evidence import ball, exact, stream
from theory.evidence.enclosure import balls, exp, hull, log, precision, sup_over
from theory.evidence.roundoff import U

ERROR_SINGLE = 3.0 * 2.0**-24
IN_PYTHON = {name: getattr(registers, f"_{kind}_in_python") for name, kind in {
    "bits": "bits", "as_float": "float", "bits_single": "bits_single", "as_float_single": "float_single"
}.items()}  # fmt: skip


def plain(function):
    """Return a function of the module as it is written, on the intrinsics in Python."""
    return types.FunctionType(function.__code__, {**vars(exponential), **IN_PYTHON})


DOUBLE = (exponential.exp2, plain(exponential._exp2))
SINGLE = (exponential.exp2_single, plain(exponential._exp2_single))
TERMS = 20  # of the series of 2**r; the rest is below 1e-28


def near(points, kind):
    """Return points with their neighbours on either side."""
    points = np.asarray(points, dtype=kind)
    return np.concatenate([points, np.nextafter(points, kind(np.inf)), np.nextafter(points, kind(-np.inf))])


def adverse(kind, least, most):
    """Return integers, halves and what lies beside them, numbers of every size, zeros and denormals."""
    info = np.finfo(kind)
    halves = np.concatenate([np.arange(-20.0, 20.5, 0.5), [least + 0.5, least + 1.0, most - 0.5, most - 1.0]])
    small = kind(2.0) ** np.arange(info.minexp, 0, 7).astype(kind)
    specks = np.array([0.0, -0.0, info.smallest_subnormal, -info.smallest_subnormal, info.tiny, -info.tiny], dtype=kind)
    rng = stream("tests.exponential.points", 0)
    dense = [rng.uniform(-0.5, 0.5, 1500), rng.uniform(least, most, 1000), -rng.exponential(size=300)]
    points = np.concatenate(
        [near(halves, kind), small, -small, specks, [least], *(part.astype(kind) for part in dense)]
    )
    return points.astype(kind)


@precision()
def two_to(points):
    return exp(balls(points.astype(np.float64)) * log(ball(2.0)))


@pytest.mark.parametrize("function", DOUBLE, ids=["compiled", "python"])
def test_double(function):
    points = adverse(np.float64, LEAST, 1022.0)
    found = np.array([function(x) for x in points])
    assert exact.relatively_apart(found, two_to(points)) <= ERROR
    assert ERROR == 2.75 * U


@pytest.mark.parametrize("function", SINGLE, ids=["compiled", "python"])
def test_single(function):
    points = adverse(np.float32, LEAST_SINGLE, 126.0)
    found = np.array([function(x) for x in points])
    assert found.astype(np.float32).tolist() == found.tolist()
    assert exact.relatively_apart(found.astype(np.float64), two_to(points)) <= ERROR_SINGLE


@pytest.mark.parametrize("function", DOUBLE, ids=["compiled", "python"])
def test_ends_of_the_range(function):
    """Integers are exact, whatever is below the least argument is taken for it, and a NaN is not lost."""
    assert [function(float(k)) for k in range(-1021, 1023)] == [2.0**k for k in range(-1021, 1023)]
    below = [math.nextafter(LEAST, -math.inf), -1022.0, -1074.0, -1e4, -1e300, -math.inf]
    assert [function(x) for x in below] == [2.0**LEAST] * len(below)
    with np.errstate(invalid="ignore"):
        assert math.isnan(function(math.nan))
        assert math.isnan(function(np.float64(math.inf) - np.float64(math.inf)))  # its sign bit is set


@pytest.mark.parametrize("function", SINGLE, ids=["compiled", "python"])
def test_ends_of_the_range_in_single_precision(function):
    assert [function(np.float32(k)) for k in range(-125, 127)] == [2.0**k for k in range(-125, 127)]
    assert [function(np.float32(x)) for x in (-125.5, -149.0, -1e30, -np.inf)] == [2.0**-125] * 4
    with np.errstate(invalid="ignore"):
        assert math.isnan(function(np.float32(np.nan)))


@pytest.mark.parametrize("function", [*DOUBLE, *SINGLE], ids=["compiled", "python", "compiled-single", "python-single"])
def test_a_wrong_last_digit_would_be_seen(function):
    """The bounds are no looser than a few units in the last place: the error seen is a good part of them."""
    kind, bound = (np.float64, ERROR) if function in DOUBLE else (np.float32, ERROR_SINGLE)
    points = stream("tests.exponential.sharp", 0).uniform(-0.5, 0.0, 4000).astype(kind)
    found = np.array([function(x) for x in points]).astype(np.float64)
    assert 0.3 * bound <= exact.relatively_apart(found, two_to(points))


@pytest.mark.parametrize(
    ("letter", "degree", "kind", "bound"), [("C", 11, np.float64, 0.19), ("S", 6, np.float32, 0.33)]
)
def test_the_polynomial_is_as_near_as_derived(letter, degree, kind, bound):
    """The supremum of its relative error over the whole interval, in units of u, by branch and bound.

    Of ``p(r) - 2^r`` the coefficients are enclosed first, or each box would lose what cancels between them.
    """
    unit = 2**53 if kind is np.float64 else 2**24
    given = [float(getattr(exponential, f"_{letter}{k}")) for k in range(1, degree + 1)]
    with precision(256):
        ln2 = log(ball(2.0))
        apart = [(given[k - 1] if k <= degree else 0.0) - ln2**k / math.factorial(k) for k in range(1, TERMS)]
        texts = [f"{Decimal((unit * a).mid().str(50, radius=False)):f}" for a in apart]
    horner = "0"
    for text in reversed(texts):
        horner = f"(({horner})*r + ({text}))"
    rest = unit * 2.0 * (LN2 / 2.0) ** TERMS / math.factorial(TERMS)  # of the series, geometric from there on
    for sign in ("", "-"):
        supremum = sup_over(f"{sign}({horner}*r)/exp(r*log(2))", tolerance=1e-3, r=("-0.5", "0.5"))
        assert supremum.hi + 2.0 * rest <= bound
        assert supremum.lo >= 0.0


def test_constants_are_the_nearest_floats():
    with precision():
        for value, true in ((LN2, log(ball(2.0))), (LOG2E, 1 / log(ball(2.0)))):
            assert hull(abs(ball(value) - true)).hi <= math.ulp(value) / 2.0
