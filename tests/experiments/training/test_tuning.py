"""Which learning rate is chosen: by the loss on validation data, and in the recorded tables too."""

import numpy as np
import pytest

from theory.experiments.analysis import results
from theory.experiments.tasks.task import Setting
from theory.experiments.training.loop import Outcome
from theory.experiments.training.tuning import choose_rates

COLUMNS = ("train_loss", "test_loss", "accuracy")


def ended(rate, validation, *, train=1.0, attention="self", seed=0):
    """Return a run of the search that ended with these losses; it began better."""
    points = np.array([[0.0, 0.0, 1.0], [train, validation, 0.5]])
    setting = Setting("moons", attention, 1_000_000 + seed, rate)
    return Outcome(setting, True, 10, 100, not np.isfinite(validation), (0, 100), points)


def test_the_loss_on_validation_data_decides_and_no_other():
    """The rate with the smallest training loss overfits."""
    runs = [ended(1e-2, 0.5, train=1e-4), ended(1e-3, 0.3, train=0.2), ended(1e-4, 0.6, train=0.6)]
    assert choose_rates(runs, COLUMNS) == {("self", "width"): 1e-3}
    assert choose_rates(runs, ("test_loss", "train_loss", "accuracy")) == {("self", "width"): 1e-2}


def test_it_is_the_mean_over_runs_at_the_end():
    runs = [ended(1e-2, loss, seed=k) for k, loss in enumerate((0.1, 0.9))]
    runs += [ended(1e-3, loss, seed=k) for k, loss in enumerate((0.4, 0.5))]
    assert choose_rates(runs, COLUMNS) == {("self", "width"): 1e-3}


def test_of_two_equal_ones_the_smaller_and_none_that_diverged():
    runs = [ended(1e-1, 0.25), ended(1e-2, 0.25), ended(1e-3, 0.25, seed=0), ended(1e-3, np.inf, seed=1)]
    assert choose_rates(runs, COLUMNS) == {("self", "width"): 1e-2}


def test_every_attention_has_its_own():
    runs = [ended(rate, loss, attention=name) for name, rate, loss in
            (("l2", 1e-2, 0.1), ("l2", 1e-3, 0.2), ("metric", 1e-2, 0.2), ("metric", 1e-3, 0.1))]  # fmt: skip
    assert choose_rates(runs, COLUMNS) == {("l2", "width"): 1e-2, ("metric", "width"): 1e-3}


@pytest.mark.parametrize("task", ["moons", "digits", "segmentation", "translation"])
def test_recorded_runs_have_the_rate_of_the_smallest_mean_validation_loss(task):
    tries = results.tuning(task)
    runs = results.runs(task)
    names = set(zip(tries["attention"].tolist(), tries["matching"].tolist(), strict=True))
    assert {name for name, _ in names} >= {"self", "l2", "metric"}
    for attention, matching in names:
        part = tries.where(attention=attention, matching=matching)
        means = {rate: part["validation_loss"][part["rate"] == rate].mean() for rate in part.levels("rate")}
        best = min(means, key=means.get)
        assert set(part.where(chosen=1)["rate"].tolist()) == {best}
        finals = runs.where(attention=attention, matching=matching, rule="tuned")
        assert set(finals["rate"].tolist()) == {best}
