"""The tables of the arms: read, and compared in pairs of equal seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence.table import Table
from theory.experiments.arms.arm import Arm, find_arm
from theory.experiments.arms.plan import PLAIN, Condition, tasks

FOLDER = Path(__file__).parent.parent / "results"
TASKS = tasks()
PARTS = ("", "-search", "-curves")
Array = NDArray[np.float64]


def read_arms(task: str, part: str = "", folder: Path | None = None) -> Table:
    """Read a table: of the runs, of the ``-search`` for rates, or of the ``-curves`` of the means.

    Raises
    ------
    ValueError
        If there is no such task or part, or the file is damaged.
    FileNotFoundError
        If the experiment was not made; the message names the command that makes it.
    """
    if task not in TASKS or part not in PARTS:
        raise ValueError(f"task, part: expected one of {TASKS} and one of {PARTS}, got {task!r} and {part!r}")
    path = (folder or FOLDER) / f"arms-{task}{part}.csv"
    if not path.is_file():
        command = f"python -m theory.experiments {task} --scale paper --out {path.parent}"
        raise FileNotFoundError(f"{path}: expected a table, found none; {command}")
    return Table.from_csv(path.read_text(encoding="utf-8"))


def read_manifest(task: str, folder: Path | None = None) -> dict[str, Any]:
    """Read how the tables of a task were made: budget, sources, commit, versions, seconds, fingerprints of tables."""
    path = (folder or FOLDER) / f"arms-{task}-manifest.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def runs_of(table: Table, arm: Arm | str, condition: Condition = PLAIN) -> Table:
    """Return the runs of an arm, by increasing seed."""
    own = find_arm(arm) if isinstance(arm, str) else arm
    found = table.where(architecture=own.architecture, similarity=own.similarity, **condition._asdict())
    order = np.argsort(found["seed"], kind="stable")
    return Table(found.kind, found.units, {name: found[name][order] for name in found.units})


def pair_scores(
    table: Table, ours: str, theirs: str, *, condition: Condition = PLAIN, other: Condition | None = None,
    column: str = "score",
) -> tuple[Array, Array]:  # fmt: skip
    """Return a column of the runs of two arms in pairs of equal seed.

    ``other`` is the condition of the second arm where it is not that of the first. A run that diverged has the score
    ``-inf`` and losses ``inf``.

    Raises
    ------
    ValueError
        If the two have not the same seeds, each once.
    """
    one = runs_of(table, ours, condition)
    two = runs_of(table, theirs, condition if other is None else other)
    seeds = one["seed"].tolist()
    if not seeds or seeds != two["seed"].tolist() or len(set(seeds)) < len(seeds):
        raise ValueError(
            f"table: expected {ours} and {theirs} with the same seeds, each once, got {len(one)}, {len(two)}"
        )
    return one[column].astype(np.float64), two[column].astype(np.float64)
