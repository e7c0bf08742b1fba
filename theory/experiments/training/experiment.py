"""What an experiment is, where it is kept, and that no other one is written over.

A folder belongs to one experiment per task: the same scale, root, data, code and packages. More seeds may be added to
it later. Seconds are summed over all sessions in which something was trained; of one that is killed, or that a failed
run ends, the last ten at most are missing.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from theory.experiments.analysis import results
from theory.experiments.tasks.task import Task
from theory.experiments.training.checkpoint import replace_text
from theory.experiments.training.sources import fingerprint_folder, fingerprint_sources

_PACKAGES = ("numpy", "scipy", "torch", "scikit-learn", "trimesh", "num2words", "sacrebleu")


def identity(task: Task, *, scale: str, root: int, data: Path | None) -> dict[str, Any]:
    """Return what the numbers of a task depend on, beside the settings of single runs."""
    return {
        "task": task.name,
        "scale": scale,
        "root": root,
        "data": None if data is None else fingerprint_folder(data),
        "epochs": task.epochs(scale),
        "every": task.every(scale),
        "sources": fingerprint_sources(type(task)),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        **{name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


class ExperimentFolder:
    """The folder of an experiment, and the seconds that it took so far.

    Parameters
    ----------
    out : path
        Folder for the tables; the files of the runs are below it.
    experiment : mapping
        Its identity.
    seeds : int
        How many final runs of every variant are wanted.

    Raises
    ------
    ValueError
        If the folder holds another experiment on this task, one with more seeds, or a damaged file.
    """

    def __init__(self, out: Path, experiment: Mapping[str, Any], seeds: int) -> None:
        name = experiment["task"]
        self.experiment = dict(experiment)
        self.out = out
        self.folder = out / "checkpoints" / name
        self.manifest, self._file = out / f"{name}-manifest.json", self.folder / "experiment.json"
        self.earlier: dict[str, Any] = {"sessions": 0, "wall_seconds": 0.0, "cpu_seconds": 0.0}
        self.complete = False
        if self.manifest.exists():
            found = results.read_json(self.manifest)
            self._agree(self.manifest, found["experiment"])
            if not isinstance(found.get("seeds"), int):
                raise ValueError(f"{self.manifest}: expected a number of seeds, got {found.get('seeds')!r}")
            if found["seeds"] > seeds:
                raise ValueError(
                    f"seeds: expected at least the {found['seeds']} that {self.manifest} tells of, got {seeds}; "
                    "choose another --out"
                )
            self.complete = found["seeds"] == seeds
        else:
            strange = [path for path in results.files(name, out).values() if path.exists()]
            if strange:
                raise ValueError(f"{strange[0]}: expected no table without {self.manifest.name}; choose another --out")
        if self._file.exists():
            found = results.read_json(self._file)
            self._agree(self._file, found["experiment"])
            for key in self.earlier:
                if not isinstance(found.get(key), (int, float)):
                    raise ValueError(f"{self._file}: expected a number of {key}, got {found.get(key)!r}")
                self.earlier[key] = found[key]
        self.folder.mkdir(parents=True, exist_ok=True)

    def totals(self, wall: float, cpu: float) -> dict[str, Any]:
        """Return the number of sessions with this one, and the seconds of all."""
        return {
            "sessions": self.earlier["sessions"] + 1,
            "wall_seconds": round(self.earlier["wall_seconds"] + wall, 3),
            "cpu_seconds": round(self.earlier["cpu_seconds"] + cpu, 3),
        }

    def note(self, wall: float, cpu: float) -> None:
        """Store the seconds that this session took so far, of a wall clock and of all processors together."""
        write_json(self._file, {"experiment": self.experiment} | self.totals(wall, cpu))

    def _agree(self, path: Path, found: Mapping[str, Any]) -> None:
        for name in sorted(set(self.experiment) | set(found)):
            mine, theirs = self.experiment.get(name), found.get(name)
            if mine != theirs:
                raise ValueError(
                    f"{path}: expected {name} {mine!r}, got another experiment's {theirs!r}; choose another --out"
                )


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file in one move."""
    replace_text(path, json.dumps(value, indent=2) + "\n")
