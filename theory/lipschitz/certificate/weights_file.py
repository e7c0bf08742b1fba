"""Weight matrices from a file: NumPy's ``.npz``, or ``.safetensors`` where that package is installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from theory.lipschitz.certificate.layout import Arrays, arranged, chosen

SUFFIXES = (".npz", ".safetensors")
_PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
_READ = ("F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL")  # of safetensors, by NumPy


class _CoarseError(ValueError):
    """An array of a type that is read by nobody here."""


def read_weights(
    path: Path,
    names: Mapping[str, str] | None = None,
    *,
    convention: str | None = None,
    score: str = "dot",
    rotary: bool = False,
) -> dict[str, Any]:
    """Return the arrays ``w_query``, ``w_key``, ``w_value`` and, if the file has them, ``w_out`` and ``b_query``.

    Under ``rotary`` also ``b_key``, which otherwise changes nothing.

    Parameters
    ----------
    path : Path
        File of one of ``SUFFIXES``. Pickled objects are never read. Half precision and bfloat16 are read exactly.
    names : mapping, optional
        What these arrays are called in the file, where they are called otherwise; the file may then hold other
        arrays as well. ``w_qkv`` and ``b_qkv`` are queries, keys and values in one array. Unless given, arrays have
        these names or, all of them, those of a layer that is known.
    convention : {"rows", "columns"}, optional
        Whether outputs are along the rows of matrices, as in ``torch.nn.Linear`` and unless given, or along their
        columns.
    score : {"dot", "distance"}
        Of the layer, which decides what biases do; the same must be told to :func:`certify`, which does not see those
        that are left out here.
    rotary : bool, default False
        Whether positions turn queries and keys, so that a key bias counts; likewise.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the file cannot be read as what its suffix says, an array is missing or not one of these, or the file holds
        what changes scores and is not known here: positions, normalised queries, biases of no use that is known.
    ModuleNotFoundError
        If a ``.safetensors`` file is given and the package is missing.
    """
    return read_layer(path, names, convention=convention, score=score, rotary=rotary)[0]


def read_layer(
    path: Path, names: Mapping[str, str] | None, *, convention: str | None, score: str, rotary: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return what :func:`read_weights` does, and what was understood on the way, a line each."""
    with opened(path) as (present, array):
        wanted, notes = chosen(Arrays(path, present, array), names, rotary=rotary)
        arrays = {role: array(called) for role, called in wanted.items()}
    found, more = arranged(arrays, wanted, convention=convention, score=score, rotary=rotary)
    return found, notes + more


@contextmanager
def opened(path: Path) -> Iterator[tuple[frozenset[str], Callable[[str], Any]]]:
    """Open a file; give the names of its arrays, and a way to one, to what is inside the block.

    Raises
    ------
    ValueError
        If the file is none of ``SUFFIXES``, is missing or damaged, or an array has no numbers that are read.
    ModuleNotFoundError
        If the package safetensors is needed and missing.
    """
    if path.suffix in _PICKLES:
        raise ValueError(
            f"{path}: expected a file ending in {' or '.join(SUFFIXES)}, got a pickle, which can run any code when it "
            "is read; safetensors.torch.save_file(module.state_dict(), FILE) writes one that cannot"
        )
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: expected a file ending in {' or '.join(SUFFIXES)}")
    if not path.is_file():
        raise ValueError(f"{path}: expected a file, found none")
    with ExitStack() as stack:
        present, get = (_npz if path.suffix == ".npz" else _safetensors)(path, stack)

        def array(called: str) -> Any:
            try:
                return get(called)
            except _CoarseError:
                raise
            except Exception as error:  # of either package, for a damaged file or a type that NumPy does not know
                raise ValueError(f"{path}: expected arrays of numbers that NumPy can read: {_line(error)}") from error

        yield frozenset(present), array


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

    def get(called: str) -> Any:
        kind = file.get_slice(called).get_dtype()
        if kind == "BF16":
            return _bfloat16(path, called)
        if kind not in _READ:
            raise _CoarseError(
                f"{path}: {called}: expected numbers of half precision or more, got {kind}, whose numbers stand for "
                "weights only together with scales that are kept elsewhere; save the weights themselves"
            )
        return file.get_tensor(called)

    return list(file.keys()), get


def _bfloat16(path: Path, called: str) -> np.ndarray[Any, Any]:
    """Return an array of bfloat16, which NumPy does not know: the upper halves of numbers in single precision."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))[called]
        first, last = about["data_offsets"]
        file.seek(8 + size + first)
        halves = np.frombuffer(file.read(last - first), dtype="<u2")
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(about["shape"])


def _line(error: Exception) -> str:
    """Return what an error says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
