r"""How fast the smallest overlap grows, over many acute configurations, and how it goes on growing.

``value`` is the growth of the smallest overlap ``1 - start`` where ``t`` is zero, and the largest gap at the time ``t``
in the rows of a ``path``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory.evidence import Interval, Kind, Table, stream
from theory.evidence.witness import coarse
from theory.particles.dynamics.flows import flow
from theory.particles.exact.comparison import cluster_gaps, slowest_pair
from theory.particles.exact.equiangular import Equiangular
from theory.particles.exact.overlaps import GapField, gaps

Array = NDArray[np.float64]
RULES = ("SA", "USA")
BETAS = (0.5, 1.0, 2.0, 5.0, 9.0)
SIZES = (4, 10, 100)  # of two equal clusters
COMPARISON_WITNESS = (10, 0.7, 5.0)  # tokens, gap and beta at which two clusters are slower than a simplex
_TIMES = np.array([0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 24.0])  # of SA; USA's are shorter by exp(beta m)
_SMALL = 1e-6  # chosen: the gap at which a path ends
_LOWER = 1e-9  # chosen: relative, far above the rounding of a rate
_ATOL = 1e-14  # chosen: far below the smallest gap of a path and above the rounding of a vanishing one


def comparison(*, scale: str, root: int) -> Table:
    """Return rates of random, searched and named configurations, and paths of a few.

    ``part`` is ``random``, ``search`` (the lowest rate, in terms of that of the simplex, that a random search finds),
    ``simplex``, ``clusters`` (two equal ones), ``odd`` (one pair nearer than all others) or ``path ...``.
    """
    few = scale == "quick"
    rows: list[dict[str, Any]] = []
    for case in range(18 if few else 400):
        rng = stream("studies.comparison", case, root=root)
        beta = float(10.0 ** rng.uniform(-1.0, 1.0))
        tokens = _drawn(rng)
        _add(rows, "random", tokens, beta)
        if case % 6 == 0:
            for rule in RULES:
                _add(rows, "search", _searched(rng, tokens, beta, rule, 30 if few else 400), beta, rules=(rule,))
    overlaps = np.linspace(0.02, 0.98, 9 if few else 49).tolist()
    for beta in BETAS:
        for m in overlaps:
            for n in (2, 4, 32):
                _add(rows, "simplex", cluster_gaps(1.0 - m, [1] * n), beta)
            for n in SIZES:
                _add(rows, "clusters", cluster_gaps(1.0 - m, [n // 2] * 2), beta)
    n, gap, beta = COMPARISON_WITNESS
    _add(rows, "clusters", cluster_gaps(gap, [n // 2] * 2), beta)
    _add(rows, "simplex", cluster_gaps(gap, [1] * n), beta)
    _add(rows, "odd", odd(), 1.0)
    _paths(rows, 3 if few else 20, root)
    kinds = ("part", "rule", "n", "beta", "start", "t", "value")
    columns = {name: [row[name] for row in rows] for name in kinds}
    return Table(Kind.ESTIMATED, {**dict.fromkeys(kinds, "1"), "t": "time"}, columns)


def odd() -> Array:
    """Return four tokens of overlap 1/4, but for the last two, whose overlap is 7/8."""
    found = cluster_gaps(0.75, [1] * 4)
    found[2, 3] = found[3, 2] = 0.125
    return found


def _add(rows: list[dict[str, Any]], part: str, given: Array, beta: float, *, rules: tuple[str, ...] = RULES) -> None:
    for rule in rules:
        start, rate = slowest_pair(given, beta=beta, normalised=rule == "SA")
        rows.append(_row(part, rule, len(given), beta, start, 0.0, rate))


def _row(part: str, rule: str, n: int, beta: float, start: float, t: float, value: Interval) -> dict[str, Any]:
    return {"part": part, "rule": rule, "n": n, "beta": beta, "start": start, "t": t, "value": value}


def _drawn(rng: np.random.Generator) -> Array:
    """Draw the gaps of acute tokens: spread out, in a few clusters, or close together.

    They are rounded to a few bits, because the rates of gaps that differ in their last digit are not the same number.
    """
    n, d = int(rng.integers(3, 9)), int(rng.integers(2, 6))
    x = np.abs(rng.normal(size=(n, d))) ** rng.choice([1.0, 4.0])
    kind = int(rng.integers(3))
    if kind == 1:
        x = x[rng.integers(0, 2, n)] + 1e-3 * np.abs(rng.normal(size=(n, d)))
    if kind == 2:
        x = x + float(rng.choice([1.0, 10.0]))
    # rounding may leave the cone
    return coarse(np.minimum(gaps(x / np.linalg.norm(x, axis=1, keepdims=True)), 1.0))


def _searched(rng: np.random.Generator, given: Array, beta: float, rule: str, steps: int) -> Array:
    """Move overlaps between the smallest one and one as long as the rate falls beside that of the simplex.

    A fall within rounding is none, so that the same moves are made, and the same overlaps found, on every machine.
    """
    n = len(given)
    largest = float(given.max())
    simplex = float(Equiangular(n, beta, rule == "SA").rate(min(largest, 1.0)))
    pair = np.unravel_index(int(given.argmax()), given.shape)

    def ratio(at: Array) -> float:
        return slowest_pair(at, beta=beta, normalised=rule == "SA")[1].mid / simplex

    best = given
    lowest = ratio(given)
    for _ in range(steps):
        i = int(rng.choice([k for k in range(n) if k not in pair]))
        row = largest * rng.choice([0.0, 1.0, float(rng.uniform())], size=2)
        trial = best.copy()
        trial[i, pair] = trial[pair, i] = row
        found = ratio(trial)
        if found < lowest * (1.0 - _LOWER):
            best, lowest = trial, found
    return best


def _paths(rows: list[dict[str, Any]], draws: int, root: int) -> None:
    n, gap, beta = COMPARISON_WITNESS
    starts = [
        ("path simplex", cluster_gaps(gap, [1] * n), beta), ("path clusters", cluster_gaps(gap, [n // 2] * 2), beta),
        ("path simplex", cluster_gaps(0.875, [1] * 5), 1.0), ("path odd", odd(), 1.0),
    ]  # fmt: skip
    for case in range(draws):
        rng = stream("studies.comparison.paths", case, root=root)
        starts.append(("path random", _drawn(rng), (0.5, 1.0, 4.0)[case % 3]))
    for part, given, sharp in starts:
        for rule in RULES:
            start = float(given.max())
            times = _TIMES * (1.0 if rule == "SA" else math.exp(-sharp * (1.0 - start)))
            path = flow(GapField(sharp, rule == "SA"), given, times, atol=_ATOL)
            for t, largest in zip(times.tolist(), path.observe(_largest), strict=True):
                if largest.lo < _SMALL:
                    break
                rows.append(_row(part, rule, len(given), sharp, start, t, largest))


def _largest(given: Array) -> float:
    return float(given.max())
