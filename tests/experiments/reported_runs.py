"""Tables such as complete runs leave, drawn from normal laws: what is to be seen in them is known."""

from __future__ import annotations

import numpy as np
from theory.experiments.tasks.task import VARIANTS

from theory.evidence import Kind, Table, stream

SEEDS = {"moons": 128, "digits": 24, "segmentation": 24, "translation": 16}
LEVEL = {"self": (0.3, 0.85), "l2": (0.2, 0.88), "metric": (0.2, 0.9)}  # loss and accuracy; others are as self
SPREAD = dict.fromkeys(LEVEL, 0.01)
CHOSEN = {"self": 3e-2, "again": 3e-2, "wide": 3e-2, "l2": 1e-2, "metric": 3e-3}  # learning rates
EPOCHS = (0, 25, 50, 500)


def runs(task, *, level=LEVEL, spread=SPREAD, diverged=()):
    """Return the final runs of a task; ``diverged`` are attentions of which the first run is lost."""
    rows = [row for variant in _variants(task) for row in _rows(task, variant, level, spread, diverged)]
    return _table(rows)


def curves(task, level=LEVEL):
    """Return learning curves that fall like the square root of the epoch."""
    rows = []
    for variant in _variants(task):
        for row in _rows(task, variant, level, SPREAD, ()):
            kept = {name: row[name] for name in row if name not in ("parameters", "epochs", "diverged", "noisy_2")}
            for epoch in EPOCHS:
                ahead = np.sqrt(EPOCHS[-1] / (epoch + 1.0))
                rows.append(kept | {"epoch": epoch, "train_loss": row["train_loss"] * ahead})
    return _table([{name: value for name, value in row.items() if "bleu" not in name} for row in rows])


def _variants(task):
    if task != "translation":
        return VARIANTS
    return [v for v in VARIANTS if v.rule == "tuned" and v.labels == "true" and v.attention != "wide"]


def _rows(task, variant, level, spread, diverged):
    true = variant.labels == "true"
    kind = variant.attention if variant.attention in LEVEL else "self"
    loss, accuracy = level[kind] if true else (0.7, 0.5)
    case = [variant.attention, variant.matching, variant.labels, variant.rule]
    rng = stream(f"tests.metric.runs.{task}.{'.'.join(case)}", 0)
    for seed in range(SEEDS[task]):
        lost = seed == 0 and variant.attention in diverged
        score = accuracy + (spread[kind] if true else 0.01) * rng.normal()
        train = loss * np.exp(0.03 * rng.normal())
        measured = {"train_loss": train, "test_loss": 1.3 * train, "accuracy": score, "noisy_2": score - 0.05}
        if task == "translation":
            measured |= {"bleu": 100.0 * score, "noisy_bleu": 100.0 * score - 5.0}
        rate = CHOSEN[variant.attention] if variant.rule == "tuned" else 1e-3
        yield {
            "task": task, "attention": variant.attention, "matching": variant.matching, "rule": variant.rule,
            "rate": rate, "labels": variant.labels, "seed": seed, "parameters": 222, "epochs": 500,
            "diverged": int(lost), **(dict.fromkeys(measured, np.inf) if lost else measured),
        }  # fmt: skip


def _table(rows):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Table(Kind.STATISTICAL, dict.fromkeys(columns, "1"), columns)
