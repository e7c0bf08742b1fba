r"""How much a token counts after many layers of attention that look at positions only.

Layers :math:`aI + (1 - a)A` keep the share a of every token and take the rest from attention with the rows of A; the
last row of a product of H of them says how much each token counts for the last one. Without content, causal attention
has the rows :math:`A_{ij} = 1/i`, :math:`j \le i`, and a window of W tokens far from the start those of a walk that
steps back by 0, ..., W - 1 with equal chance: the distance that influence has travelled is a sum of L such steps, each
made with probability 1 - a.

Powers are taken in balls, walks in whole numbers, and nothing is rounded there.

References
----------
B. D. Chowdhury, *Lost in the middle at birth: an exact theory of transformer position bias*, 2026 (arXiv:2603.10123).
G. Xiao, *Why stacking sliding windows can't see very far*, 2025 (guangxuanx.com/blog/stacking-swa.html).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice
from typing import Any

import numpy as np

from theory._validate import as_count, as_share
from theory.evidence import ball, balls, hull, precision


def causal_influence(tokens: int, depth: int, residual: Fraction | float = 0.0) -> Any:
    """Enclose what each token counts for the last one after layers of causal attention without content.

    Parameters
    ----------
    tokens, depth : int
        Of the sequence and of the network.
    residual : Fraction or float, default 0.0
        The share that a layer keeps, in [0, 1].

    Returns
    -------
    Intervals, shape (tokens,)
        Non-negative, of sum one.

    Raises
    ------
    ValueError
        If the share is not in [0, 1].
    """
    count = as_count(tokens, "tokens")
    share = as_fraction(residual, "residual")
    layers = as_count(depth, "depth", least=0)
    with precision():
        kept, taken = ball(share), ball(1 - share)
        inverses = 1 / balls(np.arange(1, count + 1))
        row = balls(np.zeros(count))
        row[-1] = ball(1)
        for _ in range(layers):
            seen = (row * inverses)[::-1]  # token j is seen by all i >= j, with weight 1/i each
            row = kept * row + taken * np.add.accumulate(seen)[::-1]
        return hull(row)


@dataclass(frozen=True, slots=True)
class Walk:
    """The law of a distance: ``counts[d] / total`` is the probability of d, in whole numbers."""

    counts: tuple[int, ...]
    total: int

    def at(self, distance: int) -> Fraction:
        """Return the probability of this distance."""
        place = as_count(distance, "distance", least=0)
        return Fraction(self.counts[place] if place < len(self.counts) else 0, self.total)

    def beyond(self, distance: int) -> Fraction:
        """Return the probability of more than this distance."""
        return Fraction(sum(self.counts[as_count(distance, "distance", least=0) + 1 :]), self.total)

    def horizon(self, share: Fraction | float) -> int:
        """Return the least distance that is exceeded with at most the probability ``share``, in [0, 1]."""
        rest = as_fraction(share, "share") * self.total
        last = len(self.counts)
        tails = accumulate(reversed(self.counts))
        return max(last - 1 - sum(tail <= rest for tail in tails), 0)

    def mean(self) -> Fraction:
        """Return the mean distance."""
        return Fraction(sum(d * count for d, count in enumerate(self.counts)), self.total)

    def variance(self) -> Fraction:
        """Return the variance of the distance."""
        squares = Fraction(sum(d * d * count for d, count in enumerate(self.counts)), self.total)
        return squares - self.mean() ** 2


def window_walk(window: int, depth: int, residual: Fraction | float = 0.0) -> Walk:
    """Return the law of the distance that influence travels through layers of causal windows without content.

    Parameters
    ----------
    window : int
        Tokens that a layer sees, itself among them.
    depth : int
        Layers.
    residual : Fraction or float, default 0.0
        The share that a layer keeps, in [0, 1]; a Fraction with small parts keeps the whole numbers small.

    Raises
    ------
    ValueError
        If the share is not in [0, 1].
    """
    return next(islice(walk_on(window, residual), as_count(depth, "depth", least=0), None))


def walk_on(window: int, residual: Fraction | float) -> Iterator[Walk]:
    """Yield the laws of the distance after no layer, one layer, and so on, as :func:`window_walk` has them."""
    width = as_count(window, "window")
    share = as_fraction(residual, "residual")
    kept, stepped = share.numerator * width, share.denominator - share.numerator
    counts, total = np.array([1], dtype=object), 1
    while True:
        yield Walk(tuple(counts.tolist()), total)
        below = np.concatenate([[0], np.add.accumulate(counts)])  # below[d] counts the distances less than d
        last = len(counts)
        places = np.arange(last + width - 1)
        stays = kept * counts
        counts = stepped * (below[np.minimum(places + 1, last)] - below[np.maximum(places + 1 - width, 0)])
        counts[:last] += stays
        total *= share.denominator * width


def as_fraction(value: Fraction | float, name: str) -> Fraction:
    """Return a share in [0, 1] as the rational number that it is."""
    if isinstance(value, Fraction):
        if not 0 <= value <= 1:
            raise ValueError(f"{name}: expected a share in [0, 1], got {value}")
        return value
    return Fraction(as_share(value, name))
