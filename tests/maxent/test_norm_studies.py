"""The table of operator norms: laws of the two families, and enclosures that hold what directions and balls say."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from theory.evidence import Kind, stream
from theory.maxent import studies
from theory.maxent.studies.norms import NAMES, norms_of

EXPONENTS = {"one": 1.0, "two": 2.0, "inf": math.inf}


def test_rows_and_columns():
    table = studies.operator_norms(scale="quick", root=1)
    assert table.kind is Kind.NUMERIC
    assert set(table["norm"].tolist()) == set(NAMES)
    assert len(table.where(n=2)) == 31 * len(NAMES)
    assert 0.5 in table.where(n=2)["weight"]
    levels = table.where(n=3, norm="two_two")["weight"]
    assert (levels[:-1] / levels[1:] == 2.0).all()
    assert levels[0] == 0.25
    assert len(studies.operator_norms(scale="paper", root=1)) > len(table)


def test_both_columns_agree_within_their_widths():
    table = studies.operator_norms(scale="quick", root=1)
    for extreme, closed in zip(table.intervals("extreme"), table.intervals("closed"), strict=True):
        assert extreme.lo <= closed.hi
        assert closed.lo <= extreme.hi
        assert extreme.width <= 1e-13


def test_two_scores_by_hand():
    root = math.sqrt(2.0)
    product = 0.25 * 0.75
    known = {"two_two": 2.0, "inf_inf": 2.0, "one_one": 2.0, "one_inf": 1.0, "inf_one": 4.0}
    known |= {"one_two": root, "two_inf": root, "two_one": 2.0 * root, "inf_two": 2.0 * root}
    for name, both in norms_of(np.array([0.25, 0.75])).items():
        for interval in both:
            assert abs(interval.mid - known[name] * product) <= 1e-14
            assert interval.lo <= known[name] * product <= interval.hi


def test_no_direction_is_stretched_more():
    law = np.array([0.5, 0.375, 0.125])
    jacobian = np.diag(law) - np.outer(law, law)
    ways = stream("tests.norm_studies", 0).normal(size=(2000, 3))
    for name, both in norms_of(law).items():
        start, end = (EXPONENTS[part] for part in name.split("_"))
        ratios = np.linalg.norm(ways @ jacobian, end, axis=1) / np.linalg.norm(ways, start, axis=1)
        assert all(ratios.max() <= interval.hi for interval in both)
        assert all(ratios.max() >= 0.8 * interval.lo for interval in both)


def test_enclosures_hold_the_largest_cut_of_many_laws():
    """Sums over sets are rounded most; without their width a law in three is outside."""
    for case in range(60):
        rng = stream("tests.norm_studies.cuts", case)
        law = rng.dirichlet(np.ones(int(rng.integers(2, 9))))
        p = [Fraction(x) for x in law.tolist()]
        p = [x / sum(p) for x in p]
        cuts = [sum(kept) for size in range(1, len(p)) for kept in combinations(p, size)]
        truth = max(4 * cut * (1 - cut) for cut in cuts)
        assert all(truth in interval for interval in norms_of(law)["inf_one"])
