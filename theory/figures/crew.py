"""Who draws: one process, or several that each do a figure at a time, while the one that started them writes.

A figure comes out of any of them in the same bytes: studies and drawings use one thread of linear algebra everywhere.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from theory.figures import registry

if TYPE_CHECKING:
    from theory.figures.gate import Ruling
    from theory.figures.press import Sheet

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked of every figure, in words that travel between processes."""

    out: Path
    evidence: Path
    scale: str
    root: int
    formats: tuple[str, ...] = ()
    redraw: bool = False

    @property
    def shelves(self) -> tuple[Path, ...]:
        """Folders where the table may lie on which a figure was judged."""
        return tuple(dict.fromkeys((self.out, self.evidence.parent.parent / "figures")))


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a figure; without a sheet it is verified and its files stay as they are."""

    sheet: Sheet | None
    reason: str | None
    mend: str | None


def drawn(name: str, order: Order) -> Done:
    """Judge a figure, and draw it unless its files show that already."""
    from theory.figures import manifest  # noqa: PLC0415  loads NumPy, which --help and --list do without

    plate, ruling = registry.plate(name), _ruling(name, order)
    formats, kept = order.formats, {}
    if ruling.reason is None and not order.redraw:
        kept = manifest.standing(name, plate, ruling, order.out)
        formats = tuple(form for form in formats if f"{name}.{form}" not in kept)
        if kept and not formats:
            return Done(None, None, None)
    from theory.figures.press import produce  # noqa: PLC0415  loads Matplotlib

    return Done(produce(name, plate, ruling, formats, kept), ruling.reason, ruling.mend)


def checked(name: str, order: Order) -> list[str]:
    """Judge a figure, and return why its files do not show what was judged."""
    from theory.figures import manifest  # noqa: PLC0415  as above

    found = manifest.disagreements(
        name, registry.plate(name), _ruling(name, order), order.out, manifest.load(order.out)
    )
    return list(found)


def _ruling(name: str, order: Order) -> Ruling:
    from theory.figures.gate import rule  # noqa: PLC0415  as above

    return rule(
        name,
        registry.plate(name),
        scale=order.scale,
        root=order.root,
        evidence=order.evidence,
        shelves=order.shelves,
    )


def results(
    task: Callable[[str, Order], T], names: Sequence[str], order: Order, workers: int
) -> Generator[tuple[str, T, float], None, None]:
    """Yield the name of every figure with what ``task`` says of it, and its seconds, in the order of the names.

    Parameters
    ----------
    task : callable
        Of this module, so that another process finds it.
    names : sequence of str
        Figures.
    order : Order
        Handed to the task.
    workers : int
        Number of processes; with one, this process does the work.

    Raises
    ------
    concurrent.futures.process.BrokenProcessPool
        If a process died.
    """
    if min(workers, len(names)) < 2:
        for name in names:
            yield name, *_timed(task, name, order)
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(min(workers, len(names)), multiprocessing.get_context("spawn"), _enlist)
    try:
        with _ignoring():  # an interrupt is for the one who writes, also while the others start
            futures = [pool.submit(_timed, task, name, order) for name in names]
        for name, future in zip(names, futures, strict=True):
            yield name, *future.result()
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()  # what it has drawn is in its memory only
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _timed(task: Callable[[str, Order], T], name: str, order: Order) -> tuple[T, float]:
    start = time.perf_counter()
    return task(name, order), time.perf_counter() - start


def _enlist() -> None:
    """Leave interrupts to the process that writes, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave, daemon=True).start()


def _leave() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _ignoring() -> Iterator[None]:
    """Ignore interrupts, and so does a process that is started meanwhile."""
    with _handling(signal.SIG_IGN):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put an interrupt off until the end of the block."""
    came: list[int] = []
    with _handling(lambda number, _: came.append(number)):
        yield
    if came:
        raise KeyboardInterrupt


@contextmanager
def _handling(how: Callable[[int, object], None] | signal.Handlers) -> Iterator[None]:
    try:
        before = signal.signal(signal.SIGINT, how)
    except ValueError:  # only the main thread may, and only it is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
