"""The Poisson kernel on the circle and its quantiles as they are printed, in balls: what the mean field does with them."""

from fractions import Fraction

from theory.evidence import Interval, ball
from verify.textbook import hull

STARTED = Fraction(1, 9)  # r^2 / (1 - r^2) at time zero, for r^2 = 1/10


def one(value=1):
    """A number as a ball."""
    return ball(value)


def logarithm(value):
    """The logarithm of a positive interval."""
    return Interval(hull(one(value.lo).log()).lo, hull(one(value.hi).log()).hi, value.kind)


def radius_at(t, pace=1):
    """The radius of the mean field at time t, a ball."""
    grown = one(STARTED) * (one(t) * one(pace)).exp()
    return (grown / (1 + grown)).sqrt()


def sinh(x):
    return (x.exp() - (-x).exp()) / 2


def cosh(x):
    return (x.exp() + (-x).exp()) / 2


def finite(n, width):
    """Mean cosine and squared distance of n quantiles at r = exp(-width), balls or power series."""
    half = one(Fraction(n, 2)) * width
    return cosh(half - width) / cosh(half), 4 * sinh(half - width / 2) * sinh(width / 2) / cosh(half)
