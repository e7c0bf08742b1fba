"""Distance attention on two stars: on one the largest displacement grows most, on the other the mean one does."""

from __future__ import annotations

import numpy as np

from theory.attention import Measure, SquaredDistance, attend, rounding
from theory.distance import w1
from theory.evidence import Interval, Kind, Table
from theory.evidence.enclosure import hull, precision
from theory.evidence.roundoff import U
from theory.lipschitz.constants.distance import nearness_constant
from theory.lipschitz.displacement import displacement
from theory.lipschitz.jacobian import enclosed_jacobian
from theory.lipschitz.witnesses import folded_star, star as star_of, star_radius, two_sided

SCORE = SquaredDistance(1.0)
STEP = 2.0**-7  # taken: by how many lengths of a leg the centre moves where transport is solved
TWO_SIDED = (3, 5, 11, 31, 101, 301, 1001, 3001, 10**4 + 1, 10**5 + 1, 10**6 + 1)
STARS = (
    4,
    6,
    10,
    18,
    32,
    56,
    100,
    180,
    320,
    560,
    1000,
    1300,
    1500,
    1709,
    1710,
    2000,
    2800,
    4000,
    8000,
    20000,
    10**5,
    10**6,
)
CLOUDS = {"quick": (10, 32, 100, 320), "paper": (10, 32, 100, 320, 1000, 2000)}


def stars(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    """Return by how much two configurations of ``n`` tokens answer to a push, per displacement.

    ``family`` is ``two-sided``, where ``ratio`` is the row sum of the Jacobian at the middle token, or ``star``, where
    it is the column sum at the centre. ``way`` tells how: ``folded`` counts equal tokens once, ``tokens`` takes all of
    them, ``transport`` moves the centre and divides certified distances W1 of outputs and tokens.
    """
    rows = [("two-sided", "folded", n, row_sum(two_sided(n), n)) for n in TWO_SIDED]
    rows += [("star", "folded", n, folded_column(n)) for n in STARS]
    for n in CLOUDS[scale]:
        rows.append(("star", "tokens", n, column_sum(star_of(n))))
        rows.append(("star", "transport", n, transported(n)))
    families, ways, sizes, ratios = zip(*rows, strict=True)
    units = dict.fromkeys(("family", "way", "n", "ratio"), "1")
    return Table(Kind.NUMERIC, units, {"family": families, "way": ways, "n": sizes, "ratio": ratios})


def row_sum(mu: Measure, n: int) -> Interval:
    """Enclose the row sum at the first of n tokens on the line, in balls.

    Positions and masses are rounded to a few u; with the scores u_j of the first token, the row sum moves by at most
    6 + 4 u per unit of them and of the logarithms of the masses.
    """
    reach = nearness_constant(n) + 1.0
    with precision():
        total = hull(sum(abs(ball) for ball in enclosed_jacobian(mu, SCORE)[0, :, 0, 0]))
    return total + Interval.within(0.0, (6.0 + 4.0 * reach) * (1.0 + reach) * 16 * U)


def column_sum(tokens: np.ndarray) -> Interval:
    """Enclose how much attention the first of n tokens receives: the sum of outputs when its value is 1, others' 0."""
    n = tokens.shape[0]
    first = np.zeros((n, 1))
    first[0] = 1.0
    seen = attend(tokens, tokens, first, score=SCORE)
    size = float(np.einsum("ij,ij->i", tokens, tokens).max())
    error = rounding(tokens, tokens, first, score=SCORE)
    return Interval.within(float(seen.sum()), n * error + float(seen.sum()) * (n + 64.0 * size) * U)


def folded_column(n: int) -> Interval:
    """Enclose the same for the star from what its centre and one of its legs see; legs are known to a few roundings."""
    tokens, copies = folded_star(n)
    value = np.array([[1.0], [0.0], [0.0]])
    seen = attend(tokens[:2], tokens, value, score=SCORE, weights=copies)
    away = np.array([1.0, n - 1.0, 0.0])  # the centre sees itself and N - 1 legs
    centre = attend(tokens[:1], tokens, value, score=SCORE, weights=away)
    error = rounding(tokens, tokens, value, score=SCORE, weights=copies)
    error = max(error, rounding(tokens, tokens, value, score=SCORE, weights=away))
    total = float(centre[0, 0]) + (n - 1) * float(seen[1, 0])
    return Interval.within(total, n * error + total * (4.0 + 64.0 * star_radius(n) ** 2) * U)


def transported(n: int) -> Interval:
    """Enclose W1 of the outputs per W1 of the tokens as the centre moves along its free axis, by ``STEP`` legs."""
    before = star_of(n)
    after = before.copy()
    after[0, -1] = STEP * star_radius(n)
    outputs = [attend(cloud, cloud, cloud, score=SCORE) for cloud in (before, after)]
    off = np.sqrt(n) * max(rounding(cloud, cloud, cloud, score=SCORE) for cloud in (before, after))
    moved = w1(*(Measure(cloud) for cloud in outputs)) + Interval.within(0.0, 2.0 * float(off))
    return moved / (displacement(before, after, 1.0) / n)
