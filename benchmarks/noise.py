"""How quiet the machine was while something was timed: the work of others, and how evenly the same work went.

Neither sees everything. What other processes take is counted by the system, but not what a neighbour of a virtual
machine takes from the caches and the clock; the same work again and again sees that, but only when it is done.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

BUSY = 0.1  # taken: processors that others may use; a tenth of one moves a median by less than the spread of the rounds
UNEVEN = 1.15  # taken: how much longer than at best the same work may take in the slowest tenth of the rounds
_TICKS = 20_000  # taken: about a millisecond


@dataclass
class Watch:
    """A record of one benchmark, from its making to :meth:`stop`."""

    beats: list[float] = field(default_factory=list)
    """seconds of the same work"""
    others: float | None = None
    """processors that other processes used, ``None`` where the system does not say"""

    def __post_init__(self) -> None:
        self._start = time.perf_counter(), _busy(), _own()

    def beat(self) -> None:
        """Do the same work once more, and keep how long it took."""
        start = time.perf_counter()
        _work()
        self.beats.append(time.perf_counter() - start)

    def stop(self) -> None:
        """Ask the system what others took since the record was begun."""
        start, busy, own = self._start
        now = _busy()
        if busy is not None and now is not None:
            self.others = max(now - busy - (_own() - own), 0.0) / (time.perf_counter() - start)

    @property
    def unevenness(self) -> float:
        """The time of the same work in the slowest tenth of the rounds, over its least time."""
        if len(self.beats) < 2:
            return 1.0
        return statistics.quantiles(self.beats, n=10, method="inclusive")[-1] / min(self.beats)

    @property
    def quiet(self) -> bool:
        """Whether times that were taken meanwhile may be published."""
        return (self.others is None or self.others <= BUSY) and self.unevenness <= UNEVEN

    def describe(self) -> str:
        """Return one line."""
        word = "quiet" if self.quiet else "NOISY"
        others = "unknown" if self.others is None else f"{self.others:.2f} processors"
        return f"{word}: others used {others}; the same work took up to {self.unevenness:.2f} times its least time"


_open: list[Watch] = []


@contextmanager
def watched() -> Iterator[Watch]:
    """Keep a record of what is timed inside."""
    watch = Watch()
    _open.append(watch)
    try:
        yield watch
    finally:
        _open.remove(watch)
        watch.stop()


def beat() -> None:
    """Do the same work once more for every record that is kept."""
    for watch in _open:
        watch.beat()


def _work() -> int:
    total = 0
    for tick in range(_TICKS):
        total += tick & 3
    return total


def _busy() -> float | None:
    """Return the seconds that all processors have worked since the system started, also for other machines on them."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    user, nice, system, _, _, irq, softirq, steal, *_ = (float(x) for x in path.read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Return the seconds that this process and its children, if they have ended, have worked."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
