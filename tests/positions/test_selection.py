"""Queries against cosines and linear programs, Radon's sets against hulls, widths and margins in the least cases."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, linprog, minimize

from theory.positions import (
    least_width,
    margin_ceiling,
    moment_keys,
    radon_partition,
    selecting_query,
    selection_study,
)

PLACES = np.array([-3.0, -0.75, 0.0, 0.5, 1.25, 4.0])
ANGLES = 2.0 * np.arctan(PLACES)


def selected(keys, chosen):
    """Whether some query selects these keys, by a linear program in floats."""
    rest = [i for i in range(len(keys)) if i not in chosen]
    rows = np.array([keys[j] - keys[i] for i in chosen for j in rest], dtype=float)
    return linprog(np.zeros(keys.shape[1]), A_ub=rows, b_ub=np.full(len(rows), -1.0), bounds=(None, None)).success


@pytest.mark.parametrize("k", [1, 2, 3])
def test_keys_are_cosines_and_sines(k):
    keys = moment_keys(PLACES, k)
    waves = [f(j * ANGLES) for j in range(1, k + 1) for f in (np.cos, np.sin)]
    assert np.abs(keys.astype(float) - np.array(waves).T).max() < 1e-14
    assert all((key**2).sum() == k for key in keys)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_query_selects_and_by_how_much(k):
    keys = moment_keys(PLACES, k)
    for size in range(1, k + 1):
        for chosen in itertools.combinations(range(len(PLACES)), size):
            query, score = selecting_query(PLACES, k, chosen)
            for i, below in enumerate(score - keys @ query):
                claimed = math.prod(1.0 - math.cos(ANGLES[i] - ANGLES[c]) for c in chosen)
                assert float(below) == pytest.approx(claimed, rel=1e-10, abs=1e-14)
                assert (below == 0) == (i in chosen)


@pytest.mark.parametrize(("m", "k"), [(3, 1), (5, 1), (4, 2), (5, 2), (6, 2), (6, 3)])
def test_a_linear_program_agrees_on_the_width(m, k):
    sets = [s for size in range(1, k + 1) for s in itertools.combinations(range(m), size)]
    rng = np.random.default_rng(m)
    width = least_width(m, k)
    if width == 2 * k:
        assert all(selected(moment_keys(PLACES[:m], k), s) for s in sets)
    for _ in range(5):
        keys = rng.normal(size=(m, width - 1))
        assert not all(selected(keys, s) for s in sets)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_hulls_of_radon_meet(dim):
    points = np.random.default_rng(dim).normal(size=(dim + 2, dim))
    found = radon_partition(points)
    assert len(found.fewer) <= len(found.others)
    assert sorted([*found.fewer, *found.others]) == list(range(dim + 2))
    assert sum(found.weights) == 0
    assert sum(found.weights[list(found.fewer)]) == 1
    assert np.abs(found.weights.astype(float) @ points).max() < 1e-12
    twice = radon_partition(np.array([[Fraction(x) for x in row] for row in points], dtype=object))
    assert (twice.weights == found.weights).all()


def test_points_on_a_line_between_others():
    found = radon_partition(np.array([[0.0, 0.0], [2.0, 0.0], [0.5, 0.0], [7.0, 1.0]]))
    assert (found.fewer, found.others) == ((2,), (0, 1))
    assert found.weights.tolist() == [Fraction(-3, 4), Fraction(-1, 4), 1, 0]


def test_ceiling_of_two_keys_and_of_many():
    assert margin_ceiling(2, 1).mid == pytest.approx(2.0, rel=1e-15, abs=0.0)
    assert margin_ceiling(10**12, 4).mid == pytest.approx(0.5, rel=1e-11, abs=0.0)


@cache
def layout():
    """The rows of the study that are of keys on the moment curve."""
    return selection_study.widths(scale="quick", root=1).where(part="layout")


def test_layout_in_the_plane_has_the_best_margin_nearly():
    table = layout().where(chosen=1)
    for keys, margin in zip(table["keys"].tolist(), table.middles("value"), strict=True):
        assert margin == pytest.approx(1.0 - math.cos(2.0 * math.pi / keys), rel=1e-4, abs=0.0)


def test_layout_has_the_margins_of_a_quadratic_program():
    """At 2 k + 1 equal angles it is a regular simplex, and attains the ceiling; beyond, as an optimiser finds."""
    table = layout()
    found = {
        (chosen, keys): margin
        for chosen, keys, margin in zip(
            table["chosen"].tolist(), table["keys"].tolist(), table.intervals("value"), strict=True
        )
    }
    for chosen in selection_study.CHOSEN:
        simplex = 2 * chosen + 1
        assert found[chosen, simplex].mid == pytest.approx(margin_ceiling(simplex, chosen).mid, rel=1e-5, abs=0.0)
    for chosen, keys in ((2, 9), (3, 9)):
        angles = 2.0 * np.pi * np.arange(keys) / keys
        laid = np.stack([f(j * angles) for j in range(1, chosen + 1) for f in (np.cos, np.sin)], axis=1) / chosen**0.5
        least = math.inf
        for which in itertools.combinations(range(keys), chosen):
            rest = [i for i in range(keys) if i not in which]
            apart = np.array([laid[i] - laid[j] for i in which for j in rest])
            above = LinearConstraint(apart, 1.0)
            short = minimize(lambda x: x @ x, apart.mean(axis=0), method="SLSQP", constraints=above)
            least = min(least, 1.0 / math.sqrt(short.fun))
        assert found[chosen, keys].mid == pytest.approx(least, rel=1e-4, abs=0.0)
    assert all(margin.width < 5e-3 * margin.mid for margin in found.values())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: least_width(3, 3), "chosen"),
        (lambda: margin_ceiling(1, 1), "keys"),
        (lambda: moment_keys([1.0, 1.0], 2), "places"),
        (lambda: selecting_query(PLACES, 1, [0, 1]), "selected"),
        (lambda: selecting_query(PLACES, 2, [0, 0]), "selected"),
        (lambda: selecting_query(PLACES, 2, [6]), "selected"),
        (lambda: radon_partition(np.zeros((3, 2))), "points"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
