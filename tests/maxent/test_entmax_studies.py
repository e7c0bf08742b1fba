"""The laws that are drawn hold the truth at sixty digits, and the edges that the figures mark are in the tables."""

import mpmath as mp
import numpy as np
import pytest

from tests.maxent import oracle
from theory.evidence import Kind
from theory.maxent import studies


@pytest.mark.parametrize("study", [studies.weights, studies.paths])
def test_columns_hold_the_truth(study):
    table = study(scale="quick", root=1)
    tau = table["tau"] if "tau" in table.columns else np.ones(len(table))
    laws = [table.intervals(f"p{k}") for k in (1, 2, 3)]
    assert table.kind is Kind.NUMERIC
    for row in range(0, len(table), 5):
        s = np.array([table[f"s{k}"][row] for k in (1, 2, 3)])
        truth = oracle.entmax(s, table["alpha"][row], tau[row])
        for k in range(3):
            with mp.workdps(oracle.DIGITS):
                inside = mp.mpf(laws[k][row].lo) <= truth[k] <= mp.mpf(laws[k][row].hi)
            assert inside, (row, k)
            assert laws[k][row].width <= 1e-7
        positive = sum(float(x) > 0.0 for x in truth)
        assert table["support"][row] == positive
        entropy = -sum(float(x) * float(mp.log(x)) for x in truth if float(x) > 0.0)
        assert abs(table["entropy"][row] - entropy) <= 1e-14


def test_edges_and_tabulated_orders_are_in_the_table():
    table = studies.weights(scale="quick", root=1)
    two, three = table.where(scores="two"), table.where(scores="three")
    for alpha in (1.5, 2.0):
        part = two.where(alpha=alpha)
        assert {-1.0 / (alpha - 1.0), 0.0, 1.0 / (alpha - 1.0)} <= set(part["s1"].tolist())
    assert set(studies.TABULATED) <= set(three["alpha"].tolist())
    assert set(np.unique(two["alpha"])) == {1.0, 1.5, 2.0, np.inf}


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_paths_reach_the_same_inverse_temperatures_for_all_orders(scale):
    table = studies.paths(scale=scale, root=1)
    grids = [table.where(alpha=alpha)["inverse"] for alpha in studies.PATH_ORDERS]
    assert all(np.array_equal(grid, grids[0]) for grid in grids)
    assert np.array_equal(table["tau"], 1.0 / table["inverse"])
    assert {0.6, 1.2, 2.4, 4.8} <= set(np.round(grids[0], 9).tolist())
