"""The experiment: pairs, validation against training loss, pieces that are taken up again, tables."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch comes with the extra learn")

from theory.experiments.__main__ import main  # noqa: E402
from theory.experiments.arms import ARMS, Lessons, Trained, budget, experiment, find_arm, margin, train  # noqa: E402
from theory.experiments.arms.lessons import SEARCH  # noqa: E402
from theory.experiments.arms.plan import PLAIN, conditions  # noqa: E402
from theory.experiments.arms.training import COLUMNS, TIMES  # noqa: E402


def test_the_rate_is_chosen_by_validation_and_not_by_training_loss(monkeypatch, tmp_path):
    def fake(arm, setting, condition, rate, *, search=False):  # the training loss is the less the larger the rate is
        measured = np.full((2, TIMES + 1, len(COLUMNS)), 0.5)
        measured[:, -1, COLUMNS.index("train_loss")] = 1.0 / rate
        measured[:, -1, COLUMNS.index("test_loss")] = np.log(rate / 1e-4) ** 2 if search else np.nan
        measured[:, -1, COLUMNS.index("score")] = rate
        return Trained(tuple(range(TIMES + 1)), measured, 1)

    monkeypatch.setattr(experiment, "piece", fake)
    found = experiment.run_arm(name="linear", setting=experiment.Setting("moons", "paper", 1, tmp_path))["found"]
    assert found.rate == pytest.approx(1e-4, rel=0.01, abs=0.0)
    assert found.means == {rate: np.log(rate / 1e-4) ** 2 for rate in found.means}


def test_search_and_final_runs_share_no_seed_and_no_data():
    final, search = Lessons("moons", (0,)).sets(), Lessons("moons", (SEARCH,), validation=True).sets()
    same = Lessons("moons", (0,), validation=True).sets()
    assert not np.intersect1d(final["train"][0], search["train"][0]).size
    assert np.array_equal(final["train"][0], same["train"][0])
    assert not np.intersect1d(final["test"][0], same["test"][0]).size


def test_permuted_labels_are_the_same_labels_elsewhere():
    plain, permuted = (Lessons("moons", (3,), labels=labels).sets() for labels in ("true", "permuted"))
    assert np.array_equal(plain["train"][0], permuted["train"][0])
    assert not np.array_equal(plain["train"][1], permuted["train"][1])
    assert np.array_equal(np.sort(plain["train"][1].ravel()), np.sort(permuted["train"][1].ravel()))
    assert np.array_equal(plain["test"][1], permuted["test"][1])


def test_orders_differ_between_seeds_and_epochs_and_not_between_arms():
    lessons = Lessons("moons", (0, 1))
    orders = lessons.orders()
    first, second = lessons.deal(orders, 4, 100), lessons.deal(orders, 4, 100)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], second[0])
    assert np.array_equal(first, Lessons("moons", (0, 1)).deal(Lessons("moons", (0, 1)).orders(), 4, 100))
    assert np.array_equal(np.sort(first.reshape(2, -1), axis=1), np.tile(np.arange(400), (2, 1)))


def test_runs_trained_together_are_those_trained_alone():
    arm = find_arm("block-metric")
    together = train(arm, Lessons("moons", (5, 6)), rate=1e-3, epochs=10, decay=1e-4)
    alone = train(arm, Lessons("moons", (6,)), rate=1e-3, epochs=10, decay=1e-4)
    assert together.measured[1] == pytest.approx(alone.measured[0], rel=1e-2, abs=1e-2)  # in single precision
    assert together.measured[0] != pytest.approx(alone.measured[0], rel=1e-2, abs=1e-2)


def test_a_diverged_run_is_marked_from_there_on():
    found = train(find_arm("published-dot"), Lessons("moons", (0,)), rate=1e30, epochs=10, decay=1e-4)
    assert found.diverged.all()
    assert np.isinf(found.measured[0, -1, :2]).all()
    assert np.isnan(found.measured[0, -1, 2:]).all()
    assert np.isfinite(found.measured[0, 0]).all()


def test_what_was_killed_goes_on_to_the_same_bytes(tmp_path):
    arms = ["published-dot"]  # one, so that no processes are started
    experiment.run_experiment("moons", scale="quick", root=7, out=tmp_path / "one", arms=arms)
    pieces = sorted((tmp_path / "one" / "pieces").iterdir())
    (tmp_path / "two" / "pieces").mkdir(parents=True)
    for piece in pieces[::2]:  # as if the others had not been reached
        (tmp_path / "two" / "pieces" / piece.name).write_bytes(piece.read_bytes())
    experiment.run_experiment("moons", scale="quick", root=7, out=tmp_path / "two", arms=arms)
    for name in ("arms-moons.csv", "arms-moons-search.csv", "arms-moons-curves.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    manifest = json.loads((tmp_path / "two" / "arms-moons-manifest.json").read_text())
    assert manifest["budget"] == json.loads(json.dumps(budget("moons", "quick")._asdict()))
    assert manifest["tables"]


def test_pieces_of_another_root_are_not_taken(tmp_path):
    arm = find_arm("linear")
    one, two = (experiment.Setting("moons", "quick", root, tmp_path) for root in (1, 2))
    first, second = (experiment.piece(arm, each, PLAIN, 1e-2).measured for each in (one, two))
    assert not np.array_equal(first, second)
    assert len(list(tmp_path.iterdir())) == 2


def test_every_arm_has_its_conditions():
    named = {arm.name: conditions(arm) for arm in ARMS}
    assert all(each[0] == PLAIN for each in named.values())
    assert len(named["block-dot"]) == 3
    assert margin("score") == 0.02


def test_the_command_line(tmp_path, capsys):
    assert main(["moons", "--out", str(tmp_path), "--arms", "linear"]) == 0
    assert "arms-moons.csv" in capsys.readouterr().out
    assert main(["moons", "--out", str(tmp_path), "--arms", "linear-dot"]) == 2
    assert "arm: expected one of linear" in capsys.readouterr().err
    assert main(["moons", "--out", str(tmp_path), "--data", str(tmp_path)]) == 2
    assert "data: expected none for moons" in capsys.readouterr().err


def test_a_missing_package_names_what_installs_it_from_a_clone(tmp_path, capsys, monkeypatch):
    def missing(*_, **__):
        raise ModuleNotFoundError("torch: expected it to be installed, got none")

    monkeypatch.setattr(experiment, "run_experiment", missing)
    assert main(["moons", "--out", str(tmp_path)]) == 1
    assert 'in a clone of the repository: pip install -e ".[learn]"' in capsys.readouterr().err
