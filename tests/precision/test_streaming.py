"""Formats against NumPy and PyTorch, powers of e against mpmath, rows against definitions, bounds at their edge."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from theory.precision import round_to, stream_attention, stream_error, stream_row, studies
from theory.precision.formats import FORMATS
from theory.precision.streaming import WEIGHTS, _exponential


@pytest.mark.parametrize(("form", "kind"), [("float16", np.float16), ("float32", np.float32), ("float64", np.float64)])
def test_rounding_is_that_of_numpy(form, kind):
    rng = np.random.default_rng(1)
    x = np.ldexp(rng.uniform(-2.0, 2.0, 2000), rng.integers(-30, 14, 2000))
    ties = np.ldexp(2.0 * rng.integers(2 ** (FORMATS[form].bits - 1), 2 ** FORMATS[form].bits, 200) + 1.0, -30)
    for numbers in (x, ties[np.abs(ties) < 6e4]):
        with np.errstate(under="ignore"):
            assert np.array_equal(round_to(numbers, form), numbers.astype(kind).astype(np.float64))


@pytest.mark.parametrize(("form", "name"), [("bfloat16", "bfloat16"), ("e4m3", "float8_e4m3fn")])
def test_rounding_is_that_of_pytorch(form, name):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    x = np.float32(np.ldexp(rng.uniform(-1.75, 1.75, 4000), rng.integers(-14, 8, 4000)))
    ties = np.float32(np.ldexp(np.arange(1.0, 64.0), -10))
    for numbers in (x, ties):
        there = torch.tensor(numbers).to(getattr(torch, name)).double().numpy()
        assert np.array_equal(round_to(numbers, form), there)


def test_what_is_beyond_the_largest_number_is_refused():
    assert round_to(464.0, "e4m3") == 448.0
    assert round_to(65519.0, "float16") == 65504.0
    for number, form in ((480.0, "e4m3"), (65520.0, "float16"), (3.5e38, "bfloat16")):
        with pytest.raises(ValueError, match="values: expected numbers of at most"):
            round_to(number, form)


@pytest.mark.parametrize("form", ["float32", "float64"])
def test_powers_of_e_are_rounded_correctly(form):
    rng = np.random.default_rng(3)
    half = Fraction(1, 2 ** FORMATS[form].bits)
    for gap in np.float32(-rng.exponential(20.0, 200)).tolist():
        found = Fraction(_exponential(gap, form))
        with mpmath.workdps(60):
            right = Fraction(str(mpmath.exp(mpmath.mpf(gap))))
        assert abs(found - right) <= Fraction(2) ** max(math.floor(math.log2(float(right))), FORMATS[form].least) * half


@pytest.mark.parametrize("form", ["float32", "float64"])
def test_powers_of_e_below_all_numbers_are_zero(form):
    """At once: as whole numbers they have more digits than there is memory."""
    last = math.log(2.0) * (FORMATS[form].least - FORMATS[form].bits)  # of half the least positive number
    for gap, found in ((last * (1.0 - 2e-8), True), (last * (1.0 + 2e-8), False), (-1e12, False), (-2e30, False)):
        assert (_exponential(gap, form) > 0.0) == found
    assert stream_row([-1e30, 1e30], [[1.0], [3.0]], ([[0]], [[1]]), form=form).tolist() == [3.0]


def definition(scores, values, sink=None):
    """The output in float64, at scores that need no shift."""
    terms = np.where(np.isfinite(scores), np.exp(np.where(np.isfinite(scores), scores, 0.0)), 0.0)
    total = terms.sum() + (0.0 if sink is None else math.exp(sink))
    return terms @ values / total if total else np.zeros(values.shape[1])


@pytest.mark.parametrize("form", studies.FORMS)
def test_rows_are_near_their_definition_in_any_plan(form):
    rng = np.random.default_rng(4)
    scores, values = rng.integers(-40, 40, 9) / 8.0, rng.integers(-64, 64, (9, 3)) / 64.0
    scores[[2, 5]] = -np.inf
    near = 4.0 * {"float64": 2.0**-50, "float32": 2.0**-21}.get(form, FORMATS[form].unit)
    for plan in (
        [range(9)],
        [[], [8, 2], [5], [], [0, 1, 3, 4, 6, 7]],
        (([[2]], [[5], []]), [[0, 1, 3], [4, 6, 7, 8]]),
    ):
        for sink in (None, 1.5, -30.0):
            found = stream_row(scores, values, plan, form=form, sink=sink)
            assert np.abs(found - definition(scores, values, sink)).max() <= near
    blind = np.full(9, -np.inf)
    assert not stream_row(blind, values, ([range(4)], [range(4, 9), []]), form=form).any()
    assert not stream_row(blind, values, [range(9)], form=form, sink=0.0).any()


def test_empty_tiles_and_states_change_no_bit():
    rng = np.random.default_rng(5)
    scores, values = rng.normal(size=12), rng.normal(size=(12, 2))
    scores[9:] = -np.inf
    plain = stream_row(scores, values, [range(5), range(5, 12)])
    for plan in ([[], range(5), [], [], range(5, 12), []], ([range(5), range(5, 9)], [[], range(9, 12)])):
        assert np.array_equal(stream_row(scores, values, plan), plain)


def test_attention_rounds_what_rows_answer():
    rng = np.random.default_rng(6)
    q, k, v = (rng.integers(-16, 16, shape) / 8.0 for shape in ((2, 4), (6, 4), (6, 3)))
    mask = np.array([[True] * 6, [False] * 6])
    found = stream_attention(q, k, v, [range(6)], form="bfloat16", mask=mask)
    assert np.array_equal(found[0], round_to(stream_row(q[0] @ k.T / 2.0, v, [range(6)]), "bfloat16"))
    assert not found[1].any()


# --- the bound: each is nearly attained, so that a smaller one fails ---


def measured(form, length, tiles):
    """The error of the row that comes near the bound, over the bound."""
    scores, values = studies.edge(form, length)
    different = Fraction(math.exp(scores[1]))
    right = (Fraction(values[0, 0]) + (length - 1) * different) / (1 + (length - 1) * different)
    return float(abs(Fraction(stream_row(scores, values, tiles, form=form)[0]) - right)) / abs(float(values[0, 0]))


@pytest.mark.parametrize(
    ("form", "length"), [*((form, n) for form in WEIGHTS for n in (64, 1024)), ("float16", 60_000)]
)
def test_rounded_weights_nearly_reach_the_bound(form, length):
    tiles = [range(a, min(a + 128, length)) for a in range(0, length, 128)]
    bound = stream_error(length, form=form, additions=min(length, 128) + len(tiles) - 2, rises=0).weights
    assert 0.93 * bound.hi < measured(form, length, tiles) <= bound.lo


@pytest.mark.parametrize("form", ["float32", "float64"])
def test_sums_nearly_reach_the_bound(form):
    bound = stream_error(600, form=form, rises=0).weights
    assert 0.98 * bound.hi < measured(form, 600, [[key] for key in range(600)]) <= bound.lo


def test_factors_that_are_rounded_count():
    """Rising maxima: the first key goes through as many factors as there are others."""
    n = 400
    scores = np.float32(np.arange(n) * 1.1e-7 - 4e-5).astype(np.float64)
    values = np.zeros((n, 1))
    values[0] = 1.0
    found = stream_row(scores, values, [[key] for key in range(n)], form="float32")[0]
    with mpmath.workdps(40):
        terms = [mpmath.exp(mpmath.mpf(s)) for s in scores.tolist()]
        off = abs(float(mpmath.mpf(found) - terms[0] / sum(terms)))
    assert off <= stream_error(n, form="float32").weights.lo
    assert off > stream_error(n, form="float32", additions=0, rises=0).weights.hi / n


def test_bounds_have_their_values():
    """As a calculator finds them."""
    u, n, c, r = 2.0**-24, 1024, 135, 7
    mean = mpmath.lambertw(1023 / mpmath.e)
    away = -(r + 1) * mpmath.log1p(-4 * u)
    lost = 1023 * 2.0**-8 / (2 + 1023 * (1 + 2.0**-8))
    weights = away + 2 * u * (away + mean) / (1 - u) + mpmath.exp((2 * (c + r) + 4) * u / (1 - u)) * (1 + lost) - 1
    found = stream_error(n, form="bfloat16", additions=c, rises=r, width=128)
    assert found.weights.mid == pytest.approx(float(weights.real), rel=1e-13, abs=0.0)
    assert found.scores.mid == pytest.approx(132 * u / (1 - 132 * u), rel=1e-13, abs=0.0)
    assert found.output.mid == pytest.approx(2.0**-8 * (1 + float(weights.real)), rel=1e-13, abs=0.0)
    assert found.least.mid == pytest.approx(2.0**-134 + 2048 * 2.0**-126, rel=1e-13, abs=0.0)


def test_refused():
    with pytest.raises(ValueError, match="plan: expected every key from 0 to 1 once"):
        stream_row([0.0, 1.0], [[1.0], [2.0]], [[0]])
    with pytest.raises(TypeError, match="plan: expected a list of tiles"):
        stream_row([0.0, 1.0], [[1.0], [2.0]], [0, 1])
    with pytest.raises(TypeError, match="plan: expected a list of tiles"):
        stream_row([0.0, 1.0], [[1.0], [2.0]], ["01"])
    with pytest.raises(ValueError, match="values: expected numbers of at most 65504"):
        stream_attention([[1.0]], [[1.0]], [[65536.0]], [[0]], form="float16")
    with pytest.raises(ValueError, match="length: expected at most 1000000"):
        stream_error(10**7, form="float16")
    with pytest.raises(ValueError, match="form"):
        stream_error(10, form="int8")
