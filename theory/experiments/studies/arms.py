"""What the arms came to: every run, the means of every arm, and every comparison that was stated before the runs.

The tables are data of this package, made once by ``python -m theory.experiments.arms``; so these studies return the
same at either scale and at any ``--root``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.experiments.analysis import arms, paired
from theory.experiments.arms import ARMS, margin
from theory.experiments.arms.plan import comparisons

TOGETHER = 0.05  # the probability that any of all comparisons on all tasks is judged wrongly


def family() -> int:
    """Return how many comparisons there are on all tasks together."""
    return len(arms.TASKS) * len(comparisons())


def arm_runs(*, scale: str, root: int) -> Table:  # noqa: ARG001  tables that were made once
    """Return a row per run of every task and arm: what it was given, and what it measured at the end of training."""
    tables = {task: arms.read_arms(task) for task in arms.TASKS}
    units = next(iter(tables.values())).units
    columns = {name: np.concatenate([table[name] for table in tables.values()]) for name in units}
    names = np.repeat(list(tables), [len(table) for table in tables.values()])
    return Table(Kind.STATISTICAL, {"task": "1", **units}, {"task": names, **columns})


def summarise_arms(runs: Table) -> Table:
    """Return a row per task and arm: what it scores, with a 95 % interval, and how it was trained.

    ``settled`` is the logarithm by which the mean training loss fell in the last tenth of the training.
    """
    return Table.from_rows(Kind.STATISTICAL, _arms(runs), units={"test_loss": "nat", "train_loss": "nat"})


def _arms(runs: Table) -> Iterator[dict[str, Any]]:
    for task in arms.TASKS:
        for arm in ARMS:
            own = arms.runs_of(runs.where(task=task), arm)
            yield {
                "task": task, "architecture": arm.architecture, "similarity": arm.similarity,
                "score": enclose_gain(own["score"]), "noisy": enclose_gain(own["noisy"]),
                "test_loss": float(own["test_loss"].mean()), "train_loss": float(own["train_loss"].mean()),
                "settled": float(np.log(own["late_loss"].mean() / own["train_loss"].mean())),
                "parameters": int(own["parameters"][0]), "rate": float(own["rate"][0]),
                "epochs": int(own["epochs"][0]), "runs": len(own), "diverged": int(own["diverged"].sum()),
            }  # fmt: skip


def summarise_gains(runs: Table) -> Table:
    """Return a row per task and comparison: what the first arm gains in score over the second.

    ``gain`` is the mean, enclosed so that with probability .95 all comparisons hold at once; ``alone`` the 95 %
    interval; ``value`` the two-sided p-value of no gain by the sign-flip test, ``holm`` adjusted for all comparisons;
    ``needed`` how many pairs would tell a gain of this size from the margin.
    """
    rows = [_gain(runs.where(task=task), task, name) for task in arms.TASKS for name in comparisons()]
    adjusted = paired.adjust_holm([row["value"] for row in rows]).tolist()
    return Table.from_rows(Kind.STATISTICAL, [{**row, "holm": p} for row, p in zip(rows, adjusted, strict=True)])


def _gain(runs: Table, task: str, name: str) -> dict[str, Any]:
    first, second = comparisons()[name]
    ours, theirs = arms.pair_scores(runs, first, second)
    gains = ours - theirs
    sound = bool(np.isfinite(gains).all())
    value = 2.0 * min(paired.flip_signs(gains), paired.flip_signs(-gains)) if sound else 1.0
    return {
        "task": task, "comparison": name, "ours": first, "theirs": second, "pairs": len(gains),
        "gain": enclose_gain(gains, TOGETHER / family()), "alone": enclose_gain(gains), "value": min(value, 1.0),
        "needed": paired.count_pairs(gains, margin("score")) if sound else paired.MOST,
    }  # fmt: skip


def enclose_gain(sample: NDArray[np.float64], level: float = 0.05) -> Interval:
    """Enclose a mean over runs; unknown if one diverged, or if all are equal, as their spread was never seen."""
    if not np.isfinite(sample).all() or sample.min() == sample.max():
        return Interval.unknown(Kind.STATISTICAL)
    return paired.enclose_mean(sample, level)
