"""The benchmarks run at tiny sizes, and what they write can be read."""

import csv
import subprocess
import sys
import time
from importlib import import_module

import numpy as np
import pytest

from benchmarks import attacked, limit, noise, peers, summary
from benchmarks.__main__ import NAMES, RESULTS, main, processor
from benchmarks.timing import interleaved, ratio
from theory.engine import Form


@pytest.mark.parametrize("name", NAMES)
def test_every_name_writes_a_table_and_a_plot(name, tmp_path, capsys):
    assert main([name, "--quick", "--out", str(tmp_path)]) == 0
    assert import_module(f"benchmarks.{name}").TITLE.split()[0] in capsys.readouterr().out
    first, *rest = (tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    assert first.startswith("# ")
    assert "threads" in first
    rows = list(csv.DictReader(rest))
    assert rows
    assert all(float(row[column]) > 0.0 for row in rows for column in row if column in ("n", "seconds", "ns per pair"))
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_unknown_name(capsys):
    with pytest.raises(SystemExit):
        main(["speed"])
    assert f"NAME: expected one of {', '.join(NAMES)}, got 'speed'" in capsys.readouterr().err


def test_tiny_sizes_are_not_published(capsys):
    with pytest.raises(SystemExit):
        main(["small", "--quick"])
    assert "--out: expected a folder, since tiny sizes are not published, got none" in capsys.readouterr().err


class _Benchmark:
    TITLE = "a benchmark"

    @staticmethod
    def run(*, quick):
        assert not quick
        noise.beat()
        return [{"n": 1, "seconds": 0.25}]

    @staticmethod
    def draw(axes, rows):
        axes.plot([row["n"] for row in rows], [row["seconds"] for row in rows], label="ours")


@pytest.mark.parametrize("others", [0.0, 0.5])
def test_the_committed_table_is_written_when_the_machine_is_quiet(others, monkeypatch, tmp_path, capsys):
    """Others at work are planted; what was measured is printed and marked all the same."""
    monkeypatch.setitem(sys.modules, "benchmarks.small", _Benchmark)
    monkeypatch.setattr("benchmarks.__main__.RESULTS", tmp_path)
    monkeypatch.setattr("benchmarks.summary.describe", lambda folder, names: f"{folder.name}: {len(names)}")
    monkeypatch.setattr(noise.Watch, "stop", lambda watch: setattr(watch, "others", others))
    assert main(["small"]) == 0
    printed = capsys.readouterr().out
    assert "0.25" in printed
    assert ("quiet: " in printed) == (others == 0.0)
    assert ("NOISY: " in printed) == ("small: not written, since the machine was not quiet" in printed) == (others > 0)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ([] if others else ["small.csv", "small.svg"])


def test_the_readme_says_what_the_committed_tables_say():
    """Nothing, as long as none was measured on a quiet machine."""
    pages = " ".join((RESULTS.parents[1] / "README.md").read_text(encoding="utf-8").split())
    assert summary.describe(RESULTS) in pages
    assert ("ns a pair" in pages) == (RESULTS / "dense.csv").exists()


def test_noise_is_the_work_of_others_and_of_the_same_work():
    watch = noise.Watch([1.0] * 9 + [1.1])
    assert (watch.quiet, watch.others) == (True, None)
    watch.others = 0.5
    assert not watch.quiet
    assert watch.describe() == "NOISY: others used 0.50 processors; the same work took up to 1.01 times its least time"
    assert not noise.Watch([1.0] * 5 + [1.5] * 5).quiet


def test_work_of_another_process_is_counted():
    with noise.watched() as watch:
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        time.sleep(1.0)
    other.kill()
    other.wait()
    assert watch.others is None or watch.others > 0.3


def test_calls_are_taken_in_turn():
    order = []
    times = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=3)
    assert order == ["a", "b"] * 4
    assert {name: len(found) for name, found in times.items()} == {"a": 3, "b": 3}
    assert ratio([2.0, 4.0, 6.0], [1.0, 1.0, 2.0]) == (3.0, 2.5, 3.5)


@pytest.mark.parametrize("form", [Form.DOT, Form.DISTANCE])
def test_error_is_that_of_the_rows(form):
    q, k, v = peers.cloud(40, 3)
    output = peers.ours(q, k, v, form=form)()
    assert peers.error(output, q, k, v, form=form) < 1e-14
    output[0, 0] += 1e-6
    assert peers.error(output, q, k, v, form=form) == pytest.approx(1e-6 / np.abs(v).max(), rel=1e-6, abs=0.0)


def test_peers_agree():
    q, k, v = peers.cloud(50, 4)
    ours = peers.ours(q, k, v)()
    assert np.abs(peers.numpy(q, k, v)() - ours).max() < 1e-14
    for peer in (peers.torch, peers.keops):
        call = peer(q, k, v) if peer is peers.torch else None
        assert call is None or np.abs(call() - ours).max() < 1e-14


def test_limit_counts_what_the_kernel_does():
    assert limit.multiply_adds(1, 1) == 14
    assert limit.multiply_adds(8, 8) - limit.multiply_adds(3, 4) == 9
    call, number = limit.exponential()
    assert number > 0
    call()
    assert processor()


def test_the_page_shows_what_the_attack_found():
    rows = attacked.read(RESULTS / "attack.csv")
    page = (RESULTS.parents[1] / "docs" / "certificates.md").read_text(encoding="utf-8")
    assert "\n".join(attacked.table(rows)) in page
    seconds = {int(row["layer"]): float(row["seconds"]) for row in rows}
    assert sorted(seconds) == list(range(20))
    assert [layer for layer, time_ in seconds.items() if time_ < 600.0] == [8, 9, 18, 19]
    assert max(map(attacked.share, rows)) <= 1.0
