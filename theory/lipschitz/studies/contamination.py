r"""Outliers in the data and sampling error: what attention gives to them, and how far N drawn tokens lead off.

Both have exact laws. Outliers of share :math:`\epsilon` and weight odds r take the share
:math:`\epsilon r/(1 - \epsilon + \epsilon r)`, whatever the shape of either cloud. Of N tokens drawn from two atoms the
number of heavy ones is binomial, so that the mean square error of the output is a finite sum.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from theory.attention import Measure, boltzmann_gibbs, transform_error
from theory.distance import w1
from theory.evidence import Interval, Kind, Table, ball, stream
from theory.evidence.enclosure import balls, hull, precision
from theory.evidence.roundoff import gamma

Array = NDArray[np.float64]
OSCILLATIONS = (1.0, 2.0, 4.0)
RARE = 0.25  # the mass of the atom at 1 in the law that is sampled
SLOPES = (1.0, 3.0)  # of the potentials on [-1, 1]
BATCHES = 64


@precision()
def contamination(*, scale: str, root: int) -> Table:
    """Return shares of attention that outliers take, and root mean square errors of sampled attention times root N.

    ``part`` is ``mass``, the weight that the transform gives to outliers at the top of the potential, the rest
    being at its bottom; ``distance``, how far a cloud in the plane is moved, in units of the way to the outliers'
    own transform; or ``sampling``, for the atoms 0 and 1 of masses 3/4 and 1/4. ``at`` is the share of outliers or
    the number of draws, and ``odds`` the mean weight of the outliers, or of the atom 1, over that of the rest.
    """
    shares = [0.01, *(2.0**-k for k in range(1, 13, 3 if scale == "quick" else 1))]
    most = 9 if scale == "quick" else 12
    rows: list[tuple[str, float, float, Interval, Interval]] = []
    for case, o in enumerate(OSCILLATIONS):
        clean = Measure([[0.0], [1.0]])
        outliers = Measure([[2.0], [5.0]])
        top = np.array([0.0, 0.0, o, o])
        odds = hull(ball(o).exp())
        rows += [("mass", o, e, outlier_effect(clean, outliers, top, e)[0], odds) for e in shares]
        clean, outliers, potential = planar(o, stream("lipschitz.contamination", case, root=root))
        seen = mean_weight(outliers, potential[clean.size :]) / mean_weight(clean, potential[: clean.size])
        rows += [("distance", o, e, outlier_effect(clean, outliers, potential, e)[1], seen) for e in shares]
        rows += [("sampling", o, 2.0**k, sampled_error(o, 2**k), odds) for k in range(most + 1)]
    names = ("part", "tilt", "at", "seen", "odds")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Table(Kind.NUMERIC, dict.fromkeys(names, "1"), columns)


def planar(o: float, rng: np.random.Generator) -> tuple[Measure, Measure, Array]:
    """Draw a cloud, outliers near it, and a potential of oscillation o on the atoms of both."""
    clean = Measure.normalised(rng.normal(size=(12, 2)), rng.uniform(0.5, 1.5, size=12))
    outliers = Measure.normalised(np.array([3.0, 1.0]) + 0.3 * rng.normal(size=(4, 2)), rng.uniform(0.5, 1.5, size=4))
    rough = rng.uniform(0.0, 1.0, size=16) + np.repeat([0.0, 1.0], [12, 4])
    return clean, outliers, o * (rough - rough.min()) / np.ptp(rough)


def outlier_effect(clean: Measure, outliers: Measure, potential: Array, share: float) -> tuple[Interval, Interval]:
    """Enclose the mass that the transform of a mixture gives to the outliers, and the way that they move it."""
    mixed = clean.mix(outliers, share)
    own, top = potential[: clean.size], potential[clean.size :]
    laws = [(mixed, potential), (clean, own), (outliers, top)]
    after, before, apart = (boltzmann_gibbs(mu, a) for mu, a in laws)
    errors = [
        3.0 * (transform_error(mu, a) + gamma(8)) for mu, a in laws
    ]  # the mixture's weights are rounded themselves
    mass = math.fsum(after.weights[clean.size :].tolist())
    reach = math.sqrt(float(np.square(np.ptp(mixed.points, axis=0)).sum())) * (1.0 + gamma(8))
    small = 2.0 * min(mass, 1.0 - mass)  # moves: masses of the two groups change together, those within keep their sum
    moved = Interval.within(0.0, reach * (errors[0] * (small + 1.0) + errors[1]))
    whole = Interval.within(0.0, reach * (errors[1] + errors[2]))
    return Interval.within(mass, errors[0] * mass), (w1(after, before) + moved) / (w1(apart, before) + whole)


def mean_weight(mu: Measure, potential: Array) -> Interval:
    """Enclose the mean of the exponential of a potential, in balls."""
    weights = balls(mu.weights)
    return hull((weights * np.array([a.exp() for a in balls(potential)])).sum() / weights.sum())


def sampled_error(o: float, n: int) -> Interval:
    """Enclose root N times the root mean square error of the output of n draws from two atoms, a binomial sum."""
    p = ball(RARE)
    odds = ball(o).exp()
    total = ball(0)
    chance = (1 - ball(RARE)) ** n
    answer = p * odds / (1 - p + p * odds)
    for k in range(n + 1):
        off = k * odds / (n - k + k * odds) - answer
        total += chance * (off * off)  # FLINT's own square of a ball around zero is NaN
        chance = chance * (n - k) * p / ((k + 1) * (1 - p))
    return hull((n * total).sqrt())


def fluctuations(*, scale: str, root: int) -> Table:
    """Return mean squares of root N times the error of sampled attention, tokens uniform on [-1, 1], in 64 batches.

    The potential is ``slope`` times y. Each run draws the tokens of the largest N of its group, of which the first ones
    serve the smaller N; a batch has 3200 runs at quick scale.
    """
    groups = [((16, 32, 64, 128), 3200)] if scale == "quick" else [((16, 32, 64, 128), 12800), ((10, 100, 1000), 400)]
    rows: list[tuple[float, int, float]] = []
    for case, (sizes, runs) in enumerate(groups):
        rng = stream("lipschitz.fluctuations", case, root=root)
        for _ in range(BATCHES):
            y = rng.uniform(-1.0, 1.0, size=(sizes[-1], runs))
            for slope in SLOPES:
                rows += [(slope, n, square) for n, square in zip(sizes, _squares(y, slope, sizes), strict=True)]
    names = ("slope", "n", "square")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Table(Kind.STATISTICAL, {"slope": "1", "n": "1", "square": "length^2"}, columns)


def _squares(y: Array, slope: float, sizes: tuple[int, ...]) -> list[float]:
    """Return n times the mean square error over the runs, the columns of y, for the first n tokens of each."""
    g = np.exp(slope * y)
    answer = 1.0 / math.tanh(slope) - 1.0 / slope  # the mean of the tilted law
    mass = np.zeros(y.shape[1])
    first = np.zeros(y.shape[1])
    before = 0
    found = []
    for n in sizes:
        mass += g[before:n].sum(axis=0)
        first += np.einsum("ij,ij->j", g[before:n], y[before:n])
        off = first / mass - answer
        before = n
        found.append(n * float(off @ off) / off.size)
    return found
