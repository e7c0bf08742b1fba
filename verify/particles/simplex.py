"""Tokens of equal overlaps, in ball arithmetic: the printed equation, and the time it takes as an exact expression."""

import numpy as np

from theory.evidence import Interval, ball
from verify.textbook import balls, hull


def simplex(n, rho):
    """Unit vectors of equal overlaps in n dimensions, as balls: a multiple of the identity plus a constant."""
    own = (1 - ball(rho)).sqrt()
    shared = ((1 + (n - 1) * ball(rho)).sqrt() - own) / n
    return balls(np.eye(n)) * own + shared


def rate(gap, n, beta, rule, *, own=1, doubled=2):
    """The growth of the overlap 1 - gap as it is printed; ``own`` counts the token's weight on itself."""
    g, b = ball(gap), ball(beta)
    rho = 1 - g
    grown = doubled * (b * rho).exp() * g * ((n - 1) * rho + 1)
    return grown / n if rule == "USA" else grown / (own * b.exp() + (n - 1) * (b * rho).exp())


def outward(gap, n, beta, *, own=1):
    """The growth of the norm under Pre-LN as it is printed; ``own`` counts the token's weight on itself."""
    g, b = ball(gap), ball(beta)
    crowd = (n - 1) * (b * (1 - g)).exp()
    return (own * b.exp() + crowd * (1 - g)) / (own * b.exp() + crowd)


def least_rate(gap, n, beta):
    """What the smallest overlap 1 - gap grows by at least under SA: the simplex, or two equal clusters."""
    few, many = hull(rate(gap, 2, beta, "SA")), hull(rate(gap, n, beta, "SA"))
    return Interval(min(few.lo, many.lo), min(few.hi, many.hi), few.kind)


def time(gap, n, beta, rule, start=1.0, *, own=1):
    """The time from gap ``start`` to ``gap``, by partial fractions: exponential integrals."""
    g, g0, b = ball(gap), ball(start), ball(beta)
    edge = ball(n) / (n - 1)
    turn, near = ((edge - g) / (edge - g0)).log(), (g0 / g).log()
    if b == 0:
        raised = near + turn
    else:
        far = (b * edge).exp() * ((b * (edge - g0)).expint(1) - (b * (edge - g)).expint(1))
        raised = (b * g0).ei() - (b * g).ei() + far
    if rule == "USA":
        return raised * (-b).exp() / 2
    return (own * raised + (n - 1) * (near + turn)) / (2 * n)


def prefactor(n, beta, rule, start=1.0):
    """K, to which gap * exp(2 t) tends (SA), or gap * exp(2 exp(beta) t) (USA)."""
    g0, b = ball(start), ball(beta)
    edge = ball(n) / (n - 1)
    turn = (edge / (edge - g0)).log()
    if b == 0:
        raised = g0.log() + turn
    else:  # Ei(x) = euler + log x + ..., so the gap enters by its logarithm alone
        far = (b * edge).exp() * ((b * (edge - g0)).expint(1) - (b * edge).expint(1))
        raised = (b * g0).ei() - ball(0).const_euler() - b.log() + far
    return raised.exp() if rule == "USA" else ((raised + (n - 1) * (g0.log() + turn)) / n).exp()


def elapsed(gap, *given, **more):
    """Enclose the time at which an enclosed gap is reached; it falls as the gap grows."""
    early, late = (hull(time(end, *given, **more)) for end in (gap.hi, gap.lo))
    return Interval(early.lo, late.hi, max(gap.kind, early.kind))
