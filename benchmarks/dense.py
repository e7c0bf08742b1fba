"""Dense attention against NumPy, PyTorch and KeOps: ratios, errors, memory, and what the processor leaves below."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import limit, peers
from benchmarks.timing import REPEATS, interleaved, peak_memory, ratio
from theory.engine import Form
from theory.engine.threads import threads

WIDTHS = (1, 2, 3, 4, 8, 16, 32, 64)
SIZES = (1024, 4096, 16384)
_LARGE = (100_000, 2)  # where NumPy would need 80 GB
_NUMPY_LARGEST = 4096  # taken: its matrices fill the memory beyond
_KEOPS_WIDEST = 8
_PEERS = ("numpy", "torch", "keops")
_PAIRS = 1 << 24  # taken: what is timed at once, calls that are shorter are repeated more often


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per number of threads, size and width."""
    if quick:
        return [_case(256, d, threads(), repeats=3) for d in (2, 16)]
    counts = sorted({1, threads()})
    rows = [_case(n, d, count, _repeats(n)) for count in counts for n in SIZES for d in WIDTHS]
    return [*rows, _case(*_LARGE, threads(), repeats=3)]


def _repeats(n: int) -> int:
    return REPEATS * max(1, min(4, _PAIRS // n**2))


def _case(n: int, d: int, count: int, repeats: int) -> dict[str, Any]:
    with _on(count):
        return {"threads": count, **_row(n, d, repeats)}


@contextmanager
def _on(count: int) -> Iterator[None]:
    """Hold the engine, BLAS and what else is there to a number of threads."""
    asked = os.environ.get("THEORY_THREADS")
    os.environ["THEORY_THREADS"] = str(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        del os.environ["THEORY_THREADS"]
        if asked is not None:
            os.environ["THEORY_THREADS"] = asked


def _row(n: int, d: int, repeats: int) -> dict[str, Any]:
    q, k, v = peers.cloud(n, d)
    product, products = limit.matrix_product()
    exponential, exponentials = limit.exponential()
    attends: dict[str, Callable[[], Any] | None] = {
        "ours": peers.ours(q, k, v),
        "distance": peers.ours(q, k, v, form=Form.DISTANCE),
        "single": peers.ours(q, k, v, precision="single"),
        "torch": peers.torch(q, k, v) if n <= SIZES[-1] else None,
        "numpy": peers.numpy(q, k, v) if n <= _NUMPY_LARGEST else None,
        "keops": peers.keops(q, k, v) if d <= _KEOPS_WIDEST and n <= SIZES[-1] else None,
    }
    there = {name: call for name, call in attends.items() if call is not None}
    times = interleaved({**there, "product": product, "exponential": exponential}, repeats)
    ours = [1e9 * seconds / n**2 for seconds in times["ours"]]
    least = 1e9 * limit.multiply_adds(d, d) / products
    row: dict[str, Any] = {"n": n, "d": d}
    row["ns low"], row["ns per pair"], row["ns high"] = statistics.quantiles(ours, n=4, method="inclusive")
    outputs = {name: call() for name, call in there.items()}
    apart = peers.errors({name: output for name, output in outputs.items() if name != "distance"}, q, k, v)
    row["error"] = apart["ours"]
    for name in _PEERS:
        if name in there:
            row[f"{name}/ours"], row[f"{name} low"], row[f"{name} high"] = ratio(times[name], times["ours"])
            row[f"{name} error"] = apart[name]
    row["distance/ours"] = ratio(times["distance"], times["ours"])[0]
    row["distance error"] = peers.error(outputs["distance"], q, k, v, form=Form.DISTANCE)
    row["single/ours"] = ratio(times["single"], times["ours"])[0]
    row["single error"] = apart["single"]
    row["limit, ns"] = least * statistics.median(times["product"])
    row["ours/limit"] = min(ours) / (least * min(times["product"]))
    row["exponential, ns"] = 1e9 * statistics.median(times["exponential"]) / exponentials
    row["MB"] = peak_memory(_PROGRAM.format(n=n, d=d))
    return row


_PROGRAM = """
from benchmarks import peers
peers.ours(*peers.cloud(64, {d}))()
work = peers.ours(*peers.cloud({n}, {d}))
"""
