"""What was reported, judged on made-up runs: every verdict can come out, every twin is refuted, no run is dropped."""

import math

import numpy as np
import pytest

from tests.experiments import reported_runs
from theory.evidence import Run, Verdict, Verification, decide, equals, run_mean, runner
from theory.evidence.judge import judge
from theory.experiments import studies
from theory.experiments.analysis import comparison, results
from verify.experiments import test_reported as reported

MARGINS = {"loss": math.log(1.1), "score": 0.02, "spread": 0.005}


def claims(task):
    found = [value for value in vars(reported).values() if isinstance(value, Verification)]
    return {value.claim.id: value for value in found if value.claim.id.startswith(f"reported.{task}-")}


@pytest.fixture
def lay(monkeypatch):
    """Return a function that puts made-up runs in place of the recorded ones."""

    def put(**options):
        monkeypatch.setattr(runner, "_STUDIES", {})
        monkeypatch.setattr(results, "runs", lambda task: reported_runs.runs(task, **options))
        monkeypatch.setattr(results, "curves", reported_runs.curves)

    put()
    return put


def verdict(id_, scale="quick"):
    verification = claims(id_.partition(".")[2].partition("-")[0])[id_]
    found = decide(verification, Run(id_, scale=scale))
    assert all(result.departure.lo > 0.0 for result in found.twins)
    return found


@pytest.mark.parametrize("task", studies.TASKS)
def test_every_quantity_and_opponent_is_a_claim_of_one_shape(task):
    own = {f"reported.{task}-{quantity}-{other}" for quantity in MARGINS for other in reported.OPPONENTS}
    assert own <= set(claims(task))
    for id_ in own:
        claim = claims(task)[id_].claim
        assert claim.words.endswith(reported.QUANTITIES[id_.split("-")[1]].words)
        assert "OTHER" not in claim.statement
        assert len(claim.finds) == 1


@pytest.mark.parametrize("task", studies.TASKS)
@pytest.mark.parametrize("quantity", MARGINS)
def test_what_was_made_up_is_found(lay, task, quantity):
    many = task == "moons"
    level = {"self": (0.3, 0.80), "l2": (0.2, 0.90), "metric": (0.2, 0.90)}
    spread = {"self": 0.015, "l2": 0.001, "metric": 0.001}
    lay(level=level, spread=spread)
    against = {other: verdict(f"reported.{task}-{quantity}-{other}") for other in ("self", "l2")}
    better = against["self"].verdict
    assert better is (Verdict.SUPPORTED if many or quantity != "spread" else Verdict.INCONCLUSIVE)
    assert against["l2"].verdict is Verdict.REFUTED  # no better, and that is seen
    assert against["self"].cases == (2 if task == "translation" else 3)
    for found in against.values():
        assert found.finding.scale.mid == pytest.approx(MARGINS[quantity], rel=1e-15, abs=0.0)
        assert len(found.twins) >= 2


def test_early_runs_are_judged_like_late_ones(lay, monkeypatch):
    names = {"early": "l2", "faster-l2": "l2", "faster-self": "self"}
    lay()
    recorded = {"self": (0.3, 0.80), "l2": (0.3, 0.80), "metric": (0.2, 0.90)}
    monkeypatch.setattr(results, "curves", lambda task: reported_runs.curves(task, recorded))
    assert {verdict(f"reported.moons-{name}").verdict for name in names} == {Verdict.SUPPORTED}
    monkeypatch.setattr(runner, "_STUDIES", {})
    monkeypatch.setattr(results, "curves", lambda task: reported_runs.curves(task, dict.fromkeys(recorded, (0.2, 0.9))))
    assert {verdict(f"reported.moons-{name}").verdict for name in names} == {Verdict.REFUTED}


def test_comparisons_share_the_level_of_a_claim(lay):
    """Three comparisons have three chances to err: each interval is that of a third of the level."""
    lay()
    claim = claims("moons")["reported.moons-score-self"]
    found = list(claim.check(Run(claim.claim.id)))
    table = studies.finals(scale="quick", root=1).where(task="moons")
    where = comparison.list_circumstances(table, "metric", "self")
    assert len(where) == 3
    for finding, each in zip(found, where, strict=True):
        gains = comparison.score_gains(comparison.pair_runs(table, "score", "metric", "self", each))
        assert finding.measured == run_mean(gains, among=3)
        assert finding.measured.width > run_mean(gains).width


def test_claims_say_whether_the_runs_were_known():
    """Margins of the end were fixed before the runs; of the three about early runs one was stated before them."""
    found = {
        id_: any("after the runs were seen" in a for a in v.claim.assumptions) for id_, v in claims("moons").items()
    }
    assert {id_ for id_, after in found.items() if after} == {"reported.moons-faster-l2", "reported.moons-faster-self"}


