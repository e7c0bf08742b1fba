"""Calls on few tokens, on one thread: the public door with all its checks, prepared, PyTorch and plain NumPy."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks import noise, peers
from benchmarks.peers import Array
from benchmarks.timing import on_threads, ratio
from theory.attention import attend, prepare
from theory.figures._style import style

TITLE = "calls on few tokens against PyTorch and NumPy, one thread"
NUMBERS = (8, 16, 64, 256)
WIDTHS = (2, 8, 64)
ROUNDS = 200
IN_A_ROW = 10  # calls that are timed together: the clock takes a twentieth of a microsecond


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per number of tokens and dimension."""
    rounds = 3 if quick else ROUNDS
    numbers, widths = (NUMBERS[:1], WIDTHS[:2]) if quick else (NUMBERS, WIDTHS)
    with on_threads(1):
        return [_case(n, d, rounds) for d in widths for n in numbers]


def _case(n: int, d: int, rounds: int) -> dict[str, Any]:
    q, k, v = peers.cloud(n, d)
    settled = prepare(keys=k, values=v)
    calls: dict[str, Callable[[], Any]] = {"door": lambda: attend(q, k, v), "prepared": lambda: settled(q)}
    if importlib.util.find_spec("torch") is not None:
        calls["torch"] = torch(q, k, v)
    calls["numpy"] = peers.numpy(q, k, v)
    times = _in_turn(calls, rounds)
    row: dict[str, Any] = {"n": n, "d": d}
    row |= {f"{name}, us": 1e6 * statistics.median(found) for name, found in times.items()}
    row |= {f"{name}, least us": 1e6 * min(found) for name, found in times.items()}
    for peer in ("torch", "numpy"):
        for ours in ("door", "prepared"):
            if peer in times:
                middle, low, high = ratio(times[peer], times[ours])
                row |= {f"{peer}/{ours}": middle, f"{peer}/{ours} low": low, f"{peer}/{ours} high": high}
    row |= {f"{name}, error": peers.error(np.asarray(calls[name]()).reshape(v.shape), q, k, v) for name in times}
    return row


def torch(q: Array, k: Array, v: Array) -> Callable[[], Any]:
    """Return PyTorch's scaled dot-product attention from tensors to tensors, on one thread."""
    import torch as pytorch  # noqa: PLC0415

    pytorch.set_num_threads(1)
    tensors = [pytorch.from_numpy(x)[None, None] for x in (q, k, v)]
    attention = pytorch.nn.functional.scaled_dot_product_attention
    return lambda: attention(*tensors)


def _in_turn(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of one call in each round, short and many, without a rest: small calls are made in a row."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        noise.beat()
        for name, call in calls.items():
            call()  # brings its code and data back into the cache
            start = time.perf_counter()
            for _ in range(IN_A_ROW):
                call()
            times[name].append((time.perf_counter() - start) / IN_A_ROW)
    return times


def draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Plot the time of a call in two dimensions against the number of tokens."""
    chosen = [row for row in rows if row["d"] == rows[0]["d"]]
    n = [row["n"] for row in chosen]
    looks = {
        "door": ("o-", style.BLUE), "prepared": ("s-", style.GREEN), "torch": ("^--", style.VERMILION),
        "numpy": (":", style.BLACK),
    }  # fmt: skip
    for name, (mark, colour) in looks.items():
        if f"{name}, us" in rows[0]:
            axes.plot(n, [row[f"{name}, us"] for row in chosen], mark, color=colour, label=name)
    axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel="microseconds")
    axes.set_title(f"calls on few tokens, d = {chosen[0]['d']}, one thread")
