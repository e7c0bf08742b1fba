"""Slow references at fifty digits or in rational numbers, which share no code with what they judge."""

import itertools
from fractions import Fraction

import mpmath as mp
import numpy as np

DIGITS = 60
HALVINGS = 170  # of a bracket of a few units: below 1e-50


def exactly(values):
    """Return a float array as a list of mpmath numbers, minus infinity included."""
    return [mp.mpf(float(v)) for v in np.asarray(values, dtype=float)]


def bisected(excess, lo, hi):
    """Return the root of a falling function."""
    for _ in range(HALVINGS):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if excess(middle) > 0 else (lo, middle)
    return (lo + hi) / 2


def entmax_of(s, alpha, tau=1):
    """Entmax of mpmath scores: the powers of the definition, bisected."""
    order, t = mp.mpf(alpha), mp.mpf(tau)
    present = [i for i, x in enumerate(s) if x > -mp.inf]
    top = max(s[i] for i in present)
    z = [(s[i] - top) / t for i in present]
    if order == mp.inf:
        masses = [mp.mpf(x == 0) for x in z]
    elif order == 1:
        masses = [mp.exp(x) for x in z]
    else:
        b = 1 / (order - 1)

        def weights(nu):
            return [max(1 + (x - nu) / b, mp.mpf(0)) ** b if 1 + (x - nu) / b > 0 else mp.mpf(0) for x in z]

        nu = bisected(lambda v: mp.fsum(weights(v)) - 1, mp.mpf(0), (1 - mp.mpf(len(z)) ** (1 - order)) * b)
        masses = weights(nu)
    law = [mp.mpf(0)] * len(s)
    for i, mass in zip(present, masses, strict=True):
        law[i] = mass / mp.fsum(masses)
    return law


def entmax(scores, alpha, tau=1):
    """Entmax of a float row at a float order."""
    with mp.workdps(DIGITS):
        return entmax_of(exactly(scores), mp.mpf(float(alpha)), mp.mpf(float(tau)))


def tsallis(law, alpha):
    """The entropy as it is printed."""
    with mp.workdps(DIGITS):
        a = mp.mpf(alpha)
        p = [x for x in law if x > 0]
        if a == mp.inf:
            return mp.mpf(0)
        return -mp.fsum(x * mp.log(x) for x in p) if a == 1 else (1 - mp.fsum(x**a for x in p)) / (a * (a - 1))


def value(s, alpha, tau=1):
    """The attained maximum."""
    with mp.workdps(DIGITS):
        p = entmax_of(s, alpha, tau)
        return mp.fsum(x * y for x, y in zip(p, s, strict=True) if x > 0) + mp.mpf(tau) * tsallis(p, alpha)


def loss(s, y, alpha, tau=1):
    """The Fenchel-Young loss, its three terms added up."""
    with mp.workdps(DIGITS):
        total = mp.fsum(a * b for a, b in zip(s, y, strict=True) if b > 0)
        return value(s, alpha, tau) - mp.mpf(tau) * tsallis(y, alpha) - total


def apart(weights, truth):
    """The largest distance of a float array to mpmath numbers."""
    with mp.workdps(DIGITS):
        return float(max(abs(mp.mpf(float(a)) - b) for a, b in zip(np.ravel(weights), truth, strict=True)))


def rationally_apart(weights, truth):
    """The largest distance of a float array to rational numbers."""
    return max(abs(float(Fraction(float(a)) - b)) for a, b in zip(weights, truth, strict=True))


def certificate(scores, weights, alpha, tau=1.0):
    """Bound what ``weights`` miss of the maximum: the largest entry of the gradient less its mean under them."""
    with mp.workdps(DIGITS):
        s = exactly(scores)
        p = exactly(weights)
        e = mp.mpf(float(alpha)) - 1
        p = [x / mp.fsum(p) for x in p]
        t = mp.mpf(float(tau))
        slope = [-mp.log(x) - 1 if e == 0 else -(x**e) / e for x in p]
        g = [x + t * y for x, y in zip(s, slope, strict=True)]
        return float(max(g) - mp.fsum(x * y for x, y in zip(g, p, strict=True)))


def derivative(function, at, direction):
    """Central difference at sixty digits: off by 1e-30 of the third derivative."""
    with mp.workdps(DIGITS):
        h = mp.mpf(10) ** -15
        ahead = function([x + h * d for x, d in zip(at, direction, strict=True)])
        behind = function([x - h * d for x, d in zip(at, direction, strict=True)])
        return [(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)]


def total_variation_prox(scores, strength):
    """Go through every way to cut a row into runs that rise or fall, in rational numbers, and take the best."""
    s = [Fraction(float(x)) for x in scores]
    reach = Fraction(float(strength))
    best = None
    for cuts in itertools.product((0, 1, -1), repeat=len(s) - 1):  # how the path bends between neighbours
        ends = [k + 1 for k, side in enumerate(cuts) if side]
        runs = list(zip([0, *ends], [*ends, len(s)], strict=True))
        sides = [0, *(side for side in cuts if side), 0]
        x = []
        for r, (a, b) in enumerate(runs):
            x += [(sum(s[a:b]) + reach * (sides[r + 1] - sides[r])) / (b - a)] * (b - a)
        cost = sum((a - b) ** 2 for a, b in zip(x, s, strict=True)) / 2
        cost += reach * sum(abs(a - b) for a, b in itertools.pairwise(x))
        best = (cost, x) if best is None or cost < best[0] else best
    return best[1]


def projection(scores, tau=1):
    """Sparsemax in rational numbers: the one support whose threshold separates it."""
    z = [Fraction(float(x)) / Fraction(float(tau)) for x in scores]
    falling = sorted(z, reverse=True)
    (theta,) = {
        (sum(falling[:k]) - 1) / k
        for k in range(1, len(z) + 1)
        if falling[k - 1] > (sum(falling[:k]) - 1) / k >= (falling[k] if k < len(z) else falling[k - 1] - 10**400)
    }
    return [max(x - theta, Fraction(0)) for x in z]
