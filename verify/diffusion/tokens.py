"""The density, the function and one layer of the sampled tokens, in ball arithmetic and in closed form."""

from functools import cache

import flint

from theory.diffusion.studies.sampling import CRITICAL, REGULAR
from theory.evidence import ball
from verify.diffusion.harmonics import at, derivative, plus, polynomial, smoothed, times

PI = flint.arb.pi()
PLACES = {"regular": REGULAR, "critical": CRITICAL}
DENSITY = {  # times (2 pi)^d
    1: polynomial(1.0, ((1,), 0.5, 0.0), ((2,), 0.0, 0.2)),
    2: polynomial(1.0, ((0, 1), 0.0, 0.4)),
}
FUNCTION = {
    1: polynomial(0.0, ((1,), 0.0, 1.0), ((2,), -0.25, 0.0)),
    2: plus(
        polynomial(0.0, ((1, 0), 0.0, 1.0), ((0, 1), 0.0, 0.5)),
        times(polynomial(0.0, ((1, 0), 0.0, 1.0)), polynomial(0.0, ((0, 1), 0.0, 1.0))),
        ball(0.25),
    ),
}
UNIFORM = {d: polynomial(1.0, ((1,) + (0,) * (d - 1), 0.0, 0.0)) for d in (1, 2)}


def less(f, number):
    """Return f minus a number."""
    (zero,) = {(0,) * len(mode) for mode in f}
    return plus(f, {zero: flint.acb(1)}, -number)


@cache
def centre(d, place, epsilon, *, uniform=False):
    """The output over infinitely many tokens."""
    p = (UNIFORM if uniform else DENSITY)[d]
    b = 1 / epsilon
    return smoothed(times(p, FUNCTION[d]), place, b) / smoothed(p, place, b)


def heavy(d, place, epsilon, power, *, about=None, square=2):
    """E[K^2 (h - c)^power] / (E K)^2 by Bessel functions, about c unless told; K^2 is the kernel at half the bandwidth."""
    p, b = DENSITY[d], 1 / epsilon
    off = less(FUNCTION[d], centre(d, place, epsilon) if about is None else about)
    for _ in range(power):
        p = times(p, off)
    return smoothed(p, place, square * b) / smoothed(DENSITY[d], place, b) ** 2


def mass(d, place, epsilon):
    """E K."""
    return smoothed(DENSITY[d], place, 1 / epsilon)


def gradient_squared(d, place):
    """|grad h|^2."""
    return sum(at(derivative(FUNCTION[d], k), place) ** 2 for k in range(d))


def hessian(d, place):
    """The Laplacian of h and the squared Frobenius norm of its Hessian."""
    second = {(j, k): at(derivative(FUNCTION[d], j, k), place) for j in range(d) for k in range(d)}
    return sum(second[k, k] for k in range(d)), sum(v**2 for v in second.values())


def density(d, place):
    """The density p."""
    return at(DENSITY[d], place) / (2 * PI) ** d


def generator(d, place, *, drift=2):
    """L h = Laplacian of h + drift <grad log p, grad h>."""
    p, h = DENSITY[d], FUNCTION[d]
    cross = sum(at(derivative(p, k), place) * at(derivative(h, k), place) for k in range(d))
    return hessian(d, place)[0] + drift * cross / at(p, place)
