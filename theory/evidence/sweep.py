"""One function over many cases, in order, on any executor: the bytes do not depend on who did the work.

How many threads a linear algebra library uses moves its last digits, so every case runs on one, wherever it runs, and
floating-point faults are errors there.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

T = TypeVar("T")
FAULTS = partial(np.errstate, over="raise", divide="raise", invalid="raise", under="ignore")


@cache
def _settle() -> None:
    """Put linear algebra on one thread for as long as this worker lives: lifting it beside other threads would race."""
    threadpool_limits(limits=1)


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


def sweep(fn: Callable[..., T], cases: Sequence[Mapping[str, Any]], *, executor: Executor | None = None) -> list[T]:
    """Call ``fn(**case)`` for every case and return the results in the order of the cases.

    Parameters
    ----------
    fn : callable
        A pure function that can be pickled; what it draws from comes in with the case.
    cases : sequence of mapping
        Keyword arguments.
    executor : concurrent.futures.Executor, optional
        Used through ``submit`` and never shut down here; a Dask cluster is ``Client(address).get_executor()``.
        Without one, a pool of spawned processes on the usable processors, or this process for a single case or
        processor.
    """
    workers = min(usable_cpus(), len(cases))
    if executor is None and workers > 1:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            return sweep(fn, cases, executor=pool)
    with threadpool_limits(limits=1):  # also for the threads of a given executor
        if executor is None:
            return [_call(fn, case, _process()) for case in cases]
        futures = [executor.submit(_call, fn, dict(case), _process()) for case in cases]  # it may have own keywords
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()  # of no effect unless a case failed
