"""The truth in ball arithmetic: scores, laws and averages as they are printed, without shift, tile or trick."""

from __future__ import annotations

import numpy as np

from theory.attention import Additive, DotProduct, SquaredDistance
from theory.evidence.enclosure import ball, balls, exp, hull, precision, tanh

SMALLEST = 2.0**-1022  # the smallest normal double: below it a double has no relative precision


@precision()
def scores(score, x, y):
    """Return the scores of queries ``x`` with keys ``y`` as balls, shape (m, n)."""
    queries, keys = balls(x), balls(y)
    if isinstance(score, DotProduct):
        beta = ball(1.0) if score.form is not None else ball(y.shape[1]).rsqrt()
        beta = beta if score.scale is None else ball(score.scale)
        return beta * ((queries if score.form is None else queries @ balls(score.form)) @ keys.T)
    if isinstance(score, SquaredDistance):
        apart = queries[:, np.newaxis, :] - keys[np.newaxis, :, :]
        return -ball(score.scale) * (apart * apart).sum(axis=2)
    assert isinstance(score, Additive)
    left, right = queries @ balls(score.w_query).T, keys @ balls(score.w_key).T
    return tanh(left[:, np.newaxis, :] + right[np.newaxis, :, :]) @ balls(score.v)


@precision()
def laws(exact_scores, masses=None, visible=None):
    """Return the weights and the partition of every query, of whose keys only the first ``visible`` count."""
    weights = exp(exact_scores)
    if masses is not None:
        weights = weights * balls(masses)
    if visible is not None:
        hidden = np.arange(weights.shape[1])[np.newaxis, :] >= np.asarray(visible)[:, np.newaxis]
        weights[hidden] = ball(0.0)
    partition = weights.sum(axis=1)
    return weights / partition[:, np.newaxis], partition


@precision()
def average(exact_scores, values, masses=None, visible=None):
    """Return the attention outputs as balls, shape (m, d_v)."""
    return laws(exact_scores, masses, visible)[0] @ balls(values)


@precision()
def apart(measured, truth):
    """Return the largest distance of floats from the balls that hold the truth, as far as the balls are sure of it."""
    measured = np.asarray(measured)
    assert measured.shape == truth.shape
    return max(hull(abs(t - m)).lo for m, t in zip(balls(measured).ravel(), truth.ravel(), strict=True))


@precision()
def relatively_apart(measured, truth):
    """Return the largest relative error of floats against positive balls; denormal ones are left out."""
    pairs = zip(balls(np.asarray(measured)).ravel(), truth.ravel(), strict=True)
    return max((hull(abs(t - m) / t).lo for m, t in pairs if hull(t).lo > SMALLEST), default=0.0)
