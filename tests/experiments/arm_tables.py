"""Tables such as complete runs of the arms leave, drawn from normal laws: what is to be seen in them is known."""

from __future__ import annotations

import numpy as np

from theory.evidence import Kind, Table, runner, stream
from theory.experiments.analysis import arms
from theory.experiments.arms.arm import ARMS, find_arm
from theory.experiments.arms.plan import arms_of, conditions, tasks

RUNS = 20
TASKS = tasks()
LOSSES = {"train_loss": 0.2, "late_loss": 0.21, "early_loss": 0.5, "test_loss": 0.3}
SCORES = {"score": 0.6, "noisy": 0.5, "early_score": 0.4}
EPOCHS = (0, 50, 450, 500)


def runs(arms=ARMS, *, scores=None, losses=None, spread=0.004, diverged=(), count=RUNS):
    """Return the runs of a task with some arms; ``scores`` and ``losses`` are what arms have more of, all else alike.

    Permuted labels leave a score of a tenth; a run of the arms in ``diverged`` is lost.
    """
    rows = []
    for arm in arms:
        for condition in conditions(arm):
            rng = stream(f"tests.arms.{arm.name}.{'.'.join(condition)}", 0)
            for seed in range(count):
                lost = arm.name in diverged and seed == 3
                row = {"architecture": arm.architecture, "similarity": arm.similarity, **condition._asdict()}
                row |= {"seed": seed, "rate": 1e-3, "parameters": 300, "epochs": EPOCHS[-1], "diverged": int(lost)}
                share = 1.0 if condition.labels == "true" else 1.0 / 6.0
                for name, level in SCORES.items():
                    more = (scores or {}).get(arm.name, 0.0)
                    row[name] = -np.inf if lost else share * (level + more) + spread * rng.standard_normal()
                for name, level in LOSSES.items():
                    factor = (losses or {}).get(arm.name, 1.0) * np.exp(spread * rng.standard_normal())
                    row[name] = np.inf if lost else level * factor / share
                rows.append(row)
    return Table.from_rows(Kind.STATISTICAL, rows, units=dict.fromkeys(LOSSES, "nat"))


def curves(found):
    """Return learning curves that end where the runs of a table do, in the mean."""
    rows = []
    for arm in ARMS:
        for condition in conditions(arm):
            own = found.where(architecture=arm.architecture, similarity=arm.similarity, **condition._asdict())
            if not len(own):
                continue
            early = float(own["early_score"].mean())
            for epoch in EPOCHS:
                row = {"architecture": arm.architecture, "similarity": arm.similarity, **condition._asdict()}
                ahead = np.sqrt((EPOCHS[-1] + 1.0) / (epoch + 1.0))
                means = {name: float(own[name].mean()) for name in ("train_loss", "test_loss", "score", "noisy")}
                now = means | {"train_loss": means["train_loss"] * ahead}
                rows.append(row | {"epoch": epoch} | now | ({"score": early} if epoch == EPOCHS[1] else {}))
    return Table.from_rows(Kind.STATISTICAL, rows, units={"train_loss": "nat", "test_loss": "nat"})


def lay(folder, monkeypatch, tasks=TASKS, **options):
    """Put made-up tables in place of the recorded ones, and return that of the runs of the last task."""
    for task in tasks:
        found = runs(list(map(find_arm, arms_of(task))), **options)
        (folder / f"arms-{task}.csv").write_text(found.to_csv(), encoding="utf-8")
        (folder / f"arms-{task}-curves.csv").write_text(curves(found).to_csv(), encoding="utf-8")
    monkeypatch.setattr(arms, "FOLDER", folder)
    monkeypatch.setattr(arms, "TASKS", tasks)
    monkeypatch.setattr(runner, "_STUDIES", {})
    return found
