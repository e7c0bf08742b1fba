r"""Queries and keys turned by their positions, which are known: rotary positions of one base.

Position m turns the plane k of :math:`d_k/2` by the angle :math:`m\theta_k`, :math:`\theta_k = b^{-2k/d_k}`. Turns are
isometries, and scores know of two positions their difference only,

.. math:: \langle T_iq, T_jk\rangle = \langle T_{i-j}q, k\rangle = \langle q, T_{j-i}k\rangle.

Which coordinates make a plane is a convention that no file of weights tells: k and :math:`k + d_k/2` ("halves", as in
Llama and GPT-NeoX), or neighbours (as in RoFormer and GPT-J).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from theory.evidence import ball, exact, hull, precision

PAIRS = ("halves", "neighbours")


class Turns(NamedTuple):
    """Cosines and sines of angles, shape (n, n, d_k / 2) from key to query or (n, d_k / 2), and what makes a plane."""

    cosines: Any
    sines: Any
    pairs: str


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
