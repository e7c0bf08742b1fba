"""Fast sums at a million tokens: time against n, the exponent, the error that is promised and the one that is found.

Then clouds that are uneven, by whatever method ``auto`` takes: clusters of density ratio ten thousand, far queries, dot
products with a large product of scale and variance, the sphere.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks import noise, peers
from benchmarks.timing import interleaved, peak_memory
from theory import engine
from theory.engine import Form, Pairs
from theory.engine.threads import threads
from theory.figures._style import style

TITLE = "a million tokens by fast sums"
_BANDWIDTH = 1e-3  # of the circle: the chord kernel exp(-|x - y|^2 / (2 eps)) at eps = 1e-3
_TORCH = 16384  # tokens from which PyTorch is extrapolated, by the square
CASES = ("circle", "plane")
_ROWS = 256  # checked in long doubles, half of them those with the smallest partitions
_WARM = 20_000  # tokens of a call before the one that is timed, so that nothing is compiled in it
_CLUSTERS, _FAR = 50.0, 10.0  # sharpness of the distances
UNEVEN = {
    "clusters, plane": (2, Form.DISTANCE, _CLUSTERS),
    "clusters, space": (3, Form.DISTANCE, _CLUSTERS),
    "far queries, plane": (2, Form.DISTANCE, _FAR),
    "far queries, space": (3, Form.DISTANCE, _FAR),
    "far queries, plane, dot": (2, Form.DOT, 1.0),
    "normal, space": (3, Form.DISTANCE, 1.0),
    "normal, space, dot": (3, Form.DOT, 1.0),
    "steep, plane": (2, Form.DOT, 30.0),
    "steep, space": (3, Form.DOT, 30.0),
    "sphere": (3, Form.DISTANCE, 15.0),
    "sphere, dot": (3, Form.DOT, 30.0),
}


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
    rows = [row for case in CASES for row in _ladder(case, sizes, repeats=3 if quick else 7)]
    chosen = list(UNEVEN)[:2] if quick else list(UNEVEN)
    return rows + [_once(case, 2000 if quick else sizes[-1], small=2000 if quick else _TORCH) for case in chosen]


def uneven(case: str, n: int) -> tuple[Pairs, peers.Array]:
    """Return queries and keys of which the partitions differ by many orders; the values are the keys."""
    d, form, scale = UNEVEN[case]
    rng = np.random.default_rng([2, n, d])
    keys = rng.normal(size=(n, d))
    if case.startswith("clusters"):  # nine tenths of the tokens in a volume that is smaller by nine times the ratio
        keys[n // 10 :] *= 9e4 ** (-1.0 / d)
        keys[n // 10 :] += 3.0
    if case.startswith("sphere"):
        keys /= np.sqrt(np.square(keys).sum(axis=1, keepdims=True))
    queries = keys.copy()
    if case.startswith("far"):
        queries[: n // 10] *= 10.0
    return Pairs(form, queries, keys, np.array([scale])), keys


def _once(case: str, n: int, small: int) -> dict[str, Any]:
    """Return the row of an uneven problem, timed once."""
    engine.attention(*uneven(case, min(n, _WARM)), method="auto")
    pairs, v = uneven(case, n)
    noise.beat()
    start, spent = time.perf_counter(), time.process_time()
    found = engine.attention(pairs, v, method="auto")
    taken, spent = time.perf_counter() - start, time.process_time() - spent
    noise.beat()
    few, given = uneven(case, small)
    lengths = np.ones((small, 1 if few.form is Form.DISTANCE else 0))  # one feature more makes a distance of a product
    features = [np.concatenate([x, lengths], axis=1) for x in (few.queries, few.keys)]
    torch = peers.torch(*features, given)
    peer = math.nan if torch is None else min(interleaved({"torch": torch}, 3)["torch"])
    return {
        "case": case, "n": n, "seconds": taken, "torch/ours": peer * (n / small) ** 2 / taken,
        "error promised": 1e-12, "error seen": found.error, "error": _error(pairs, v, found),
        "MB": peak_memory(_ONCE.format(case=case, n=n)), "method": found.method, "cpu seconds": spent,
    }  # fmt: skip


def _error(pairs: Pairs, v: peers.Array, found: engine.AttentionResult) -> float:
    """Return the largest error of some rows against long doubles, in units of the largest value."""
    m = len(pairs.queries)
    faintest = np.argsort(found.log_partition)[: _ROWS // 2]
    worst = 0.0
    for i in np.unique(np.concatenate([faintest, np.linspace(0, m - 1, _ROWS // 2).astype(int)])).tolist():
        query, keys = pairs.queries[i].astype(np.longdouble), pairs.keys.astype(np.longdouble)
        distance = pairs.form is Form.DISTANCE
        terms = -np.square(query - keys) if distance else query * keys
        scores = np.longdouble(pairs.coefficients[0]) * terms.sum(axis=1)
        masses = np.exp(scores - scores.max())
        exact = (masses[:, np.newaxis] * v).sum(
            axis=0
        ) / masses.sum()  # pairwise, so that no digit of the check is lost
        worst = max(worst, float(np.abs(exact - found.output[i]).max()))
    return worst / float(np.abs(v).max())


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
            "MB": peak_memory(_PROGRAM.format(case=case, n=n)), "method": found.method,
        })  # fmt: skip
    return rows


_PROGRAM = """
from benchmarks.fastsum import problem
from theory import engine
engine.attention(*problem("{case}", 2000), method="nufft")
given = problem("{case}", {n})
work = lambda: engine.attention(*given, method="nufft")
"""

_ONCE = """
from benchmarks.fastsum import uneven
from theory import engine
engine.attention(*uneven("{case}", 2000), method="auto")
given = uneven("{case}", {n})
work = lambda: engine.attention(*given, method="auto")
"""


def draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Plot the time against the number of tokens, and uneven clouds at their one size."""
    for case, colour in zip(CASES, (style.BLUE, style.VERMILION), strict=True):
        some = [row for row in rows if row["case"] == case]
        label = f"{case}, exponent {some[0]['exponent']:.2f}"
        axes.plot([row["n"] for row in some], [row["seconds"] for row in some], "o-", color=colour, label=label)
    other = [row for row in rows if row["case"] in UNEVEN]
    times = [row["seconds"] for row in other]
    axes.plot([row["n"] for row in other], times, "x", color=style.GREY, label="uneven clouds")
    axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel="seconds")
    axes.set_title(f"fast sums to 1e-12, threads: {threads()}")
