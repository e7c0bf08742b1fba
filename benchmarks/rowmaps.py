"""Softmax and entmax of many rows against PyTorch's softmax and the ``entmax`` package: ratios and errors."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from benchmarks.timing import interleaved, on_threads, ratio
from theory.engine.threads import threads
from theory.figures._style import style
from theory.maxent import entmax, entmax15, softmax, sparsemax
from theory.maxent.batch import Array

TITLE = "softmax and entmax of rows against PyTorch's softmax and the entmax package"
Call = Callable[[], Array]
SHAPES = ((100_000, 64), (4096, 1024), (16, 100_000), (1, 8))
ORDERS = (1.0, 1.25, 1.5, 2.0, 2.5)
HALVINGS = 55  # of the bracket of one, after which float64 has no digit left of it
SPREAD = 3.0  # of the scores: of 64 at order 5/4 about a dozen then have weight
REPEATS = 5
CHECKED = 3  # rows
BATCH = 200  # calls on one small row that are timed together


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per shape, number of threads and order."""
    rows = []
    for n, entries in ((200, 64), (2, 1000), (1, 8)) if quick else SHAPES:
        scores = SPREAD * np.random.default_rng([n, entries]).normal(size=(n, entries))
        for count in sorted({1, threads()}) if n > 1 else (1,):
            with on_threads(count):
                rows += [_case(alpha, scores, 3 if quick else REPEATS) for alpha in ORDERS]
    return rows


def _case(alpha: float, scores: Array, repeats: int) -> dict[str, Any]:
    found = {"ours": ours(scores, alpha), "torch softmax": torch_softmax(scores), "package": package(scores, alpha)}
    calls = {name: call for name, call in found.items() if call is not None}
    batch = BATCH if scores.size <= 8 else 1
    times = interleaved({name: _repeated(call, batch) for name, call in calls.items()}, repeats)
    row: dict[str, Any] = {"alpha": alpha, "n": len(scores), "entries": scores.shape[1], "threads": threads()}
    for name in calls:
        row[f"{name}, ns per entry"] = 1e9 * statistics.median(times[name]) / scores.size / batch
    for name, of, to in (("ours/torch softmax", "ours", "torch softmax"), ("package/ours", "package", "ours")):
        if of in times and to in times:
            middle, low, high = ratio(times[of], times[to])
            row |= {name: middle, f"{name}, low": low, f"{name}, high": high}
    places = np.unique(np.linspace(0, len(scores) - 1, CHECKED).astype(int))
    truth = [reference(scores[i], alpha) for i in places]
    for name in calls if alpha == 1.0 else calls.keys() - {"torch softmax"}:
        laws = calls[name]()
        row[f"{name}, apart"] = max(float(np.abs(laws[i] - law).max()) for i, law in zip(places, truth, strict=True))
    return row


def _repeated(call: Call, times: int) -> Callable[[], None]:
    def many() -> None:
        for _ in range(times):
            call()

    return many


def ours(scores: Array, alpha: float) -> Call:
    """Return the map of this package that a user would call at an order."""
    named = {1.0: softmax, 1.5: entmax15, 2.0: sparsemax}
    return (lambda: named[alpha](scores)) if alpha in named else (lambda: entmax(scores, alpha))


def reference(row: Array, alpha: float) -> NDArray[np.longdouble]:
    """Return the law of one row in extended precision, where the machine has it: a bracket halved to its end."""
    s = row.astype(np.longdouble)
    if alpha == 1.0:
        masses = np.exp(s - s.max())
        return np.asarray(masses / masses.sum())
    e = np.longdouble(alpha) - 1
    z = e * (s - s.max())
    low, high = np.longdouble(-1), np.longdouble(0)
    while low < (middle := low + (high - low) / 2) < high:
        if (np.maximum(z - middle, 0) ** (1 / e)).sum() >= 1:
            low = middle
        else:
            high = middle
    return np.asarray(np.maximum(z - low, 0) ** (1 / e))


def torch_softmax(scores: Array) -> Call | None:
    """Return PyTorch's softmax on as many threads as the engine uses, if it is installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads())
    tensor = torch.from_numpy(scores)
    return lambda: np.asarray(torch.softmax(tensor, dim=-1))


def package(scores: Array, alpha: float) -> Call | None:
    """Return the map of the ``entmax`` package, by sorting or halving, if it is installed and knows the order."""
    if alpha == 1.0 or importlib.util.find_spec("entmax") is None or importlib.util.find_spec("torch") is None:
        return None
    import entmax as peer  # noqa: PLC0415
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads())
    tensor = torch.from_numpy(scores)
    if alpha in (1.5, 2.0):
        law = peer.entmax15 if alpha == 1.5 else peer.sparsemax
        return lambda: np.asarray(law(tensor, dim=-1))
    return lambda: np.asarray(peer.entmax_bisect(tensor, alpha, dim=-1, n_iter=HALVINGS))


def draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Plot the time of an entry against the order, at the first shape."""
    first = [row for row in rows if all(row[key] == rows[0][key] for key in ("n", "entries", "threads"))]
    looks = ("ours", "o-", style.BLUE), ("package", "^--", style.VERMILION), ("torch softmax", ":", style.BLACK)
    for method, mark, colour in looks:
        some = [row for row in first if f"{method}, ns per entry" in row]
        times = [row[f"{method}, ns per entry"] for row in some]
        axes.plot([row["alpha"] for row in some], times, mark, color=colour, label=method)
    axes.set(yscale="log", xlabel=r"order $\alpha$", ylabel="ns per entry")
    axes.set_ylim(top=8.0 * axes.get_ylim()[1])  # room for the legend
    axes.set_title(f"laws of {rows[0]['n']} rows of {rows[0]['entries']}, threads: {rows[0]['threads']}")
