"""What the arms came to: every run, the means of every arm, and every comparison that is judged.

Those of scores at the end were stated before the runs, in the plan; those of training losses and of early scores, which
earlier tables had, while the runs were under way.

The tables are data of this package, made once by ``python -m theory.experiments``; so these studies return the same at
either scale and at any ``--root``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table
from theory.experiments.analysis import arms, paired
from theory.experiments.arms import find_arm, margin
from theory.experiments.arms.plan import PLAIN, Condition, arms_of, comparisons

Array = NDArray[np.float64]
TOGETHER = 0.05  # the probability that any of all comparisons on all tasks is judged wrongly
COLUMNS = {"score": "score", "loss": "train_loss", "early-score": "early_score", "early-loss": "early_loss"}
_OF_LOSS = ("published", "chart")  # comparisons that were reported of the training loss too
_LOSSES = ("moons", "digits", "meshes", "numerals")  # the tasks of which they were
_EARLY = (("chart", "early-score"), ("chart", "early-loss"), ("published", "early-loss"))  # on moons, after a tenth


class Comparison(NamedTuple):
    """Of what, on which task, under which name, one arm is compared with which."""

    task: str
    name: str
    quantity: str
    ours: str
    theirs: str

    @property
    def margin(self) -> float:
        """The smallest gain that counts: of scores a difference, of losses a logarithm of their ratio."""
        return margin(self.quantity.removeprefix("early-"))


def list_comparisons() -> list[Comparison]:
    """Return all comparisons: they are one family."""
    return [Comparison(task, *which) for task in arms.TASKS for which in _of_task(task)]


def _of_task(task: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, quantity and arms of the comparisons of a task."""
    stated = comparisons(task)
    losses = [(name, "loss") for name in _OF_LOSS] if task in _LOSSES else []
    early = _EARLY if task == "moons" else ()
    for name, quantity in [*((name, "score") for name in stated), *losses, *early]:
        yield name, quantity, *stated[name]


def arm_runs(*, scale: str, root: int) -> Table:  # noqa: ARG001  tables that were made once
    """Return a row per run of every task and arm: what it was given, and what it measured at the end of training."""
    return _of_all_tasks("")


def arm_curves(*, scale: str, root: int) -> Table:  # noqa: ARG001  as arm_runs
    """Return a row per task, arm, condition and time: means over the runs of what was measured then."""
    return _of_all_tasks("-curves")


def _of_all_tasks(part: str) -> Table:
    tables = {task: arms.read_arms(task, part) for task in arms.TASKS}
    units = next(iter(tables.values())).units
    columns = {name: np.concatenate([table[name] for table in tables.values()]) for name in units}
    names = np.repeat(list(tables), [len(table) for table in tables.values()])
    return Table(Kind.STATISTICAL, {"task": "1", **units}, {"task": names, **columns})


def summarise_arms(runs: Table) -> Table:
    """Return a row per task and arm: the mean of what it scores, its 95 % interval, and how it was trained.

    ``settled`` is the logarithm by which the mean training loss fell in the last tenth of the training, infinite where
    a run diverged.
    """
    return Table.from_rows(Kind.STATISTICAL, _arms(runs), units={"test_loss": "nat", "train_loss": "nat"})


def _arms(runs: Table) -> Iterator[dict[str, Any]]:
    for task in arms.TASKS:
        for arm in map(find_arm, arms_of(task)):
            own = arms.runs_of(runs.where(task=task), arm)
            yield {
                "task": task, "architecture": arm.architecture, "similarity": arm.similarity,
                "mean": float(own["score"].mean()), "score": enclose_gain(own["score"]),
                "noisy": enclose_gain(own["noisy"]),
                "test_loss": float(own["test_loss"].mean()), "train_loss": float(own["train_loss"].mean()),
                "settled": _settled(own["late_loss"].mean(), own["train_loss"].mean()),
                "parameters": int(own["parameters"][0]), "rate": float(own["rate"][0]),
                "epochs": int(own["epochs"][0]), "runs": len(own), "diverged": int(own["diverged"].sum()),
            }  # fmt: skip


def _settled(late: float, last: float) -> float:
    return float(np.log(late / last)) if np.isfinite(last) else np.inf


def pair_gains(
    runs: Table, compared: Comparison, *, condition: Condition = PLAIN, other: Condition | None = None,
    factor: float = 1.0,
) -> Array:  # fmt: skip
    """Return what the first arm gains over the second in every pair: of scores the difference, of losses its logarithm.

    Parameters
    ----------
    runs : Table
        Of :func:`arm_runs`.
    compared : Comparison
    condition, other : Condition
        Under which the first arm was run, and the second one, if another.
    factor : float, default 1.0
        By which the numbers of the first arm are multiplied: 1 but for a mistake.
    """
    column = COLUMNS[compared.quantity]
    own = runs.where(task=compared.task)
    ours, theirs = arms.pair_scores(
        own, compared.ours, compared.theirs, condition=condition, other=other, column=column
    )
    ours = factor * ours
    with np.errstate(invalid="ignore"):  # of two runs that diverged
        return np.log(theirs / ours) if compared.quantity.endswith("loss") else ours - theirs


def summarise_gains(runs: Table) -> Table:
    """Return a row per comparison: what the first arm gains over the second.

    ``mean`` is that of the pairs, ``gain`` the one behind it, enclosed so that with probability .95 all comparisons
    hold at once; ``alone`` the 95 % interval; ``value`` the two-sided p-value of no gain by the sign-flip test,
    ``holm`` adjusted for all comparisons; ``needed`` how many pairs would tell a gain of this size from the margin,
    with probability 0.9, at the level that each comparison has among all, if gains were normal, and at least as many as
    have an interval at that level.
    """
    rows = [_gain(runs, compared) for compared in list_comparisons()]
    adjusted = paired.adjust_holm([row["value"] for row in rows]).tolist()
    return Table.from_rows(Kind.STATISTICAL, [{**row, "holm": p} for row, p in zip(rows, adjusted, strict=True)])


def _gain(runs: Table, compared: Comparison) -> dict[str, Any]:
    gains = pair_gains(runs, compared)
    sound = bool(np.isfinite(gains).all())
    value = 2.0 * min(paired.flip_signs(gains), paired.flip_signs(-gains)) if sound else 1.0
    return {
        **compared._asdict(), "pairs": len(gains), "mean": float(gains.mean()),
        "gain": enclose_together(gains), "alone": enclose_gain(gains),
        "margin": compared.margin, "value": min(value, 1.0),
        "needed": max(_least_pairs(), _needed(gains, compared.margin)) if sound else paired.MOST,
    }  # fmt: skip


def _needed(gains: Array, margin: float) -> int:
    return paired.count_pairs(gains, margin, level=_each())


def _least_pairs() -> int:
    """Return with how many pairs an interval has the level that each comparison has among all."""
    return 1 + math.ceil(math.log2(1.0 / _each()))


def enclose_together(gains: Array) -> Interval:
    """Enclose a mean gain at the level at which all comparisons hold at once."""
    return enclose_gain(gains, _each())


def _each() -> float:
    return TOGETHER / len(list_comparisons())


def enclose_gain(sample: Array, level: float = 0.05) -> Interval:
    """Enclose a mean over runs; unknown if one diverged, or if all are equal, as their spread was never seen."""
    if not np.isfinite(sample).all() or sample.min() == sample.max():
        return Interval.unknown(Kind.STATISTICAL)
    return paired.enclose_mean(sample, level)
