"""The only ``njit`` call, its flags and its cache.

No ``fastmath``: it lets the compiler assume away NaN and reorder compensated sums. By name a kernel may ask for
``contract`` and ``nsz``, which round once where the source rounds twice, and for ``reassoc`` in plain sums, of which
the a-priori bounds hold in any order. No ``parallel``: Numba's fallback threading layer aborts under Python threads and
its OpenMP layer after a fork; rows are split over Python threads instead, which is why the kernels release the
interpreter lock. Compiled results are cached in a folder whose name is the fingerprint of the sources of this room, so
an edited source never finds a stale result.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import numba
from numba.core import config
from numba.core.registry import cpu_target

F = TypeVar("F", bound=Callable[..., object])
_HERE = Path(__file__).parent
_LOCK = threading.Lock()  # the folder is a global of Numba's while a kernel is decorated


def _cache_folder() -> str:
    digest = hashlib.sha256()
    for path in sorted(_HERE.glob("*.py")):
        digest.update(path.read_bytes())
    beside = _HERE / "__pycache__"
    writable = os.access(beside if beside.exists() else _HERE, os.W_OK)
    home = beside if writable else Path(tempfile.gettempdir()) / f"attention-theory-{getpass.getuser()}"
    return str(home / f"numba-{digest.hexdigest()[:16]}")


def njit(kernel: F, *, sums: bool = False, inline: bool = False) -> F:
    """Compile ``kernel`` on its first call; releases the interpreter lock, divides as NumPy does, cached on disk.

    Parameters
    ----------
    kernel : callable
        A plain function of arrays and numbers.
    sums : bool, default False
        Its sums are plain and may be taken in any order, which lets them run in vector registers.
    inline : bool, default False
        A formula that belongs inside the loop of its caller.
    """
    flags = {"contract", "nsz", "reassoc"} if sums else {"contract", "nsz"} if inline else set()
    with _LOCK:
        before = config.CACHE_DIR  # type: ignore[attr-defined]  # Numba sets it at run time
        config.CACHE_DIR = _cache_folder()  # type: ignore[attr-defined]  # read while decorating; other users of Numba keep their own
        try:
            compiled = numba.njit(nogil=True, error_model="numpy", cache=True, fastmath=flags, forceinline=inline)(
                kernel
            )
        finally:
            config.CACHE_DIR = before  # type: ignore[attr-defined]
    return cast("F", compiled)


def target() -> str:
    """Return the processor that kernels are compiled for, as the compiler names it."""
    return str(cpu_target.target_context.codegen().magic_tuple()[1])
