"""An experiment is whole, fair and the same however it is run; what is damaged or of another one is refused."""

import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.experiments.logistic import FEW, HUGE, Logistic
from theory.experiments.__main__ import main
from theory.experiments.analysis import results
from theory.experiments.tasks import registry
from theory.experiments.tasks.task import VARIANTS, Setting, Variant
from theory.experiments.training import tuning
from theory.experiments.training.checkpoint import fingerprint_run, load, path_of_run
from theory.experiments.training.loop import Watch, train
from theory.experiments.training.progress import Board
from theory.experiments.training.runner import run_experiment
from theory.experiments.training.sources import fingerprint_folder, fingerprint_sources

HERE = Path(__file__).parents[3]
SLOW = """
import sys
from functools import partial
from pathlib import Path
from tests.experiments.logistic import FEW, Logistic
from theory.experiments.training.runner import Stopped, run_experiment
make = partial(Logistic, pause=0.01, length=40, variants=FEW)
try:
    run_experiment(make, seeds=2, out=Path(sys.argv[1]), workers=int(sys.argv[2]), pause=0.02)
except Stopped as stopped:
    sys.exit(128 + stopped.number)
"""


def made(out, *, workers=1, seeds=2, tuning_seeds=None, **fields):
    make = partial(Logistic, **fields)
    return run_experiment(make, seeds=seeds, tuning_seeds=tuning_seeds, out=out, workers=workers, stream=io.StringIO())


