"""The figures of the experiments, drawn from made-up runs: what they must show, also of runs that diverged."""

import numpy as np
import pytest
from matplotlib.text import Text

from tests.experiments import arm_tables
from theory.evidence import ROOT
from theory.experiments import studies
from theory.experiments.arms.plan import arms_of
from theory.figures import registry
from theory.figures._style import style
from theory.figures.experiments.attentions import TASKS


def drawn(name):
    module = registry.figure_module(name)
    with style.drawing():
        figure = module.draw(module.STUDY(scale="quick", root=ROOT))
        figure.draw_without_rendering()
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(sizes) >= style.SMALL
    return figure


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def test_scores_show_every_arm_and_what_diverged(tmp_path, monkeypatch):
    arm_tables.lay(tmp_path, monkeypatch)
    figure = drawn("arms")
    marks = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", None)]
    assert len(marks) == 15
    arm_tables.lay(tmp_path, monkeypatch, diverged=("block-dot",))
    with_blocks = [task for task in TASKS if "block-dot" in arms_of(task)]
    assert sum("diverged" in text for text in words(drawn("arms"))) == len(with_blocks) == 4


def test_gains_show_what_is_decided_and_how_many_pairs_would_decide(tmp_path, monkeypatch):
    arm_tables.lay(tmp_path, monkeypatch, scores={"published-metric": 0.1, "residual-metric": 0.021})
    figure = drawn("gains")
    hues = [line.get_color() for line in figure.axes[0].lines]
    assert style.GREEN in hues
    assert style.VERMILION in hues
    assert style.GREY in hues
    table = studies.summarise_gains(registry.figure_module("gains").STUDY(scale="quick", root=ROOT))
    needed = table.where(task="moons", quantity="score", name="carried")["needed"][0]
    assert str(needed) in words(figure)


@pytest.mark.parametrize(("panel", "quantity"), [(2, "score"), (20, "train_loss")])
def test_curves_show_the_means(tmp_path, monkeypatch, panel, quantity):
    arm_tables.lay(tmp_path, monkeypatch)
    figure = drawn("learning_curves")
    table = registry.figure_module("learning_curves").STUDY(scale="quick", root=ROOT)
    shown = table.where(task="moons", architecture="block", similarity="metric", labels="true", start="paired")
    curves = figure.axes[panel].lines  # of two moons in a block
    assert any(np.array_equal(line.get_ydata(), shown[quantity]) for line in curves)
    assert len(curves) == 6
