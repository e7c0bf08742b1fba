"""How fast the constants of dot-product attention grow: with the radius, with the number of tokens, and with alpha."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from theory.attention import DotProduct, Measure
from theory.evidence import Interval, Kind, Table, coarse
from theory.evidence.enclosure import hull, precision
from theory.lipschitz.constants.frobenius import leader, leader_bound, leader_gap, opposed_ratio
from theory.lipschitz.jacobian import block_jacobian, enclosed_jacobian
from theory.lipschitz.local_norms import local_norm, norm_at

RADII = (*(2.0**k for k in range(8)), 10.0, 15.0, 100.0)
CROWDED = 3.0  # the alpha of the rows over the number of tokens
PRINTED = (1.0, 2.25, 4.0, 6.25, 9.0)  # squares of radii from 1 to 3
DOUBLING = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

_PLAIN = DotProduct(form=np.eye(1))


def growth(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return local norms of attention on the line, B and V of norm one up to ``alpha``, as one part after another.

    ``entry`` and ``norm``: derivative of the first output by the first token, and the norm in squares, of three tokens
    0, t, -t with B = 1, alpha = t^2. ``leader`` and ``leaders``: the norm in squares of n tokens, of which one, or as
    many as are best, lie opposite to the others, B = -3. ``minority``: the largest norm for two opposite atoms of any
    masses, ``ratio`` being that of the masses, B = -alpha.
    """
    rows: list[tuple[str, float, float, float, Interval]] = []
    with precision():
        for t in RADII:
            mu = Measure([[0.0], [t], [-t]])
            rows.append(("entry", t * t, 3.0, 2.0, hull(enclosed_jacobian(mu, _PLAIN)[0, 0, 0, 0])))
            rows.append(("norm", t * t, 3.0, 2.0, norm_at(mu, _PLAIN, 2)))
        for n in _sizes(per_decade=4 if scale == "quick" else 8):
            for part, leaders in (("leader", 1), ("leaders", _best(n))):
                ratio = (n - leaders) / leaders
                value = norm_at(*leader(CROWDED, ratio, leader_gap(CROWDED, ratio)), 2)
                rows.append((part, CROWDED, float(n), ratio, value))
        for alpha in sorted({*PRINTED, *DOUBLING}):
            ratio = steepest_ratio(alpha)
            rows.append(("minority", alpha, math.inf, ratio, norm_at(*leader(alpha, ratio, 2.0 * alpha), 2)))
    names = ("part", "alpha", "tokens", "ratio", "value")
    columns = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), columns)


def steepest_ratio(alpha: float) -> float:
    """Return the ratio of the masses of two opposite atoms at which the local norm is largest, as a search finds it.

    It is rounded to few bits, for the last ones depend on the machine.
    """
    middle = math.log(opposed_ratio(alpha))

    def flatness(shift: float) -> float:
        mu, score = leader(alpha, math.exp(middle + shift), 2.0 * alpha)
        return -local_norm(block_jacobian(mu, score), mu.weights, 2).mid

    return float(coarse(math.exp(middle + float(minimize_scalar(flatness, bounds=(-1.0, 1.0), method="bounded").x))))


def _sizes(per_decade: int) -> list[int]:
    return sorted({round(10.0 ** (k / per_decade)) for k in range(per_decade // 2, 6 * per_decade + 1)} - {1})


def _best(n: int) -> int:
    """Return the number of leaders among n tokens that moves the others most."""
    near = n / (1.0 + opposed_ratio(CROWDED))
    tried = [min(max(k, 1), n - 1) for k in (math.floor(near), math.ceil(near))]
    return max(tried, key=lambda k: leader_bound((n - k) / k, leader_gap(CROWDED, (n - k) / k)))
