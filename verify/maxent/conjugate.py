"""The conjugate of the negative Tsallis entropy and its Fenchel-Young loss as they are printed, in ball arithmetic.

The conjugate is a maximum over the simplex: its lower end is attained by a law, its upper end lies above that by the
Frank-Wolfe gap of this law, so where the law came from does not matter. Scores are floats or fractions, both exact.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, reduce
from math import inf

import numpy as np

from theory.evidence.enclosure import ball, balls, precision
from verify import textbook

BITS = 192  # taken: differences over 2**-40 keep forty digits


def power(weight, exponent):
    """The power of a weight that is positive, exactly zero, or within a speck of zero."""
    if weight > 0:
        return weight**exponent
    return ball(0) if weight <= 0 else ball(0).union(weight.upper() ** exponent)


def omega(law, alpha):
    """Minus the entropy of order alpha: (sum p**alpha - 1) / (alpha (alpha - 1)), sum p log p at 1, 0 at infinity."""
    if alpha == inf:
        return ball(0)
    a = ball(Fraction(alpha))
    if alpha == 1:
        return sum((p * p.log() for p in law if p > 0), ball(0))
    return (sum((power(p, a) for p in law), ball(0)) - 1) / (a * (a - 1))


def potential(law, alpha):
    """The gradient of omega, up to a constant; finite orders, and positive weights if alpha is at most 1."""
    if alpha == 1:
        return textbook.log(law)
    e = ball(Fraction(alpha)) - 1
    return np.array([(power(p, e) - 1) / e for p in law], dtype=object)


def law_of(scores, alpha, tau=1):
    """Entmax as an array of balls."""
    return _law(tuple(map(Fraction, scores)), Fraction(alpha), Fraction(tau))


def conjugate(scores, alpha, tau=1):
    """The largest <p, s> - tau omega(p) over the laws p; at infinite order the largest score."""
    s = tuple(map(Fraction, scores))
    return ball(max(s)) if alpha == inf else _conjugate(s, Fraction(alpha), Fraction(tau))


def loss(scores, target, alpha, tau=1):
    """The conjugate plus tau omega(y) minus <s, y>, for a target of floats or balls that sums to one."""
    y = target if isinstance(target, np.ndarray) and target.dtype == object else balls(target)
    with precision(BITS):
        own = ball(Fraction(tau)) * omega(y, alpha) - (_exact(scores) * y).sum()
        return conjugate(scores, alpha, tau) + own


def divergence(target, law, alpha):
    """The Bregman divergence of omega from a law to a target, both arrays of balls; constants of the slope drop out."""
    y = target if target.dtype == object else balls(target)
    return omega(y, alpha) - omega(law, alpha) - (potential(law, alpha) * (y - law)).sum()


def _exact(scores):
    return np.array([ball(Fraction(x)) for x in scores], dtype=object)


@lru_cache(maxsize=4096)
def _law(s, alpha, tau):
    with precision(BITS):
        return textbook.entmax(_exact(s), alpha, tau)


@lru_cache(maxsize=4096)
def _conjugate(s, alpha, tau):
    with precision(BITS):
        exact, t = _exact(s), ball(tau)
        middle = np.array([p.mid() for p in _law(s, alpha, tau)], dtype=object)
        law = middle / middle.sum()
        attained = (law * exact).sum() - t * omega(law, alpha)
        slope = exact - t * potential(law, alpha)
        mean = (law * slope).sum()
        gap = reduce(lambda a, b: a.max(b), slope - mean)
        return attained.union(attained + gap.upper())
