"""The experiment on one task: for every arm the search for its rate and then its runs, stored piece by piece.

A piece is all runs of one arm at one rate, trained together. Its file is written when it is done, under a name that is
the fingerprint of all that its numbers depend on; so an experiment that is killed goes on with the piece it was in,
and pieces of other code or of another plan are never taken. Arms are spread over processes by
:func:`theory.evidence.sweep`, on a Dask cluster if the sweep is told of one.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Kind, Table, sweep
from theory.evidence.files import write_whole
from theory.evidence.provenance import commit, processor
from theory.experiments.arms.arm import Arm, find_arm
from theory.experiments.arms.folders import Folder, FolderLessons, open_folder
from theory.experiments.arms.lessons import SEARCH, Lessons
from theory.experiments.arms.plan import PLAIN, Condition, arms_of, budget, conditions, lessons_of
from theory.experiments.arms.search import Found, choose_rate
from theory.experiments.arms.sentences import TASK as NUMERALS, Sentences
from theory.experiments.arms.sources import STREAMS, fingerprint_sources
from theory.experiments.arms.training import COLUMNS, TIMES, Trained, train
from theory.experiments.arms.translating import translate

_HOME = Path(__file__).parents[3]
UNITS = {
    **dict.fromkeys(("architecture", "similarity", "labels", "start", "seed", "rate", "parameters"), "1"),
    "epochs": "1",
    "diverged": "1",
    "train_loss": "nat",
    "late_loss": "nat",
    "early_loss": "nat",
    "early_score": "1",
    "test_loss": "nat",
    "score": "1",
    "noisy": "1",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What all pieces of an experiment share: task, scale, root, the folder of the pieces, and one of data if any."""

    task: str
    scale: str
    root: int
    pieces: Path
    data: Folder | None = None

    def identity(self) -> dict[str, Any]:
        """Return what the numbers depend on besides the arm, the rate and the condition."""
        learn, source = (translate, "num2words") if self.task == NUMERALS else (train, "scikit-learn")
        reader = () if self.data is None else (FolderLessons.__module__,)
        return {
            "task": self.task,
            "scale": self.scale,
            "root": self.root,
            "budget": budget(self.task, self.scale)._asdict(),
            "sources": fingerprint_sources(learn, (STREAMS, *reader)),
            **({} if self.data is None else {"data": self.data.sha256}),
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}",
            "processor": processor(),
            **{name: version(name) for name in ("numpy", "torch", source)},
        }


def run_arm(*, name: str, setting: Setting) -> dict[str, Any]:
    """Search the rate of an arm, train its runs, and return ``found`` and, by condition, what came of them."""
    arm = find_arm(name)
    own = budget(setting.task, setting.scale)

    def validate(rate: float) -> np.ndarray:
        return piece(arm, setting, PLAIN, rate, search=True).measured[:, -1, COLUMNS.index("test_loss")]

    found = choose_rate(validate, own.rates, ratio=own.ratio, growths=own.growths)
    made: dict[Any, Any] = {condition: piece(arm, setting, condition, found.rate) for condition in conditions(arm)}
    return {"found": found} | made


def piece(arm: Arm, setting: Setting, condition: Condition, rate: float, *, search: bool = False) -> Trained:
    """Return all runs of an arm at one rate, trained now or before; those of the search see validation data."""
    own = budget(setting.task, setting.scale)
    key = {**setting.identity(), "arm": arm.name, **condition._asdict(), "rate": rate, "search": search}
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    path = setting.pieces / f"{arm.name}-{digest[:16]}.npz"
    if path.is_file():
        with np.load(path) as file:
            return Trained(tuple(file["epochs"].tolist()), file["measured"], int(file["parameters"]))
    first, count = (SEARCH, own.search_runs) if search else (0, own.pairs)
    seeds = tuple(range(first, first + count))
    asked = (lessons_of(setting.task), seeds, search, condition.labels, condition.start, setting.root)
    given: dict[str, Any] = {"rate": rate, "epochs": own.epochs, "decay": own.decay}
    begun = time.perf_counter()
    if setting.task == NUMERALS:
        made = translate(arm, Sentences(*asked), **given)
    else:
        lessons = Lessons(*asked) if setting.data is None else FolderLessons(*asked, setting.data.path)
        made = train(arm, lessons, **given)
    stored = io.BytesIO()
    np.savez(stored, **made._asdict())
    write_whole(path, stored.getvalue())
    words = f"{setting.task} {arm.name} {' '.join(condition)} rate {rate:.3g}{' search' if search else ''}"
    sys.stderr.write(f"{words}: {count} runs in {time.perf_counter() - begun:.0f} s\n")
    return made


