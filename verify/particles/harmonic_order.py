"""Bessel functions in balls, and the beta at which order among noisy tokens starts to set in with a jump."""

from functools import cache

from theory.evidence import ball


def bessel(beta, order):
    """The ball I_order(beta), of a number or a ball."""
    return (beta if hasattr(beta, "bessel_i") else ball(beta)).bessel_i(order)


def quotient(beta, dim, shift=1):
    """I_{d/2 + 1} / I_{d/2}, the share of the second harmonic in the first."""
    half = ball(dim) / 2
    return bessel(beta, half + shift) / bessel(beta, half + shift - 1)


@cache
def star(dim, part=None):
    """The ball around the beta at which that quotient is 1/d; it grows with beta."""
    share = ball(1) / (dim if part is None else part)
    low, high = ball(1) / 4, ball(8)
    for _ in range(90):
        middle = ((low + high) / 2).mid()
        if quotient(middle, dim) < share:
            low = middle
        elif quotient(middle, dim) > share:
            high = middle
        else:
            break
    return low.union(high)
