"""Pairs of clouds in a ball, what a layer makes of them, and distances that own up to the rounding of their measures."""

import math

import numpy as np

from theory.attention import AttentionKernel, DotProduct
from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from theory.lipschitz import wp_tokens
from verify.textbook import hull

FLOOR = 1e-8  # of the radius: nearer inputs are rejected, for there rounding alone stretches distances
INSIDE = 1.0 - 2.0**-40  # of the radius: rounded points of this length are in the ball


def draw_cloud(rng, n, d, radius):
    """Draw a cloud in a ball, half of it near the sphere."""
    points = rng.normal(size=(n, d))
    lengths = radius * np.minimum(rng.uniform(0.0, 2.0, size=(n, 1)), INSIDE)
    return lengths * points / np.linalg.norm(points, axis=1, keepdims=True)


def moved(rng, points, radius):
    """Push all tokens by anything from 1e-4 to 1 radii, or the first one only, and project them back to the ball."""
    step = 10.0 ** rng.uniform(-4.0, 0.0) * radius * rng.normal(size=points.shape)
    if rng.uniform() < 0.3:
        step[1:] = 0.0
    there = points + step
    length = np.linalg.norm(there, axis=1, keepdims=True)
    return there * np.minimum(1.0, INSIDE * radius / np.maximum(length, radius / 2))


def layer(rng, d, radius):
    """Draw a form with alpha up to about 3, and a value matrix."""
    form = rng.normal(size=(d, d)) * rng.choice([0.1, 0.5, 1.0]) / radius**2
    return form, rng.normal(size=(d, d))


def norm(matrix):
    """The spectral norm of a small matrix, up to what LAPACK promises."""
    size = float(np.linalg.norm(matrix, 2))
    return Interval.within(size, gamma(64 * max(matrix.shape)) * float(np.linalg.norm(matrix)))


def image(mu, form, value):
    """The measure after one layer of a form, or of any score, and how far any of its atoms may be off."""
    kernel = AttentionKernel(form if hasattr(form, "matrix") else DotProduct(form=form), mu, value)
    return kernel.push(mu), kernel.rounding(mu.points) * math.sqrt(mu.dim) * (1.0 + gamma(4))


def blurred(distance, *errors):
    """A distance of computed measures, of which the atoms are off by at most the errors."""
    wide = distance + Interval.within(0.0, sum(errors) * (1.0 + gamma(4)))
    return Interval(max(wide.lo, 0.0), wide.hi, wide.kind)


def apart(x, y):
    """The largest displacement of a token, enclosed."""
    return Interval.largest(wp_tokens(a[np.newaxis], b[np.newaxis], math.inf) for a, b in zip(x, y, strict=True))


def rounded(value):
    """A constant of few operations: the exponential is within four units, and its argument within two roundings."""
    return Interval.within(value, gamma(64) * abs(value))


def rows(table):
    """Yield alpha, way and stretch of a table of stretches."""
    yield from zip(table["alpha"].tolist(), table["way"].tolist(), table.intervals("stretch"), strict=True)


def oscillation(vector):
    """The largest entry less the smallest, in balls."""
    return Interval.largest(hull(a - b) for a in vector for b in vector)
