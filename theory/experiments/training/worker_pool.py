"""Processes that train, one run at a time each; the bytes do not depend on how many there are.

Each is started afresh, keeps linear algebra and PyTorch on one thread, and ends when the process that started it does.
Asked to stop, it writes the state of its run after the epoch under way.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from threadpoolctl import threadpool_limits

from theory.experiments.tasks.task import Setting, Task
from theory.experiments.training.checkpoint import fingerprint_run, path_of_run
from theory.experiments.training.loop import Outcome, Watch, train

_KILLED = 128 + signal.SIGTERM


@dataclass(frozen=True, slots=True)
class Counts:
    """Since the pool began: epochs trained, epochs that needed no training, and seconds of processors."""

    trained: float
    skipped: float
    seconds: float


class WorkerPool:
    """A pool of such processes; a context manager, which lets the runs under way be stored and ends them.

    Parameters
    ----------
    make : callable
        Makes the task, in every process; can be pickled.
    folder : path
        Where the files of the runs are.
    identity : mapping
        What the runs depend on, other than their settings.
    workers : int
        Number of processes.
    pause : float
        Seconds after which the state of a run is written again.
    """

    def __init__(
        self, make: Callable[[], Task], folder: Path, identity: Mapping[str, Any], workers: int, pause: float
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._stop = context.Event()
        self._counts = context.Array("d", 3)
        given = (make, folder, dict(identity), pause, self._stop, self._counts)
        self._pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=given)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._pool.shutdown(cancel_futures=True)

    @property
    def counts(self) -> Counts:
        """What was done so far."""
        return Counts(*self._counts[:])

    def submit(self, setting: Setting, *, validation: bool) -> Future[Outcome | None]:
        """Let a run be made; its result is ``None`` if it was stopped."""
        return self._pool.submit(_work, setting, validation=validation)

    def stop(self) -> None:
        """Ask for the states of all runs under way to be written, and for no other to begin."""
        self._stop.set()


class _Worker:
    """What a process of the pool knows."""

    def __init__(
        self, make: Callable[[], Task], folder: Path, identity: Mapping[str, Any], pause: float, stop: Any, counts: Any
    ) -> None:
        self.task = make()
        self.folder = folder
        self.identity = identity
        self.pause = pause
        self.asked, self.counts = stop, counts
        self.busy = self.killed = False
        self.written = self.clock = 0.0

    def run(self, setting: Setting, *, validation: bool) -> Outcome | None:
        self.written = time.monotonic()
        self.clock = time.process_time()
        self.busy = True
        path = path_of_run(self.folder, setting, validation=validation)
        fingerprint = fingerprint_run(self.identity, setting, validation=validation)
        watch = Watch(self._due, self._stop, self._passed)
        try:
            return train(self.task, setting, validation=validation, path=path, fingerprint=fingerprint, watch=watch)
        except Exception as error:
            error.add_note(f"in the run {setting}")
            raise
        finally:
            self.busy = False
            if self.killed:
                os._exit(_KILLED)

    def kill(self, number: int, _frame: object) -> None:
        """Answer a request to end: at once if there is nothing to store."""
        self.killed = True
        if not self.busy:
            os._exit(128 + number)

    def _due(self) -> bool:
        now = time.monotonic()
        if now - self.written < self.pause:
            return False
        self.written = now
        return True

    def _stop(self) -> bool:
        return self.killed or self.asked.is_set()

    def _passed(self, trained: int, skipped: int) -> None:
        now = time.process_time()
        with self.counts.get_lock():
            for number, amount in enumerate((trained, skipped, now - self.clock)):
                self.counts[number] += amount
        self.clock = now


_WORKERS: list[_Worker] = []  # the one of this process


def _begin(*given: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that of a terminal goes to all; the one that started us asks us
    threading.Thread(target=_follow, daemon=True).start()
    for name in ("OMP", "MKL", "OPENBLAS"):
        os.environ[f"{name}_NUM_THREADS"] = "1"  # of what is loaded from now on
    threadpool_limits(limits=1)  # of what is loaded
    worker = _Worker(*given)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    _WORKERS.append(worker)
    signal.signal(signal.SIGTERM, worker.kill)


def _work(setting: Setting, *, validation: bool) -> Outcome | None:
    return _WORKERS[0].run(setting, validation=validation)


def _follow() -> NoReturn:
    """End this process with the one that started it, which may be killed without a word."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
