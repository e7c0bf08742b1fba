"""Moments of one attention output over n independent keys: exact at finite n, and drawn through the engine."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from theory import engine
from theory.engine import Form, Pairs
from theory.evidence import Interval, Kind, Table, stream, sweep
from theory.particles.mean_field.fluctuation import participation
from theory.particles.mean_field.self_normalised import gaussian_moments

Array = NDArray[np.float64]
TILTS = (0.4, 0.8, 1.6)  # p, the standard deviation of the scores of standard normal keys
OUTPUT_GROWTHS = (0.875, 1.0, 1.125, 2.0)  # a, where n = exp(a p**2)
BITS = (32, 64, 128, 256, 512)  # of n, along those lines
SCALED = (10, 20, 40, 80)  # of n, where the tilt is varied in units of sqrt(log n)
BATCHES = 64
OUTPUT_COVARIANCE = np.array([[1.0, 0.25], [0.25, 0.5]])
ROOT = np.array([[1.0, 0.0], [0.25, math.sqrt(0.4375)]])  # of the covariance, by Cholesky
OUTPUT_QUERY = np.array([0.5, 0.5])  # the tilt of planar keys: p**2 = 0.4375
OWN = np.array([1.5, 1.5])  # the key of a query that is among the keys
OUTPUT_ENTRIES = {"c11": (0, 0), "c12": (0, 1), "c22": (1, 1)}


def outputs(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return moments of an output over n = 2**``bits`` standard normal keys on the line under the tilt ``p``.

    ``part`` is ``variance`` or ``bias``, n times both, or ``participation``, the mean of the sum of squared weights.
    The last is given along n = exp(``growth`` p**2), and where ``growth`` is 0, at tilts in steps of sqrt(log n).
    ``c11`` to ``c22`` and ``b1``, ``b2`` are the entries for keys of ``OUTPUT_COVARIANCE`` under ``OUTPUT_QUERY``.
    """
    sizes = [2**k for k in range(4, 21 if scale == "quick" else 41, 2)]
    rows: list[tuple[str, float, float, int, Interval]] = []
    for p in TILTS if scale == "quick" else (*TILTS, 2.4):
        for found in gaussian_moments([[1.0]], [p], sizes):
            bits = found.keys.bit_length() - 1
            rows.append(("variance", p, 0.0, bits, found.covariance[0][0]))
            rows.append(("bias", p, 0.0, bits, found.bias[0]))
    p = math.sqrt(float(OUTPUT_QUERY @ OUTPUT_COVARIANCE @ OUTPUT_QUERY))
    for found in gaussian_moments(OUTPUT_COVARIANCE, OUTPUT_QUERY, [2**k for k in range(12, 21, 2)]):
        bits = found.keys.bit_length() - 1
        rows += [(name, p, 0.0, bits, found.covariance[i][j]) for name, (i, j) in OUTPUT_ENTRIES.items()]
        rows += [(f"b{i + 1}", p, 0.0, bits, found.bias[i]) for i in range(2)]
    lines = [(growth, bits) for growth in OUTPUT_GROWTHS for bits in (BITS if growth < 2.0 else BITS[:-1])]
    steps = [(0.15 * part, bits) for bits in SCALED for part in range(1, 21)]
    for growth, tilted, bits in [(a, 1.0 / a, k) for a, k in lines] + [(0.0, x, k) for x, k in steps]:
        p = math.sqrt(tilted * bits * math.log(2.0))
        rows.append(("participation", p, growth, bits, participation(p, 2**bits)))
    names = ("part", "p", "growth", "bits", "value")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), columns)


def drawn_outputs(*, scale: str, root: int) -> Table:
    """Return n times means of r r' and of r less its linear part, r the error of outputs over n drawn planar keys.

    Keys are N(0, ``OUTPUT_COVARIANCE``) and the tilt is ``OUTPUT_QUERY``. The linear part, the mean of w (x - c) with
    the weights of mean one, has mean zero and makes most of the noise of r. ``own1`` and ``own2`` are the same with the
    key ``OWN`` among the keys. Rows are 64 batches of every n.
    """
    plan = [((64, 256), 100)] if scale == "quick" else [((64, 256, 1024), 300), ((2**14,), 40)]
    cases = [
        {"sizes": sizes, "runs": runs, "rng": stream("particles.drawn_outputs", BATCHES * group + b, root=root)}
        for group, (sizes, runs) in enumerate(plan)
        for b in range(BATCHES)
    ]
    batches = sweep(_run, cases, pool=scale == "paper")
    names = ("n", "r11", "r12", "r22", "rest1", "rest2", "own1", "own2")
    units = {name: "1" if name == "n" else "length^2" if name[0:2] in ("r1", "r2") else "length" for name in names}
    rows = [row for batch in batches for row in batch]
    return Table(Kind.STATISTICAL, units, dict(zip(names, zip(*rows, strict=True), strict=True)))


def _run(sizes: tuple[int, ...], runs: int, rng: np.random.Generator) -> list[tuple[float, ...]]:
    """Return one row for every size, of which the smaller ones take the first keys of the largest."""
    centre = OUTPUT_COVARIANCE @ OUTPUT_QUERY
    half = float(OUTPUT_QUERY @ centre) / 2.0
    visible = np.array(sizes)
    own = float(np.exp(OUTPUT_QUERY @ OWN))
    tilts = np.tile(OUTPUT_QUERY, (visible.size, 1))
    errors, linear, moved = (np.empty((runs, visible.size, 2)) for _ in range(3))
    for k in range(runs):
        keys = rng.standard_normal((sizes[-1], 2)) @ ROOT.T
        found = engine.attention(Pairs(Form.DOT, tilts, keys, np.array([1.0])), keys, visible=visible)
        mass = np.exp(found.log_partition)[:, np.newaxis]
        errors[k] = found.output - centre
        moved[k] = (mass * found.output + own * OWN) / (mass + own) - centre
        weights = np.exp(keys @ OUTPUT_QUERY - half)
        for at, n in enumerate(sizes):
            linear[k, at] = weights[:n] @ (keys[:n] - centre) / n
    rows = []
    for at, n in enumerate(sizes):
        r = errors[:, at]
        second = n * (r.T @ r) / runs
        rest, among = (n * (x[:, at] - linear[:, at]).mean(axis=0) for x in (errors, moved))
        numbers = (second[0, 0], second[0, 1], second[1, 1], *rest, *among)
        rows.append((n, *(float(x) for x in numbers)))
    return rows
