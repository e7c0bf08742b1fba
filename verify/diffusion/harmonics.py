"""Trigonometric polynomials in ball arithmetic: products, derivatives, values, and means under the chordal kernel.

A polynomial is a dictionary from a frequency, a tuple of d integers, to a complex ball.
"""

from functools import cache

import flint

from theory.evidence.enclosure import ball


def polynomial(constant, *waves):
    """A constant plus waves (frequency, cosine, sine), by exact floats."""
    d = len(waves[0][0])
    found = {(0,) * d: flint.acb(ball(constant))}
    for mode, cosine, sine in waves:
        a, b = ball(cosine) / 2, ball(sine) / 2
        for sign in (1, -1):
            key = tuple(sign * k for k in mode)
            found[key] = found.get(key, flint.acb(0)) + flint.acb(a, -sign * b)
    return found


def plus(f, g, factor=1):
    """Return f + factor g."""
    found = dict(f)
    for mode, c in g.items():
        found[mode] = found.get(mode, flint.acb(0)) + factor * c
    return found


def times(f, g):
    """The product of two polynomials."""
    found = {}
    for a, c in f.items():
        for b, e in g.items():
            key = tuple(i + j for i, j in zip(a, b, strict=True))
            found[key] = found.get(key, flint.acb(0)) + c * e
    return found


def derivative(f, *axes):
    """The derivative along each of the axes in turn."""
    for axis in axes:
        f = {mode: c * flint.acb(0, mode[axis]) for mode, c in f.items()}
    return f


def at(f, place):
    """The value at a place, a tuple of exact floats."""
    return smoothed(f, place, None)


def smoothed(f, place, b):
    """The mean of f(y) e^{b sum (cos(x - y) - 1)} over y in the torus (normalised to mass one); at x itself without b."""
    total = flint.arb(0)
    for mode, c in f.items():
        angle = sum((k * ball(x) for k, x in zip(mode, place, strict=True)), flint.arb(0))
        term = c * flint.acb(angle.cos(), angle.sin())
        if b is not None:
            for k in mode:
                term *= scaled_bessel(abs(k), b)
        total += term.real
    return total


@cache
def scaled_bessel(k, b):
    """e^{-b} I_k(b) for a float b."""
    argument = ball(b)
    return (-argument).exp() * argument.bessel_i(k)
