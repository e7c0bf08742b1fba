"""Long runs of fixed steps that can be killed at any time and go on where they were, to the same bytes.

Every so many seconds the state is written beside the old one and put in its place in one move, with a fingerprint of
the start and of everything the steps depend on, so that no run goes on from the state of another. A clock decides when
a state is written, never what is in it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
import zipfile
from collections.abc import Iterator
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_having, as_positive, as_real

Array = NDArray[np.float64]
_FORMAT = "attention-theory march 1"


class Stepper(Protocol):
    """A frozen dataclass that makes steps: :class:`RungeKutta`, :class:`Diffusion`, or one of a reader's own."""

    def checked(self, start: ArrayLike) -> Array:
        """Convert an initial state, or say what is wrong with it."""
        ...

    def __call__(self, number: int, x: Array, /) -> Array:
        """Return the state after step ``number``, which may depend on nothing but the arguments and the fields."""
        ...


def run_checkpointed(
    stepper: Stepper, start: ArrayLike, *, steps: int, path: str | os.PathLike[str] | None = None, every: float = 60.0
) -> Array:
    """Make ``steps`` steps and return the final state.

    Parameters
    ----------
    stepper : Stepper
        What a step is.
    start : array_like
        Initial state.
    steps : int
        Number of steps, at least 0, those of earlier calls with the same ``path`` included.
    path : path, optional
        File that holds the state, named ``*.npz``; its folder must exist. The run goes on from there if there is one.
    every : float, default 60.0
        Seconds between two writes; positive. The last state is always written.

    Returns
    -------
    ndarray
        The state after ``steps`` steps; how often the run was cut changes no byte.

    Raises
    ------
    ValueError
        If the file is of another run, damaged, or further than ``steps``; or as ``stepper.checked`` says.
    TypeError
        If the parameters of ``stepper`` include something that has no fingerprint, such as a function.
    """
    as_having(stepper, "stepper", "checked")
    x = stepper.checked(start)
    total = as_count(steps, "steps", least=0)
    pause = as_positive(every, "every")
    if path is None:
        for number in range(total):
            x = stepper(number, x)
        return x
    place = _placed(path)
    mark = fingerprint(stepper, x)
    done, x = _read(place, mark, x) if place.exists() else (0, x)
    if done > total:
        raise ValueError(f"steps: expected at least the {done} steps that {place} holds, got {total}")
    written = time.monotonic()
    for number in range(done, total):
        x = stepper(number, x)
        if number + 1 < total and time.monotonic() - written >= pause:
            _write(place, mark, number + 1, x)
            written = time.monotonic()
    if total > done or not place.exists():
        _write(place, mark, total, x)
    return x


def fingerprint(stepper: Stepper, start: Array) -> str:
    """Return the sha256 of the start and of all parameters of a stepper, with the names of their types.

    Raises
    ------
    TypeError
        If a parameter is not made of dataclasses, arrays, numbers, text, tuples and members of enumerations.
    """
    given: Any = stepper  # which a protocol cannot promise to be a dataclass
    if not dataclasses.is_dataclass(given) or isinstance(given, type):
        raise TypeError(f"stepper: expected a dataclass, got {type(given).__name__}")
    digest = hashlib.sha256(_FORMAT.encode())
    for part in _parts(stepper, "stepper"):
        digest.update(part)
    state = as_real(start, "start")
    if state.size == 0:
        raise ValueError(f"start: expected a state, got shape {state.shape}")
    for part in _parts(state, "start"):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: Any, name: str) -> Iterator[bytes]:
    """Yield what a value is made of; every part says its own length, so that no two values yield the same bytes."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        yield f"{kind}:{len(fields)};".encode()
        for field in fields:
            yield f"{len(field.name)}:{field.name}=".encode()
            yield from _parts(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield f"{value.dtype.str}{value.shape};".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, tuple):
        yield f"tuple:{len(value)};".encode()
        for number, item in enumerate(value):
            yield from _parts(item, f"{name}[{number}]")
    elif value is None or isinstance(value, (bool, int, float, str, Fraction, Enum, np.number)):
        text = repr(value)
        yield f"{kind}:{len(text)}:{text};".encode()
    else:
        raise TypeError(f"{name}: expected dataclasses, arrays, numbers or text, got {kind}")


def _placed(path: str | os.PathLike[str]) -> Path:
    place = Path(path)
    if place.suffix != ".npz" or not place.parent.is_dir():
        raise ValueError(f"path: expected a file *.npz in a folder that exists, got {place}")
    return place


def _write(place: Path, mark: str, number: int, x: Array) -> None:
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            np.savez(file, format=_FORMAT, run=mark, number=number, state=x)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def _read(place: Path, mark: str, start: Array) -> tuple[int, Array]:
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            found = str(stored["run"])
            number = int(stored["number"])
            x = np.array(stored["state"])
    except (OSError, ValueError, KeyError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"path: expected a state that a run has written, got a damaged file {place}: {error}"
        ) from error
    if found != mark:
        raise ValueError(
            f"path: expected the state of the run {mark[:12]}, got that of the run {found[:12]} in {place}"
        )
    if x.shape != start.shape or x.dtype != start.dtype or number < 0:
        raise ValueError(f"path: expected a state of shape {start.shape}, got {x.dtype} of shape {x.shape} in {place}")
    return number, x
