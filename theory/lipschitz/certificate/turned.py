r"""Queries and keys turned by their positions, which are known: rotary positions of one base.

Position m turns the plane k of :math:`d_k/2` by the angle :math:`m\theta_k`, :math:`\theta_k = b^{-2k/d_k}`. Turns are
isometries, and scores know of two positions their difference only,

.. math:: \langle T_iq, T_jk\rangle = \langle T_{i-j}q, k\rangle = \langle q, T_{j-i}k\rangle.

Which coordinates make a plane is a convention that no file of weights tells: k and :math:`k + d_k/2` ("halves", as in
Llama and GPT-NeoX), or neighbours (as in RoFormer and GPT-J).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from theory._validate import as_between
from theory.evidence import ball, exact, hull, precision
from theory.lipschitz.certificate.weights import AttentionWeights

PAIRS = {
    "halves": "given tokens in the order of their positions; plane k is coordinates k and k + d_k / 2, base {base}",
    "neighbours": "given tokens in the order of their positions; plane k is coordinates 2 k and 2 k + 1, base {base}",
}
_BASES = (math.nextafter(1.0, 2.0), 2.0**40)  # taken: of rotary positions, far above those in use


class Turns(NamedTuple):
    """Cosines and sines of angles, shape (n, n, d_k / 2) from key to query or (n, d_k / 2), and what makes a plane."""

    cosines: Any
    sines: Any
    pairs: str

    def middle(self) -> Turns:
        """Return the turns in floats."""
        return self._replace(cosines=self.cosines.mid, sines=self.sines.mid)


def turned_size(layer: AttentionWeights, base: float | None) -> int:
    """Return how many coordinates of a head positions turn, if they do at all.

    Raises
    ------
    ValueError, TypeError
        If the base is no number in range, or the layer has distances or heads of an odd number of coordinates.
    """
    if base is None:
        return 0
    as_between(base, "base", *_BASES)
    size = layer.w_query.shape[1]
    if layer.score != "dot":
        raise ValueError("base: expected dot products, whose queries and keys positions turn, got distances")
    if size % 2:
        raise ValueError(
            f"base: expected an even number of coordinates of a head, which are turned in pairs, got {size}"
        )
    return int(size)


def turns_of(n: int, size: int, base: float, pairs: str) -> Turns:
    """Enclose the turns between n positions, one after another, of vectors of even size."""
    angles = _angles(np.arange(1 - n, n), size, base)
    places = np.arange(n)[:, np.newaxis] - np.arange(n) + n - 1
    return Turns(np.cos(angles)[places], np.sin(angles)[places], pairs)


def turns_at(n: int, size: int, base: float, pairs: str) -> Turns:
    """Enclose the turns of n positions from the first on: all others would give the same scores."""
    angles = _angles(np.arange(n), size, base)
    return Turns(np.cos(angles), np.sin(angles), pairs)


def _angles(lags: Any, size: int, base: float) -> Any:
    with precision():
        log = ball(base).log()
        steps = hull(np.array([(-2 * k * log / size).exp() for k in range(size // 2)], dtype=object))
    return exact(lags.astype(np.float64))[:, np.newaxis] * steps


def turn(vectors: Any, turns: Turns, *, back: bool = False) -> Any:
    """Turn vectors, shape (n, 1, d_k), (1, n, d_k) or (n, d_k), which fits that of the turns, or turn them back."""
    cosines, sines = turns.cosines, -turns.sines if back else turns.sines
    half = vectors.shape[-1] // 2
    if turns.pairs == "halves":
        first, second = vectors[..., :half], vectors[..., half:]
    else:
        first, second = vectors[..., 0::2], vectors[..., 1::2]
    moved = cosines * first - sines * second, sines * first + cosines * second
    if turns.pairs == "halves":
        return np.concatenate(moved, axis=-1)
    return np.stack(moved, axis=-1).reshape(*moved[0].shape[:-1], 2 * half)
