"""The number on which the constants of distance attention rest, in ball arithmetic, and the moves they are tried on."""

from functools import cache

import numpy as np

from theory.attention import SquaredDistance, attend
from theory.evidence import ball, exact, hull
from verify.textbook.scores import Written

SCORE = SquaredDistance(1.0)
FAR = np.array([[0.0], [10.0], [-10.0]])
FIRST = np.array([[1.0], [0.0], [0.0]]) * 2.0**-10


@cache
def near(n):
    """The ball W_0((n - 1) / e)."""
    return (ball(n - 1) / ball(1).exp()).lambertw()


@cache
def bound(n, *, slope=4):
    """The ball 1 + slope * c_n, as an interval."""
    return hull(1 + slope * near(n))


def attended(x, score=SCORE, masses=None):
    """The outputs of self-attention."""
    points = exact(x)
    return attend(points, points, points, score=score, weights=masses)


def moves(rng, n, d, unit=1.0):
    """Tokens, and where they go: all a little, all anywhere, or one of them; lengths in a unit, a power of two."""
    x = float(rng.uniform(0.2, 3.0)) * rng.normal(size=(n, d))
    one = np.zeros((n, d))
    one[int(rng.integers(n))] = rng.normal(size=d)
    yield "near", unit * x, unit * (x + 10.0 ** float(rng.uniform(-4.0, 0.0)) * rng.normal(size=(n, d)))
    yield "far", unit * x, unit * float(rng.uniform(0.2, 3.0)) * rng.normal(size=(n, d))
    yield "one", unit * x, unit * (x + 1e-3 * one)


def pushed_apart(n, step=2.0**-12):
    """The two-sided star on the line, token by token, its middle pushed up and all others down."""
    r = np.sqrt(float(near(n)) + 1.0)
    x = np.concatenate([[0.0], np.full(n - 1 - (n - 1) // 2, r), np.full((n - 1) // 2, -r)])[:, np.newaxis]
    way = np.where(np.arange(n) == 0, 1.0, -1.0)[:, np.newaxis]
    return "two-sided", x, x + step * way


def dyadic(array, bits=12):
    """Round to multiples of 2 ** -bits, so that products of such arrays are exact."""
    return np.round(array * 2.0**bits) / 2.0**bits


class Laplace(Written):
    """The score -beta |x - y|."""

    def __init__(self, scale):
        self.scale = scale

    def matrix(self, x, y):
        """Scores, by differences."""
        return -self.scale * np.sqrt(((x[:, np.newaxis] - y[np.newaxis]) ** 2).sum(axis=2))
