"""Which search gives a lower bound in which metric, for a layer of given weights."""

from __future__ import annotations

import math

import numpy as np

from theory.lipschitz.certificate.stretches import Stretch, balanced_stretch, coincident_stretch, search_lower_bound
from theory.lipschitz.certificate.weights import Array, AttentionWeights
from theory.lipschitz.constants.frobenius import opposed_ratio

_FEW = 6  # taken: the most tokens that are all moved one by one


def lower_bounds(rng: np.random.Generator, layer: AttentionWeights, radius: float, n: int | None) -> dict[str, Stretch]:
    """Search for a large stretch in every metric for which one is a lower bound.

    Without a mask tokens at one place act as one atom, so that ``n`` tokens stand for masses that are multiples of
    1/n; with ``n`` unknown, for any masses. Under a causal mask every token is an atom; the largest displacement of a
    few tokens is one of more tokens as well.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the starts.
    layer : Layer
    radius : float
        Of the ball that holds the tokens.
    n : int or None
        Number of tokens.

    Returns
    -------
    dict
        The worst displacement found, by the names of the metrics; without those in which there is no certain one.
    """
    alone = coincident_stretch(layer)
    amid = balanced_stretch(layer, radius, n) if n is None or n > 2 else None
    several = n is None or n > 1
    tried: dict[str, Stretch | None] = dict.fromkeys(("mean", "max", "frobenius"), alone)
    if layer.causal:
        few = min(n or 3, 3)
        if several:
            tried["max"] = _larger(search_lower_bound(rng, layer, radius, math.inf, masses=np.ones(few)), amid)
        if n is not None and 1 < n <= _FEW:
            tried["mean"] = search_lower_bound(rng, layer, radius, 1, masses=np.ones(n))
            tried["frobenius"] = search_lower_bound(rng, layer, radius, 2, masses=np.ones(n))
        return {name: _larger(alone, stretch) or alone for name, stretch in tried.items()}
    for name, p in (("W1", 1), ("W2", 2), ("Winf", math.inf)):
        tried[name] = search_lower_bound(rng, layer, radius, p)
    tried["Winf"] = _larger(tried["Winf"], balanced_stretch(layer, radius, None))
    for name, like, p in (("mean", "W1", 1), ("max", "Winf", math.inf), ("frobenius", "W2", 2)):
        if n is None:
            tried[name] = tried[like]
        elif several:
            best = search_lower_bound(rng, layer, radius, p, masses=_masses(layer, radius, n, p))
            tried[name] = _larger(best, amid) if p == math.inf else best
    return {name: _larger(alone, stretch) or alone for name, stretch in tried.items()}


def _masses(layer: AttentionWeights, radius: float, n: int, p: float) -> Array:
    """Return how many of n tokens are at the first of two places, and how many at the other."""
    leaders = 1 if p == 1 else n // 2
    if p == 2:
        alpha = max(layer.form_norm(h).hi for h in range(layer.w_query.shape[0])) * radius * radius
        leaders = round(n / (1.0 + opposed_ratio(min(max(alpha, 1e-3), 300.0))))
    first = min(max(leaders, 1), n - 1)
    return np.array([float(first), float(n - first)])


def _larger(one: Stretch | None, other: Stretch | None) -> Stretch | None:
    if one is None or other is None:
        return one or other
    return one if other.bound.lo <= one.bound.lo else other
