"""Weight matrices from a file: NumPy's ``.npz``, or ``.safetensors`` where that package is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

REQUIRED, OPTIONAL = ("w_query", "w_key", "w_value"), ("w_out",)
SUFFIXES = (".npz", ".safetensors")


def read_weights(path: Path, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the arrays ``w_query``, ``w_key``, ``w_value`` and, if the file has it, ``w_out``.

    Parameters
    ----------
    path : Path
        File of one of ``SUFFIXES``. Pickled objects are never read.
    names : mapping, optional
        What these arrays are called in the file, where they are called otherwise; the file may then hold other
        arrays as well. Unless given, an array of any other name is an error.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the file cannot be read as what its suffix says, or an array is missing or not one of these.
    ModuleNotFoundError
        If a ``.safetensors`` file is given and the package is missing.
    """
    given = dict(names or {})
    for name in given:
        if name not in REQUIRED + OPTIONAL:
            raise ValueError(f"names: expected any of {', '.join(REQUIRED + OPTIONAL)}, got {name!r}")
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: expected a file ending in {' or '.join(SUFFIXES)}")
    if not path.is_file():
        raise ValueError(f"{path}: expected a file, found none")
    with ExitStack() as stack:
        present, get = (_npz if path.suffix == ".npz" else _safetensors)(path, stack)
        if names is None and set(present) - set(REQUIRED + OPTIONAL):
            extra = ", ".join(sorted(set(present) - set(REQUIRED + OPTIONAL)))
            raise ValueError(f"{path}: expected arrays {', '.join(REQUIRED)} and perhaps w_out, got also {extra}")
        wanted = {name: given.get(name, name) for name in REQUIRED}
        wanted |= {name: given.get(name, name) for name in OPTIONAL if name in given or name in present}
        for name, called in wanted.items():
            if called not in present:
                raise ValueError(f"{path}: expected an array {called!r} as {name}, got {', '.join(sorted(present))}")
        try:
            return {name: get(called) for name, called in wanted.items()}
        except Exception as error:  # of either package, for a damaged file or a type that NumPy does not know
            raise ValueError(f"{path}: expected arrays of numbers that NumPy can read: {_line(error)}") from error


def _npz(path: Path, stack: ExitStack) -> tuple[list[str], Callable[[str], Any]]:
    try:
        file = np.load(stack.enter_context(path.open("rb")), allow_pickle=False)
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise ValueError(f"{path}: expected an .npz file of NumPy, got none that can be read without pickle") from error
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise ValueError(f"{path}: expected an .npz file of NumPy, got a single array")
    stack.enter_context(file)
    return list(file.files), file.__getitem__


def _safetensors(path: Path, stack: ExitStack) -> tuple[list[str], Callable[[str], Any]]:
    try:
        from safetensors import SafetensorError, safe_open  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{path}: needs the package safetensors: pip install safetensors") from error
    try:
        file = stack.enter_context(safe_open(path, framework="numpy"))
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path}: expected a .safetensors file: {_line(error)}") from error
    return list(file.keys()), file.get_tensor


def _line(error: Exception) -> str:
    """Return what an error says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
