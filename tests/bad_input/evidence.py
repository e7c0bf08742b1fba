"""One valid call of every instrument of theory.evidence."""

from __future__ import annotations

import numpy as np
import sympy

from theory.evidence import Interval, Kind, Table
from theory.evidence.enclosure import balls, variable

T = sympy.Symbol("t")
NUMBERS = np.array([0.5, -1.25, 0.75])
LEVELS = [Interval(1.0 + 4.0**-k, 1.0 + 4.0**-k) for k in range(5)]
TABLE = Table(Kind.NUMERIC, {"n": "1", "x": "m"}, {"n": [1, 2], "x": [Interval(0.5, 0.75), Interval(1.0, 1.5)]})
SAMPLE = np.random.default_rng(0).random((8, 5)) + 0.5
MANY = np.random.default_rng(0).random(26_000)


def twice(n):
    """Return twice a number."""
    return 2 * n


VALID = {
    "enclosure.precision": {"bits": 100},
    "enclosure.ball": {"value": 1.5},
    "enclosure.balls": {"values": NUMBERS},
    "enclosure.exp": {"values": balls(NUMBERS)},
    "enclosure.log": {"values": balls(NUMBERS + 2.0)},
    "enclosure.tanh": {"values": balls(NUMBERS)},
    "enclosure.sqrt": {"values": balls(NUMBERS + 2.0)},
    "enclosure.variable": {"length": 3},
    "enclosure.coefficient": {"series": variable(3).item(), "k": 1},
    "enclosure.as_ball": {"value": 0.7, "name": "x"},
    "enclosure.hull": {"ball": balls(NUMBERS)[0], "kind": Kind.CERTIFIED},
    "enclosure.ends": {"values": balls(NUMBERS)},
    "enclosure.sup_over": {"expression": "x * (1 - x)", "tolerance": 1e-3, "boxes": 200, "x": (0, 1)},
    "roundoff.gamma": {"k": 10},
    "roundoff.softmax_error": {"score_error": 1e-9, "spread": 7.1, "n": 5, "merges": 1},
    "roundoff.average_error": {"size": 7.1, "n": 5, "relative": 1e-9},
    "roundoff.covariance_error": {"size": 7.1, "n": 5, "relative": 1e-9, "shift": 1e-8},
    "roundoff.total": {"values": NUMBERS, "error": 1e-9},
    "roundoff.discrepancy": {"measured": NUMBERS, "claimed": NUMBERS + 0.25, "error": 1e-9, "kind": Kind.NUMERIC},
    "statistics.proportion": {"hits": 3, "draws": 10, "among": 2},
    "statistics.bounded_mean": {"sample": NUMBERS, "lo": -2.1, "hi": 2.1, "among": 2},
    "statistics.batch_mean": {"sample": MANY, "among": 2},
    "statistics.run_mean": {"sample": MANY[:20], "among": 2},
    "statistics.slope": {"sizes": np.array([1.0, 2.0, 4.0, 8.0, 16.0]), "samples": SAMPLE, "among": 2},
    "convergence.estimated": {"value": 0.7, "other": 0.75, "times": 2.0},
    "convergence.limit": {"values": LEVELS, "ratio": 2.5, "order": 2.1},
    "convergence.order": {"errors": LEVELS, "ratio": 2.5},
    "quadrature.integral_over": {"f": lambda x: x * x, "lo": 0.5, "hi": 1.5, "exponent": 0.5},
    "symbolic.zero": {"expression": (T + 1) ** 2 - T**2 - 2 * T - 1, "concrete": {T: 3}},
    "interval.Interval": {"lo": 0.5, "hi": 0.75, "kind": Kind.NUMERIC},
    "interval.Interval.exactly": {"value": 0.7, "kind": Kind.NUMERIC},
    "interval.Interval.within": {"value": 0.7, "error": 0.1, "kind": Kind.NUMERIC},
    "interval.Interval.printed": {"digits": "0.75", "kind": Kind.NUMERIC},
    "interval.Interval.unknown": {"kind": Kind.NUMERIC},
    "interval.Interval.largest": {"values": LEVELS},
    "interval.enclose": {"value": 0.7},
    "intervals.Intervals": {"lo": NUMBERS - 0.5, "hi": NUMBERS + 0.5, "kind": Kind.NUMERIC},
    "intervals.exact": {"values": NUMBERS, "kind": Kind.NUMERIC},
    "intervals.within": {"values": NUMBERS, "error": 0.1, "kind": Kind.NUMERIC},
    "intervals.as_intervals": {"value": NUMBERS},
    "outward.norm": {"x": NUMBERS, "axis": 0, "keepdims": False},
    "table.Table": {"kind": Kind.NUMERIC, "units": {"x": "m"}, "columns": {"x": NUMBERS}},
    "table.Table.intervals": {"self": TABLE, "name": "x"},
    "table.Table.middles": {"self": TABLE, "name": "x"},
    "table.Table.from_csv": {"text": TABLE.to_csv()},
    "table.Table.differs": {"self": TABLE, "other": TABLE},
    "streams.stream": {"name": "specimen", "case": 3, "root": 20070},
    "witness.coarse": {"values": NUMBERS, "bits": 12},
    "witness.first_best": {"values": NUMBERS, "tolerance": 1e-9},
    "sweep.sweep": {"fn": twice, "cases": [{"n": 1}, {"n": 2}], "pool": False},
}

SKIPPED = dict.fromkeys(
    [
        "Claim",
        "Finding",
        "Twin",
        "Verification",
        "at_least",
        "at_most",
        "bug",
        "constant",
        "equals",
        "hypothesis",
        "verifies",
        "judge",
        "found",
        "outcome",
        "Evidence",
        "Run",
        "is_enclosed",
        "study",
        "decide",
    ],
    "part of the judging of claims, driven in the tests of that module",
)
SKIPPED |= dict.fromkeys(("Interval", "Table", "stream", "sweep"), "driven under its module")

ALIASES = {
    ("enclosure.sup_over", "x"): ("box",),
    ("enclosure.as_ball", "value"): ("x",),
    ("interval.enclose", "value"): ("operand",),
    ("intervals.as_intervals", "value"): ("operand",),
}
ACCEPTED = {
    ("witness.coarse", "values", "empty"): "an array of any shape",
    ("witness.coarse", "values", "rank"): "an array of any shape",
    ("enclosure.balls", "values", "empty"): "an array of any shape",
    ("enclosure.balls", "values", "rank"): "an array of any shape",
    ("roundoff.total", "values", "empty"): "the sum of nothing is zero",
    ("roundoff.total", "values", "rank"): "an array of any shape",
    ("roundoff.discrepancy", "error", "rank"): "broadcasts",
    ("streams.stream", "name", "text"): "any text is a name",
    ("streams.stream", "name", "blank"): "any text is a name",
    ("enclosure.as_ball", "name", "*"): "goes into the message only",
    ("intervals.Intervals", "lo", "-inf"): "unbounded below",
    ("intervals.Intervals", "hi", "inf"): "unbounded above",
    ("intervals.*", "*", "empty"): "an array of any shape",
    ("intervals.*", "*", "rank"): "an array of any shape",
    ("intervals.as_intervals", "name", "*"): "goes into the message only",
    ("outward.norm", "x", "empty"): "the length of nothing is zero",
    ("outward.norm", "x", "rank"): "an array of any shape",
    ("interval.enclose", "name", "*"): "goes into the message only",
}
LISTED = {}
INFINITE = {"roundoff.softmax_error", "roundoff.average_error", "roundoff.covariance_error"}
