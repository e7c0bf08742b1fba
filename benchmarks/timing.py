"""Times of several calls that do the same, taken in turn, so that a slow minute of the machine is slow for all."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import noise

REPEATS = 7
_REST = 0.02  # seconds; measured: threads of OpenMP spin that long after a call, on the cores that the next one needs


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Hold the engine, BLAS and what else is there to a number of threads; the peers ask the engine for it."""
    before = os.environ.get("THEORY_THREADS")
    os.environ["THEORY_THREADS"] = str(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        del os.environ["THEORY_THREADS"]
        if before is not None:
            os.environ["THEORY_THREADS"] = before


def interleaved(
    calls: Mapping[str, Callable[[], object]], repeats: int = REPEATS, *, warm: bool = True
) -> dict[str, list[float]]:
    """Return the seconds of each call in ``repeats`` rounds, after one that is not counted unless ``warm`` is off."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(0 if warm else 1, repeats + 1):
        noise.beat()
        for name, call in calls.items():
            gc.collect()
            time.sleep(_REST)
            start = time.perf_counter()
            call()
            if number:
                times[name].append(time.perf_counter() - start)
    noise.beat()
    return times


def ratio(of: list[float], to: list[float]) -> tuple[float, float, float]:
    """Return the median of the ratios of neighbouring times, and their lower and upper quartile."""
    low, middle, high = statistics.quantiles([a / b for a, b in zip(of, to, strict=True)], n=4, method="inclusive")
    return middle, low, high


def peak_memory(code: str) -> float:
    """Return by how many MB a fresh process grows while it runs ``work()``, as ``code`` defines and prepares it.

    The largest resident set after the call minus the one before; what was needed to prepare the input is in both.
    """
    lines = code, "from benchmarks.timing import resident", "resident(); before = resident()", "work()"
    program = "\n".join([*lines, "print(resident() - before)"])
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)  # noqa: S603
    return float(done.stdout)


def resident() -> float:
    """Return the largest resident set of this process in MB, so far or, on Linux, since the last call of this."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if status.exists() and os.access(reset, os.W_OK):
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        reset.write_text("5", encoding="ascii")
        return float(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
