"""Certified W1 against the solver alone; its width and its memory where no solver could hold all pairs."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import ot
from matplotlib.axes import Axes
from scipy.spatial.distance import cdist

from benchmarks.timing import interleaved, peak_memory, ratio
from theory import Measure, w1
from theory.evidence import Interval
from theory.figures._style import style

TITLE = "certified W1 against the solver alone"


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row per size and dimension."""
    cases = [(200, 2, 0.3)] if quick else [(2000, 2, 0.3), (2000, 3, 0.3), (20_000, 2, 0.3), (20_000, 3, 0.3)]
    if not quick:  # two samples of one law, of which the distance is small beside its costs
        cases += [(100_000, 2, 0.3), (100_000, 2, 0.0), (20_000, 3, 0.0), (1_000_000, 1, 0.3)]
    rows = []
    for n, d, apart in cases:
        mu, nu = clouds(n, d, apart)
        found: list[Interval] = []
        asked = 1e-3 if d == 3 else 1e-4
        calls = {
            "ours": lambda mu=mu, nu=nu, asked=asked, found=found: found.append(  # type: ignore[misc]
                w1(mu, nu, relative_width=asked)
            )
        }
        solved = d > 1 and n <= 2000
        if solved:
            cost = cdist(mu.points, nu.points)  # not counted: the solver alone is the peer
            calls["emd2"] = lambda mu=mu, nu=nu, cost=cost: ot.emd2(  # type: ignore[misc]
                mu.weights, nu.weights, cost, numItermax=10_000_000
            )
        times = interleaved(calls, 3 if quick else 7 if solved else 1, warm=solved)
        row = {
            "n": n,
            "d": d,
            "apart": apart,
            "seconds": statistics.median(times["ours"]),
            "lo": found[0].lo,
            "hi": found[0].hi,
        }
        row["relative width"] = found[0].width / found[0].hi
        row["ours/emd2"] = ratio(times["ours"], times["emd2"])[0] if solved else float("nan")
        row["MB"] = peak_memory(_ONCE.format(n=n, d=d, apart=apart, asked=asked))
        rows.append(row)
    return rows


def clouds(n: int, d: int, apart: float) -> tuple[Measure, Measure]:
    """Return two samples of a normal law, one of them shifted along the diagonal."""
    rng = np.random.default_rng([2, n, d])
    mu, nu = (Measure(rng.normal(size=(n, d)) + shift) for shift in (0.0, apart))
    return mu, nu


_ONCE = """
from benchmarks.distance import clouds
from theory import w1
w1(*clouds(500, {d}, {apart}), atoms=100)
given = clouds({n}, {d}, {apart})
work = lambda: w1(*given, relative_width={asked})
"""


def draw(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Plot the relative widths."""
    for d, colour in ((2, style.BLUE), (3, style.VERMILION)):
        some = [row for row in rows if row["d"] == d]
        widths = [row["relative width"] for row in some]
        axes.plot([row["n"] for row in some], widths, "o", color=colour, label=f"dimension {d}")
    axes.set(xscale="log", yscale="log", xlabel="atoms", ylabel="relative width of the interval")
    axes.set_title("certified W1")
