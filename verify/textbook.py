"""The definitions as they are printed, in ball arithmetic: what the instruments of ``theory/`` are measured against.

Unshifted exponentials, no streaming, no trick: balls have an unlimited exponent range and carry their own width.
Nothing here is shared with the code under test. Arrays are object arrays of balls unless stated.
"""

from __future__ import annotations

import numpy as np

from theory.evidence import discrepancy
from theory.evidence.enclosure import balls, ends, exp, hull, log, tanh

cos = np.frompyfunc(lambda ball: ball.cos(), 1, 1)

__all__ = ["average", "balls", "cos", "distance_scores", "dot_scores", "exp", "gap", "hull", "laws", "log", "tanh"]
__all__ += ["torus_scores"]


def dot_scores(queries, keys, *, power=0.5, beta=None):
    """Scores <q, k> / d**power, or beta <q, k>; floats in, balls out, shape (m, n)."""
    q, k = balls(queries), balls(keys)
    factor = balls(keys.shape[1]).item() ** -balls(power).item() if beta is None else balls(beta).item()
    return (q @ k.T) * factor


def distance_scores(queries, keys, *, beta):
    """Scores -beta |q - k|^2; floats in, balls out, shape (m, n)."""
    apart = balls(queries)[:, np.newaxis, :] - balls(keys)[np.newaxis, :, :]
    return (apart * apart).sum(axis=2) * -balls(beta).item()


def torus_scores(queries, keys, *, beta):
    """Scores -beta sum of 2 - 2 cos(q - k) over the angles; floats in, balls out, shape (m, n)."""
    apart = balls(queries)[:, np.newaxis, :] - balls(keys)[np.newaxis, :, :]
    return (2 - 2 * cos(apart)).sum(axis=2) * -balls(beta).item()


def laws(scores, masses=None, *, axis=1):
    """Weights masses * exp(scores), divided by their sum along ``axis``."""
    weights = exp(scores) if masses is None else exp(scores) * balls(masses)
    return weights / weights.sum(axis=axis, keepdims=True)


def average(scores, values, masses=None, *, axis=1):
    """Attention outputs: the average of ``values`` (floats or balls) under the laws, shape (m, d_v)."""
    return laws(scores, masses, axis=axis) @ (values if values.dtype == object else balls(values))


def gap(measured, claimed, error=0.0):
    """Enclose the largest distance between floats known up to ``error`` and the balls that are claimed for them."""
    middle, radius = ends(claimed)
    return discrepancy(measured, middle, error + radius)
