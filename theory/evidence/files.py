"""Files that are whole or not there: written beside their target, moved into its place, one writer at a time."""

from __future__ import annotations

import errno
import glob
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None

_LEFT = 3600.0  # taken: seconds after which an unfinished file was left by a process that was killed
_HELD = 60.0  # taken: seconds after which a lock without fcntl was, far above the time of one writing
_PAUSE = 0.01  # seconds between two looks at such a lock


def write_whole(path: Path, content: str | bytes) -> None:
    r"""Write a file so that whoever reads ``path``, at any moment, finds the old content or all of the new.

    Parameters
    ----------
    path : Path
        The target, in a folder that exists; where it is a link, what the link points to is replaced.
    content : str or bytes
        Text is written as UTF-8 and keeps its ``"\n"`` on every system.

    Raises
    ------
    OSError
        If it cannot be written, as on a full disk, or is neither a file nor new, as a device or a pipe, which would be
        lost: the target is named and is what it was, and nothing else is left.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files as :func:`write_whole` does, and move none into its place before all are written.

    Raises
    ------
    OSError
        If one cannot be written; it is named, and all are what they were.
    """
    parts: dict[Path, Path] = {}
    path = None
    try:
        for path, content in contents.items():
            target = path.resolve()
            if target.exists() and not (target.is_file() or target.is_dir()):  # a folder cannot be replaced
                raise OSError(errno.EINVAL, "expected a regular file")
            parts[path] = target.with_name(f".{target.name}.{os.urandom(8).hex()}.part")
            _sweep(target)
            with parts[path].open("xb") as file:
                file.write(content.encode("utf-8") if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        for path, part in parts.items():
            part.replace(path.resolve())
    except BaseException as error:
        for part in parts.values():
            with suppress(OSError):  # it may never have been, or not be removable where it could not be written
                part.unlink(missing_ok=True)
        if isinstance(error, OSError) and path is not None:
            raise _naming(path, error) from error
        raise


def _sweep(target: Path) -> None:
    """Remove what processes that were killed in the middle have left of this file."""
    for part in target.parent.glob(f".{glob.escape(target.name)}.{'?' * 16}.part"):
        with suppress(OSError):  # another writer may remove it, too
            if time.time() - part.stat().st_mtime > _LEFT:
                part.unlink()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only one inside for this path, among all processes that ask; others wait.

    For reading a file and writing it again without losing what another process writes meanwhile. The lock is a file
    ``.NAME.lock`` beside ``path``, which is gone afterwards. It is not to be taken twice by one thread.

    Raises
    ------
    OSError
        If there can be no such file; ``path`` is named.
    """
    target = path.resolve()
    lock = target.with_name(f".{target.name}.lock")
    try:
        number = _acquire(lock)
    except OSError as error:
        raise _naming(path, error) from error
    try:
        yield
    finally:
        if fcntl is None:  # an open file could not be removed there
            os.close(number)
        with suppress(OSError):
            lock.unlink()
        if fcntl is not None:
            os.close(number)


def _acquire(lock: Path) -> int:
    """Return the descriptor of the lock file once it is ours."""
    while True:
        if fcntl is None:
            with suppress(FileExistsError):
                return os.open(lock, os.O_CREAT | os.O_EXCL | os.O_RDWR)
            with suppress(OSError):
                if time.time() - lock.stat().st_mtime > _HELD:
                    lock.unlink()
            time.sleep(_PAUSE)
            continue
        number = os.open(lock, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)
            if _is(lock, number):
                return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)  # the one before us has removed it


def _is(lock: Path, number: int) -> bool:
    """Tell whether the open file is still the one of this name."""
    try:
        return os.path.samestat(lock.stat(), os.fstat(number))
    except FileNotFoundError:
        return False


def _naming(path: Path, error: OSError) -> OSError:
    """Return the same error about ``path`` instead of a file that the user has never heard of."""
    return OSError(error.errno, error.strerror or str(error), str(path))
