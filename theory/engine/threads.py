"""One shared pool of threads; work is split by rows, no value is reduced across threads, no result depends on them."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any

_NAME = "attention-theory"
_GRAIN = 1 << 16  # measured: below this many pairs per thread, handing work over costs more than it saves
_PARTS = 4  # taken


def threads() -> int:
    """Return how many threads a call may use: ``THEORY_THREADS``, or the usable processors."""
    asked = asked_threads()
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return asked


def asked_threads() -> int | None:
    """Return ``THEORY_THREADS``, or ``None`` if it is not set."""
    asked = os.environ.get("THEORY_THREADS")
    if asked is None:
        return None
    if not (asked.isascii() and asked.isdigit()) or int(asked) < 1:
        raise ValueError(f"THEORY_THREADS: expected a positive integer, got {asked!r}")
    return int(asked)


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix=_NAME)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked child has none of its parent's threads


def are_few(pairs: int) -> bool:
    """Tell whether so many pairs are no work for more than one thread."""
    asked_threads()  # which is refused on little work as well, if it is no number
    return pairs < 2 * _GRAIN


def over_rows(kernel: Callable[[slice], None], rows: int, pairs: int, *, grain: int = 1) -> None:
    """Call ``kernel`` on slices that cover ``range(rows)``, in threads if ``pairs`` of work are worth it.

    Slices start at multiples of ``grain``. There are a few per thread, since rows under a causal mask differ in length.
    The caller takes its share of them, so that a busy machine costs it no more than the help.
    """
    units = -(-rows // grain)
    workers = 1 if are_few(pairs) else max(1, min(threads(), units, pairs // _GRAIN))
    if workers == 1 or threading.current_thread().name.startswith(_NAME):  # a thread of the pool must not wait for it
        kernel(slice(0, rows))
        return
    number = min(_PARTS * workers, units)
    cuts = [min(grain * (units * k // number), rows) for k in range(number + 1)]
    parts = deque(slice(a, b) for a, b in itertools.pairwise(cuts))
    # the context holds how the caller wants overflows treated
    helpers = [_pool(workers).submit(copy_context().run, _take, kernel, parts) for _ in range(workers - 1)]
    try:
        _take(kernel, parts)
    finally:
        parts.clear()  # of an error: nothing more is begun
        late = [helper for helper in helpers if not helper.cancel()]  # one that has not begun is not waited for
        wait(late)
        for helper in late:
            helper.result()


def _take(kernel: Callable[[slice], None], parts: deque[slice]) -> None:
    """Call ``kernel`` on parts until none is left, beside others who do the same."""
    while parts:
        try:
            part = parts.popleft()
        except IndexError:  # another was faster
            return
        kernel(part)


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Hold BLAS to one thread: the rows are split already, and BLAS rounds by how it splits."""
    _quiet.enter()
    try:
        yield
    finally:
        _quiet.leave()


class _Quiet:
    """Callers in several threads share one limit: the first to come sets it, the last to leave takes it away."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _blas().limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_quiet = _Quiet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_quiet.renew)  # the lock may be held by a thread that the child lacks


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  searches the libraries of the process

    return ThreadpoolController()
