"""One function over many cases, in order, on any executor: the bytes do not depend on who did the work.

How many threads a linear algebra library uses moves its last digits, so every case runs on one, wherever it runs, and
floating-point faults are errors there.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from threadpoolctl import ThreadpoolController

from theory._validate import as_callable, as_flag, as_having

T = TypeVar("T")
_CHOSEN: ContextVar[Executor | None] = ContextVar("executor of sweeps", default=None)
_PATIENCE = 3.0  # seconds in which a scheduler that is there accepts a connection
_AT_LOAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # each library reads its own when it is loaded
FAULTS = partial(np.errstate, over="raise", divide="raise", invalid="raise", under="ignore")


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:  # noqa: ARG001  the key: a library arrives with a module
    import scipy.linalg  # noqa: F401, PLC0415  its library, which would not be limited if a check were the first to load it

    return ThreadpoolController()  # 2 ms: it asks every shared library of the process


def one_thread() -> AbstractContextManager[object]:
    """Put linear algebra on one thread, whose number moves its last digits; lifted on leaving."""
    limiter: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(limits=1)
    return limiter


@contextmanager
def arrivals_on_one_thread() -> Iterator[None]:
    """Let a linear algebra library that is loaded inside have one thread: no limit reaches what is not there yet."""
    before = {name: os.environ.get(name) for name in _AT_LOAD}
    os.environ.update(dict.fromkeys(_AT_LOAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@cache
def _settle() -> None:
    """Put linear algebra on one thread for as long as this worker lives: lifting it beside other threads would race."""
    one_thread()


def _call(fn: Callable[..., T], case: Mapping[str, Any], caller: tuple[str, int]) -> T:
    if caller != _process():
        _settle()
    with FAULTS():
        return fn(**case)


def _process() -> tuple[str, int]:
    return platform.node(), os.getpid()


def usable_cpus() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def sweeping_on(executor: Executor) -> Iterator[None]:
    """Let every sweep inside that names no executor use this one, which is never shut down here."""
    token = _CHOSEN.set(executor)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def _knock(address: str) -> None:
    """Find out at once whether anybody listens at an address, for which a client would wait."""
    try:
        place = urlsplit(address if "://" in address else f"tcp://{address}")
        if place.scheme in ("tcp", "tls"):
            if not place.hostname or place.port is None:
                raise ValueError("a host and a port such as tcp://127.0.0.1:8786 are missing")
            socket.create_connection((place.hostname, place.port), timeout=_PATIENCE).close()
    except (OSError, ValueError) as error:
        raise ValueError(f"--dask: expected the address of a scheduler, got {address!r}: {error}") from error


@contextmanager
def sweeping_on_dask(address: str) -> Iterator[None]:
    """Let every sweep inside use the Dask cluster whose scheduler listens at ``address``.

    Raises
    ------
    ModuleNotFoundError
        If ``distributed`` is not installed.
    ValueError
        If the address is none, such as ``nonsense``, or nobody answers at it.
    """
    _knock(address)
    try:
        from distributed import Client  # noqa: PLC0415  an extra
    except ImportError as error:
        raise ModuleNotFoundError("--dask needs distributed: pip install 'attention-theory[dask]'") from error
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"--dask: expected the address of a scheduler, got {address!r}: {error}") from error
    with client, sweeping_on(client.get_executor(pure=False)):
        yield


def sweep(
    fn: Callable[..., T], cases: Sequence[Mapping[str, Any]], *, executor: Executor | None = None, pool: bool = True
) -> list[T]:
    """Call ``fn(**case)`` for every case and return the results in the order of the cases.

    Parameters
    ----------
    fn : callable
        A pure function that can be pickled; what it draws from comes in with the case.
    cases : sequence of mapping
        Keyword arguments.
    executor : concurrent.futures.Executor, optional
        Used through ``submit`` and never shut down here; a Dask cluster is ``Client(address).get_executor()``. Without
        one, that of :func:`sweeping_on`; or else a pool of spawned processes on the usable processors, or this process
        for a single case or processor, or if it is itself a worker of another pool.
    pool : bool, default True
        Whether such a pool may be started; cases of less than its start are faster without.
    """
    as_callable(fn, "fn")
    if not isinstance(cases, Sequence) or not all(isinstance(case, Mapping) for case in cases):
        raise TypeError(f"cases: expected a sequence of keyword arguments, got {type(cases).__name__}")
    if executor is not None:
        as_having(executor, "executor", "submit")
    pool = as_flag(pool, "pool")
    executor = _CHOSEN.get() if executor is None else executor
    workers = 1 if multiprocessing.parent_process() else min(usable_cpus(), len(cases))  # a worker starts no others
    if executor is None and pool and workers > 1:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as processes:
            return sweep(fn, cases, executor=processes)
    with one_thread():  # also for the threads of a given executor
        if executor is None:
            return [_call(fn, case, _process()) for case in cases]
        futures = [executor.submit(_call, fn, dict(case), _process()) for case in cases]  # it may have own keywords
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # of no effect unless a case failed