def run_experiment(
    task: str,
    *,
    scale: str = "paper",
    root: int,
    out: Path,
    arms: Iterable[str] | None = None,
    data: Path | None = None,
) -> dict[str, Any]:
    """Run the experiment on a task, and write its tables and its manifest.

    Parameters
    ----------
    task : str
        One that the plan has a budget for.
    scale : {"quick", "paper"}
    root : int
        Entropy of every random stream.
    out : path
        Folder for ``arms-TASK.csv``, ``arms-TASK-search.csv``, ``arms-TASK-curves.csv`` and
        ``arms-TASK-manifest.json``; the pieces are below it.
    arms : iterable of str, optional
        Names of arms; those of the plan unless given.
    data : path, optional
        Folder with published data; what is drawn or comes with a package unless given.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    ValueError
        If there is no such task, scale or arm, or something is wrong with the data; the message names the file.
    RuntimeError
        If the best rate of an arm lies at an end of the last grid.
    """
    budget(task, scale)
    names = arms_of(task) if arms is None else [find_arm(name).name for name in arms]
    setting = Setting(task, scale, root, out / "pieces", None if data is None else open_folder(lessons_of(task), data))
    setting.pieces.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    made = sweep(run_arm, [{"name": name, "setting": setting} for name in names])
    results = dict(zip(names, made, strict=True))
    tables = {
        f"arms-{task}.csv": finals(results),
        f"arms-{task}-search.csv": searches({name: each["found"] for name, each in results.items()}),
        f"arms-{task}-curves.csv": curves(results),
    }
    for name, table in tables.items():
        write_whole(out / name, table.to_csv())
    manifest = {
        **setting.identity(),
        "commit": commit(_HOME, tuple(path.relative_to(_HOME).as_posix() for path in Path(__file__).parent.glob("*"))),
        "seconds": round(time.perf_counter() - begun),
        "tables": {name: table.sha256 for name, table in tables.items()},
    }
    write_whole(out / f"arms-{task}-manifest.json", json.dumps(manifest, indent=2) + "\n")
    return manifest


def finals(results: Mapping[str, Mapping[Any, Any]]) -> Table:
    """Return a row per run: its arm, what it was given, and what it measured at the end.

    ``late_loss`` is the training loss when a tenth of the training was left, ``early_loss`` and ``early_score`` are the
    training loss and the score when a tenth was over.
    """
    rows = []
    for name, made in results.items():
        for condition in conditions(find_arm(name)):
            rows += _finals(find_arm(name), condition, made["found"].rate, made[condition])
    return Table(Kind.STATISTICAL, UNITS, {column: [row[column] for row in rows] for column in UNITS})


def _finals(arm: Arm, condition: Condition, rate: float, made: Trained) -> list[dict[str, Any]]:
    told = {"architecture": arm.architecture, "similarity": arm.similarity, **condition._asdict(), "rate": rate}
    told |= {"parameters": made.parameters, "epochs": made.epochs[-1]}
    rows = []
    for seed, (measured, diverged) in enumerate(zip(_finite_or_lost(made.measured), made.diverged, strict=True)):
        last = dict(zip(COLUMNS, measured[-1].tolist(), strict=True))
        early = {"early_loss": float(measured[1, 0]), "early_score": float(measured[1, COLUMNS.index("score")])}
        told |= {"seed": seed, "diverged": int(diverged), "late_loss": float(measured[-2, 0])}
        rows.append(told | early | last)
    return rows


def _finite_or_lost(measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what tables hold: there is no number that is none, so a score that was lost is below all others."""
    return np.where(np.isnan(measured), -np.inf, measured)


def searches(found: Mapping[str, Found]) -> Table:
    """Return a row per rate that was tried: its arm, the mean validation loss, and whether it was chosen."""
    units = {"architecture": "1", "similarity": "1", "rate": "1", "validation_loss": "nat", "chosen": "1"}
    rows = [
        (find_arm(name).architecture, find_arm(name).similarity, rate, mean, int(rate == each.rate))
        for name, each in found.items()
        for rate, mean in each.means.items()
    ]
    return Table(Kind.STATISTICAL, units, dict(zip(units, map(list, zip(*rows, strict=True)), strict=True)))


def curves(results: Mapping[str, Mapping[Any, Any]]) -> Table:
    """Return a row per arm, condition and time: means over the runs of what was measured then."""
    keys = ("architecture", "similarity", "labels", "start", "epoch")
    units = {**dict.fromkeys(keys, "1"), **{column: UNITS[column] for column in COLUMNS}}
    rows = []
    for name, made in results.items():
        arm = find_arm(name)
        for condition in conditions(arm):
            means = _finite_or_lost(made[condition].measured.mean(axis=0))
            for place in range(TIMES + 1):
                key = (arm.architecture, arm.similarity, *condition, made[condition].epochs[place])
                rows.append((*key, *means[place].tolist()))
    return Table(Kind.STATISTICAL, units, dict(zip(units, map(list, zip(*rows, strict=True)), strict=True)))
