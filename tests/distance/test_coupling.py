"""Whatever plan is proposed, the repaired one is a coupling, and its cost no less than the optimal one."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from theory.distance.coupling import cheapest_repair, forest_flow
from theory.distance.dyadic import grid

UNIFORM = [1, 1, 1]


def test_forest_flow_of_a_tree():
    assert forest_flow([0, 0, 1], [0, 1, 1], [3, 4], [2, 5]) == [2, 1, 4]


def test_forest_flow_of_two_trees_and_an_empty_arc():
    assert forest_flow([0, 1, 1], [0, 0, 1], [3, 4], [3, 4]) == [3, 0, 4]
    assert forest_flow([0, 1], [1, 0], [3, 4], [4, 3]) == [3, 4]


@pytest.mark.parametrize(
    ("rows", "columns", "supply", "demand"),
    [
        ([0, 0, 1, 1], [0, 1, 0, 1], [1, 1], [1, 1]),  # a cycle
        ([0, 0, 1], [0, 1, 1], [3, 4], [4, 3]),  # a negative flow
        ([0, 1], [0, 1], [3, 4], [4, 3]),  # a remainder
        ([0], [0], [1, 1], [1, 1]),  # atoms without an arc
        ([], [], [1], [1]),
    ],
)
def test_forest_flow_declines(rows, columns, supply, demand):
    assert forest_flow(rows, columns, supply, demand) is None


def test_long_path():
    n = 5000
    rows, columns = [*range(n), *range(1, n)], [*range(n), *range(n - 1)]
    supply, demand = [1, *[2] * (n - 1)], [*[2] * (n - 1), 1]
    assert forest_flow(rows, columns, supply, demand) == [1] * (2 * n - 1)


def test_empty_plan_costs_the_diameter():
    nothing = np.empty(0)
    assert cheapest_repair([], [], nothing, nothing, diameter=7.0, supply=[1, 2], demand=[3]) == 7


def test_exact_coupling_of_a_rounded_plan():
    plan, cost = np.array([1.0 / 3.0, 2.0 / 3.0]), np.array([1.0, 2.0])  # the floats miss the marginals by 2**-54
    bound = cheapest_repair([0, 1], [0, 0], plan, cost, diameter=2.0, supply=[1, 2], demand=[5])
    assert bound == Fraction(5, 3)


def test_tied_weights_leave_a_remainder_that_is_paid():
    supply = grid(np.array([0.1, 0.2, 0.7]))[0]
    demand = grid(np.array([0.3, 0.7]))[0]
    rows = [0, 1, 2]
    columns = [0, 0, 1]
    plan = np.array([0.1, 0.2, 0.7])
    assert forest_flow(rows, columns, [a * sum(demand) for a in supply], [b * sum(supply) for b in demand]) is None
    bound = cheapest_repair(rows, columns, plan, np.zeros(3), diameter=1.0, supply=supply, demand=demand)
    apart = abs(Fraction(sum(supply[:2]), sum(supply)) - Fraction(demand[0], sum(demand)))  # must cross, at cost one
    assert apart <= bound <= 2**-52


def test_the_cheaper_repair_wins():
    n = 8  # a chain, of which all arcs must pass on the little more that the last row has for the first column
    rows, columns = [*range(n), *range(1, n)], [*range(n), *range(n - 1)]
    supply = [2**60] * (n - 1) + [2**60 + 1]
    demand = [2**60 + 1] + [2**60] * (n - 1)
    flow = [2**60] + [2**60 - 1] * (n - 2) + [2**60] + [1] * (n - 1)
    assert forest_flow(rows, columns, supply, demand) == flow
    plan = np.array([0.125] * n + [1e-300] * (n - 1))
    cost = np.array([0.0] * n + [1.0] * (n - 1))
    bound = cheapest_repair(rows, columns, plan, cost, diameter=1.0, supply=supply, demand=demand)
    assert 0 < bound < 2 * Fraction(1, sum(supply)) < (n - 1) * Fraction(1, sum(supply))  # along the chain: the last


@given(
    st.lists(st.integers(0, 9), min_size=9, max_size=9),
    st.lists(st.sampled_from([0.0, 1e-300, 0.1, 1.0 / 3.0, 0.5, 2.0]), min_size=9, max_size=9),
)
@settings(deadline=None, derandomize=True, max_examples=300)
def test_never_below_the_optimum(costs, flows):
    cost = np.reshape(costs, (3, 3)).astype(float)
    flow = np.reshape(flows, (3, 3))
    rows, columns = np.nonzero(flow)
    bound = cheapest_repair(
        rows.tolist(),
        columns.tolist(),
        flow[rows, columns],
        cost[rows, columns],
        diameter=float(cost.max()),
        supply=UNIFORM,
        demand=UNIFORM,
    )
    best = min(sum(Fraction(cost[i, j]) for i, j in enumerate(order)) / 3 for order in permutations(range(3)))
    assert best <= bound
