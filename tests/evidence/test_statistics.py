"""Intervals from samples cover the truth as often as they say, and power laws come out exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from theory.evidence import Interval, Kind, batch_mean, bounded_mean, proportion, run_mean, slope, statistics, stream

LEVEL, REPETITIONS = 0.05, 400
# with coverage 95 % and 400 repetitions more than this many misses occur with probability below 1e-6
MOST = int(stats.binom.isf(1e-6, REPETITIONS, LEVEL))


@pytest.fixture
def ordinary_level(monkeypatch):
    """Set a level at which misses can be seen."""
    monkeypatch.setattr(statistics, "ALPHA", LEVEL)


def misses(name, draw, truth, interval):
    """Count the intervals that miss the truth, over independent samples."""
    count = 0
    for rng in (stream(f"tests.statistics.{name}", case) for case in range(REPETITIONS)):
        found = interval(draw(rng))
        assert found.kind is Kind.STATISTICAL
        count += truth not in found
    return count


def tail(hits, draws, p):
    """Return the probability of at least ``hits`` among ``draws``, exactly."""
    return sum(math.comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(hits, draws + 1))


@pytest.mark.parametrize(("hits", "draws"), [(0, 1), (1, 1), (0, 20), (1, 20), (7, 20), (19, 20), (20, 20), (3, 100)])
@pytest.mark.parametrize("among", [1, 7])
def test_proportion_is_the_interval_of_clopper_and_pearson(hits, draws, among):
    interval = proportion(hits, draws, among=among)
    level = Fraction(statistics.ALPHA) / among / 2
    step = Fraction(1, 10**6)  # the ends are where a tail has the level: it changes sides within a step
    if hits == 0:
        assert interval.lo == 0.0
    else:
        low = Fraction(interval.lo)
        assert tail(hits, draws, low * (1 - step)) <= level <= tail(hits, draws, low * (1 + step))
    if hits == draws:
        assert interval.hi == 1.0
    else:
        high = Fraction(interval.hi)
        below = [1 - tail(hits + 1, draws, 1 - (1 - high) * (1 + s)) for s in (step, -step)]
        assert min(below) <= level <= max(below)
    assert interval.kind is Kind.STATISTICAL


def test_proportion_is_symmetric_and_narrows():
    for hits, draws in ((0, 9), (3, 9), (100, 10**6)):
        a, b = proportion(hits, draws), proportion(draws - hits, draws)
        assert math.isclose(a.lo, 1.0 - b.hi, rel_tol=1e-9, abs_tol=1e-12)
    assert proportion(500, 1000).width > proportion(5000, 10_000).width
    assert proportion(500, 1000).width < proportion(500, 1000, among=10).width


def test_coverage_of_proportion(ordinary_level):
    for n, p in ((30, 0.1), (200, 0.5)):
        assert (
            misses(f"proportion.{n}", lambda g, n=n, p=p: g.binomial(n, p), p, lambda k, n=n: proportion(k, n)) <= MOST
        )


def test_coverage_of_bounded_mean(ordinary_level):
    for name, draw, truth in (
        ("uniform", lambda g: g.uniform(-1.0, 3.0, size=100), 1.0),
        ("rare", lambda g: 4.0 * (g.random(100) < 0.01) - 1.0, -0.96),
    ):
        assert misses(name, draw, truth, lambda x: bounded_mean(x, -1.0, 3.0)) <= MOST


def test_coverage_of_run_mean(ordinary_level, monkeypatch):
    """Over normal runs and over skew ones, each an average of forty exponential numbers."""
    monkeypatch.setattr(statistics, "_DERATE", 1.0)
    normal = misses("run-normal", lambda rng: rng.normal(2.0, 3.0, size=16), 2.0, run_mean)
    skew = misses("run-skew", lambda rng: rng.exponential(size=(16, 40)).mean(axis=1), 1.0, run_mean)
    assert normal <= MOST
    assert skew <= MOST


def test_run_mean_is_the_interval_of_student():
    x = stream("tests.statistics.run-mean", 0).normal(size=20)
    found, shared = run_mean(x), run_mean(x, among=3)
    reach = stats.t.isf(0.5e-7, 19) * x.std(ddof=1) / math.sqrt(20)
    assert found.width / 2.0 == pytest.approx(reach, rel=1e-12, abs=0.0)
    assert found.lo <= x.mean() <= found.hi
    assert shared.width > found.width
    assert run_mean(np.zeros(16)).hi == math.inf  # a spread that was never seen


def test_coverage_of_batch_mean(monkeypatch):
    monkeypatch.setattr(statistics, "ALPHA", 10.0 * LEVEL)  # the level is a tenth of it
    found = {
        name: misses(name, draw, 1.0, batch_mean)
        for name, draw in (
            ("normal", lambda g: g.normal(1.0, 2.0, size=25_600)),
            ("skewed", lambda g: g.exponential(size=25_600)),
        )
    }
    assert max(found.values()) <= MOST
    assert min(found.values()) >= 1  # and it is no wider than it says: no miss in 400 has probability below 1e-8


def test_coverage_of_slope(monkeypatch):
    monkeypatch.setattr(statistics, "ALPHA", 10.0 * LEVEL)
    n = np.array([10, 20, 40, 80])
    assert (
        misses("slope", lambda g: n**-0.5 * np.exp(0.1 * g.normal(size=(16, 4))), -0.5, lambda y: slope(n, y)) <= MOST
    )


@pytest.mark.parametrize("p", [-2.0, -0.5, 1 / 3, 0.0, 1.0, 7.0])
@pytest.mark.parametrize("sizes", [[1, 2, 3, 4], [10, 30, 100, 300, 1000], [1e-9, 1e-6, 1e-3, 1.0]])
def test_slope_of_a_power_law_is_its_exponent(p, sizes):
    n = np.array(sizes)
    for factor in (1.0, 1e-200, 3e100):
        interval = slope(n, np.tile(factor * n**p, (8, 1)))
        assert p in interval
        assert interval.width <= 1e-9


def test_slope_admits_the_next_order():
    n = 2.0 ** np.arange(3, 9)
    for p, next_order in ((-0.5, 1.0), (-1.0, 0.5), (2.0, -3.0)):
        samples = n**p * (1.0 + next_order * n**-1.0)
        assert p in slope(n, np.tile(samples, (8, 1)))


def test_reach_is_the_one_of_the_theorem():
    x = stream("tests.statistics.reach", 0).uniform(size=25_600)
    n = 1000
    log = math.log(4e6)
    bernstein = math.sqrt(2.0 * x[:n].var(ddof=1) * log / n) + 7.0 * 2.0 * log / (3.0 * (n - 1))
    found = bounded_mean(x[:n], 0.0, 2.0)
    assert math.isclose(found.hi - x[:n].mean(), bernstein, rel_tol=1e-9, abs_tol=0.0)
    means = x.reshape(64, 400).mean(axis=1)
    student = stats.t.isf(1e-7 / 2.0, 63) * means.std(ddof=1) / 8.0
    assert math.isclose(batch_mean(x).width / 2.0, student, rel_tol=1e-6, abs_tol=0.0)
    slopes = -0.5 + 0.1 * stream("tests.statistics.slopes", 0).normal(size=8)
    sizes = np.array([1.0, 2.0, 4.0, 8.0])
    student = stats.t.isf(1e-7 / 2.0, 7) * slopes.std(ddof=1) / math.sqrt(8.0)
    assert math.isclose(slope(sizes, sizes ** slopes[:, np.newaxis]).width / 2.0, student, rel_tol=1e-6, abs_tol=0.0)


def test_several_statistics_share_the_level():
    rng = stream("tests.statistics.among", 0)
    x = rng.normal(size=25_600)
    y = np.exp(rng.normal(size=(8, 4)))
    for interval in (
        lambda k: batch_mean(x, among=k),
        lambda k: bounded_mean(np.clip(x, -1.0, 1.0), -1.0, 1.0, among=k),
        lambda k: slope([1, 2, 3, 4], y, among=k),
        lambda k: proportion(3, 9, among=k),
    ):
        one, ten = interval(1), interval(10)
        assert ten.lo < one.lo < one.hi < ten.hi
        for wrong in (0, -1):
            with pytest.raises(ValueError, match=r"^among: expected"):
                interval(wrong)


def test_rounding_of_the_mean_is_in_the_width():
    n = 25_600
    for level in (0.1, 1e15 + 0.125):
        sample = np.where(np.arange(n) % 2 == 0, level, math.nextafter(level, math.inf))
        exact = (Fraction(level) + Fraction(math.nextafter(level, math.inf))) / 2
        assert exact in batch_mean(sample)


def test_spread_that_was_never_seen_is_not_known_to_be_none():
    assert batch_mean(np.zeros(25_600)).hi == math.inf  # an event of probability 1e-6 looks like this


def test_no_draw_is_dropped():
    sample = stream("tests.statistics.rest", 0).normal(size=25_601)
    changed = np.where(np.arange(25_601) == 25_600, 1e6, sample)
    assert batch_mean(sample) != batch_mean(changed)


def test_bounded_mean_stays_in_its_range():
    interval = bounded_mean([0.0, 1.0], 0.0, 1.0)
    assert interval == Interval(0.0, 1.0, Kind.STATISTICAL)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: proportion(3, 2), r"^hits, draws: expected .* got 3, 2$"),
        (lambda: proportion(-1, 2), r"hits.*: expected"),
        (lambda: proportion(0, 0), r"draws: expected"),
        (lambda: bounded_mean([], 0.0, 1.0), r"^sample: expected"),
        (lambda: bounded_mean([0.5], 0.0, 1.0), r"^sample: expected at least two draws"),
        (lambda: bounded_mean([0.5, 1.5], 0.0, 1.0), r"^sample: expected .* in \[0\.0, 1\.0\]"),
        (lambda: bounded_mean([0.5, math.nan], 0.0, 1.0), r"^sample: expected"),
        (lambda: bounded_mean([0.5, 0.5], 1.0, 0.0), r"^sample: expected"),
        (lambda: run_mean(np.arange(15.0)), r"^sample: expected at least 16 runs, got 15$"),
        (lambda: batch_mean(np.zeros(25_599)), r"^sample: expected .* got 25599$"),
        (lambda: batch_mean(np.full(25_600, math.nan)), r"^sample: expected finite"),
        (lambda: batch_mean(np.full(25_600, math.inf)), r"^sample: expected finite"),
        (lambda: slope([1, 2, 3], np.ones((8, 3))), r"^samples: expected shape"),
        (lambda: slope([1, 2, 3, 4], np.ones((7, 4))), r"^samples: expected shape"),
        (lambda: slope([1, 2, 3, 4], np.ones((8, 5))), r"^samples: expected shape"),
        (lambda: slope([1, 2, 2, 4], np.ones((8, 4))), r"^sizes, samples: expected increasing positive sizes"),
        (lambda: slope([0, 1, 2, 4], np.ones((8, 4))), r"^sizes, samples: expected"),
        (lambda: slope([1, 2, 3, 4], np.zeros((8, 4))), r"^sizes, samples: expected .* positive samples"),
        (lambda: slope([1, 2, 3, 4], np.full((8, 4), math.nan)), r"^samples: expected"),
        (lambda: slope([1, 2, 3, math.inf], np.ones((8, 4))), r"^sizes: expected"),
    ],
)
def test_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("hits", [3.5, True, "3"])
def test_proportion_counts(hits):
    with pytest.raises(TypeError, match=r"^hits: expected an integer"):
        proportion(hits, 10)
