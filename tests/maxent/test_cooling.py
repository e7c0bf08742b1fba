"""The tables of maximisers and of cooling: what must be in them is there, and their columns hold the truth."""

from fractions import Fraction

import mpmath as mp
import pytest

from tests.maxent import oracle
from theory.evidence import Kind
from theory.maxent import studies


def holds(interval, truth, width=1e-10):
    return mp.mpf(interval.lo) <= truth <= mp.mpf(interval.hi) and interval.width <= width


def test_maximisers_are_complete():
    table = studies.maximisers(scale="quick", root=1)
    assert table.kind is Kind.NUMERIC
    plane = table.where(part="plane")
    assert plane["best"].tolist() == ["mean score", "cosine", *["softmax"] * len(studies.PLANE_TEMPERATURES)]
    assert plane["tau"].tolist() == [0.0, 0.0, *studies.PLANE_TEMPERATURES]
    step = table.where(part="step")
    assert {-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0} <= set(step["s1"].tolist())
    assert step.levels("best") == ["entmax 1.5", "entmax 2", "mean score", "softmax"]
    assert 0.0 not in step.where(best="mean score")["s1"]
    path = table.where(part="path")
    assert {0.5, 2.5} <= set(path["tau"].tolist())
    assert len(studies.maximisers(scale="paper", root=1)) > len(table)


@pytest.mark.parametrize("best", ["softmax", "entmax 1.5", "entmax 2"])
def test_maximisers_hold_the_truth(best):
    table = studies.maximisers(scale="quick", root=1).where(best=best)
    orders = {"softmax": 1.0, "entmax 1.5": 1.5, "entmax 2": 2.0}
    laws = [table.intervals(f"p{k}") for k in (1, 2, 3)]
    for row in range(0, len(table), 5):
        n = 3 if table["part"][row] == "path" else 2
        s = [float(table[f"s{k + 1}"][row]) for k in range(n)]
        truth = oracle.entmax(s, orders[best], float(table["tau"][row]))
        for k in range(n):
            assert holds(laws[k][row], truth[k]), (row, k)
        assert n == 3 or laws[2][row].width == 0.0


def test_vertex_and_aligned_law():
    plane = studies.maximisers(scale="quick", root=1).where(part="plane")
    s = [Fraction(x) for x in studies.PLANE]
    first = plane.intervals("p1")
    assert 1 in first[0]
    assert s[0] / (s[0] + s[1]) in first[1]


def test_cooling_holds_the_truth():
    table = studies.cooling(scale="quick", root=1)
    entropies, means = table.intervals("entropy"), table.intervals("mean")
    assert table.levels("map") == ["entmax 1.5", "softmax", "sparsemax"]
    assert set(table["support"].tolist()) == set(range(1, len(studies.COOLED) + 1))
    for row in range(0, len(table), 4):
        truth = oracle.entmax(studies.COOLED, float(table["alpha"][row]), float(table["tau"][row]))
        with mp.workdps(oracle.DIGITS):
            assert holds(entropies[row], oracle.tsallis(truth, 1)), row
            assert holds(means[row], mp.fdot(truth, oracle.exactly(studies.COOLED))), row
    assert len(studies.cooling(scale="paper", root=1)) > len(table)
