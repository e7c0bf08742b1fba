"""Quadratic scores: the printed density in balls, its integrals, and how far a computed one may be off."""

from fractions import Fraction

import numpy as np

from theory.evidence import ball
from theory.evidence.quadrature import integral_over
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


def mahalanobis(law, x):
    """The square of the Mahalanobis distance of a point of floats from the mean, in fractions."""
    apart = [Fraction(p) - Fraction(m) for p, m in zip(x.tolist(), law.mean.tolist(), strict=True)]
    return sum(a * s for a, s in zip(apart, eliminated(law.scatter, apart)[1], strict=True))


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


def objective(f, mu, p, alpha):
    """Mean score plus entropy of a density on cells, from the definitions; ball."""
    order = ball(alpha)
    if alpha == 1.0:
        return (mu * p * (f - log(p))).sum()
    return (mu * p * f).sum() + (1 - (mu * powers(p, order)).sum()) / (order * (order - 1))
