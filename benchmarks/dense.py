"""Dense attention against NumPy, PyTorch and KeOps: ratios, errors, memory, and what the processor leaves below."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks import limit, peers
from benchmarks.timing import REPEATS, interleaved, peak_memory, ratio
from theory.engine import Form

WIDTHS = (1, 2, 3, 4, 8, 16, 32, 64)
SIZES = (4096, 16384)
_LARGE = (100_000, 2)  # where NumPy would need 80 GB
_NUMPY_LARGEST = 4096  # taken: its matrices fill the memory beyond
_KEOPS_WIDEST = 8
_PEERS = ("numpy", "torch", "keops")


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per width and size."""
    if quick:
        return [_case(256, d, repeats=3) for d in (2, 16)]
    rows = [_case(n, d, repeats=REPEATS) for n in SIZES for d in WIDTHS]
    return [*rows, _case(*_LARGE, repeats=3)]


def _case(n: int, d: int, repeats: int) -> dict[str, Any]:
    q, k, v = peers.cloud(n, d)
    product, products = limit.matrix_product(256 if repeats == 3 else 1536)
    exponential, exponentials = limit.exponential()
    calls: dict[str, Callable[[], Any] | None] = {
        "ours": peers.ours(q, k, v),
        "distance": peers.ours(q, k, v, form=Form.DISTANCE),
        "single": peers.ours(q, k, v, precision="single"),
        "torch": peers.torch(q, k, v) if n <= SIZES[-1] else None,
        "numpy": peers.numpy(q, k, v) if n <= _NUMPY_LARGEST else None,
        "keops": peers.keops(q, k, v) if d <= _KEOPS_WIDEST and n <= SIZES[-1] else None,
        "product": product,
        "exponential": exponential,
    }
    there = {name: call for name, call in calls.items() if call is not None}
    times = interleaved(there, repeats)
    middle = {name: statistics.median(found) for name, found in times.items()}
    row: dict[str, Any] = {"n": n, "d": d, "ns per pair": 1e9 * middle["ours"] / n**2}
    for name in _PEERS:
        if name in there:
            row[f"{name}/ours"], row[f"{name} low"], row[f"{name} high"] = ratio(times[name], times["ours"])
    row["distance/ours"] = ratio(times["distance"], times["ours"])[0]
    row["single/ours"] = ratio(times["single"], times["ours"])[0]
    row["limit, ns"] = 1e9 * limit.multiply_adds(d, d) * middle["product"] / products
    row["exponential, ns"] = 1e9 * middle["exponential"] / exponentials
    row["error"] = peers.error(there["ours"](), q, k, v)
    if "torch" in there:
        row["torch error"] = peers.error(there["torch"](), q, k, v)
    row["MB"] = peak_memory(_PROGRAM.format(n=n, d=d))
    return row


_PROGRAM = """
from benchmarks import peers
peers.ours(*peers.cloud(64, {d}))()
work = peers.ours(*peers.cloud({n}, {d}))
"""