def written(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One experiment, complete, by one process."""
    out = tmp_path_factory.mktemp("whole")
    return out, made(out)


def followed(setting, **keywords):
    """Train without any of what is tested."""
    learner = Logistic().learner(setting, **keywords)
    points = [learner.measure()]
    for epoch in range(1, 8):
        with np.errstate(all="ignore"):
            learner.advance()
        if epoch in (3, 6, 7):
            points.append(learner.measure())
    return points


def test_tables_say_what_a_plain_loop_says(whole):
    out, _ = whole
    table = results.runs("logistic", out)
    curve = results.curves("logistic", out)
    assert len(table) == 2 * len(VARIANTS)
    assert len(curve) == 4 * len(table)
    rows = zip(*(table[name].tolist() for name in table.columns), strict=True)
    for number, row in enumerate(dict(zip(table.columns, row, strict=True)) for row in rows):
        points = followed(
            Setting("logistic", row["attention"], row["seed"], row["rate"], row["matching"], row["labels"], "quick")
        )
        assert [row[name] for name in Logistic.columns] == [points[-1][name] for name in Logistic.columns]
        assert (row["epochs"], row["diverged"]) == (7, 0)
        part = slice(4 * number, 4 * number + 4)
        assert curve["epoch"][part].tolist() == [0, 3, 6, 7]
        assert curve["train_loss"][part].tolist() == [float(f"{p['train_loss']:.9g}") for p in points]
        assert curve["attention"][part].tolist() == [row["attention"]] * 4


def test_the_rate_of_the_smallest_mean_validation_loss_is_taken(whole):
    out, manifest = whole
    table = results.runs("logistic", out)
    for attention, matching in [("self", "width"), ("l2", "width"), ("l2", "parameters"), ("metric", "parameters")]:
        means = {}
        for rate in (0.1, 1.0):
            ends = [
                followed(Setting("logistic", attention, 1_000_000 + k, rate, matching, scale="quick"), validation=True)
                for k in range(2)
            ]
            means[rate] = sum(end[-1]["test_loss"] for end in ends) / 2
        best = min(means, key=means.get)
        assert manifest["chosen"][f"{attention} {matching}"] == best
        rows = table.where(attention=attention, matching=matching, rule="tuned")
        assert rows["rate"].tolist() == [best, best]
    assert table.where(attention="again", rule="tuned")["rate"].tolist() == [manifest["chosen"]["self width"]] * 2
    tries = results.tuning("logistic", out)
    assert len(tries) == 6 * 3 * 2  # pairs of attention and matching, rates, seeds
    assert set(tries["seed"]) & set(table["seed"]) == set()
    assert tries.where(rate=HUGE)["diverged"].tolist() == [1] * 12
    assert np.isinf(tries.where(rate=HUGE)["validation_loss"]).all()
    assert set(tries.where(chosen=1)["rate"]) == {0.1, 1.0} & set(manifest["chosen"].values())


def test_pairs_share_their_data_and_permuted_labels_are_others(whole):
    table = results.runs("logistic", whole[0])
    true, other = (table.where(attention="self", rule="published", labels=labels) for labels in ("true", "permuted"))
    assert (true["train_loss"] != other["train_loss"]).all()
    assert (table.where(attention="again", rule="published")["train_loss"] != true["train_loss"]).all()


def test_a_run_that_two_rules_ask_for_is_made_once(whole, tmp_path):
    out, manifest = whole
    rates = [manifest["chosen"][" ".join(tuning.rate_key(v))] if v.rule == "tuned" else 0.1 for v in VARIANTS]
    kinds = {(v.attention, v.matching, v.labels, rate) for v, rate in zip(VARIANTS, rates, strict=True)}
    assert len(list((out / "checkpoints" / "logistic").glob("final-*.npz"))) == 2 * len(kinds)
    pair = (Variant("self"), Variant("self", rule="tuned"))
    made(tmp_path, variants=pair, rates=(0.1,))
    assert len(list((tmp_path / "checkpoints" / "logistic").glob("final-*.npz"))) == 2
    table = results.runs("logistic", tmp_path)
    assert table["rule"].tolist() == ["published"] * 2 + ["tuned"] * 2
    assert table["train_loss"][:2].tolist() == table["train_loss"][2:].tolist()


def long(out, **keywords):
    return made(out, length=40, variants=FEW, **keywords)


@pytest.fixture(scope="module")
def uncut(tmp_path_factory):
    """The tables of another experiment, complete, by one process."""
    out = tmp_path_factory.mktemp("uncut")
    long(out)
    return written(out)


def test_workers_sessions_and_seeds_in_parts_change_no_byte(uncut, tmp_path):
    long(tmp_path, workers=2, seeds=1)
    assert long(tmp_path)["sessions"] == 2
    assert written(tmp_path) == uncut
    text = (tmp_path / "logistic-manifest.json").read_text()
    long(tmp_path)  # nothing is left to do
    assert written(tmp_path) == uncut
    assert (tmp_path / "logistic-manifest.json").read_text() == text
    with pytest.raises(ValueError, match=r"seeds: expected at least the 2 that .*, got 1; choose another --out"):
        long(tmp_path, seeds=1)


def started(out, workers):
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", SLOW, str(out), str(workers)], stderr=subprocess.PIPE, text=True, cwd=HERE,
        env=environment,
    )  # fmt: skip


def finished(process, code):
    """Wait for a process, and for all that it started: they have the same error stream."""
    _, words = process.communicate(timeout=120)
    assert process.returncode == code, words
    return words


def waited(folder, *, files):
    """Wait until some runs have files."""
    deadline = time.monotonic() + 60.0
    while len(list(folder.glob("*.npz"))) < files and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(0.03)  # anywhere within an epoch or a write


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no signal that cannot be caught")
def test_a_killed_experiment_goes_on_to_the_same_bytes(tmp_path, uncut):
    folder = tmp_path / "checkpoints" / "logistic"
    process = started(tmp_path, 2)
    waited(folder, files=5)
    process.send_signal(signal.SIGKILL)
    finished(process, -signal.SIGKILL)
    assert written(tmp_path) == {}
    stored = [np.load(path) for path in folder.glob("*.npz")]
    assert {bool(file["finished"]) for file in stored} == {True, False}
    assert 0 < len(stored) < 4 + 2 * 3 + 2
    long(tmp_path)
    assert written(tmp_path) == uncut


@pytest.mark.skipif(sys.platform == "win32", reason="the system ends a process without asking")
def test_asked_to_stop_it_stores_every_run(tmp_path, uncut):
    folder = tmp_path / "checkpoints" / "logistic"
    for files, number in ((2, signal.SIGTERM), (6, signal.SIGINT)):
        process = started(tmp_path, 2)
        waited(folder, files=files)
        process.send_signal(number)
        assert "stopping after the epochs under way" in finished(process, 128 + number)
        assert written(tmp_path) == {}
    manifest = long(tmp_path)
    assert written(tmp_path) == uncut
    assert manifest["sessions"] == 3


SETTING = Setting("logistic", "metric", 4, 0.1, scale="quick")


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_run_cut_anywhere_goes_on_to_the_same_numbers(tmp_path, cut):
    path = tmp_path / "run.npz"
    asked = iter([False] * cut + [True])
    passed = []
    watch = Watch(stop=lambda: next(asked), passed=lambda *counts: passed.append(counts))
    assert train(Logistic(), SETTING, path=path, fingerprint="a", watch=watch) is None
    assert load(path, "a").epoch == cut
    whole, last = (train(Logistic(), SETTING, path=place, fingerprint="a") for place in (None, path))
    assert whole.points.tobytes() == last.points.tobytes()
    assert np.array(passed).sum(axis=0).tolist() == [cut, 0]
    read = train(Logistic(pause="crash"), SETTING, path=path, fingerprint="a")  # a finished run is not trained again
    assert read.points.tobytes() == whole.points.tobytes()
    assert not load(path, "a").state


def test_a_diverged_run_stays_and_spoils_every_average(tmp_path):
    manifest = made(tmp_path, published_rate=HUGE, variants=(Variant("self"), Variant("l2", rule="tuned")))
    table = results.runs("logistic", tmp_path)
    curve = results.curves("logistic", tmp_path)
    assert manifest["diverged"] == 2 + 2  # of self, and of the search
    assert table["diverged"].tolist() == [1, 1, 0, 0]
    assert (table["epochs"][:2] < 7).all()
    for name in Logistic.columns:
        assert np.isinf(table[name][:2]).all()
        assert np.isfinite(table[name][2:]).all()
    at = curve.where(attention="self", seed=0)
    assert at["epoch"].tolist() == [0, 3, 6, 7]
    assert np.isfinite(at["train_loss"][0])
    assert at["train_loss"][1:].tolist() == at["accuracy"][1:].tolist() == [math.inf] * 3


def test_a_run_that_diverges_unseen_is_not_stored_and_goes_on(tmp_path):
    path = tmp_path / "run.npz"
    huge = replace(SETTING, rate=HUGE)
    asked = iter([False, False, True])
    assert train(Logistic(), huge, path=path, fingerprint="a", watch=Watch(stop=lambda: next(asked))) is None
    assert not path.exists() or load(path, "a").epoch < 2
    whole, last = (train(Logistic(), huge, path=place, fingerprint="a") for place in (None, path))
    assert whole.diverged
    assert whole.points.tobytes() == last.points.tobytes()


def test_more_runs_may_choose_the_rates_later(tmp_path):
    made(tmp_path)
    few = results.tuning("logistic", tmp_path)
    manifest = made(tmp_path, tuning_seeds=3)
    more = results.tuning("logistic", tmp_path)
    assert (manifest["tuning_seeds"], len(more)) == (3, len(few) * 3 // 2)
    assert made(tmp_path, tuning_seeds=3) == manifest


def test_runs_that_wait_for_their_rates_count_as_left(tmp_path):
    stream = io.StringIO()
    run_experiment(partial(Logistic, variants=FEW), seeds=2, out=tmp_path, workers=1, stream=stream)
    assert "0 of 12 runs" in stream.getvalue()  # 6 of the search, 4 at the published rate, 2 at the chosen one


def test_a_mistake_is_no_divergence(tmp_path):
    with pytest.raises(ValueError, match="x: expected a sum") as caught:
        made(tmp_path, pause="mistake", variants=FEW[:1])
    assert any("attention='self'" in note for note in caught.value.__notes__)
    with pytest.raises(RuntimeError, match="a process ended unasked"):
        made(tmp_path / "other", pause="crash", variants=FEW[:1])


def test_columns_are_those_of_the_task():
    class Other(Logistic):
        columns = {**Logistic.columns, "bleu": "1"}  # noqa: RUF012

    with pytest.raises(ValueError, match=r"measure: expected the columns .*'bleu'.*, got"):
        train(Other(), SETTING)


def test_another_experiment_is_refused(whole, tmp_path):
    out, _ = whole
    with pytest.raises(ValueError, match=r"logistic-manifest.json: expected root 5, got another experiment's 20070"):
        run_experiment(partial(Logistic, root=5), root=5, out=out, stream=io.StringIO())
    with pytest.raises(ValueError, match="expected epochs 8, got another experiment's 7; choose another --out"):
        made(out, length=8)
    strange = tmp_path / "logistic-curves.csv"
    strange.write_text("mine")
    with pytest.raises(ValueError, match=r"logistic-curves.csv: expected no table without logistic-manifest.json"):
        made(tmp_path)
    assert strange.read_text() == "mine"
    found = results.manifest("logistic", out)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "logistic-manifest.json").write_text(json.dumps(found | {"seeds": "x"}))
    with pytest.raises(ValueError, match=r"logistic-manifest.json: expected a number of seeds, got 'x'"):
        made(tmp_path / "a")
    (tmp_path / "c" / "checkpoints" / "logistic").mkdir(parents=True)
    part = {"experiment": found["experiment"], "sessions": 1, "wall_seconds": None}
    (tmp_path / "c" / "checkpoints" / "logistic" / "experiment.json").write_text(json.dumps(part))
    with pytest.raises(ValueError, match=r"experiment.json: expected a number of wall_seconds, got None"):
        made(tmp_path / "c")
    (tmp_path / "b" / "checkpoints" / "logistic").mkdir(parents=True)
    (tmp_path / "b" / "checkpoints" / "logistic" / "experiment.json").write_text("{")
    with pytest.raises(ValueError, match=r"experiment.json: expected JSON, got a damaged file"):
        made(tmp_path / "b")


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_run_is_refused_by_name(tmp_path, damage):
    path = tmp_path / "run.npz"
    train(Logistic(), SETTING, path=path, fingerprint="b" if damage == "other" else "a")
    content_ = bytearray(path.read_bytes())
    if damage == "cut":
        del content_[len(content_) // 2 :]
    elif damage == "flip":
        content_[content_.index(b"NUMPY", 500) + 130] ^= 1
    elif damage == "empty":
        content_.clear()
    path.write_bytes(bytes(content_))
    words = "got that of the run b" if damage == "other" else "got a damaged file"
    with pytest.raises(ValueError, match=f"run.npz: expected .*{words}"):
        train(Logistic(), SETTING, path=path, fingerprint="a")


def test_every_setting_has_its_own_file_and_fingerprint(tmp_path):
    fields = [{"seed": 1}, {"rate": 0.25}, {"attention": "l2"}, {"matching": "parameters"}, {"labels": "permuted"}, {}]
    plain = {"task": "t", "attention": "self", "seed": 0, "rate": 0.5, "scale": "quick"}
    settings = [(Setting(**{**plain, **change}), check) for change in fields for check in (False, True)]
    assert len({path_of_run(tmp_path, s, validation=v) for s, v in settings}) == len(settings)
    marks = {fingerprint_run({"root": root}, s, validation=v) for s, v in settings for root in (1, 2)}
    assert len(marks) == 2 * len(settings)


def test_sources_are_those_that_a_task_imports(tmp_path, monkeypatch):
    module = tmp_path / "chosen.py"
    module.write_text("def f():\n    from theory.attention import softmax\nclass Task: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import chosen  # noqa: PLC0415

    first = fingerprint_sources(chosen.Task)
    assert first == fingerprint_sources(chosen.Task)
    module.write_text("def f():\n    from theory.distance import w1\nclass Task: pass\n")
    assert fingerprint_sources(chosen.Task) not in (first, fingerprint_sources(Logistic))
    with pytest.raises(ValueError, match="task: expected a class with a source file"):
        fingerprint_sources(int)


def test_data_are_told_apart_by_name_and_content(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    marks = [fingerprint_folder(tmp_path), fingerprint_folder(tmp_path / "a")]
    (tmp_path / "a" / "x").write_text("2")
    assert fingerprint_folder(tmp_path) not in marks
    with pytest.raises(NotADirectoryError, match="data: expected a folder"):
        fingerprint_folder(tmp_path / "none")


def test_a_task_may_leave_out_what_it_does_not_compare():
    class Rare(Logistic):
        permutes = False
        rules = ("tuned",)

    left = tuning.variants(Rare())
    assert {v.labels for v in left} == {"true"}
    assert {v.rule for v in left} == {"tuned"}
    assert len(left) == 7
    assert {s.attention for s in tuning.settings(Rare(), "quick")} == {"self", "l2", "metric", "wide"}
    with pytest.raises(ValueError, match="rule: expected one of published, tuned, got 'best'"):
        Variant("self", rule="best")


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    isatty = lambda _self: True  # noqa: E731


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_progress_tells_the_time_left(stream):
    with Board("logistic", stream) as board:
        board.show(0, 9, 0.0, 0.5, None)
        board.show(3, 9, 1 / 3, 61.0, 122.0)
    text = stream.getvalue()
    assert "3 of 9 runs" in text
    assert "2.0 min left" in text
    assert "33 %" in text


# --- the command ---


class Bare(Logistic):
    """A task with a package that is not installed."""

    def __init__(self, **_given):
        raise ModuleNotFoundError('torch: expected it to be installed, got none; pip install "attention-theory[learn]"')


def test_the_command_makes_the_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("theory.experiments.__main__.make_task", None)
    monkeypatch.setattr(
        "theory.experiments.__main__.partial", lambda _task, _name, data, root: partial(Logistic, data, root)
    )
    words = ["moons", "--seeds", "1", "--out", str(tmp_path), "--workers", "1"]
    assert main([*words, "--root", "3"]) == 0
    out, told = capsys.readouterr()
    assert str(tmp_path / "logistic-curves.csv") in out
    assert "diverged = 1" in out
    assert "learning rate of self, matched by width" in told
    assert results.manifest("logistic", tmp_path)["experiment"]["root"] == 3
    assert main(words) == 2
    assert "choose another --out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sun"], "moons, digits, segmentation, translation)"),
        (["moons", "--seeds", "0"], "expected a positive integer, got 0"),
        (["moons", "--root", "-1"], "--root"),
        (["moons", "--data", "none"], "--data: expected a folder, found none at none"),
        (["moons", "--out", __file__], "--out: expected a folder, got the file"),
        ([], "TASK"),
    ],
)
def test_misuse_is_told(words, said, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert said in capsys.readouterr().err.replace("'", "")


def test_a_missing_package_is_told(tmp_path, monkeypatch, capsys):
    entry = registry.Entry("tests.experiments.training.test_runner", "Bare", "", "")
    monkeypatch.setitem(registry.TASKS, "moons", entry)
    monkeypatch.setattr(registry, "import_module", lambda _name: sys.modules[__name__])
    assert main(["moons", "--out", str(tmp_path / "runs")]) == 1
    assert 'pip install "attention-theory[learn]"' in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_the_help_is_quick_and_names_the_tasks():
    code = "import sys; from theory.experiments.__main__ import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(*sorted({'torch', 'sklearn', 'trimesh', 'rich', 'matplotlib'} & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60, cwd=HERE
    )
    assert done.stderr.split() == []
    for word in (*registry.TASKS, "--data", "--scale", "idx", "Multi30K", "TASK-curves.csv"):
        assert word in done.stdout


def test_unknown_tasks_are_refused_with_the_list():
    with pytest.raises(ValueError, match="task: expected one of moons, digits, segmentation, translation, got 'sun'"):
        registry.make_task("sun")
