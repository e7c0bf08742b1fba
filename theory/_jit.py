"""The only ``njit`` call, its flags and its cache.

No ``fastmath``: it lets the compiler assume away NaN and reorder compensated sums. By name a kernel may ask for
``contract`` and ``nsz``, which round once where the source rounds twice, and for ``reassoc`` in plain sums, of which
the a-priori bounds hold in any order. No ``parallel``: Numba's fallback threading layer aborts under Python threads and
its OpenMP layer after a fork; rows are split over Python threads instead, which is why the kernels release the
interpreter lock.

A kernel is compiled into those that call it. A copy beside it would be optimised once more, with sums in another order,
and the loader keeps the first one that it meets: the last bits would depend on what else the process has compiled or
found in the cache.

Compiled results are cached in a folder whose name is the fingerprint of this module, of the sources of the room whose
kernel it is, and of the modules of other rooms whose formulas it may call, so an edited source never finds a stale
result. It lies where ``NUMBA_CACHE_DIR`` says; else beside the sources, whose writers could change the program anyway;
else under ``XDG_CACHE_HOME`` or ``~/.cache``. What lies in it is run, so that outside the sources only a folder that is
ours, no link, and closed to others is used, and without one nothing is cached. Each result has a file of its own, named
after what it was compiled for, with its checksum: processes that write at once, also for other processors, lose at most
an entry, and a damaged file is compiled again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import stat
import threading
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import cpu_target

F = TypeVar("F", bound=Callable[..., object])
_HERE = Path(__file__)
_LOCK = threading.Lock()  # the folder is a global of Numba's while a kernel is decorated
_CHECKSUM = hashlib.sha256().digest_size
_IMPORTED = re.compile(r"^from theory\.([\w.]+) import", re.MULTILINE)


def cache_folder(room: Path, called: Iterable[Path] = ()) -> Path | None:
    """Return where the compiled kernels of a folder of sources lie, made if need be.

    Parameters
    ----------
    room : path
        A folder.
    called : iterable of path
        Sources elsewhere that its kernels are made of as well.

    Returns
    -------
    path or None
        ``None`` where no folder can be trusted and none is used.
    """
    digest = hashlib.sha256(bytes(numba.__version__, "ascii"))
    for path in (_HERE, *sorted({*room.glob("*.py"), *called})):
        digest.update(path.read_bytes())
    name = f"numba-{digest.hexdigest()[:16]}"
    beside = room / "__pycache__"
    if not config.CACHE_DIR and os.access(beside if beside.exists() else room, os.W_OK):  # type: ignore[attr-defined]
        return beside / name
    home = _asked() or _kept()
    return home / name if home and _private(home / name) else None


@cache
def imported(source: Path) -> frozenset[Path]:
    """Return the modules of this package that a source imports by their names, and that these import."""
    found: set[Path] = set()
    waiting = [source]
    while waiting:
        names = _IMPORTED.findall(waiting.pop().read_text(encoding="utf-8"))
        paths = {_HERE.parent.joinpath(*name.split(".")).with_suffix(".py") for name in names}
        new = {path for path in paths if path.is_file()} - found
        found |= new
        waiting += new
    return frozenset(found)


def _asked() -> Path | None:
    """Return the folder that the user wants, which Numba reads from ``NUMBA_CACHE_DIR``."""
    asked = config.CACHE_DIR  # type: ignore[attr-defined]  # Numba sets it at run time
    return Path(asked).absolute() if asked else None


def _kept() -> Path | None:
    """Return the user's own folder for caches of this package."""
    asked = Path(os.environ.get("XDG_CACHE_HOME", ""))  # as is the rule, ignored unless absolute
    try:
        return (asked if asked.is_absolute() else Path.home() / ".cache") / "attention-theory"
    except RuntimeError:  # without a home
        return None


def _private(folder: Path) -> bool:
    """Make a folder that is closed to others, and tell whether what is there now is one, and ours."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        _say(f"compiled kernels are not kept: {error}")
        return False
    owned = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if stat.S_ISDIR(found.st_mode) and owned and (os.name == "nt" or not found.st_mode & 0o077):
        return True
    _say(f"compiled kernels are not kept: {folder} must be a folder of your own with mode 700, no link")
    return False


@cache
def _say(line: str) -> None:
    """Write one line, once, that no filter of warnings makes an error."""
    logging.getLogger(__name__).warning(line)


class _Files(IndexDataCacheFile):
    """The files of one kernel: an index, and for every key a file of its own with its checksum."""

    def save(self, key: Any, data: Any) -> None:
        """Write a result, then the index that names it."""
        number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8])
        self._save_data(self._data_name(number), data)
        self._save_index({**self._load_index(), key: self._data_name(number)})

    def _save_data(self, name: str, data: Any) -> None:
        text = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(text).digest() + text)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[_CHECKSUM:]).digest() != content[:_CHECKSUM]:
            raise ValueError(f"{name}: expected the checksum of its content, got another")
        return pickle.loads(content[_CHECKSUM:])  # noqa: S301  from a folder that is ours

    def forget(self) -> None:
        """Remove the index, so that nothing is found until it is written anew."""
        Path(self._index_path).unlink(missing_ok=True)


class _Kept(FunctionCache):
    """What Numba asks for results of a kernel; a file that cannot be read costs time, never a result."""

    def __init__(self, kernel: Callable[..., object]) -> None:
        super().__init__(kernel)
        stamp = self._cache_file._source_stamp  # noqa: SLF001
        self._cache_file = self._files = _Files(self.cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever a damaged pickle raises, and LLVM after it
            _say(f"{self._py_func.__qualname__}: a cached kernel is damaged and compiled again ({error})")
            self._files.forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say(f"compiled kernels are not kept: {error}")


def njit(kernel: F, *, sums: bool = False, inline: bool = False) -> F:
    """Compile ``kernel`` on its first call; releases the interpreter lock, divides as NumPy does, cached on disk.

    Parameters
    ----------
    kernel : callable
        A plain function of arrays and numbers.
    sums : bool, default False
        Its sums are plain and may be taken in any order, which lets them run in vector registers.
    inline : bool, default False
        A formula, of which products and sums are contracted, wherever it is called.
    """
    flags = {"contract", "nsz", "reassoc"} if sums else {"contract", "nsz"} if inline else set()
    source = Path(kernel.__code__.co_filename)
    with _LOCK:
        before = config.CACHE_DIR  # type: ignore[attr-defined]  # Numba sets it at run time
        folder = cache_folder(source.parent, imported(source))
        config.CACHE_DIR = str(folder or "")  # type: ignore[attr-defined]  # read while decorating; others keep theirs
        try:
            compiled = numba.njit(
                nogil=True, error_model="numpy", cache=folder is not None, fastmath=flags, forceinline=True
            )(kernel)
            if folder is not None and hasattr(compiled, "_cache"):  # it has none where the compiler is off
                compiled._cache = _Kept(kernel)  # noqa: SLF001
        finally:
            config.CACHE_DIR = before  # type: ignore[attr-defined]
    return cast("F", compiled)


def target() -> str:
    """Return the processor that kernels are compiled for, as the compiler names it."""
    return str(cpu_target.target_context.codegen().magic_tuple()[1])
