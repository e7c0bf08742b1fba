"""The definitions as they are printed, in ball arithmetic: what the instruments of ``theory/`` are measured against.

Unshifted exponentials, no streaming, no trick: balls have an unlimited exponent range and carry their own width.
Nothing here is shared with the code under test. Arrays are object arrays of balls unless stated.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from theory.evidence import ball
from theory.evidence.enclosure import balls, bits_in_force, ends, exp, hull, log, precision, tanh
from theory.evidence.roundoff import discrepancy

cos = np.frompyfunc(lambda ball: ball.cos(), 1, 1)

__all__ = [
    "average",
    "balls",
    "cos",
    "distance_scores",
    "dot_scores",
    "entmax",
    "exp",
    "gap",
    "hull",
    "inverse",
    "laws",
    "log",
    "tanh",
]
__all__ += ["torus_scores"]


def fractions(values):
    """The exact values of floats, as rational numbers."""
    return [Fraction(float(x)) for x in values]


def dot_scores(queries, keys, *, power=0.5, beta=None):
    """Scores <q, k> / d**power, or beta <q, k>; floats in, balls out, shape (m, n)."""
    q, k = balls(queries), balls(keys)
    factor = ball(keys.shape[1]) ** -ball(power) if beta is None else ball(beta)
    return (q @ k.T) * factor


def distance_scores(queries, keys, *, beta):
    """Scores -beta |q - k|^2; floats in, balls out, shape (m, n)."""
    apart = balls(queries)[:, np.newaxis, :] - balls(keys)[np.newaxis, :, :]
    return (apart * apart).sum(axis=2) * -ball(beta)


def torus_scores(queries, keys, *, beta):
    """Scores -beta sum of 2 - 2 cos(q - k) over the angles; floats in, balls out, shape (m, n)."""
    apart = balls(queries)[:, np.newaxis, :] - balls(keys)[np.newaxis, :, :]
    return (2 - 2 * cos(apart)).sum(axis=2) * -ball(beta)


def laws(scores, masses=None, *, axis=1):
    """Weights masses * exp(scores), divided by their sum along ``axis``."""
    weights = exp(scores) if masses is None else exp(scores) * balls(masses)
    return weights / weights.sum(axis=axis, keepdims=True)


def average(scores, values, masses=None, *, axis=1):
    """Attention outputs: the average of ``values`` (floats or balls) under the laws, shape (m, d_v)."""
    return laws(scores, masses, axis=axis) @ (values if values.dtype == object else balls(values))


def inverse(matrix):
    """The inverse of a square array of balls, by elimination with the largest pivots."""
    n = len(matrix)
    rows = np.concatenate([matrix, balls(np.eye(n))], axis=1)
    for k in range(n):
        best = max(range(k, n), key=lambda r: abs(float(rows[r, k].mid())))
        rows[[k, best]] = rows[[best, k]]
        rows[k] = rows[k] / rows[k, k]
        for r in range(n):
            if r != k:
                rows[r] = rows[r] - rows[r, k] * rows[k]
    return rows[:, n:]


def gap(measured, claimed, error=0.0):
    """Enclose the largest distance between floats known up to ``error`` and the balls that are claimed for them."""
    middle, radius = ends(claimed)
    return discrepancy(measured, middle, error + radius)


def entmax(scores, alpha, tau=1, counts=None):
    """The law [1 + e (s / tau - nu)]_+ ** (1 / e), e = alpha - 1, with nu bisected between exact numbers; balls out.

    ``scores`` are floats or balls, shape (n,), each occurring once or ``counts`` times. The bracket shrinks until a weight beside its edge, which moves like
    the power 1 / e of the threshold, is known to 2**-90.
    """
    s = scores if scores.dtype == object else balls(scores)
    order = Fraction(alpha)
    t = ball(Fraction(tau))
    times = balls(np.ones(len(s)) if counts is None else counts)
    bits = int(np.ceil(90 * max(1.0, float(order) - 1.0)))
    with precision(bits + 64):
        e = ball(order - 1)
        top = max(s, key=lambda ball: float(ball.mid()))
        z = (s - top) / t
        if order == 1:
            powers = exp(z)
            return powers / (times * powers).sum()
        most = ((1 - times.sum() ** -e) / e).upper()
        least, most = _around(_threshold(z, times, e, most), z, times, e, most, bits + 8)
        low = _powers(z, most, e, lower=True)
        high = _powers(z, least, e, lower=False)
        return np.frompyfunc(lambda a, b: a.union(b), 2, 1)(low, high)


def _threshold(z, times, e, most):
    """Where the weights add up to one, nearly: Newton's method on a norm of the bases, else half of the bracket."""
    least = ball(0)
    nu = most / 2
    enough = most * ball(2) ** (32 - bits_in_force())
    while most - least > enough:
        base = 1 + e * (z - nu)
        base = np.array([b.mid() if b.mid() > 0 else ball(0) for b in base])
        inside = base > 0
        powers = base[inside] ** (1 / e)
        total = (times[inside] * powers).sum().mid()
        if total > 1:
            least = nu
        else:
            most = nu
        slope = (times[inside] * powers / base[inside]).sum().mid()  # minus the derivative of the total
        step = ((total - total ** (1 - e)) / (e * slope)).mid() if total > 0 else most
        if abs(step) <= enough:
            break
        nu = (nu + step).mid() if least < nu + step < most else ((least + most) / 2).mid()
    return nu


def _around(nu, z, times, e, most, bits):
    """The ends of the narrowest certain bracket about a threshold; its widths are ``most`` by powers of sixteen."""
    for power in range(bits, 0, -4):
        reach = most * ball(2) ** -power
        least, last = (nu - reach).mid(), (nu + reach).mid()
        if (times * _powers(z, least, e, lower=True)).sum() > 1 > (times * _powers(z, last, e, lower=False)).sum():
            return least, last
    return ball(0), most


def _powers(z, nu, e, *, lower):
    """The powers at one threshold, from below or above where the sign of the base is unknown."""
    inverse = 1 / e

    def power(x):
        base = 1 + e * (x - nu)
        if base > 0:
            return base**inverse
        return ball(0) if lower or base <= 0 else ball(0).union(base.upper() ** inverse)

    return np.frompyfunc(power, 1, 1)(z)


def squares(x, y=None):
    """Squared distances of the rows of one cloud, or of two; balls, or power series of balls."""
    apart = x[:, np.newaxis, :] - (x if y is None else y)[np.newaxis, :, :]
    return (apart * apart).sum(axis=2)


def _tanh(z):
    return z.tanh() if hasattr(z, "tanh") else 1 - 2 / ((2 * z).exp() + 1)  # power series of balls have none


tanh_series = np.frompyfunc(_tanh, 1, 1)


def _as_balls(values):
    return values if isinstance(values, np.ndarray) and values.dtype == object else balls(values)


def residual_image(features, x):
    """g(x) = x + tanh(x W + b) U + c for rows x: floats, balls or power series of balls."""
    inner, bias, outer, shift = map(balls, (features.inner, features.inner_bias, features.outer, features.outer_bias))
    x = _as_balls(x)
    return x + tanh_series(x @ inner + bias) @ outer + shift


def residual_jacobian(features, x):
    """I + U^T diag(1 - t^2) W^T at one point."""
    inner, bias, outer = map(balls, (features.inner, features.inner_bias, features.outer))
    t = tanh_series(_as_balls(x) @ inner + bias)
    return balls(np.eye(len(inner))) + (outer.T * (1 - t * t)) @ inner.T
