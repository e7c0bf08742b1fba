"""Arrays in the IDX format, in which MNIST and its relatives are published.

A file is two zero bytes, a byte that names the type of the numbers, a byte with the number of axes, the length of
every axis as four bytes, then the numbers, all of it with the high byte first; it may be packed by gzip.

Source: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", section "File formats".
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_AXES = 64  # that an array of NumPy has at most
_GZIP = b"\x1f\x8b"


def find_idx(folder: str | os.PathLike[str], name: str) -> Path:
    """Return the path of a file in a folder, packed (``name.gz``) or not.

    Raises
    ------
    FileNotFoundError
        If there is neither.
    """
    for path in (Path(folder) / name, Path(folder) / f"{name}.gz"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{Path(folder) / name}: expected this file, or the same with .gz, got none")


def read_idx(path: str | os.PathLike[str]) -> NDArray[np.generic]:
    """Read an array, packed or not; which, the first bytes say.

    Returns
    -------
    ndarray
        In the byte order of this machine.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    ValueError
        If it is damaged, shorter or longer than its first bytes say, or of another format.
    """
    content = Path(path).read_bytes()
    if content.startswith(_GZIP):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: expected a whole file packed by gzip, got a damaged one: {error}") from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES or not content[3]:
        first = content[:4].hex(" ") or "an empty file"
        raise ValueError(f"{path}: expected IDX, two zero bytes, a known type and a number of axes, got {first}")
    kind = np.dtype(_TYPES[content[2]])
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise ValueError(f"{path}: expected {content[3]} lengths of axes, {start} bytes, got {len(content)} bytes")
    shape = struct.unpack(f">{content[3]}I", content[4:start])
    size = start + math.prod(shape) * kind.itemsize
    if len(content) != size:
        raise ValueError(f"{path}: expected {size} bytes for shape {shape}, got {len(content)}")
    if len(shape) > _AXES:
        raise ValueError(f"{path}: expected at most {_AXES} axes, got {len(shape)}")
    return np.frombuffer(content, kind, offset=start).reshape(shape).astype(kind.newbyteorder("="))
