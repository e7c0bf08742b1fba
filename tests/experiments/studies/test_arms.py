"""What is read from the tables of arms: pairs by seed, means, gains at the level of the family, on tables made up."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from theory.evidence.streams import stream  # noqa: E402
from theory.experiments import studies  # noqa: E402
from theory.experiments.analysis import arms, pair_scores, read_arms, runs_of  # noqa: E402
from theory.experiments.arms import ARMS, Found, Trained, comparisons, experiment  # noqa: E402
from theory.experiments.arms.plan import PLAIN, conditions  # noqa: E402
from theory.experiments.arms.training import COLUMNS, TIMES  # noqa: E402

RUNS = 20
BETTER = {"published-metric": 0.5, "block-metric": 0.3}  # what an arm scores more than the others


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The table of an experiment that was never made, where it is looked for."""
    results = {}
    for place, arm in enumerate(ARMS):
        rng = stream("tests.arms.table", place)
        measured = rng.uniform(0.3, 0.31, size=(RUNS, TIMES + 1, len(COLUMNS)))
        measured[..., COLUMNS.index("score")] += BETTER.get(arm.name, 0.0)
        made = Trained(tuple(range(TIMES + 1)), measured, 100 + place)
        results[arm.name] = {"found": Found(1e-3, {}), **dict.fromkeys(conditions(arm), made)}
    found = experiment.finals(results)
    (tmp_path / "arms-moons.csv").write_text(found.to_csv(), encoding="utf-8")
    monkeypatch.setattr(arms, "FOLDER", tmp_path)
    monkeypatch.setattr(arms, "TASKS", ("moons",))
    return found


def test_tables_are_read_as_they_were_written(table):
    assert read_arms("moons").sha256 == table.sha256
    with pytest.raises(ValueError, match="task, part: expected one of"):
        read_arms("numerals")
    with pytest.raises(FileNotFoundError, match=r"python -m theory\.experiments\.arms moons --scale paper"):
        read_arms("moons", "-search")


def test_pairs_are_by_seed(table):
    own = runs_of(table, "block-dot")
    assert own["seed"].tolist() == list(range(RUNS))
    assert len(table.where(architecture="block", similarity="dot")) == 3 * RUNS  # under three conditions
    ours, theirs = pair_scores(table, "block-metric", "block-dot")
    assert (ours - theirs).mean() == pytest.approx(0.3, rel=0.0, abs=0.01)
    fewer = type(table)(table.kind, table.units, {name: table[name][:-1] for name in table.units})
    with pytest.raises(ValueError, match="with the same seeds, each once, got"):
        pair_scores(fewer, "block-metric", ARMS[-1].name, condition=PLAIN)


def test_gains_hold_what_was_put_in(table):
    runs = studies.arm_runs(scale="quick", root=1)
    gains = studies.summarise_gains(runs)
    assert gains["comparison"].tolist() == list(comparisons())
    for name, gain, alone in zip(gains["comparison"], gains.intervals("gain"), gains.intervals("alone"), strict=True):
        ours, theirs = comparisons()[name]
        claimed = BETTER.get(ours, 0.0) - BETTER.get(theirs, 0.0)
        assert gain.lo <= claimed + 0.002
        assert claimed - 0.002 <= gain.hi
        assert gain.lo <= alone.lo <= alone.hi <= gain.hi
    decided = gains.where(comparison="published")
    assert decided["holm"][0] < 1e-3
    assert decided["needed"][0] <= 5
    assert gains.where(comparison="residual")["holm"][0] > 0.01


def test_arms_are_summarised(table):
    means = studies.summarise_arms(studies.arm_runs(scale="quick", root=1))
    assert len(means) == len(ARMS)
    best = means.where(architecture="published", similarity="metric")
    assert best["parameters"][0] == 100 + [arm.name for arm in ARMS].index("published-metric")
    assert best.intervals("score")[0].lo == pytest.approx(0.805, rel=0.0, abs=0.003)


def test_a_run_that_diverged_leaves_the_mean_unknown():
    assert np.isinf(studies.enclose_gain(np.array([0.1, 0.2, np.nan])).hi)
    assert np.isinf(studies.enclose_gain(np.full(9, 0.5)).hi)
