"""Arrays of bytes in the IDX format, in which MNIST and its relatives are published.

A file is two zero bytes, a byte for the type of the numbers, which is 8, a byte with the number of axes, the length of
every axis as four bytes with the high one first, then the numbers; it may be packed by gzip.

Source: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", section "File formats".
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def find_idx(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, packed (``name.gz``) or not; ``ValueError`` if there is neither."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise ValueError(f"{folder / name}: expected this file, or the same with .gz, got none")


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array, packed or not; which, the first bytes say.

    Raises
    ------
    ValueError
        If the file is damaged, shorter or longer than its first bytes say, or of another format or type.
    """
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: expected a whole file packed by gzip, got a damaged one: {error}") from error
    start = 4 + 4 * content[3] if len(content) > 3 else 4
    shape = np.frombuffer(content[4:start], ">u4").tolist() if len(content) >= start else []
    if content[:3] != b"\0\0\x08" or not shape or len(content) != start + math.prod(shape):
        first = content[:start].hex(" ") or "nothing"
        raise ValueError(f"{path}: expected a whole IDX file of bytes, got {len(content)} bytes after {first}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
