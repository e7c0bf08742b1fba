r"""How cold softmax has to be to select its largest score: the scale that counts gaps.

Let :math:`\Delta_1 \le \dots \le \Delta_{n-1}` be what the other scores lack of the largest, and
:math:`b = \max_k\log(k + 1)/\Delta_k`. Then :math:`\Delta_k \ge b^{-1}\log(k + 1)`, with equality for some k, at
which k gaps are no longer: at the inverse temperature beta the largest weight is at least
:math:`1/\sum_{k\le n}k^{-\beta/b}` and at most :math:`1/(1 + k(k + 1)^{-\beta/b})`.

References
----------
T. Hayase and R. Karakida, *A unified framework for critical scaling of inverse temperature in self-attention*, 2026.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_vector
from theory.evidence import Interval, exact


class GapScale(NamedTuple):
    """The scale of scores by their gaps, and how many gaps there are up to the one at which it is attained."""

    scale: Interval
    gaps: int


def gap_scale(scores: ArrayLike) -> GapScale:
    r"""Enclose :math:`\max_k\log(k + 1)/\Delta_k` over the gaps of scores, in the order of their length.

    Parameters
    ----------
    scores : array_like, shape (n,)
        At least two, of which one is largest.

    Raises
    ------
    ValueError
        If there is one score only, or two are largest.
    """
    s = as_vector(scores, "scores")
    if s.size < 2:
        raise ValueError(f"scores: expected at least two, got {s.size}")
    falling = np.sort(s)[::-1]
    if not falling[1] < falling[0]:
        raise ValueError(f"scores: expected one that is largest, got two of {falling[0]!r}")
    gaps = exact(falling[0]) - exact(falling[1:])
    ratios = np.log(exact(np.arange(2.0, s.size + 1.0))) / gaps
    best = int(np.argmax(ratios.hi))
    return GapScale(Interval(float(ratios.lo.max()), float(ratios.hi[best]), ratios.kind), best + 1)
