"""Softmax as it is printed, how far a computed weight may be off, and allowances: for the claims about rounding."""

import numpy as np

from theory.evidence import Interval, Kind, softmax_error
from theory.evidence.roundoff import U, gamma
from verify import textbook
from verify.textbook import balls


def law(scores, tau):
    """Softmax as it is printed, in balls."""
    return textbook.laws((balls(scores) / balls(tau).item())[np.newaxis])[0]


def off(scores, tau):
    """The relative error of a computed weight: every score is subtracted from the largest and divided."""
    spread = float(np.ptp(scores)) / tau
    return softmax_error(U * spread, spread, scores.size)


def allowed(bound):
    """An allowance of few operations, powers and logarithms among them, which no two libraries round alike."""
    return Interval.within(bound, gamma(64) * bound, Kind.CERTIFIED)
