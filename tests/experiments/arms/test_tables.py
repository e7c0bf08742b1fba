"""The published tables were made by this code, under this plan, which was committed before them, and agree."""

import hashlib
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from theory.evidence import ROOT, Table
from theory.evidence.provenance import stored
from theory.experiments.analysis import read_arms, read_manifest, runs_of
from theory.experiments.analysis.arms import FOLDER, TASKS
from theory.experiments.arms.arm import find_arm
from theory.experiments.arms.plan import (
    FILE,
    arms_of,
    budget,
    comparisons,
    conditions,
    lessons_of,
    read_plan,
    tasks,
)
from theory.experiments.studies import list_comparisons

HOME = Path(__file__).parents[3]
SHARED = ("search", "margins", "comparisons")  # parts of the plan that every task has


def manifest_of(task, folder=FOLDER):
    if not (folder / f"arms-{task}-manifest.json").is_file():
        pytest.skip(f"the runs of {task} are not published yet")
    return read_manifest(task, folder)


def planned(text, task):
    plan = tomllib.loads(text)
    return {name: plan.get(name) for name in (task, *SHARED)}


def agree(task, folder=FOLDER):
    """Tell what of a manifest is not so."""
    manifest = manifest_of(task, folder)
    if (manifest["task"], manifest["scale"], manifest["root"]) != (task, "paper", ROOT):
        return "what was run"
    if manifest["budget"] != json.loads(json.dumps(budget(task)._asdict())):
        return "its part of the plan"
    for name, fingerprint in manifest["tables"].items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != fingerprint:
            return name
    return None


@pytest.mark.parametrize("task", tasks())
def test_tables_and_plan_are_those_of_the_manifest(task):
    assert agree(task) is None
    assert len(manifest_of(task)["tables"]) == 3


@pytest.mark.parametrize("task", tasks())
def test_the_code_is_that_which_made_the_tables(task):
    pytest.importorskip("torch", reason="PyTorch comes with the extra learn")
    from theory.experiments.arms.experiment import Setting  # noqa: PLC0415

    assert manifest_of(task)["sources"] == Setting(task, "paper", ROOT, FOLDER).identity()["sources"]


@pytest.mark.parametrize("task", tasks())
def test_the_plan_is_older_than_the_tables(task):
    made_at = manifest_of(task)["commit"]
    assert not made_at.endswith("+"), "made with files that no commit has"
    then = stored(HOME, made_at, FILE.relative_to(HOME).as_posix())
    if then is None:
        pytest.skip(f"git does not know {made_at} here")
    assert planned(then.decode(), task) == planned(FILE.read_text(encoding="utf-8"), task)


def disagree(task, runs, search, curves):
    """Tell in what the tables of a task contradict each other or the plan."""
    own = budget(task)
    for arm in map(find_arm, arms_of(task)):
        key = {"architecture": arm.architecture, "similarity": arm.similarity}
        tried = search.where(**key)
        best = int(np.argmin(tried["validation_loss"]))
        if tried["chosen"].tolist() != [int(place == best) for place in range(len(tried))]:
            return f"{arm.name}: chosen"
        if not 0 < best < len(tried) - 1 or tried["rate"].tolist() != sorted(set(tried["rate"].tolist())):
            return f"{arm.name}: grid"
        for condition in conditions(arm):
            found = runs_of(runs, arm, condition)
            if found["seed"].tolist() != list(range(own.pairs)) or set(found["epochs"].tolist()) != {own.epochs}:
                return f"{arm.name}: runs"
            if set(found["rate"].tolist()) != {float(tried["rate"][best])}:
                return f"{arm.name}: rate"
            last = curves.where(**key, **condition._asdict(), epoch=own.epochs)
            for column in ("train_loss", "test_loss", "score", "noisy"):
                if last[column].tolist() != pytest.approx([found[column].mean()], rel=1e-9, abs=0.0):
                    return f"{arm.name}: {column}"
    return None


def test_no_task_arm_or_comparison_of_the_plan_is_left_out():
    """A name that is misspelt there would take a comparison out of the family without a word."""
    assert tasks() == TASKS
    stated = read_plan()["comparisons"]
    for pair in stated.values():
        assert all(find_arm(name).name == name for name in pair)
    for task in tasks():
        assert len(set(arms_of(task))) == len(list(map(find_arm, arms_of(task))))
        if lessons_of(task) == task:
            assert comparisons(task) == {name: tuple(pair) for name, pair in stated.items()}
        else:
            assert set(stated) - set(comparisons(task)) == {"chart", "block", "plain"}
    assert len(list_comparisons()) == 59


@pytest.mark.parametrize("task", TASKS)
def test_rates_are_those_of_the_search_and_curves_end_at_the_runs(task):
    assert disagree(task, *(read_arms(task, part) for part in ("", "-search", "-curves"))) is None


def test_a_rate_that_was_not_chosen_or_a_run_that_is_missing_is_noticed():
    def changed(table, column, change):
        columns = {name: table[name].copy() for name in table.units}
        columns[column] = change(columns[column])
        return Table(table.kind, table.units, columns)

    runs, search, curves = (read_arms("meshes", part) for part in ("", "-search", "-curves"))
    fewer = Table(runs.kind, runs.units, {name: runs[name][1:] for name in runs.units})
    assert disagree("meshes", fewer, search, curves) == "linear: runs"
    assert disagree("meshes", changed(runs, "rate", lambda rate: 2.0 * rate), search, curves) == "linear: rate"
    assert disagree("meshes", runs, changed(search, "chosen", lambda chosen: np.roll(chosen, 1)), curves) == (
        "linear: chosen"
    )
    without = search["rate"] < search["rate"][search["chosen"] == 1][0] * 1.01
    without |= search["architecture"] != "linear"
    cut = Table(search.kind, search.units, {name: search[name][without] for name in search.units})
    assert disagree("meshes", runs, cut, curves) == "linear: grid"
    assert disagree("meshes", changed(runs, "score", lambda score: 0.99 * score), search, curves) == "linear: score"


def test_what_was_changed_afterwards_is_noticed(tmp_path):
    def write(**changes):
        table = tmp_path / "arms-moons.csv"
        table.write_text("score\n", encoding="utf-8")
        fingerprint = hashlib.sha256(table.read_bytes()).hexdigest()
        whole = {"task": "moons", "scale": "paper", "root": ROOT, "budget": budget("moons")._asdict()}
        text = json.dumps({**whole, "tables": {table.name: fingerprint}, **changes})
        (tmp_path / "arms-moons-manifest.json").write_text(text, encoding="utf-8")
        return table

    write()
    assert agree("moons", tmp_path) is None
    write(root=1)
    assert agree("moons", tmp_path) == "what was run"
    write(budget=budget("moons")._replace(pairs=47)._asdict())
    assert agree("moons", tmp_path) == "its part of the plan"
    write().write_text("score\n1\n", encoding="utf-8")
    assert agree("moons", tmp_path) == "arms-moons.csv"
    text = FILE.read_text(encoding="utf-8")
    assert planned(text, "moons") != planned(text.replace("score = 0.02", "score = 0.01"), "moons")
