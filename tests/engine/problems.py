"""Scores, clouds and bounds that the tests of the engine share, and the truth in ball arithmetic, derivatives too."""

from __future__ import annotations

import math

import numpy as np

from theory.attention import Additive, DotProduct, SquaredDistance, TorusDistance, weight_error
from theory.engine.pairs import Direction
from theory.evidence.enclosure import ball, balls, coefficient, exp, precision, variable
from theory.evidence.roundoff import average_error, gamma

FORMS = ("dot", "distance", "additive", "torus")
U_SINGLE = 2.0**-24


def score_of(form, d, rng):
    """Return a score on tokens of dimension d."""
    scale = float(rng.uniform(0.2, 2.0))
    if form == "additive":
        return Additive(rng.normal(size=(d, d)), rng.normal(size=(d, d)), rng.normal(size=d))
    return {"dot": DotProduct, "distance": SquaredDistance, "torus": TorusDistance}[form](scale)


def exact_scores(score, queries, keys):
    """Return the (m, n) scores as balls, or as power series if the arguments are power series."""
    if isinstance(score, DotProduct):
        return ball(score.scale) * (queries @ keys.T)
    apart = queries[:, np.newaxis, :] - keys[np.newaxis, :, :]
    if isinstance(score, SquaredDistance):
        return -ball(score.scale) * (apart * apart).sum(axis=2)
    if isinstance(score, TorusDistance):
        cosines = np.frompyfunc(lambda angle: angle.cos(), 1, 1)(apart)
        return ball(score.scale) * (2 * (cosines - 1)).sum(axis=2)
    assert isinstance(score, Additive)
    left, right = queries @ balls(score.w_query).T, keys @ balls(score.w_key).T
    growth = exp(2 * (left[:, np.newaxis, :] + right[np.newaxis, :, :]))
    return (1 - 2 / (growth + 1)) @ balls(score.v)


def hidden(m, n, visible):
    """Return where a query does not see a key, shape (m, n)."""
    return np.arange(n)[np.newaxis, :] >= np.asarray(visible)[:, np.newaxis]


def exact_masses(score, x, y, added, visible):
    """Return ``exp(score + log-weight)``, zero where hidden."""
    masses = exp(exact_scores(score, x, y) + added)
    masses[hidden(*masses.shape, visible)] = ball(0.0)
    return masses


@precision()
def truth(score, x, y, v, added, visible):
    """Return outputs and partitions of floats as balls."""
    masses = exact_masses(score, balls(x), balls(y), balls(added), visible)
    total = masses.sum(axis=1)
    return (masses @ balls(v)) / total[:, np.newaxis], total


@precision()
def true_derivative(score, x, y, v, added, visible, direction):
    """Return the derivative of the outputs along a direction: the linear term of a power series of balls."""
    t = variable(2)
    moved = [balls(a) + t * balls(b) for a, b in zip((x, y, v, added), direction, strict=True)]
    masses = exact_masses(score, moved[0], moved[1], moved[3], visible)
    outputs = (masses @ moved[2]) / masses.sum(axis=1)[:, np.newaxis]
    return np.frompyfunc(lambda series: coefficient(series, 1), 1, 1)(outputs)


def output_error(score, x, y, v, added):
    """Bound the error of every output in double precision."""
    return average_error(float(np.abs(v).max()), len(y), relative=weight_error(x, y, score, added))


def output_error_single(score, x, y, v, added):
    r"""Bound the error of every output in single precision, for dot products and squared distances.

    In units of ``u = 2**-24`` and of ``S + A``, the sizes of a score and of a log-weight: three roundings of features
    and scale, one of the log-weight and two of the shift, less than 6 in all; then d + 2 sums of what is at most
    ``2 (S + A)``. A weight is off by twice that, by the exponential (3), and by a sum of one tile of at most 1000.
    """
    size = score.bounds(x, y)[0] + float(np.abs(added).max())
    first_order = (2.0 * (2 * (x.shape[1] + 2) + 6) * size + min(len(y), 1000) + 8) * U_SINGLE
    relative = math.expm1(2.0 * first_order)  # twice the first order covers the higher ones
    return float(np.abs(v).max()) * (relative + (min(len(y), 1000) + 4) * U_SINGLE) * (1.0 + relative)


def slopes_of(score, x, y):
    """Bound every derivative of a score by a feature, and how many roundings one takes."""
    reach = float(np.abs(x).max() + np.abs(y).max())
    if isinstance(score, DotProduct):
        return score.scale * reach, 4
    if isinstance(score, SquaredDistance):
        return 2.0 * score.scale * reach, 4
    if isinstance(score, TorusDistance):
        return 2.0 * score.scale * (1.0 + reach), 16  # sine of a difference that was rounded
    return float(np.abs(score.v).max()), 32 + 4 * math.ceil(reach)  # 1/cosh**2 has logarithmic slope at most 2


def direction_of(pairs, v, rng):
    """Return random tangents of every argument, in the features that the kernels see."""
    return Direction(*(rng.normal(size=a.shape) for a in (pairs.queries, pairs.keys, v)), rng.normal(size=len(v)))


def scale_of_products(score, pairs, v, added, x, y):
    """Return the relative error of the weights as the Jacobian takes them, and the error of the outputs.

    A weight is ``exp(score + log-weight - log-partition)``; the log-partition is off by as much as a weight and its own
    rounding, which ``2 relative`` and the last term hold.
    """
    relative = weight_error(x, y, score, added)
    size = score.bounds(x, y)[0] + float(np.abs(added).max()) + math.log(len(y))
    return math.expm1(3.0 * relative + gamma(32) * (1.0 + size)), output_error(score, x, y, v, added)
