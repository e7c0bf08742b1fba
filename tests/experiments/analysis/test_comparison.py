"""Gains of one attention over another: pairs of equal seeds, signs, intervals that cover, and runs that diverged."""

import math

import numpy as np
import pytest
from scipy import stats

from tests.experiments import reported_runs
from theory.evidence import statistics, stream
from theory.experiments.analysis import comparison
from theory.experiments.analysis.comparison import (
    Circumstances,
    Pairs,
    list_circumstances,
    loss_gains,
    mean_gain,
    pair_runs,
    score_gains,
)

LEVEL, REPETITIONS = 0.05, 400
MOST = int(stats.binom.isf(1e-6, REPETITIONS, LEVEL))
PUBLISHED = Circumstances("published", "width")


@pytest.fixture(scope="module")
def moons():
    return reported_runs.runs("moons")


def test_circumstances_are_those_of_both(moons):
    three = [PUBLISHED, ("tuned", "width"), ("tuned", "parameters")]
    assert list_circumstances(moons, "metric", "self") == three
    assert list_circumstances(moons, "metric", "l2") == three
    assert list_circumstances(moons, "again", "self") == three[:2]  # they have equally many parameters anyway
    assert list_circumstances(moons, "metric", "self", labels="permuted") == [PUBLISHED]
    assert list_circumstances(moons, "metric", "l2", labels="permuted") == []
    assert list_circumstances(reported_runs.runs("translation"), "metric", "self") == three[1:]


def test_pairs_have_equal_seeds_whatever_the_order_of_the_table(moons):
    mixed = stream("tests.metric.mixed", 0).permutation(len(moons))
    shuffled = type(moons)(moons.kind, moons.units, {name: column[mixed] for name, column in moons.columns.items()})
    for where in (PUBLISHED, Circumstances("tuned", "parameters")):
        one, other = (pair_runs(table, "accuracy", "metric", "self", where) for table in (moons, shuffled))
        assert one.ours.tolist() == other.ours.tolist()
        assert one.theirs.tolist() == other.theirs.tolist()
        matched = moons.where(attention="self", matching="width", rule=where.rule, labels="true")
        assert one.theirs.tolist() == matched["accuracy"].tolist()  # at equal parameters it is the same self-attention


def test_runs_without_a_partner_are_refused(moons):
    keep = (moons["seed"] > 0) | (moons["attention"] == "metric")
    short = type(moons)(moons.kind, moons.units, {name: column[keep] for name, column in moons.columns.items()})
    with pytest.raises(ValueError, match=r"^table: expected metric and self with the same seeds.* 128 and 127 runs"):
        pair_runs(short, "accuracy", "metric", "self", PUBLISHED)
    twice = {name: np.append(column, column[:1]) for name, column in moons.columns.items()}
    with pytest.raises(ValueError, match=r"each once"):
        pair_runs(type(moons)(moons.kind, moons.units, twice), "accuracy", "self", "self", PUBLISHED)


def test_gains_are_positive_where_the_first_does_better():
    losses = Pairs(np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    scores = Pairs(np.array([0.9, 0.4]), np.array([0.5, 0.5]))
    assert loss_gains(losses) == pytest.approx([math.log(2.0), -math.log(2.0)], rel=1e-15, abs=0.0)
    assert score_gains(scores) == pytest.approx([0.4, -0.1], rel=1e-12, abs=0.0)
    calm, wild = np.array([0.5, 0.5, 0.6]), np.array([0.1, 0.5, 0.8])
    found = Pairs(calm, wild)
    assert comparison.spread_gains(found) == pytest.approx([0.4, 0.0, 0.2], rel=1e-12, abs=1e-15)
    assert comparison.spread_gains(found, about=0.0) == pytest.approx([-0.1, -0.5, -0.3], rel=1e-12, abs=0.0)


@pytest.mark.parametrize("least", [0.0, -1.0, math.nan])
def test_losses_that_are_none_are_refused(least):
    with pytest.raises(ValueError, match=r"^found: expected positive losses, got"):
        loss_gains(Pairs(np.ones(2), np.array([1.0, least])))


def test_an_average_with_a_diverged_run_is_unknown():
    table = reported_runs.runs("moons", diverged=("l2",))
    for gains in (loss_gains, score_gains, comparison.spread_gains):
        found = mean_gain(pair_runs(table, "train_loss", "metric", "l2", PUBLISHED), gains)
        assert (found.lo, found.hi) == (-math.inf, math.inf)
        assert mean_gain(pair_runs(table, "train_loss", "metric", "self", PUBLISHED), gains).width < math.inf


SPREADS = {  # pairs of runs, and the mean absolute deviation of the second less that of the first
    "normal": (lambda g: (g.normal(size=32), 2.0 * g.normal(size=32)), math.sqrt(2.0 / math.pi)),
    "exponential": (lambda g: (3.0 * g.exponential(size=32), g.exponential(size=32)), -2.0 * math.log(2.0)),
    "near-one": (lambda g: 1.0 - g.binomial(300, 0.01 * np.exp(0.8 * g.normal(size=(2, 256)))) / 300.0, 0.0),
    "failures": (lambda g: 0.9 + 0.02 * g.normal(size=(2, 32)) - 0.3 * (g.random((2, 32)) < 0.1), 0.0),
}


@pytest.mark.parametrize("name", SPREADS)
def test_coverage_of_the_spread(monkeypatch, name):
    monkeypatch.setattr(statistics, "ALPHA", 10.0 * LEVEL)  # the level is a tenth of it
    draw, truth = SPREADS[name]
    drawn = (Pairs(*draw(stream(f"tests.metric.spread.{name}", case))) for case in range(REPETITIONS))
    missed = sum(truth not in mean_gain(found, comparison.spread_gains) for found in drawn)
    assert 1 <= missed <= MOST
