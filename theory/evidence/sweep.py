"""One function over many cases, in order, on any executor: the bytes do not depend on who did the work."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


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
    if executor is not None:
        futures = [executor.submit(fn, **case) for case in cases]
        return [future.result() for future in futures]
    workers = min(usable_cpus(), len(cases))
    if workers < 2:
        return [fn(**case) for case in cases]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return sweep(fn, cases, executor=pool)
