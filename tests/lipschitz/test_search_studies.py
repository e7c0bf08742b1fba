"""The studies of the search keep clouds that can be evaluated again, and draw the same for the same root."""

from __future__ import annotations

import math

import numpy as np

from theory.attention import DotProduct, Measure, SquaredDistance
from theory.lipschitz import certified_stretch, studies


def test_rows_are_the_cloud_at_which_the_stretch_is():
    table = studies.searches(scale="quick", root=5)
    for name, p, size, atoms, even in studies.SEARCHED:
        for sign in (1.0, -1.0):
            part = table.where(problem=name, alpha=size, sign=sign)
            if name == "distance" and sign < 0.0:
                assert part["p"].size == 0
                continue
            assert 1 <= part["p"].size <= atoms
            cloud = Measure(part["position"][:, np.newaxis], part["weight"])
            score = SquaredDistance(size) if name == "distance" else DotProduct(form=np.array([[sign * size]]))
            again = certified_stretch(cloud, score, part["velocity"][:, np.newaxis], p)
            stored = part.intervals("stretch")[0]
            assert (stored.lo, stored.hi) == (again.lo, again.hi)
            if even:
                np.testing.assert_array_equal(part["weight"], np.full(atoms, 1.0 / atoms))
            if name != "distance":
                assert np.abs(part["position"]).max() <= 1.0


def test_the_root_decides_the_draws():
    one, two, other = (studies.worst_pairs(scale="quick", root=root) for root in (5, 5, 6))
    assert one.to_csv() == two.to_csv()
    assert one.to_csv() != other.to_csv()
    assert len(one["p"]) == 4 * len(studies.GROWTH)
    assert not any(math.isinf(value) for value in one["stretch.hi"])
