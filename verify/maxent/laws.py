"""Softmax and its value as they are printed, and so many scores on few levels that it can be computed for them."""

import numpy as np

from theory.evidence import ball
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
