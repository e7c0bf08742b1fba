r"""How sharp the weights of softmax can be if scores are bounded: least entropy, and least and largest weight.

*Norm.* Of n centred scores of norm s the entropy is least if one stands above all others, which are equal, with the gap
:math:`g = s\sqrt{n/(n-1)}`. Where the entropy is stationary on the sphere, scores take two values only: k of them lie
:math:`s\sqrt{n/(k(n-k))}` above the others, and for k of two or more it is no minimum.

*Range.* Of n scores in an interval of length :math:`\delta` a weight lies between :math:`1/(1 + (n-1)e^\delta)` and
:math:`1/(1 + (n-1)e^{-\delta})`.

References
----------
S. Zhai et al., *Stabilizing transformer training by preventing attention entropy collapse*, ICML 2023.
P. Veličković et al., *Softmax is not enough (for sharp size generalisation)*, ICML 2025.
"""

from __future__ import annotations

from typing import NamedTuple

from theory._validate import as_between, as_count, as_positive
from theory.evidence import Interval, ball, hull, precision

_BITS = 400  # taken: of scores of 1e-12 entropy misses its maximum by 1e-30, of which ninety digits stay
_LARGEST = 1e15  # taken: of scores, whose exponential still has an exponent
_RANGE = 700.0  # taken: of scores, beyond which no number of tokens has any use


class Peaks(NamedTuple):
    """The entropy of equal peaks above equal scores, what it lacks of its maximum, and the gap between the two."""

    entropy: Interval
    missing: Interval
    gap: Interval


class WeightRange(NamedTuple):
    """The least and the largest weight that scores of one range can have."""

    least: Interval
    largest: Interval


def peak_entropy(size: int, norm: float, *, peaks: int = 1) -> Peaks:
    """Enclose the entropy of centred scores of which some are equal and large, all others equal and small.

    Parameters
    ----------
    size : int
        Number of scores, at least two.
    norm : float
        Euclidean norm of the scores, from 0 to 1e15.
    peaks : int, default 1
        How many are large, less than ``size``; with one, no centred scores of this norm have less entropy.

    Raises
    ------
    ValueError
        If the norm is out of range or there are not more scores than peaks.
    """
    n, k = as_count(size, "size", least=2), as_count(peaks, "peaks")
    if k >= n:
        raise ValueError(f"peaks: expected less than size, {n}, got {peaks}")
    with precision(_BITS):
        gap = ball(as_between(norm, "norm", 0.0, _LARGEST)) * (ball(n) / (k * (n - k))).sqrt()
        small = (n - k) * (-gap).exp()
        entropy = ball(k).log() + (small / k).log1p() + gap * small / (k + small)
        return Peaks(hull(entropy), hull(ball(n).log() - entropy), hull(gap))


def weight_range(size: int, spread: float) -> WeightRange:
    """Enclose the least and the largest weight of softmax that scores of one range can have.

    Parameters
    ----------
    size : int
        Number of scores.
    spread : float
        Largest score less the least, at most, over the temperature; from 0 to 1e15.

    Raises
    ------
    ValueError
        If the spread is out of range.
    """
    others = as_count(size, "size") - 1
    with precision(_BITS):
        most = ball(as_between(spread, "spread", 0.0, _LARGEST))
        return WeightRange(hull(1 / (1 + others * most.exp())), hull(1 / (1 + others * (-most).exp())))


def tokens_to_disperse(weight: float, spread: float) -> int:
    """Return the number of scores from which on no weight can reach this one, by the range of scores.

    Parameters
    ----------
    weight : float
        Less than one.
    spread : float
        Largest score less the least, at most, over the temperature; from 0 to 700.

    Raises
    ------
    ValueError
        If the weight is not between zero and one or the spread is out of range.
    """
    least = as_positive(weight, "weight")
    most = as_between(spread, "spread", 0.0, _RANGE)
    if not least < 1.0:
        raise ValueError(f"weight: expected less than one, got {weight!r}")
    with precision(6 * _BITS):  # of up to 2100 bits before the point
        last = 1 + (1 / ball(least) - 1) * ball(most).exp()  # with no more of them, one can
        return int(last.floor().unique_fmpz()) + 1
