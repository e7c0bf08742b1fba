"""Fast sums at a million tokens: time against n, the exponent, the error that is promised and the one that is found."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.timing import interleaved, peak_memory
from theory import engine
from theory.engine import Attention, Form, Pairs

_BANDWIDTH = 1e-3  # of the circle: the chord kernel exp(-|x - y|^2 / (2 eps)) at eps = 1e-3
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
    per_pair = _torch(case, 1024 if repeats == 3 else 16384)
    problems = {n: problem(case, n) for n in sizes}
    calls: dict[str, Callable[[], Attention]] = {
        str(n): (lambda pairs=pairs, v=v: engine.attention(pairs, v, method="nufft"))  # type: ignore[misc]
        for n, (pairs, v) in problems.items()
    }
    times = {n: statistics.median(found) for n, found in zip(sizes, interleaved(calls, repeats).values(), strict=True)}
    exponent = float(np.polyfit(np.log(sizes), np.log([times[n] for n in sizes]), 1)[0])
    rows = []
    for n in sizes:
        found, (pairs, v) = calls[str(n)](), problems[n]
        some = slice(0, n, max(1, n // 256))
        part = Pairs(pairs.form, np.ascontiguousarray(pairs.queries[some]), pairs.keys, pairs.coefficients)
        exact = engine.attention(part, v).output
        rows.append({
            "case": case, "n": n, "seconds": times[n], "exponent": exponent,
            "torch/ours": per_pair * n**2 / times[n] if per_pair else float("nan"),
            "error promised": 1e-12, "error seen": found.error,
            "error on 256 rows": float(np.abs(found.output[some] - exact).max() / np.abs(v).max()),
            "MB": peak_memory(_PROGRAM.format(case=case, n=n)),
        })  # fmt: skip
    return rows


def _torch(case: str, n: int) -> float | None:
    """Return PyTorch's seconds per pair on as many tokens as it takes well."""
    pairs, v = problem(case, n)
    x = pairs.queries if case == "plane" else v  # on the circle the dot product of unit vectors has the same softmax
    call = peers.torch(x, x, v)
    return None if call is None else statistics.median(interleaved({"torch": call}, 3)["torch"]) / n**2


_PROGRAM = """
from benchmarks.fastsum import problem
from theory import engine
engine.attention(*problem("{case}", 2000), method="nufft")
given = problem("{case}", {n})
work = lambda: engine.attention(*given, method="nufft")
"""
