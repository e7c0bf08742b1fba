"""Dense attention against NumPy, PyTorch and KeOps: ratios, errors, memory, and what the processor leaves below."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks import limit, peers
from benchmarks.timing import REPEATS, interleaved, on_threads, peak_memory, ratio
from theory.engine import Form
from theory.engine.threads import threads
from theory.figures._style import style

TITLE = "dense attention against NumPy, PyTorch and KeOps"
WIDTHS = (1, 2, 3, 4, 8, 16, 32, 64)
SIZES = {"one thread": (1024, 4096), "all threads": (1024, 16384)}
_LARGEST = 16384  # of PyTorch and KeOps
_LARGE = (100_000, 2)  # where NumPy would need 80 GB
_NUMPY_LARGEST = 4096  # taken: its matrices fill the memory beyond
_KEOPS_WIDEST = 8
_PEERS = ("numpy", "torch", "keops")
_PAIRS = 1 << 24  # taken: what is timed at once, calls that are shorter are repeated more often


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per number of threads, size and width."""
    if quick:
        return [_case(256, d, threads(), repeats=3) for d in (2, 16)]
    rows = [_case(n, d, 1, _repeats(n)) for n in SIZES["one thread"] for d in WIDTHS]
    if threads() > 1:
        rows += [_case(n, d, threads(), _repeats(n)) for n in SIZES["all threads"] for d in WIDTHS]
    return [*rows, _case(*_LARGE, threads(), repeats=3)]


def _repeats(n: int) -> int:
    return max(3, REPEATS * min(_PAIRS, 4 * n**2) // n**2)


def _case(n: int, d: int, count: int, repeats: int) -> dict[str, Any]:
    with on_threads(count):
        return {"threads": count, **_row(n, d, repeats)}


def _row(n: int, d: int, repeats: int) -> dict[str, Any]:
    q, k, v = peers.cloud(n, d)
    product, products = limit.matrix_product()
    exponential, exponentials = limit.exponential()
    attends: dict[str, Callable[[], Any] | None] = {
        "ours": peers.ours(q, k, v),
        "distance": peers.ours(q, k, v, form=Form.DISTANCE),
        "single": peers.ours(q, k, v, precision="single"),
        "torch": peers.torch(q, k, v) if n <= _LARGEST else None,
        "numpy": peers.numpy(q, k, v) if n <= _NUMPY_LARGEST else None,
        "keops": peers.keops(q, k, v) if d <= _KEOPS_WIDEST and n <= _LARGEST else None,
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


def draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Plot the time of a pair on one thread at the size that most widths were timed at."""
    least = min(row["threads"] for row in rows)
    single = [row for row in rows if row["threads"] == least]
    sizes = [row["n"] for row in single]
    common = 4096 if 4096 in sizes else max(sizes, key=lambda n: (sizes.count(n), n))
    chosen = [row for row in single if row["n"] == common]
    d = [row["d"] for row in chosen]
    ours = np.array([row["ns per pair"] for row in chosen])
    axes.plot(d, ours, "o-", color=style.BLUE, label="this engine")
    if "torch/ours" in chosen[0]:
        torch = ours * [row["torch/ours"] for row in chosen]
        axes.plot(d, torch, "s--", color=style.VERMILION, label="PyTorch")
    axes.plot(d, [row["limit, ns"] for row in chosen], ":", color=style.BLACK, label="multiply-adds alone")
    axes.plot(d, [row["exponential, ns"] for row in chosen], "-.", color=style.GREY, label="exponential alone")
    axes.set(xscale="log", yscale="log", xlabel="dimension", ylabel="ns per pair")
    axes.set_ylim(top=8.0 * axes.get_ylim()[1])  # room for the legend
    axes.set_title(f"dense attention, n = {common}, threads: {least}")
