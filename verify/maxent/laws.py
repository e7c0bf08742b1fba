"""Softmax as it is printed, and how far a computed weight may be off: for the claims about softmax."""

import numpy as np

from theory.evidence import softmax_error
from theory.evidence.roundoff import U
from verify import textbook
from verify.textbook import balls


def law(scores, tau):
    """Softmax as it is printed, in balls."""
    return textbook.laws((balls(scores) / balls(tau).item())[np.newaxis])[0]


def off(scores, tau):
    """The relative error of a computed weight: every score is subtracted from the largest and divided."""
    spread = float(np.ptp(scores)) / tau
    return softmax_error(U * spread, spread, scores.size)