def test_few_runs_that_vary_decide_nothing(lay):
    level = {"self": (0.3, 0.80), "l2": (0.2, 0.83), "metric": (0.2, 0.83)}
    lay(level=level, spread=dict.fromkeys(level, 0.05))
    assert verdict("reported.translation-score-self").verdict is Verdict.INCONCLUSIVE


def test_one_comparison_that_fails_refutes(lay, monkeypatch):
    def but_one(task):
        table = reported_runs.runs(task)
        worse = (table["attention"] == "metric") & (table["matching"] == "parameters")
        columns = {**table.columns, "accuracy": np.where(worse, 0.5, table["accuracy"])}
        return type(table)(table.kind, table.units, columns)

    lay()
    assert verdict("reported.moons-score-self").verdict is Verdict.SUPPORTED
    lay()
    monkeypatch.setattr(results, "runs", but_one)
    found = verdict("reported.moons-score-self")
    assert found.verdict is Verdict.REFUTED
    assert found.finding.case["matching"] == "parameters"


@pytest.mark.parametrize("quantity", MARGINS)
def test_a_run_that_diverged_is_not_dropped(lay, quantity):
    lay(diverged=("l2",))
    found = verdict(f"reported.moons-{quantity}-self")
    assert found.departure.width < math.inf
    verification = claims("moons")[f"reported.moons-{quantity}-l2"]
    assert decide(verification, Run(verification.claim.id)).departure.hi == math.inf


def test_another_number_of_runs_than_was_fixed_is_an_error(lay, monkeypatch):
    lay()
    monkeypatch.setitem(reported_runs.SEEDS, "digits", 23)
    with pytest.raises(ValueError, match=r"^finals: expected 24 pairs of runs of digits, got 23$"):
        verdict("reported.digits-loss-self")


def test_a_comparison_that_is_missing_is_an_error(lay, monkeypatch):
    def without(task):
        table = reported_runs.runs(task)
        kept = (table["attention"] != "l2") | (table["rule"] != "published")
        return type(table)(table.kind, table.units, {name: table[name][kept] for name in table.columns})

    lay()
    monkeypatch.setattr(results, "runs", without)
    with pytest.raises(ValueError, match=r"^finals: expected 3 comparisons of metric with l2, got 2$"):
        verdict("reported.moons-score-l2")


def test_the_margin_is_an_effect_and_the_same_at_both_scales(lay):
    lay()
    quick, paper = (verdict("reported.moons-loss-self", scale) for scale in ("quick", "paper"))
    assert quick.departure == paper.departure
    assert quick.tables == paper.tables


def test_power_is_that_of_the_interval():
    """Differences of the size that is told have intervals off zero in 99 of 100 samples."""
    task = reported.Task("x", "", (), 32, 3)
    stated = float(reported.state_power(task).split(" standard")[0].split()[-1])
    rng = np.random.default_rng(0)
    seen = sum(run_mean(stated + rng.normal(size=32), among=3).lo > 0.0 for _ in range(1000))
    assert 980 <= seen <= 998
    assert "1.85 standard" in reported.state_power(task)
    assert "probability 0.52" in reported.state_normality(task)
    assert reported.detectable_difference(task) == 1.85
    assert "differ by at most 0.27 points" in reported.state_resolution(task)[0]


# --- studies ---


def test_finals_are_all_runs_with_the_scores_that_the_paper_reports(lay):
    lay()
    table = studies.finals(scale="quick", root=1)
    assert list(dict.fromkeys(table["task"].tolist())) == list(studies.TASKS)
    for task in studies.TASKS:
        part = table.where(task=task)
        own = reported_runs.runs(task)
        assert part["seed"].tolist() == own["seed"].tolist()
        name, noisy, unit = ("bleu", "noisy_bleu", 100.0) if task == "translation" else ("accuracy", "noisy_2", 1.0)
        assert np.abs(part["score"] - own[name] / unit).max() == 0.0
        assert np.abs(part["noisy"] - own[noisy] / unit).max() == 0.0
    assert studies.finals(scale="paper", root=2).sha256 == table.sha256


def test_early_runs_are_those_of_a_tenth_of_the_epochs(lay):
    lay()
    table = studies.early(scale="quick", root=1)
    own = reported_runs.curves("moons").where(epoch=studies.BUDGET)
    assert set(table["epoch"].tolist()) == {50}
    assert np.abs(table["score"] - own["accuracy"]).max() == 0.0
    assert np.abs(table["train_loss"] - own["train_loss"]).max() == 0.0


