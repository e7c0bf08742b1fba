"""What is read from the tables of arms: pairs by seed, means, gains at the level of the family, on tables made up."""

import numpy as np
import pytest

from tests.experiments import arm_tables
from theory.experiments import studies
from theory.experiments.analysis import pair_scores, read_arms, runs_of
from theory.experiments.arms.arm import ARMS
from theory.experiments.arms.plan import PLAIN, Condition, comparisons

BETTER = {"published-metric": 0.3, "block-metric": 0.2}  # what an arm scores more than the others


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The table of an experiment that was never made, where it is looked for."""
    return arm_tables.lay(tmp_path, monkeypatch, tasks=("moons",), scores=BETTER, losses={"published-metric": 0.5})


def test_tables_are_read_as_they_were_written(table):
    assert read_arms("moons").sha256 == table.sha256
    with pytest.raises(ValueError, match="task, part: expected one of"):
        read_arms("words")
    with pytest.raises(FileNotFoundError, match=r"python -m theory\.experiments moons --scale paper"):
        read_arms("moons", "-search")


def test_pairs_are_by_seed(table):
    own = runs_of(table, "block-dot")
    assert own["seed"].tolist() == list(range(arm_tables.RUNS))
    assert len(table.where(architecture="block", similarity="dot")) == 3 * arm_tables.RUNS  # under three conditions
    ours, theirs = pair_scores(table, "block-metric", "block-dot")
    assert (ours - theirs).mean() == pytest.approx(0.2, rel=0.0, abs=0.01)
    fewer = type(table)(table.kind, table.units, {name: table[name][:-1] for name in table.units})
    with pytest.raises(ValueError, match="with the same seeds, each once, got"):
        pair_scores(fewer, "block-metric", ARMS[-1].name, condition=PLAIN)


def test_all_comparisons_are_one_family(table):
    listed = studies.list_comparisons()
    assert len(listed) == len(set(listed)) == len(comparisons("moons")) + 2 + 3
    assert {each.margin for each in listed} == {0.02, 0.0953}
    gains = studies.pair_gains(studies.arm_runs(scale="quick", root=1), listed[0])
    assert studies.enclose_together(gains) == studies.enclose_gain(gains, 0.05 / len(listed))


def test_gains_hold_what_was_put_in(table):
    gains = studies.summarise_gains(studies.arm_runs(scale="quick", root=1)).where(quantity="score")
    assert gains["name"].tolist() == list(comparisons("moons"))
    for name, gain, alone in zip(gains["name"], gains.intervals("gain"), gains.intervals("alone"), strict=True):
        ours, theirs = comparisons("moons")[name]
        claimed = BETTER.get(ours, 0.0) - BETTER.get(theirs, 0.0)
        assert gain.lo <= claimed + 0.002
        assert claimed - 0.002 <= gain.hi
        assert gain.lo <= alone.lo <= alone.hi <= gain.hi
    decided = gains.where(name="published")
    assert decided["holm"][0] < 1e-3
    assert decided["needed"][0] == 10  # fewer have no interval at the level of each
    assert gains.where(name="residual")["holm"][0] > 0.01


def test_losses_gain_the_logarithm_of_their_ratio(table):
    gains = studies.summarise_gains(studies.arm_runs(scale="quick", root=1))
    for quantity in ("loss", "early-loss"):
        for gain in gains.where(quantity=quantity).intervals("gain"):
            assert gain.lo <= np.log(2.0) <= gain.hi
            assert gain.width < 0.05


def test_gains_under_other_conditions_and_mistakes(table):
    runs = studies.arm_runs(scale="quick", root=1)
    pair = studies.Comparison("moons", "published", "score", "published-metric", "published-dot")
    permuted = studies.pair_gains(runs, pair, condition=Condition("permuted", "paired"), other=PLAIN)
    assert permuted.mean() == pytest.approx(0.15 - 0.6, rel=0.0, abs=0.01)
    assert studies.pair_gains(runs, pair, factor=0.0).mean() == pytest.approx(-0.6, rel=0.0, abs=0.01)


def test_arms_are_summarised(table):
    means = studies.summarise_arms(studies.arm_runs(scale="quick", root=1))
    assert len(means) == len(ARMS)
    best = means.where(architecture="published", similarity="metric")
    assert best.intervals("score")[0].lo == pytest.approx(0.9, rel=0.0, abs=0.01)
    assert best["settled"][0] == pytest.approx(np.log(0.21 / 0.2), rel=0.1, abs=0.0)


def test_a_run_that_diverged_leaves_the_mean_unknown(tmp_path, monkeypatch):
    assert np.isinf(studies.enclose_gain(np.array([0.1, 0.2, np.nan])).hi)
    arm_tables.lay(tmp_path, monkeypatch, diverged=("block-dot",))
    gains = studies.summarise_gains(studies.arm_runs(scale="quick", root=1)).where(task="digits", quantity="score")
    unknown = {name for name, gain in zip(gains["name"].tolist(), gains.intervals("gain"), strict=True) if gain.hi > 9}
    assert unknown == {name for name, pair in comparisons("digits").items() if "block-dot" in pair}
