"""What the reported experiments came to, from the tables that were made once by complete runs.

The tables are data of this package: ``python -m theory.experiments TASK --scale paper`` makes them, in hours. So these
studies return the same at either scale and at any ``--root``. Only :func:`moons_afresh` trains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence import Interval, Kind, Table, sweep
from theory.evidence.statistics import run_mean
from theory.experiments.analysis import results
from theory.experiments.tasks.moons import Moons
from theory.experiments.tasks.task import Setting

TASKS = ("moons", "digits", "segmentation", "translation")
TEXT = ("task", "attention", "matching", "rule", "labels")
NUMBERS = ("seed", "rate", "parameters", "epochs", "diverged", "train_loss", "test_loss", "accuracy")
QUARTILES = {"low": 0.25, "median": 0.5, "high": 0.75}
# of new runs: so many of the recorded ones, drawn again, are told from half their accuracy and from that under permuted
# labels with probability 0.99; one run in twenty of metric-attention still stands at the accuracy of a guess
AFRESH = {"quick": {"l2": 16, "metric": 112}, "paper": {"l2": 32, "metric": 128}}
BUDGET = 50  # epochs: a tenth of the whole, and a point of the learning curves
_FIRST = 2_000_000  # no run of the experiments has a seed this large


def finals(*, scale: str, root: int) -> Table:  # noqa: ARG001  tables that were made once
    """Return a row per run of every task: its setting, and losses and scores at the end of training.

    ``score`` is what the paper reports of the task, BLEU over 100 for translation and the accuracy elsewhere, and
    ``noisy`` the same on noisy inputs that training has not seen, at the higher level of noise if there are two;
    ``drop`` is what the noise costs of the score. What a diverged run would have measured is ``inf``.
    """
    parts = [_finals(task) for task in TASKS]
    units = parts[0].units
    return Table(Kind.STATISTICAL, units, {name: np.concatenate([part[name] for part in parts]) for name in units})


def _finals(task: str) -> Table:
    runs = results.runs(task)
    translates = "bleu" in runs.columns
    columns = {name: runs[name] for name in (*TEXT, *NUMBERS)}
    columns["score"] = runs["bleu"] / 100.0 if translates else runs["accuracy"]
    columns["noisy"] = runs["noisy_bleu"] / 100.0 if translates else runs["noisy_2"]
    lost = np.full(len(runs), np.inf)
    np.subtract(columns["score"], columns["noisy"], out=lost, where=runs["diverged"] == 0)
    columns["drop"] = lost
    losses = {"train_loss": "nat", "test_loss": "nat"}
    return Table(Kind.STATISTICAL, {name: losses.get(name, "1") for name in columns}, columns)


def curves(*, scale: str, root: int) -> Table:  # noqa: ARG001  as finals
    """Return a row per point of the learning curves of every task: means and quartiles over the runs.

    The means of training loss and accuracy are intervals, unknown if a run has diverged by then; in the quartiles it
    counts as one with infinite loss that recognises nothing.
    """
    rows = [row for task in TASKS for row in _points(results.curves(task))]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    units = {name: "nat" if "loss" in name else "1" for name in columns}
    return Table(Kind.STATISTICAL, units, columns)


def _points(table: Table) -> list[dict[str, Any]]:
    keys = zip(*(table[name].tolist() for name in (*TEXT, "epoch")), strict=True)
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    rows = []
    for key, runs in places.items():
        row: dict[str, Any] = dict(zip((*TEXT, "epoch"), key, strict=True)) | {"runs": len(runs)}
        for name in ("train_loss", "test_loss", "accuracy"):
            sample = table[name][runs]
            ranked = np.where(np.isfinite(sample), sample, 0.0) if name == "accuracy" else sample
            for part, share in QUARTILES.items():  # of the sample itself, since between inf and a number there is none
                row[f"{name}_{part}"] = float(np.quantile(ranked, share, method="inverted_cdf"))
            if name != "test_loss":
                finite = bool(np.isfinite(sample).all())
                row[name] = run_mean(sample) if finite else Interval.unknown(Kind.STATISTICAL)
        rows.append(row)
    return rows


def early(*, scale: str, root: int) -> Table:  # noqa: ARG001  as finals
    """Return a row per run on moons after a tenth of the budget: its setting, losses and score, as :func:`finals`."""
    runs = results.curves("moons").where(epoch=BUDGET)
    columns = {**runs.columns, "score": runs["accuracy"]}
    return Table(Kind.STATISTICAL, {**runs.units, "score": "1"}, columns)


def moons_afresh(*, scale: str, root: int) -> Table:
    """Train on newly drawn moons, from new starts, for a tenth of the budget: as many runs as ``AFRESH`` says.

    The rate is the one that the attention has chosen, at equal width. Dot-product attention is left out: at this age
    some of its runs still stand at the loss of a guess, and few runs say little about a mean of two such kinds.
    """
    counts = AFRESH[scale]
    table = results.runs("moons").where(rule="tuned", matching="width")
    rates = {name: float(table.where(attention=name)["rate"][0]) for name in counts}
    cases = [
        {"attention": name, "seed": _FIRST + number, "rate": rates[name], "root": root}
        for name, count in counts.items()
        for number in range(count)
    ]
    rows = sweep(_begun, cases, pool=scale == "paper")
    units = {"attention": "1", "seed": "1", "train_loss": "nat", "accuracy": "1"}
    return Table(Kind.STATISTICAL, units, {name: [row[name] for row in rows] for name in units})


def _begun(*, attention: str, seed: int, rate: float, root: int) -> dict[str, Any]:
    task = Moons(root=root)
    learner = task.learner(Setting(task.name, attention, seed, rate))
    for _ in range(BUDGET):
        learner.advance()
    found = learner.measure(further=False)
    return {"attention": attention, "seed": seed, "train_loss": found["train_loss"], "accuracy": found["accuracy"]}
