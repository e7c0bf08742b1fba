"""The figures of the reported experiments, drawn from made-up runs: what they must show, also of runs that diverged."""

from importlib import import_module

import numpy as np
import pytest
from matplotlib.text import Text

from tests.experiments import reported_runs
from theory.evidence import ROOT, Run, Verification, decide, runner
from theory.evidence.record import write
from theory.experiments.analysis import results
from theory.figures import registry
from theory.figures._style import style


@pytest.fixture(autouse=True)
def lay(monkeypatch):
    """Return a function that puts made-up runs in place of the recorded ones."""

    def put(**options):
        monkeypatch.setattr(runner, "_STUDIES", {})
        monkeypatch.setattr(results, "runs", lambda task: reported_runs.runs(task, **options))
        monkeypatch.setattr(results, "curves", reported_runs.curves)

    put()
    return put


def drawn(name, **options):
    module = registry.figure_module(name)
    with style.drawing():
        figure = module.draw(module.STUDY(scale="quick", root=ROOT, **options))
        figure.draw_without_rendering()
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(sizes) >= style.SMALL
    return figure


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_curves_show_the_middle_run_and_none_of_again():
    figure = drawn("learning_curves")
    table = registry.figure_module("learning_curves").STUDY(scale="quick", root=ROOT)
    axes = figure.axes[4]  # accuracy on two moons
    shown = table.where(task="moons", attention="metric", rule="tuned", matching="width", labels="true")
    assert any(np.array_equal(line.get_ydata(), shown["accuracy_median"]) for line in axes.lines)
    assert len(axes.lines) == 2 * 4
    assert len(figure.axes[7].lines) == 3  # translation has one rule and no wide start


@pytest.mark.parametrize("lost", [(), ("metric",)])
def test_violins_show_the_means_that_were_judged_and_count_what_diverged(lay, lost):
    lay(diverged=lost)
    figure = drawn("final_accuracy")
    told = [text for text in words(figure) if "diverged" in text]
    assert len(told) == (4 if lost else 0)
    bars = [line for line in figure.axes[4].lines if line.get_color() == style.BLACK and line.get_marker() == "None"]
    assert len(bars) == (2 if lost else 8)  # no mean of runs of which one has no score


def test_verdicts_are_those_of_the_records_and_nothing_is_claimed_without(tmp_path):
    without = words(drawn("reported_verdicts", evidence=tmp_path))
    assert not {"supported", "refuted", "inconclusive"} & set(without)
    found = {}
    for value in vars(import_module("verify.experiments.test_reported_digits")).values():
        if isinstance(value, Verification):
            evidence = decide(value, Run(value.claim.id))
            write(tmp_path, evidence, "verify/experiments/test_reported_digits.py")
            found[value.claim.id] = evidence
    shown = words(drawn("reported_verdicts", evidence=tmp_path))
    verdicts = [evidence.verdict.value for evidence in found.values()]
    for verdict in ("supported", "refuted", "inconclusive"):
        assert shown.count(verdict) == verdicts.count(verdict)
    table = registry.figure_module("reported_verdicts").STUDY(scale="quick", root=ROOT, evidence=tmp_path)
    part = table.where(task="digits", quantity="score", opponent="l2")
    worst = found["reported.digits-score-l2"].finding
    assert worst.measured in part.intervals("gain")  # the figure measures what was judged
    assert part["margin"].tolist() == [0.02] * 3
    assert np.isinf(table.where(quantity="noise")["margin"]).all()
    assert np.isinf(table.where(opponent="wide")["margin"]).all()
