"""The named clusters of the study in ball arithmetic: overlaps, the angle of the pair, and how far the others sway it."""

from functools import cache

import numpy as np

from theory.evidence import Interval
from theory.particles.studies import MERGING_STARTS as STARTS
from verify.textbook import balls, hull


def others(x):
    """Every pair but the first two, as balls of overlaps of the normalised points."""
    z = balls(x)
    z = z / np.array([[sum(c * c for c in row).sqrt()] for row in z], dtype=object)
    return z, [(i, j) for i in range(2, len(x)) for j in range(i)]


@cache
def gap_of(start):
    """By how much the overlap of the pair exceeds all others, of named clusters; infinite without others."""
    z, rest = others(STARTS[start].points)
    return hull(z[0] @ z[1] - max((z[i] @ z[j] for i, j in rest), key=lambda b: float(b.mid()))) if rest else None


def swayed(start, beta):
    """What the other clusters may add to a time or a distance of order one: exp(-beta gap), or nothing."""
    gap = gap_of(start)
    return Interval.exactly(0) if gap is None else np.exp(-beta * gap)


def unsure(start, beta):
    """That, and what the points add, which are unit vectors up to rounding: it moves the exponents of all clocks."""
    rounding = 2.0**-47 * (1.0 + beta)
    return swayed(start, beta) + Interval(-rounding, rounding)


@cache
def angle_of(start):
    """The angle of the pair of named clusters at the start."""
    z, _ = others(STARTS[start].points)
    return (z[0] @ z[1]).acos()
