"""Fast sums at a million tokens: time against n, the exponent, the error that is promised and the one that is found."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.timing import interleaved, peak_memory
from theory import engine
from theory.engine import Form, Pairs

_BANDWIDTH = 1e-3  # of the circle: the chord kernel exp(-|x - y|^2 / (2 eps)) at eps = 1e-3
_TORCH = 16384  # tokens from which PyTorch is extrapolated, by the square
CASES = ("circle", "plane")


def problem(case: str, n: int) -> tuple[Pairs, peers.Array]:
    """Return uniform angles under a narrow kernel, or standard normals of the plane under the dot product."""
    rng = np.random.default_rng([1, n])
    if case == "circle":
        x = rng.uniform(0.0, 2.0 * np.pi, size=(n, 1))
        return Pairs(Form.TORUS, x, x, np.array([0.5 / _BANDWIDTH])), np.concatenate([np.cos(x), np.sin(x)], axis=1)
    x = rng.normal(size=(n, 2))
    return Pairs(Form.DOT, x, x, np.array([1.0])), x


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per problem and size; the ratio is to PyTorch extrapolated from the largest size that it runs."""
    sizes = (2000, 4000) if quick else (10_000, 31_623, 100_000, 316_228, 1_000_000)
    return [row for case in CASES for row in _ladder(case, sizes, repeats=3 if quick else 7)]


def _ladder(case: str, sizes: tuple[int, ...], repeats: int) -> list[dict[str, Any]]:
    problems = {n: problem(case, n) for n in sizes}
    calls: dict[str, Callable[[], Any]] = {
        str(n): (lambda pairs=pairs, v=v: engine.attention(pairs, v, method="nufft"))  # type: ignore[misc]
        for n, (pairs, v) in problems.items()
    }
    size = sizes[0] if repeats == 3 else _TORCH
    small, given = problem(case, size)
    x = small.queries if case == "plane" else given  # of unit vectors the dot product has the same softmax
    torch = peers.torch(x, x, given)
    calls |= {} if torch is None else {"torch": torch}
    times = {name: statistics.median(found) for name, found in interleaved(calls, repeats).items()}
    seconds = [times[str(n)] for n in sizes]
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    rows = []
    for n, taken in zip(sizes, seconds, strict=True):
        found, (pairs, v) = calls[str(n)](), problems[n]
        x = pairs.queries if case == "plane" else v
        form, scale = (Form.DOT, 1.0) if case == "plane" else (Form.DISTANCE, 0.5 / _BANDWIDTH)
        rows.append({
            "case": case, "n": n, "seconds": taken, "exponent": exponent,
            "torch/ours": times["torch"] * (n / size) ** 2 / taken if torch else float("nan"),
            "error promised": 1e-12, "error seen": found.error,
            "error": peers.error(found.output, x, x, v, form=form, scale=scale),
            "MB": peak_memory(_PROGRAM.format(case=case, n=n)),
        })  # fmt: skip
    return rows


_PROGRAM = """
from benchmarks.fastsum import problem
from theory import engine
engine.attention(*problem("{case}", 2000), method="nufft")
given = problem("{case}", {n})
work = lambda: engine.attention(*given, method="nufft")
"""