def test_curves_are_means_and_quartiles_over_runs(lay):
    lay()
    table = studies.curves(scale="quick", root=1)
    own = reported_runs.curves("digits").where(attention="metric", matching="width", rule="tuned", epoch=50)
    row = table.where(task="digits", attention="metric", matching="width", rule="tuned", epoch=50)
    assert row["runs"].tolist() == [24]
    assert row.intervals("accuracy") == [run_mean(own["accuracy"])]
    ordered = np.sort(own["train_loss"])
    assert row["train_loss_median"][0] == ordered[11]
    assert (row["train_loss_low"][0], row["train_loss_high"][0]) == (ordered[5], ordered[17])


def test_curves_with_a_diverged_run_have_no_mean_but_quartiles(lay, monkeypatch):
    lay()

    def lost(task):
        table = reported_runs.curves(task)
        gone = (table["seed"] < 9) & (table["epoch"] == 500)
        own = {name: np.where(gone, np.inf, table[name]) for name in ("train_loss", "accuracy")}
        return type(table)(table.kind, table.units, {**table.columns, **own})

    monkeypatch.setattr(results, "curves", lost)
    row = studies.curves(scale="quick", root=1).where(task="digits", attention="l2", matching="width", rule="tuned")
    assert row.intervals("train_loss")[-1].hi == math.inf
    assert row.intervals("train_loss")[-2].hi < math.inf
    assert row["train_loss_low"][-1] < row["train_loss_median"][-1] < row["train_loss_high"][-1] == math.inf
    assert 0.0 == row["accuracy_low"][-1] < row["accuracy_median"][-1] < row["accuracy_high"][-1] < math.inf
    assert row.intervals("accuracy")[-1].hi == math.inf


def test_new_runs_depend_on_the_root_and_not_on_the_recorded_seeds(lay, monkeypatch):
    lay()
    monkeypatch.setattr("theory.experiments.studies.reported.BUDGET", 1)
    monkeypatch.setattr("theory.experiments.studies.reported.AFRESH", {"quick": {"l2": 2, "metric": 3}})
    one, again, other = (studies.moons_afresh(scale="quick", root=root) for root in (1, 1, 2))
    assert one.sha256 == again.sha256 != other.sha256
    assert [int((one["attention"] == name).sum()) for name in ("l2", "metric")] == [2, 3]
    assert one["seed"].min() >= 2_000_000


def test_new_runs_have_the_rate_that_each_chose(lay, monkeypatch):
    lay()
    seen = []

    def begun(*, attention, seed, rate, root):
        seen.append((attention, rate))
        return {"attention": attention, "seed": seed, "train_loss": 1.0, "accuracy": 0.5}

    monkeypatch.setattr("theory.experiments.studies.reported._begun", begun)
    studies.moons_afresh(scale="quick", root=1)
    assert dict(seen) == {"l2": reported_runs.CHOSEN["l2"], "metric": reported_runs.CHOSEN["metric"]}


def test_new_runs_are_held_against_the_recorded_curves(lay, monkeypatch):
    lay()
    level = {"l2": 0.88, "metric": 0.93}

    def begun(*, attention, seed, rate, root):
        noise = 0.01 * np.random.default_rng([seed, len(attention)]).normal()
        return {"attention": attention, "seed": seed, "train_loss": 0.3, "accuracy": level[attention] + noise}

    monkeypatch.setattr("theory.experiments.studies.reported._begun", begun)
    recorded = reported_runs.LEVEL | {"metric": (0.2, 0.93)}
    monkeypatch.setattr(results, "curves", lambda task: reported_runs.curves(task, recorded))
    assert verdict("reported.moons-afresh").verdict is Verdict.SUPPORTED
    level["metric"] = 0.85
    monkeypatch.setattr(runner, "_STUDIES", {})
    assert verdict("reported.moons-afresh").verdict is Verdict.REFUTED


def test_new_runs_are_enough():
    """Recorded runs drawn again stand for new ones: 99 of 100 such samples support the claim, for all but its twins."""
    shape = {"rule": "tuned", "labels": "true", "task": "moons", "matching": "width", "epoch": studies.BUDGET}
    table, runs = studies.curves(scale="quick", root=1), results.curves("moons")
    permuted = table.where(**shape | {"labels": "permuted", "rule": "published"}, attention="metric")
    rng = np.random.default_rng(0)
    supported = 0
    for _ in range(200):
        held, lost = [], []
        for name, count in studies.AFRESH["quick"].items():
            place = {key: value for key, value in shape.items() if key != "task"}
            known = runs.where(attention=name, **place)["accuracy"]
            mean = run_mean(rng.choice(known, count), among=4)
            recorded = table.where(attention=name, **shape).intervals("accuracy")[0]
            held.append(equals(mean, recorded))
            lost.append([equals(mean, 0.5 * recorded)])
        supported += judge(held, [*lost, [equals(mean, permuted.intervals("accuracy")[0])]]) is Verdict.SUPPORTED
    assert supported >= 194  # of 200 with probability 0.99 each, fewer have a chance of 1e-3
