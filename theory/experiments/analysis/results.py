"""The tables of an experiment: one row per run, one per point of a learning curve, one per run of the search for rates.

A diverged run has its rows: ``diverged`` is 1, and ``inf`` stands for everything measured from where it diverged.
What is published is read from ``theory/experiments/results``; nothing is trained by reading.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from theory.evidence.interval import Kind
from theory.evidence.table import Table
from theory.experiments.tasks.task import Setting, Task, Variant
from theory.experiments.training.loop import Outcome

FOLDER = Path(__file__).parent.parent / "results"
CURVE = ("train_loss", "test_loss", "accuracy")
_KEYS = ("task", "attention", "matching", "rule", "rate", "labels", "seed")
_TEXT = ("task", "attention", "matching", "rule", "labels")
_HEADS = {
    "": (*_KEYS, "parameters", "epochs", "diverged", *CURVE),
    "-curves": (*_KEYS, "epoch", *CURVE),
    "-tuning": ("task", "attention", "matching", "rate", "seed", "diverged", "validation_loss", "chosen"),
}
Final = tuple[Variant, Outcome]


def runs(task: str, folder: Path | None = None) -> Table:
    """Read the final runs of a task: setting, ``parameters``, ``epochs`` done, ``diverged``, and the last measurements.

    Raises
    ------
    FileNotFoundError
        If there are none; the message names the command that makes them.
    ValueError
        If the file is damaged; the message names it, and the line where there is one.
    """
    return _read(task, "", folder)


def curves(task: str, folder: Path | None = None) -> Table:
    """Read the learning curves of the final runs, to nine digits; raises as :func:`runs`."""
    return _read(task, "-curves", folder)


def tuning(task: str, folder: Path | None = None) -> Table:
    """Read the runs that chose the learning rates, on validation data; raises as :func:`runs`."""
    return _read(task, "-tuning", folder)


def manifest(task: str, folder: Path | None = None) -> dict[str, Any]:
    """Read how the tables were made: scale, seeds, root, versions, sources and seconds; raises as :func:`runs`."""
    path = _place(task, "-manifest.json", folder)
    if not path.is_file():
        raise FileNotFoundError(_missing(task, path))
    return read_json(path)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that the runner wrote.

    Raises
    ------
    ValueError
        If it holds something else.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, got a damaged file: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("experiment"), dict):
        raise ValueError(f"{path}: expected what a run of python -m theory.experiments writes, got something else")
    return found


def files(task: str, folder: Path) -> dict[str, Path]:
    """Return where the tables of a task are."""
    return {part: _place(task, f"{part}.csv", folder) for part in _HEADS}


def tables(
    task: Task, finals: Sequence[Final], searches: Sequence[Outcome], rates: Mapping[tuple[str, str], float]
) -> dict[str, Table]:
    """Lay out the ended runs of an experiment, in the order given.

    Parameters
    ----------
    task : Task
        Says what was measured, in which units.
    finals : sequence of (Variant, Outcome)
        The final runs.
    searches : sequence of Outcome
        The runs that chose the rates; empty if no rate was to be chosen.
    rates : mapping
        The chosen rates by attention and matching.
    """
    names = list(task.columns)
    at = {name: names.index(name) for name in names}
    rows = [
        {**_keyed(variant, run.setting), "parameters": run.parameters, "epochs": run.epochs, "diverged": run.diverged}
        | {name: run.points[-1, at[name]] for name in names}
        for variant, run in finals
    ]
    points = [
        {**_keyed(variant, run.setting), "epoch": epoch} | {name: _nine(row[at[name]]) for name in CURVE}
        for variant, run in finals
        for epoch, row in zip(run.grid, run.points, strict=True)
    ]
    tries = [_tried(run, at, rates) for run in searches]
    units = dict(task.columns)
    laid = {"": _table(rows, units), "-curves": _table(points, units)}
    return laid | ({"-tuning": _table(tries, units | {"validation_loss": units["test_loss"]})} if tries else {})


def _keyed(variant: Variant, setting: Setting) -> dict[str, Any]:
    return {"task": setting.task, "attention": setting.attention, "matching": setting.matching, "rule": variant.rule,
            "rate": setting.rate, "labels": setting.labels, "seed": setting.seed}  # fmt: skip


def _tried(run: Outcome, at: Mapping[str, int], rates: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    setting = run.setting
    last = run.points[-1]
    return {
        "task": setting.task, "attention": setting.attention, "matching": setting.matching, "rate": setting.rate,
        "seed": setting.seed, "diverged": run.diverged, "train_loss": last[at["train_loss"]],
        "validation_loss": last[at["test_loss"]], "accuracy": last[at["accuracy"]],
        "chosen": rates[setting.attention, setting.matching] == setting.rate,
    }  # fmt: skip


def _table(rows: Sequence[Mapping[str, Any]], units: Mapping[str, str]) -> Table:
    columns = {name: [_plain(row[name]) for row in rows] for name in rows[0]}
    return Table(Kind.STATISTICAL, {name: units.get(name, "1") for name in columns}, columns)


def _plain(value: Any) -> str | int | float:
    """Return a word, an integer, also for true and false, or a float."""
    return value if isinstance(value, str) else int(value) if isinstance(value, (bool, int)) else float(value)


def _nine(value: float) -> float:
    return float(f"{value:.9g}")


def _place(task: str, ending: str, folder: Path | None) -> Path:
    return (FOLDER if folder is None else folder) / f"{task}{ending}"


def _missing(task: str, path: Path) -> str:
    if path == _place(task, "-curves.csv", None):
        return (
            f"{path}: expected learning curves, found none; a clone and the source distribution have what a wheel lacks"
        )
    published = " --scale paper" if path.parent == FOLDER else ""
    command = f"python -m theory.experiments {task}{published} --out {path.parent}"
    return f"{path}: expected the results of a whole experiment, found none; {command} makes them"


def _read(task: str, part: str, folder: Path | None) -> Table:
    path = _place(task, f"{part}.csv", folder)
    made = _place(task, "-manifest.json", folder)
    if not path.is_file():
        raise FileNotFoundError(_missing(task, path))
    try:
        text = path.read_text(encoding="utf-8")
        _inspect(task, text.splitlines(), _HEADS[part])
        table = Table.from_csv(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    known = manifest(task, folder).get("tables", {}).get(path.name) if made.is_file() else table.sha256
    if table.sha256 != known:
        raise ValueError(f"{path}: expected the table that {made.name} was written with, got another one")
    return table


def _inspect(task: str, lines: Sequence[str], heads: Iterable[str]) -> None:
    """Find the first line that is no row of such a table; the first two are units and names."""
    names = lines[1].split(",") if len(lines) > 1 else []
    missing = [name for name in heads if name not in names]
    if missing:
        raise ValueError(f"line 2: expected the columns {', '.join(heads)}, got no {missing[0]}")
    for number, row in enumerate(csv.reader(lines[2:]), start=3):
        if len(row) != len(names):
            raise ValueError(f"line {number}: expected {len(names)} fields, got {len(row)}")
        for name, cell in zip(names, row, strict=True):
            if name == "task" and cell != task:
                raise ValueError(f"line {number}: expected the task {task}, got {cell!r}")
            if name not in _TEXT and not _number(cell):
                raise ValueError(f"line {number}: expected a number in {name}, got {cell!r}")


def _number(cell: str) -> bool:
    try:
        return float(cell) == float(cell)
    except ValueError:
        return False
