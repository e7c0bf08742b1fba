"""Softmax as it is printed, how far a computed weight may be off, and allowances: for the claims about rounding."""

import numpy as np

from theory.evidence import Interval, Kind, ball, softmax_error
from theory.evidence.roundoff import U, gamma
from verify import textbook
from verify.textbook import balls

MANY = 100_000  # at which what is said of any number of scores is judged, too
LEVELS = np.array([0.1, -2.3, 3.7])


def many(size=1.0):
    """So many scores, on three levels."""
    return size * LEVELS[np.arange(MANY) % LEVELS.size]


def law(scores, tau):
    """Softmax as it is printed, in balls; equal scores are computed once."""
    levels, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    weights = textbook.exp(balls(levels) / ball(tau))
    return (weights / (weights * balls(counts)).sum())[place]


def value(scores, tau):
    """The logarithm of the sum of exponentials times the temperature, as it is printed; ball."""
    levels, counts = np.unique(scores, return_counts=True)
    return ball(tau) * (balls(counts) * textbook.exp(balls(levels) / ball(tau))).sum().log()


def off(scores, tau):
    """The relative error of a computed weight: every score is subtracted from the largest and divided."""
    spread = float(np.ptp(scores)) / tau
    return softmax_error(U * spread, spread, scores.size)


def allowed(bound):
    """An allowance of few operations, powers and logarithms among them, which no two libraries round alike."""
    return Interval.within(bound, gamma(64) * bound, Kind.CERTIFIED)
