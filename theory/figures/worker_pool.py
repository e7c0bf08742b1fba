"""The worker pool: one process, or several that each draw a figure at a time while the one that started them writes.

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
    from theory.figures.render import RenderedFigure
    from theory.figures.verified_table import TableVerdict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of every figure; it travels between processes."""

    out: Path
    evidence: Path
    scale: str
    root: int
    formats: tuple[str, ...] = ()
    redraw: bool = False
    plain: bool = False
    single: bool = False

    @property
    def table_folders(self) -> tuple[Path, ...]:
        """Folders where the table may lie on which a figure was judged."""
        return tuple(dict.fromkeys((self.out, self.evidence.parent.parent / "figures")))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a figure; without a rendering its files stay as they are, and it is verified without a reason."""

    rendered: RenderedFigure | None
    reason: str | None
    remedy: str | None


def draw_figure(name: str, request: Request) -> Outcome:
    """Judge a figure, and draw it unless its files show that already."""
    from theory.figures import manifest  # noqa: PLC0415  loads NumPy, which --help and --list do without

    module = registry.figure_module(name)
    verdict = _verify(name, request)
    if request.plain:
        return _draw_plain(name, module, verdict, request)
    formats = request.formats
    kept: dict[str, str] = {}
    if verdict.reason is None and not request.redraw:
        kept = manifest.current_pictures(name, module, verdict, request.out)
        formats = tuple(form for form in formats if f"{name}.{form}" not in kept)
        if kept and not formats:
            return Outcome(None, None, None)
    from theory.figures.render import render_figure  # noqa: PLC0415  loads Matplotlib

    return Outcome(render_figure(name, module, verdict, formats, kept), verdict.reason, verdict.remedy)


def _draw_plain(name: str, module: registry.FigureModule, verdict: TableVerdict, request: Request) -> Outcome:
    from theory.figures.render import render_plain  # noqa: PLC0415  loads Matplotlib

    try:
        rendered = render_plain(name, module, verdict, request.formats, single=request.single)
    except ValueError as error:
        return Outcome(None, str(error), "--width double")
    return Outcome(rendered, verdict.reason, verdict.remedy)


def check_figure(name: str, request: Request) -> list[str]:
    """Judge a figure, and return why its files do not show what was judged."""
    from theory.figures import manifest  # noqa: PLC0415  as above

    module = registry.figure_module(name)
    entries = manifest.load(request.out)
    return list(manifest.disagreements(name, module, _verify(name, request), request.out, entries))


def _verify(name: str, request: Request) -> TableVerdict:
    from theory.figures.verified_table import verify_table  # noqa: PLC0415  as above

    return verify_table(
        name,
        registry.figure_module(name),
        scale=request.scale,
        root=request.root,
        evidence=request.evidence,
        folders=request.table_folders,
    )


def run_tasks(
    task: Callable[[str, Request], T], names: Sequence[str], request: Request, workers: int
) -> Generator[tuple[str, T, float], None, None]:
    """Yield the name of every figure with what ``task`` says of it, and its seconds, in the order of the names.

    Parameters
    ----------
    task : callable
        Of this module, so that another process finds it.
    names : sequence of str
        Figures.
    request : Request
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
            yield name, *_run_timed(task, name, request)
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(min(workers, len(names)), multiprocessing.get_context("spawn"), _start_worker)
    try:
        with _ignoring_interrupts():  # an interrupt is for the one who writes, also while the others start
            futures = [pool.submit(_run_timed, task, name, request) for name in names]
        for name, future in zip(names, futures, strict=True):
            yield name, *future.result()
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()  # what it has drawn is in its memory only
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _run_timed(task: Callable[[str, Request], T], name: str, request: Request) -> tuple[T, float]:
    start = time.perf_counter()
    return task(name, request), time.perf_counter() - start


def _start_worker() -> None:
    """Leave interrupts to the process that writes, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore interrupts, and so does a process that is started meanwhile."""
    with _handling_interrupts(signal.SIG_IGN):
        yield


@contextmanager
def delaying_interrupts() -> Iterator[None]:
    """Put an interrupt off until the end of the block."""
    came: list[int] = []
    with _handling_interrupts(lambda number, _: came.append(number)):
        yield
    if came:
        raise KeyboardInterrupt


@contextmanager
def _handling_interrupts(how: Callable[[int, object], None] | signal.Handlers) -> Iterator[None]:
    try:
        before = signal.signal(signal.SIGINT, how)
    except ValueError:  # only the main thread may, and only it is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
