"""What adversarial searches on the line find: the worst clouds of named problems, and worst pairs as forms grow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theory.attention import DotProduct, SquaredDistance
from theory.evidence import Interval, Kind, Table, coarse, stream, sweep
from theory.lipschitz.search.worst_cloud import WorstCloud, search_worst_cloud, simplify_cloud

SEARCHED = (
    ("W1", 1.0, 3.0, 2, False),
    ("Winf", math.inf, 4.0, 3, False),
    ("W2", 2.0, 0.25, 2, False),
    ("W2", 2.0, 1.0, 2, False),
    ("W2", 2.0, 2.0, 2, False),
    ("W2", 2.0, 3.0, 2, False),
    ("even W2", 2.0, 0.5, 2, True),
    ("distance", math.inf, 1.0, 3, True),
)
"""Name, exponent, size of the form (or inverse temperature), number of atoms, and whether their weights are equal."""


def _case(
    name: str, p: float, size: float, atoms: int, even: bool, sign: int, starts: int, rng: np.random.Generator
) -> WorstCloud:
    distance = name == "distance"
    score = SquaredDistance(size) if distance else DotProduct(form=np.array([[sign * size]]))
    weights = np.full(atoms, 1.0 / atoms) if even else None
    radius = None if distance else 1.0
    return simplify_cloud(
        search_worst_cloud(rng, score, p=p, atoms=atoms, radius=radius, weights=weights, starts=starts), loss=1e-5
    )


def searches(*, scale: str, root: int) -> Table:
    """Return one row per atom of the worst cloud of every search, radius one, dimension one.

    ``alpha`` is the size of the form, or the inverse temperature of squared distance; ``stretch`` the certified lower
    bound, the same in every row of a search; ``first`` where the first start alone has ended, uncertified, in few bits.
    """
    starts = 5 if scale == "quick" else 40
    cases: list[dict[str, Any]] = []
    for k, (name, p, size, atoms, even) in enumerate(SEARCHED):
        for sign in (1,) if name == "distance" else (1, -1):
            rng = stream("lipschitz.searches", 2 * k + (sign < 0), root=root)
            given = {"name": name, "p": p, "size": size, "atoms": atoms, "even": even}
            cases.append({**given, "sign": sign, "starts": starts, "rng": rng})
    columns: dict[str, list[float | str | Interval]] = {
        key: [] for key in ("problem", "p", "alpha", "sign", "stretch", "first", "position", "weight", "velocity")
    }
    for case, found in zip(cases, [_case(**case) for case in cases] if scale == "quick" else sweep(_case, cases),
                           strict=True):  # fmt: skip
        for x, w, h in zip(found.measure.points[:, 0], found.measure.weights, found.tangent[:, 0], strict=True):
            row = (case["name"], case["p"], case["size"], case["sign"], found.bound, coarse(found.reached[0]), x, w, h)
            for key, value in zip(columns, row, strict=True):
                columns[key].append(value if isinstance(value, (str, Interval)) else float(value))
    return Table(Kind.CERTIFIED, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]


GROWTH = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""Sizes of the form over which the worst pairs are followed."""


def worst_pairs(*, scale: str, root: int) -> Table:
    """Return what searches over two weighted atoms of the unit interval find, by exponent, size and sign of the form.

    ``stretch`` is certified; ``share`` is the weight of the lighter atom of the cloud at which it is.
    """
    starts = 3 if scale == "quick" else 30
    columns: dict[str, list[float | Interval]] = {key: [] for key in ("p", "alpha", "sign", "stretch", "share")}
    for k, p in enumerate((1.0, 2.0)):
        for sign in (1.0, -1.0):
            before = None
            for j, alpha in enumerate(GROWTH):
                rng = stream("lipschitz.worst-pairs", 40 * k + 20 * (sign < 0.0) + j, root=root)
                score = DotProduct(form=np.array([[sign * alpha]]))
                found = search_worst_cloud(rng, score, p=p, atoms=2, starts=starts, first=before)
                before = found.measure
                row: tuple[float | Interval, ...] = (p, alpha, sign, found.bound, float(before.weights.min()))
                for key, value in zip(columns, row, strict=True):
                    columns[key].append(value)
    return Table(Kind.CERTIFIED, dict.fromkeys(columns, "1"), columns)  # type: ignore[arg-type]
