"""What is written is read again to the last digit, and what is missing or damaged is told by file and line."""

import io
import json
from functools import partial

import numpy as np
import pytest

from tests.experiments.logistic import FEW, Logistic
from theory.evidence import Kind, Table
from theory.experiments.analysis import results
from theory.experiments.training.runner import run_experiment

READERS = {"": results.runs, "-curves": results.curves, "-tuning": results.tuning}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The bytes of the files of an experiment."""
    out = tmp_path_factory.mktemp("results")
    run_experiment(partial(Logistic, variants=FEW), seeds=2, out=out, workers=1, stream=io.StringIO())
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


@pytest.fixture
def folder(made, tmp_path):
    """A copy that a test may damage."""
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_an_experiment_has_these_files(made):
    assert sorted(made) == ["logistic-curves.csv", "logistic-manifest.json", "logistic-tuning.csv", "logistic.csv"]


def test_tables_have_keys_units_and_kind(folder):
    keys = ["task", "attention", "matching", "rule", "rate", "labels", "seed"]
    runs, curves, tuning = (reader("logistic", folder) for reader in READERS.values())
    assert list(runs.columns) == [*keys, "parameters", "epochs", "diverged", *Logistic.columns]
    assert list(curves.columns) == [*keys, "epoch", "train_loss", "test_loss", "accuracy"]
    assert {"rate", "seed", "train_loss", "validation_loss", "chosen"} < set(tuning.columns)
    assert [table.units["train_loss"] for table in (runs, curves, tuning)] == ["nat"] * 3
    assert tuning.units["validation_loss"] == "nat"
    assert {table.kind for table in (runs, curves, tuning)} == {Kind.STATISTICAL}
    assert runs["seed"].tolist() == [0, 1] * 3
    assert runs["parameters"].tolist() == [2, 2, 4, 4, 4, 4]


def test_tables_are_read_to_the_last_digit(folder, made):
    for part, reader in READERS.items():
        assert reader("logistic", folder).to_csv().encode() == made[f"logistic{part}.csv"]
    infinite = reader("logistic", folder).where(diverged=1)
    assert len(infinite) == 2
    assert np.isinf(infinite["train_loss"]).all()


def test_lines_may_end_as_on_another_system(folder):
    path = folder / "logistic.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(results.runs("logistic", folder)) == 6


def test_the_manifest_says_how_it_was_made(folder):
    manifest = results.manifest("logistic", folder)
    assert manifest["experiment"]["task"] == "logistic"
    assert manifest["experiment"]["scale"] == "quick"
    assert manifest["experiment"]["numpy"] == np.__version__
    assert len(manifest["experiment"]["sources"]) == 64
    assert (manifest["seeds"], manifest["tuning_seeds"], manifest["sessions"]) == (2, 2, 1)
    assert manifest["variants"][2] == "metric width true tuned"
    assert manifest["chosen"].keys() == {"metric width"}
    assert manifest["cpu_seconds"] > 0.0
    assert manifest["wall_seconds"] > 0.0
    for part in READERS:
        table = Table.from_csv((folder / f"logistic{part}.csv").read_text())
        assert manifest["tables"][f"logistic{part}.csv"] == table.sha256


@pytest.mark.parametrize("reader", [*READERS.values(), results.manifest])
def test_missing_results_name_the_command(tmp_path, reader):
    with pytest.raises(FileNotFoundError, match=r"expected the results .*found none; python -m theory") as caught:
        reader("moons", tmp_path)
    assert f"python -m theory.experiments moons --out {tmp_path} makes them" in str(caught.value)


def test_missing_published_results_name_their_scale_and_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        results.runs("moons")
    assert f" moons --scale paper --out {tmp_path} makes them" in str(caught.value)


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
    [
        (
            "",
            "metric,width,published,0.1,true,1",
            "metric,width,published,0.1,true",
            "logistic.csv: line 6: expected 14",
        ),
        (
            "",
            "self,width,published,0.1,true,1",
            "self,width,published,none,true,1",
            "line 4: expected a number in rate",
        ),
        ("", "self,width,published,0.1,true,1", "self,width,published,nan,true,1", "line 4: expected a number in rate"),
        ("", "logistic,self", "moons,self", "line 3: expected the task logistic, got 'moons'"),
        ("-curves", "train_loss,test", "train,test", "curves.csv: line 2: expected the columns .* got no train_loss"),
        ("-curves", '"kind": "statistical"', '"kind": ""', "curves.csv: text: expected a first line"),
        ("-tuning", "true", "true", "tuning.csv: expected the table that logistic-manifest.json was written with"),
    ],
)
def test_damage_is_told_by_file_and_line(folder, part, old, new, said):
    path = folder / f"logistic{part}.csv"
    text = path.read_text()
    path.write_text(text.replace(old, new, 1) if old != new else text.rsplit("\n", 2)[0] + "\n")
    with pytest.raises(ValueError, match=said):
        READERS[part]("logistic", folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", json.dumps({"experiment": 3})])
def test_a_damaged_manifest_is_told(folder, text):
    (folder / "logistic-manifest.json").write_text(text)
    for reader in (results.manifest, results.runs):
        with pytest.raises(ValueError, match=r"logistic-manifest.json: expected"):
            reader("logistic", folder)


def test_a_table_without_text_is_told(folder):
    for text in (b"", b"\xff\xfe", b"# {}"):
        (folder / "logistic.csv").write_bytes(text)
        with pytest.raises(ValueError, match=r"logistic.csv: "):
            results.runs("logistic", folder)
