"""Files of single runs, finished or not, that survive being killed at any time.

A file is written beside the old one and put in its place in one move. It holds the fingerprint of everything that the
run depends on, its task's code and data included, so that no run goes on from the state of another.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from theory.experiments.tasks.task import Setting, State

_FORMAT = "attention-theory run 1"
_DAMAGE = (OSError, ValueError, KeyError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """How far a run has come.

    Parameters
    ----------
    epoch : int
        Epochs that are done.
    points : ndarray, shape (measured so far, columns)
        What was measured on the way; ``inf`` from where the run diverged.
    parameters : int
        How many numbers are trained.
    diverged, finished : bool
        Whether it was stopped because a loss or a parameter was no finite number; whether it has ended.
    state : mapping of str to ndarray
        Of the learner; empty once it has ended.
    """

    epoch: int
    points: NDArray[np.float64]
    parameters: int
    diverged: bool
    finished: bool
    state: State


def fingerprint_run(identity: Mapping[str, Any], setting: Setting, *, validation: bool) -> str:
    """Return the sha256 of an experiment's identity and of a run's setting."""
    whole = {"format": _FORMAT, "experiment": dict(identity), "run": asdict(setting), "validation": validation}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def path_of_run(folder: Path, setting: Setting, *, validation: bool) -> Path:
    """Return the file of a run. The rule that chose a learning rate is no part of it: equal runs are one run."""
    words = ("tuning" if validation else "final", setting.attention, setting.matching, setting.labels)
    return folder / f"{'-'.join(words)}-{setting.rate!r}-{setting.seed}.npz"


def save(path: Path, fingerprint: str, progress: Progress) -> None:
    """Write a run's state in one move."""
    arrays: dict[str, Any] = {f"state/{name}": array for name, array in progress.state.items()}
    arrays |= {name: getattr(progress, name) for name in ("epoch", "points", "parameters", "diverged", "finished")}
    replace(path, lambda file: np.savez(file, run=fingerprint, **arrays))


def load(path: Path, fingerprint: str) -> Progress | None:
    """Read a run's state; ``None`` if there is none.

    Raises
    ------
    ValueError
        If the file is damaged or of another run; the message names it.
    """
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            found = str(stored["run"])
            state = {name.removeprefix("state/"): stored[name] for name in stored if name.startswith("state/")}
            points = np.array(stored["points"], dtype=np.float64)
            epoch, parameters = int(stored["epoch"]), int(stored["parameters"])
            progress = Progress(epoch, points, parameters, bool(stored["diverged"]), bool(stored["finished"]), state)
    except _DAMAGE as error:
        raise ValueError(
            f"{path}: expected a state that a run has written, got a damaged file ({error}); delete it to repeat"
        ) from error
    if found != fingerprint:
        raise ValueError(
            f"{path}: expected the state of the run {fingerprint[:12]}, got that of the run {found[:12]}, which has "
            "other settings, code or data; choose another --out, or delete the file to repeat it"
        )
    return progress


def replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that at any time the old or the new one is there, whole."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a text so that at any time the old or the new one is there, whole."""
    replace(path, lambda file: file.write(text.encode()))
