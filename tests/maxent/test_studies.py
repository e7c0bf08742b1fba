"""The landscape on the simplex: every corner is in it, and its columns are what ball arithmetic says."""

import math

import numpy as np

from theory.evidence import Kind, ball
from theory.evidence.enclosure import balls, hull, precision
from theory.maxent import studies


def test_grid_covers_the_simplex():
    table = studies.landscape(scale="quick", root=1)
    laws = np.column_stack([table["p1"], table["p2"], table["p3"]])
    cells = round(1.0 / laws[laws > 0.0].min())
    assert len(table) == len(studies.TEMPERATURES) * math.comb(cells + 2, 2)
    assert laws.min() == 0.0
    assert laws.max() == 1.0
    assert np.abs(laws.sum(axis=1) - 1.0).max() <= 2.0**-52
    assert {tuple(corner) for corner in np.eye(3).tolist()} <= {tuple(law) for law in laws.tolist()}
    assert table.levels("tau") == sorted(studies.TEMPERATURES)
    assert table.kind is Kind.NUMERIC


def test_columns_hold_the_truth():
    table = studies.landscape(scale="quick", root=1)
    columns = {name: table.intervals(name) for name in ("free_energy", "best", "divergence")}
    with precision():
        scores = balls(studies.SCORES)
        for row in range(0, len(table), 37):
            tau = ball(table["tau"][row])
            law = [ball(table[f"p{k}"][row]) for k in (1, 2, 3)]
            exponentials = [(s / tau).exp() for s in scores]
            mass = sum(exponentials[1:], exponentials[0])
            energy = sum((p * s - tau * p * p.log() for p, s in zip(law, scores, strict=True) if p > 0), ball(0))
            short = sum((p * (p * mass / e).log() for p, e in zip(law, exponentials, strict=True) if p > 0), ball(0))
            for name, truth in (("free_energy", energy), ("best", tau * mass.log()), ("divergence", short)):
                interval = columns[name][row]
                exact = hull(truth)
                assert interval.lo <= exact.hi, (name, row)
                assert interval.hi >= exact.lo, (name, row)
                assert interval.width <= 1e-12, (name, row)
