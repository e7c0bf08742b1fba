"""The published tables were made by this code, under this plan, which was committed before them."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest

from theory.evidence import ROOT
from theory.evidence.provenance import stored
from theory.experiments.analysis import read_manifest
from theory.experiments.analysis.arms import FOLDER
from theory.experiments.arms.plan import FILE, budget, tasks

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
