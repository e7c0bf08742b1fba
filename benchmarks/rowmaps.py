"""Entmax on many rows against a plain bisection and against PyTorch's softmax: ratios and errors."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import interleaved, ratio
from theory.engine.threads import threads
from theory.maxent import entmax, entmax15, softmax, sparsemax
from theory.maxent.batch import Array

ROWS, ENTRIES = 100_000, 64
HALVINGS = 50  # what public implementations take by default
ORDERS = (1.25, 1.5, 2.0)
REPEATS = 5


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per order, and one for softmax."""
    m = 200 if quick else ROWS
    scores = np.random.default_rng([m, ENTRIES]).normal(size=(m, ENTRIES)) * 3.0
    return [_case(alpha, scores, 3 if quick else REPEATS) for alpha in (1.0, *ORDERS)]


def _case(alpha: float, scores: Array, repeats: int) -> dict[str, Any]:
    calls: dict[str, Callable[[], Array]] = {"newton": lambda: entmax(scores, alpha)}
    if alpha == 1.0:
        calls["closed"] = lambda: softmax(scores)
    else:
        calls["bisection"] = lambda: bisection(scores, alpha)
    if alpha in (1.5, 2.0):
        calls["sorting"] = lambda: (entmax15 if alpha == 1.5 else sparsemax)(scores)
    peer = torch_softmax(scores)
    if peer is not None:
        calls["torch softmax"] = peer
    times = interleaved(calls, repeats)
    row: dict[str, Any] = {"alpha": alpha, "n": len(scores), "entries": scores.shape[1]}
    row |= {f"{name}, ns per entry": 1e9 * statistics.median(times[name]) / scores.size for name in calls}
    for ours in ("newton", "sorting"):
        if ours in times and "bisection" in times:
            middle, low, high = ratio(times["bisection"], times[ours])
            row |= {f"bisection/{ours}": middle, f"{ours} low": low, f"{ours} high": high}
    if peer is not None:
        row["newton/torch softmax"] = ratio(times["newton"], times["torch softmax"])[0]
    found = {name: call()[:50] for name, call in calls.items() if name != "torch softmax"}
    row |= {f"{name}, apart": float(np.abs(law - found["newton"]).max()) for name, law in found.items()}
    return row


def bisection(scores: Array, alpha: float, halvings: int = HALVINGS) -> Array:
    """Return entmax of rows as it is usually computed: halve the bracket of the threshold, divide by the sum."""
    z = (alpha - 1.0) * scores
    low = z.max(axis=1, keepdims=True) - 1.0
    width = 1.0 - z.shape[1] ** (1.0 - alpha)
    for _ in range(halvings):
        width *= 0.5
        p = np.maximum(z - (low + width), 0.0) ** (1.0 / (alpha - 1.0))
        low = np.where(p.sum(axis=1, keepdims=True) >= 1.0, low + width, low)
    p = np.maximum(z - low, 0.0) ** (1.0 / (alpha - 1.0))
    law: Array = p / p.sum(axis=1, keepdims=True)
    return law


def torch_softmax(scores: Array) -> Callable[[], Array] | None:
    """Return PyTorch's softmax on as many threads as the engine uses, if it is installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch  # noqa: PLC0415

    torch.set_num_threads(threads())
    tensor = torch.from_numpy(scores)
    return lambda: np.asarray(torch.softmax(tensor, dim=-1))
