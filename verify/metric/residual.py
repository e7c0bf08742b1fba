"""A residual network and attention through it as they are written down, on balls or on power series of balls."""

from __future__ import annotations

import numpy as np

from theory.evidence import balls, exact
from theory.metric import ResidualFeatures


def _tanh(z):
    return z.tanh() if hasattr(z, "tanh") else 1 - 2 / ((2 * z).exp() + 1)  # power series of balls have none


tanh = np.frompyfunc(_tanh, 1, 1)


def as_balls(values):
    """Floats as balls; balls and series as they are."""
    return values if isinstance(values, np.ndarray) and values.dtype == object else balls(values)


def images(parameters, x):
    """g(x) = x + tanh(x W + b) U + c for rows x."""
    inner, bias, outer, shift = map(as_balls, parameters)
    x = as_balls(x)
    return x + tanh(x @ inner + bias) @ outer + shift


def jacobian(parameters, x):
    """I + U^T diag(1 - t^2) W^T at one point."""
    inner, bias, outer, _ = map(as_balls, parameters)
    t = tanh(as_balls(x) @ inner + bias)
    return balls(np.eye(inner.shape[0])) + (outer.T * (1 - t * t)) @ inner.T


def squares(f, h=None):
    """Squared distances of rows, of one cloud or of two."""
    apart = f[:, np.newaxis, :] - (f if h is None else h)[np.newaxis, :, :]
    return (apart * apart).sum(axis=2)


def parameters(features):
    """W, b, U and c."""
    return features.inner, features.inner_bias, features.outer, features.outer_bias


def drawn(rng, dim, width, branch, unit=1.0):
    """Draw features with the norms of the two matrices multiplying to about ``branch``; lengths in a unit."""
    inner, outer = rng.normal(size=(dim, width)), rng.normal(size=(width, dim))
    outer *= branch / (np.linalg.norm(inner, 2) * np.linalg.norm(outer, 2))
    return ResidualFeatures(inner / unit, rng.normal(size=width), unit * outer, unit * rng.normal(size=dim))


def multiples(*counts):
    """All vectors of whole numbers up to these sizes, exact: a lattice, up to its steps."""
    sides = (np.arange(-float(count), float(count) + 1.0) for count in counts)
    return exact(np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(counts)))
