"""The same search for a learning rate for every attention: one grid, one number of runs, one budget, one criterion.

Its runs have seeds of their own and are measured on validation data; the rate with the smallest mean validation loss
after the whole budget is taken, the smaller one if two are equal. A rate at which one run diverges has the mean
``inf``. The twin ``again`` is self-attention and takes its rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from theory._validate import as_count
from theory.experiments.tasks.task import LABELS, RULES, VARIANTS, Setting, Task, Variant
from theory.experiments.training.loop import Outcome

FIRST_SEED = 1_000_000  # no final run has a seed this large
SEEDS = {"quick": 2, "paper": 5}  # taken, where a task says nothing
Key = tuple[str, str]  # attention and matching


def variants(task: Task) -> tuple[Variant, ...]:
    """Return what a task compares."""
    named: tuple[Variant, ...] = tuple(getattr(task, "variants", VARIANTS))
    rules = getattr(task, "rules", RULES)
    labels = LABELS if getattr(task, "permutes", True) else LABELS[:1]
    return tuple(each for each in named if each.rule in rules and each.labels in labels)


def rate_key(variant: Variant) -> Key:
    """Return for which attention the rate of a variant is tuned."""
    return ("self" if variant.attention == "again" else variant.attention), variant.matching


def tuning_seeds(task: Task, scale: str) -> int:
    """Return how many runs decide on a rate."""
    own = getattr(task, "tuning_seeds", None)
    return as_count(own(scale), "tuning_seeds") if own else SEEDS[scale]


def settings(task: Task, scale: str, count: int | None = None) -> list[Setting]:
    """Return the runs of the search; all attentions at one seed before the next seed, so that a part is fair too.

    ``count`` of them for every attention and rate, or the task's own number.
    """
    count = tuning_seeds(task, scale) if count is None else as_count(count, "count")
    keys = dict.fromkeys(rate_key(variant) for variant in variants(task) if variant.rule == "tuned")
    return [
        Setting(task.name, attention, FIRST_SEED + number, rate, matching, scale=scale)
        for number in range(count)
        for attention, matching in keys
        for rate in task.rates
    ]


def choose_rates(runs: Iterable[Outcome], columns: Sequence[str]) -> dict[Key, float]:
    """Return the learning rate of every attention.

    Parameters
    ----------
    runs : iterable of Outcome
        The ended runs of the search.
    columns : sequence of str
        Those of the task.
    """
    at = list(columns).index("test_loss")
    losses: dict[Key, dict[float, list[float]]] = {}
    for run in runs:
        rates = losses.setdefault((run.setting.attention, run.setting.matching), {})
        rates.setdefault(run.setting.rate, []).append(float(run.points[-1, at]))
    return {
        name: min(rates, key=lambda rate: (math.fsum(rates[rate]) / len(rates[rate]), rate))
        for name, rates in losses.items()
    }
