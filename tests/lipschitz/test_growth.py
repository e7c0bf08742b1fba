"""The table of growth: which rows it has, values by hand, and equal bytes whatever the precision of balls outside."""

import math

import numpy as np

from theory.evidence import Kind, precision
from theory.lipschitz import studies
from theory.lipschitz.constants import leader_bound, leader_gap, opposed_ratio
from theory.lipschitz.studies.growth import steepest_ratio


def test_rows_and_columns():
    table = studies.growth(scale="quick", root=1)
    assert table.kind is Kind.NUMERIC
    assert set(table["part"].tolist()) == {"entry", "norm", "leader", "leaders", "minority"}
    for part in ("leader", "leaders"):
        tokens = table.where(part=part)["tokens"]
        assert (np.diff(tokens) > 0).all()
        assert {100.0, 1000.0, 10000.0, 1000000.0} <= set(tokens.tolist())
    assert len(studies.growth(scale="paper", root=1)) > len(table)
    with precision(200):
        assert studies.growth(scale="quick", root=1).sha256 == table.sha256


def test_entries_by_hand():
    part = studies.growth(scale="quick", root=1).where(part="entry")
    for square, value in zip(part["alpha"].tolist(), part.intervals("value"), strict=True):
        assert value.lo <= (2.0 * square + 1.0) / 3.0 <= value.hi
        assert value.width <= 1e-14 * square


def test_norm_of_three_tokens_is_above_the_entry():
    table = studies.growth(scale="quick", root=1)
    entries, norms = (table.where(part=part).intervals("value") for part in ("entry", "norm"))
    assert all(norm.hi >= entry.lo for entry, norm in zip(entries, norms, strict=True))


def test_leaders_are_the_best_number_and_bounded_from_below():
    table = studies.growth(scale="quick", root=1)
    one, many = table.where(part="leader"), table.where(part="leaders")
    for n, ratio, value in zip(many["tokens"].tolist(), many["ratio"].tolist(), many.intervals("value"), strict=True):
        tried = [(n - k) / k for k in range(1, min(int(n), 1200))]
        best = max(leader_bound(r, leader_gap(3.0, r)) for r in tried)
        assert leader_bound(ratio, leader_gap(3.0, ratio)) >= best * (1.0 - 1e-12)
        assert value.hi >= best
    assert one["ratio"].tolist() == [n - 1.0 for n in one["tokens"].tolist()]


def test_steepest_ratio_is_near_the_closed_form():
    for alpha in (4.0, 16.0):
        assert abs(math.log(steepest_ratio(alpha) / opposed_ratio(alpha))) <= 1e-2
