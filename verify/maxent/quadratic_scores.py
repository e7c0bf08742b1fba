"""Quadratic scores: the printed density in balls, its integrals, and how far a computed one may be off."""

import math
from fractions import Fraction

import numpy as np

from theory.evidence import Interval, Kind, ball
from theory.evidence.quadrature import integral_over
from theory.evidence.roundoff import EXP_ULPS, U
from verify.textbook import exp, log

SOURCES = ("martins2020", "martins2022")
DIMENSIONS = (1, 2, 3, 5)


def pi():
    """Four arctangents of one, as a ball of the precision in force."""
    return 4 * ball(1).atan()


def sphere(dim):
    """The area of the unit sphere, without the gamma function; ball."""
    return {1: ball(2), 2: 2 * pi(), 3: 4 * pi(), 5: 8 * pi() ** 2 / 3}[dim]


def eliminated(matrix, right):
    """The determinant of a matrix of floats and the solution for a right side, in fractions."""
    rows, det = [[*map(Fraction, row), Fraction(r)] for row, r in zip(matrix, right, strict=True)], Fraction(1)
    for k in range(len(rows)):
        det *= rows[k][k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        rows = [
            [a - row[k] * b for a, b in zip(row, rows[k], strict=True)] if i != k else row for i, row in enumerate(rows)
        ]
    return det, [row[-1] for row in rows]


def radial(power, exponent, start=0):
    """The integral of t^power (1 - t^2)^exponent over (0, 1 - start), from the edge inwards; balls."""
    q = ball(exponent) if isinstance(exponent, (int, Fraction)) else exponent
    if start == 0:
        return integral_over(lambda u: (2 - u) ** q * (1 - u) ** power, 0, 1, exponent=q)
    return integral_over(lambda u: (u * (2 - u)) ** q * (1 - u) ** power, start, 1)


def printed(dim, alpha, det, *, power=0, scaled=True, line=False):
    """The exponent b and the level -theta of the printed density [(-theta + f)/b]_+ ** b; balls."""
    b = ball(1 / (Fraction(alpha) - 1)) + power
    d = ball(Fraction(1 if line else dim))
    peak = (d / 2 + b + 1).gamma() / ((b + 1).gamma() * pi() ** (d / 2)) * (2 * b) ** b
    return b, peak ** (2 / (d + 2 * b)) / 2 * (ball(det) ** (-1 / (d + 2 * b)) if scaled else 1)


def integrated(dim, b, level, det, power=0, order=1):
    """The integral of r^power p^order over space, r Mahalanobis' radius, of the printed density; balls."""
    reach = (2 * level).sqrt()
    shape = radial(dim - 1 + power, order * b)
    return sphere(dim) * ball(det).sqrt() * reach ** (dim + power) * (level / b) ** (order * b) * shape


def slack(law):
    """Bound the relative error of Mahalanobis squares and that of the peak.

    A Cholesky factor is exact for a matrix off by (d + 1) d u relative to its norm, and so are the solutions with it;
    every term of the logarithm of the peak is a logarithm of a few roundings, or a gamma function within 16 ulp.
    """
    d, e = law.dim, law.alpha - 1.0
    form = 8 * d * (d + 1) * float(np.linalg.cond(law.scatter)) * U
    b = 1.0 / abs(e) if e else 1.0
    terms = d * (2.0 + abs(math.log(b)) + math.log1p(b + d) + float(np.abs(np.log(np.diag(law.scatter))).max()))
    return form, (0.5 * d * form + (EXP_ULPS + 8) * U * (terms + abs(law.log_peak)) + 64 * U) / (1.0 + 0.5 * e * d)


def measured_density(law, x, score):
    """Enclose the density at a point of known score: its base, its power and its peak are all rounded."""
    form, rise = slack(law)
    e, p = law.alpha - 1.0, float(law.density(x))
    if e == 0.0:
        return Interval.within(p, p * (rise + (form + 8 * U) * abs(score) + 16 * U))
    way = e * score * math.exp(-e * law.log_peak)
    slip = abs(way) * (form + abs(e) * rise + 8 * U) + 4 * U
    low, high = (
        max(1.0 + way + side * slip, 0.0) ** (1.0 / e) for side in (-math.copysign(1.0, e), math.copysign(1.0, e))
    )
    centre = max(1.0 + way, 0.0) ** (1.0 / e)
    wide = math.exp(law.log_peak) * max(high - centre, centre - low) + p * (
        rise + 64 * U * (1.0 + abs(math.log(p or 1.0)))
    )
    return Interval.within(p, 2.0 * wide)


def scatters(rng, dim):
    """A diagonal and a full scatter matrix of condition below a hundred, symmetric to the last bit."""
    factor = np.tril(rng.normal(size=(dim, dim)), -1) / dim + np.diag(rng.uniform(0.5, 1.5, size=dim))
    full = factor @ factor.T
    return np.diag(rng.uniform(0.3, 2.0, size=dim)), (full + full.T) / 2.0


def powers(base, exponent):
    """Powers of non-negative balls, zero where the base is."""
    return np.frompyfunc(lambda x: x**exponent if x > 0 else x * 0, 1, 1)(base)


def density_below(f, normaliser, alpha):
    """The density on cells at a normaliser, from its definition; balls."""
    e = ball(Fraction(alpha) - 1)
    return exp(f - normaliser) if alpha == 1.0 else powers(1 + e * (f - normaliser), 1 / e)


def known(found, f, mu, alpha):
    """Enclose the normaliser that a computed one stands for: at both ends the mass, which falls in it, is on either side.

    ``f`` and ``mu`` are balls; below order one the ends must leave every base positive.
    """
    reach = 2 * U * (1.0 + abs(found))
    for _ in range(30):
        low, high = ball(found - reach), ball(found + reach)
        if (mu * density_below(f, low, alpha)).sum() >= 1 and (mu * density_below(f, high, alpha)).sum() <= 1:
            return Interval(found - reach, found + reach, Kind.CERTIFIED)
        reach = 2.0 * reach
    return Interval.unknown(Kind.CERTIFIED)


def objective(f, mu, p, alpha):
    """Mean score plus entropy of a density on cells, from the definitions; ball."""
    order = ball(alpha)
    if alpha == 1.0:
        return (mu * p * (f - log(p))).sum()
    return (mu * p * f).sum() + (1 - (mu * powers(p, order)).sum()) / (order * (order - 1))
