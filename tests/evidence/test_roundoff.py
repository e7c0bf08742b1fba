"""The a-priori bounds are never violated by plain floating-point code, measured in balls."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from theory.evidence import Interval, Kind, stream
from theory.evidence.enclosure import balls, ends, exp, precision
from theory.evidence.roundoff import U, average_error, covariance_error, discrepancy, gamma, softmax_error, total

SIZES = [1, 2, 3, 17, 512]
LEAST = 1e-300  # below it a weight may lose digits by gradual underflow

finite = st.floats(allow_nan=False, allow_infinity=False)


def inside(interval, exact):
    """Tell whether an interval encloses a rational number."""
    return interval.lo <= exact <= interval.hi


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def streamed(scores, tile):
    """Return the weights, and how often the running maximum was replaced after the first tile."""
    peak = -np.inf
    mass = 0.0
    weights = np.zeros(scores.size)
    merges = 0
    for start in range(0, scores.size, tile):
        part = slice(start, start + tile)
        top = max(peak, float(scores[part].max()))
        merges += top > peak > -np.inf
        shrink = math.exp(peak - top) if peak > -np.inf else 0.0
        mass = mass * shrink
        weights = weights * shrink
        peak = top
        weights[part] = np.exp(scores[part] - peak)
        mass += float(weights[part].sum())
    return weights / mass, merges


def relative_errors(computed, scores, exact_scores=None):
    """Bound from below the relative errors of weights against the softmax of the exact scores."""
    with precision(256):
        masses = exp(balls(scores) if exact_scores is None else exact_scores)
        true = masses / masses.sum()
        quotients, radius = ends(balls(computed) / true - 1)
    shown = ends(true)[0] >= LEAST
    return np.maximum(np.abs(quotients) - radius, 0.0)[shown]


SHAPES = {
    "normal": lambda n, rng: rng.normal(size=n),
    "peaked": lambda n, rng: 300.0 * rng.normal(size=n),
    "large": lambda n, rng: 1e15 + rng.integers(-300, 300, size=n).astype(float),
    "increasing": lambda n, _: np.linspace(-600.0, 0.0, n),
    "equal": lambda n, _: np.full(n, -1e300),
    "subnormal": lambda n, rng: rng.integers(-9, 9, size=n) * 5e-324,
    "alternating": lambda n, _: np.where(np.arange(n) % 2 == 0, 0.0, -690.0),
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_of_exact_scores(shape, n):
    scores = SHAPES[shape](n, stream(f"tests.roundoff.{shape}", n))
    bound = softmax_error(0.0, float(scores.max() - scores.min()), n)
    assert (relative_errors(softmax(scores), scores) <= bound).all()
    weights, merges = streamed(scores, 16)
    bound = softmax_error(0.0, float(scores.max() - scores.min()), n, merges=merges)
    assert (relative_errors(weights, scores) <= bound).all()


@pytest.mark.parametrize("delta", [1e-15, 1e-9, 1e-3, 0.5, 10.0])
def test_softmax_of_scores_that_are_off(delta):
    rng = stream("tests.roundoff.delta", 0)
    for n in (2, 40):
        scores = rng.normal(size=n)
        off = balls(scores) + balls(delta * np.where(np.arange(n) == 0, 1.0, -1.0))  # the worst direction
        bound = softmax_error(delta, float(np.ptp(scores)) + 2.0 * delta, n)
        worst = relative_errors(softmax(scores), scores, off).max()
        assert worst <= bound
        assert n > 2 or bound <= 40.0 * worst or delta > 0.01  # and the bound is of the right size


def test_softmax_errors_grow_with_everything():
    base = softmax_error(1e-9, 3.0, 10, merges=1)
    assert base < softmax_error(2e-9, 3.0, 10, merges=1)
    assert base < softmax_error(1e-9, 4.0, 10, merges=1)
    assert base < softmax_error(1e-9, 3.0, 11, merges=1)
    assert base < softmax_error(1e-9, 3.0, 10, merges=2)


@pytest.mark.parametrize(("error", "spread"), [(math.inf, 1.0), (1e3, 1.0), (0.0, math.inf)])
def test_scores_of_which_nothing_is_known_bound_nothing(error, spread):
    assert softmax_error(error, spread, 3) == math.inf


@pytest.mark.parametrize("k", [0, 1, 2, 3, 1000, 10**9, 2**52])
def test_gamma_is_rounded_up(k):
    exact = Fraction(k) * Fraction(U) / (1 - Fraction(k) * Fraction(U))
    assert exact <= Fraction(gamma(k)) <= exact * (1 + Fraction(1, 2**51)) + Fraction(5e-324)


@pytest.mark.parametrize("k", [-1, 2**53, 2**54])
def test_gamma_of_no_number_of_roundings(k):
    with pytest.raises(ValueError, match=r"^k: expected"):
        gamma(k)


@pytest.mark.parametrize("n", SIZES)
def test_gamma_bounds_sums_and_dot_products_in_any_order(n):
    rng = stream("tests.roundoff.gamma", n)
    for scale in (1.0, 30.0):
        x, y = (rng.normal(size=n) * 10.0 ** rng.uniform(-scale, scale, size=n) for _ in range(2))
        p = [Fraction(v) for v in x.tolist()]
        q = [Fraction(v) for v in y.tolist()]
        for order in (slice(None), slice(None, None, -1)):
            naive = dot = 0.0
            for v, w in zip(x[order].tolist(), y[order].tolist(), strict=True):
                naive, dot = naive + v, dot + v * w
            for computed in (naive, float(x[order].sum())):
                assert abs(Fraction(computed) - sum(p)) <= Fraction(gamma(n - 1)) * sum(map(abs, p))
            exact, size = (sum(f(v * w) for v, w in zip(p, q, strict=True)) for f in (Fraction, abs))
            for computed in (dot, float(x[order] @ y[order])):
                assert abs(Fraction(computed) - exact) <= Fraction(gamma(n)) * size


@given(st.lists(st.tuples(finite, st.floats(0, 1e300), st.fractions(-1, 1)), max_size=8))
def test_total_encloses(terms):
    values, errors = [v for v, _, _ in terms], [e for _, e, _ in terms]
    interval = total(values, errors)
    exact = sum((Fraction(v) + s * Fraction(e) for v, e, s in terms), start=Fraction(0))
    assert interval.kind is Kind.NUMERIC
    assert inside(interval, exact)


def test_total_of_exact_numbers_is_good_to_an_ulp():
    interval = total([1e16, 1.0, -1e16, 2.0**-60])
    assert Fraction(1) + Fraction(2) ** -60 in interval
    assert interval.width <= 4 * math.ulp(1.0)
    assert total(np.ones((2, 3)), 0.5).hi >= 9.0  # one error for all


@pytest.mark.parametrize(
    ("values", "error"),
    [([math.nan], 0.0), ([math.inf], 0.0), ([1.0, 1.0], [-1.0, 1.0]), ([1.0], math.nan), ([2**53 + 1], 0.0)],
)
def test_total_refuses(values, error):
    with pytest.raises(ValueError, match="expected"):
        total(values, error)


def test_bounds_are_the_ones_that_are_written_down():
    """They are loose on purpose; a factor more or less would be one that was tuned."""
    u = 2.0**-53
    for found, stated in (
        (softmax_error(1e-9, 3.0, 10), 2 * (2e-9 + (4 * 3.0 + 10 + 2 * 4 + 3) * u)),
        (softmax_error(0.0, 3.0, 10, merges=5), 2 * (4 * 3.0 + 10 + 2 * 4 + 3 + 5 * (4 + 3)) * u),
        (softmax_error(0.25, 0.0, 1), math.expm1(1.0)),
        (average_error(7.0, 10), 7.0 * 12 * u),
        (average_error(7.0, 10, relative=0.5), 7.0 * (0.5 + 12 * u) * 1.5),
        (covariance_error(7.0, 10), 2 * 4 * 49.0 * 26 * u),
        (covariance_error(7.0, 10, relative=0.5), 2 * 4 * 49.0 * 0.5),
        (covariance_error(7.0, 10, shift=0.25), 2 * 8 * 7.0 * 0.25),
    ):
        assert math.isclose(found, stated, rel_tol=1e-8, abs_tol=0.0)
    assert softmax_error(0.5, 1.0, 3) == math.inf  # the weights may be off by their own size
    assert average_error(0.0, 10, relative=math.inf) == 0.0


def test_averages_of_subnormal_numbers():
    rng = stream("tests.roundoff.subnormal", 0)
    for n in SIZES:
        law = rng.dirichlet(np.ones(n))
        values = rng.integers(-9, 9, size=n) * 5e-324
        exact = sum(Fraction(w) * Fraction(v) for w, v in zip(law.tolist(), values.tolist(), strict=True))
        bound = average_error(float(np.abs(values).max()), n, relative=4 * U)
        assert abs(Fraction(float(law @ values)) - exact) <= Fraction(bound)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("relative", [0.0, 1e-9])
def test_averages(n, relative):
    rng = stream("tests.roundoff.average", n)
    law = rng.dirichlet(np.ones(n))
    values = 10.0 * rng.normal(size=(n, 2)) + 1e6
    off = law * (1.0 + relative * (1 - 4 * U) * rng.choice([-1.0, 1.0], size=n))
    size = float(np.abs(values).max())
    true = [sum(Fraction(w) * Fraction(v) for w, v in zip(law.tolist(), c, strict=True)) for c in values.T.tolist()]
    bound = average_error(size, n, relative=relative + 4 * U)
    for computed, exact in zip((off @ values).tolist(), true, strict=True):
        assert abs(Fraction(computed) - exact) <= Fraction(bound)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("shift", [0.0, 1e-7])
def test_covariances(n, shift):
    rng = stream("tests.roundoff.covariance", n)
    law = rng.integers(1, 2**20, size=n) / 2.0**30
    law[0] += 1.0 - math.fsum(law)  # exact in multiples of 2**-30
    points = rng.normal(size=(n, 2)) + 1e3
    moved = points + shift * rng.uniform(-1.0, 1.0, size=points.shape)
    centred = moved - law @ moved
    computed = (centred * law[:, np.newaxis]).T @ centred
    w = [Fraction(v) for v in law.tolist()]
    z = [[Fraction(v) for v in c] for c in points.T.tolist()]
    mean = [sum(a * b for a, b in zip(w, c, strict=True)) for c in z]
    bound = Fraction(covariance_error(float(np.abs(moved).max()), n, shift=shift + math.ulp(1e3)))
    for j in range(2):
        for k in range(2):
            exact = sum(a * (x - mean[j]) * (y - mean[k]) for a, x, y in zip(w, z[j], z[k], strict=True))
            assert abs(Fraction(float(computed[j, k])) - exact) <= bound


def test_intervals_of_totals_add_up():
    parts = total([0.1] * 3) + total([0.2] * 2)
    assert 3 * Fraction(0.1) + 2 * Fraction(0.2) in parts
    assert type(parts) is Interval


# --- the distance of two arrays ---


@given(
    st.lists(st.tuples(finite, finite, st.floats(0, allow_infinity=False), st.fractions(-1, 1)), min_size=1),
    st.sampled_from(Kind),
)
def test_discrepancy_encloses(entries, kind):
    a, b, error, _ = zip(*entries, strict=True)
    result = discrepancy(a, b, error, kind)
    rows = [tuple(map(Fraction, row)) for row in entries]
    assert result.kind is kind
    assert inside(result, max(abs(x - y + s * e) for x, y, e, s in rows))
    most = max(abs(x - y) + e for x, y, e, _ in rows)
    least = max(abs(x - y) - e for x, y, e, _ in rows)
    slack = most / 2**50 + 2 * Fraction(5e-324)
    if most < 10**300:  # and it is no wider than the rounding of it
        assert Interval.exactly(least - slack).lo <= result.lo
        assert result.hi <= Interval.exactly(most + slack).hi


def test_discrepancy_of_what_is_not_known():
    assert discrepancy([1.0], [0.0], math.inf) == Interval(0.0, math.inf)
    assert discrepancy([sys.float_info.max], [-sys.float_info.max], math.inf) == Interval(0.0, math.inf)
    assert inside(discrepancy([sys.float_info.max, 0.0], [-sys.float_info.max, 0.0]), 2 * Fraction(sys.float_info.max))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0]), "claimed: expected"),
        (([], []), "expected"),
        (([math.nan], [1.0]), "measured: expected finite"),
        (([1.0], [math.inf]), "claimed: expected finite"),
        (([2**53 + 1], [2**53]), r"measured: expected integers up to 2\*\*53"),
        (([1.0], [1.0], math.nan), "error: expected"),
        (([1.0, 1.0], [0.0, 0.0], [-0.5, 0.5]), "error: expected non-negative"),
    ],
)
def test_discrepancy_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        discrepancy(*arguments)


@pytest.mark.parametrize("entry", ["1.0", Fraction(1, 3), 1j, np.longdouble(1) / 3])
def test_discrepancy_refuses_what_float64_would_round(entry):
    with pytest.raises(TypeError, match="measured: expected real numbers"):
        discrepancy([entry], [1.0])


def test_a_narrow_number_is_widened_before_it_is_used():
    """Half precision would round what is added to it away."""
    assert softmax_error(1e-15, np.float16(10), 5) == softmax_error(1e-15, 10.0, 5) > 0.0
    assert average_error(np.float16(7), 5, relative=np.float32(0)) == average_error(7.0, 5)
    assert covariance_error(np.float16(7), 5, shift=np.float16(2)) == covariance_error(7.0, 5, shift=2.0)


def test_infinite_bounds_are_honest():
    assert covariance_error(1e200, 5, shift=0.0) == math.inf
    assert covariance_error(math.inf, 5, shift=0.0) == math.inf
    assert total([1.0, 2.0], [0.0, math.inf]) == Interval.unknown()
