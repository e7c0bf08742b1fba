"""Laws that are tilted by a potential, and the widths of what is computed from them."""

import math

import numpy as np

from theory import Measure, w1
from theory.attention import boltzmann_gibbs, transform_error
from theory.evidence import Interval
from theory.evidence.roundoff import gamma
from verify.textbook import balls, hull

FLOOR = 1e-8  # of the diameter: nearer inputs are rejected, for there rounding alone stretches distances


def diameter(points):
    """The largest distance of two points, enclosed."""
    apart = np.linalg.norm(points[:, np.newaxis] - points, axis=2).max()
    return Interval.within(float(apart), gamma(points.shape[1] + 8) * float(apart))


def steepness(points, values):
    """The Lipschitz constant of values, floats or balls, on finitely many points, enclosed."""
    first, second = np.triu_indices(len(points), 1)
    lengths = np.linalg.norm(points[first] - points[second], axis=1)
    keep = lengths > 0.0
    if values.dtype != object:
        steepest = float((np.abs(values[first] - values[second])[keep] / lengths[keep]).max(initial=0.0))
        return Interval.within(steepest, gamma(points.shape[1] + 12) * steepest)
    rises, middle = np.abs(values[first] - values[second])[keep], lengths[keep]
    slopes = [hull(rise / length) for rise, length in zip(rises, balls(middle), strict=True)]
    steepest = Interval.largest([Interval.exactly(0.0), *slopes])
    return steepest * (1.0 + Interval.within(0.0, gamma(points.shape[1] + 12)))


def oscillation(values):
    """The largest minus the smallest, in balls."""
    exact = [hull(ball) for ball in (values if values.dtype == object else balls(values))]
    return Interval.largest(exact) + Interval.largest(-value for value in exact)


def spread(law, relative, reach):
    """Bound W1 between a law and one whose weights are off by a relative error: all but its largest atom move."""
    rest = math.fsum(np.sort(law.weights)[:-1].tolist())
    return Interval.within(0.0, 2.0 * relative * rest * reach.hi * (1.0 + gamma(4)))


def exact(weights):
    """Weights over their sum, in balls."""
    return balls(weights) / balls(weights).sum()


def transformed(mu, potential, reach):
    """The law after the transform, and by how much it may be off in W1."""
    law = boltzmann_gibbs(mu, potential)
    return law, spread(law, transform_error(mu, potential), reach)


def between(one, other):
    """W1 of two computed laws, each with its error."""
    apart = w1(one[0], other[0]) + one[1] + other[1]
    return Interval(max(apart.lo, 0.0), apart.hi, apart.kind)


def average(mu, values):
    """The mean of balls under a measure, of which the weights are taken over their sum."""
    weights = balls(mu.weights)
    return (weights * values).sum() / weights.sum()


def tilted(rng, unit=1.0):
    """Draw two laws on common atoms, near or far, and a potential: ramp, linear, V-shaped or rough; lengths in a unit."""
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    points = rng.uniform(-1.0, 1.0, size=(n, d))
    if rng.uniform() < 0.5:
        points = np.concatenate([points, points + 10.0 ** rng.uniform(-4.0, 0.0) * rng.normal(size=(n, d))])
    shapes = (np.abs(points[:, 0]), points[:, 0], np.maximum(points[:, 0], 0.5), rng.normal(size=len(points)))
    potential = rng.uniform(0.2, 3.0) * shapes[int(rng.integers(4))]
    masses = [rng.dirichlet(np.full(len(points), 0.3)) + 1e-12 for _ in range(2)]
    return [Measure.normalised(unit * points, w) for w in masses], potential


def length(vector):
    """The Euclidean length of balls."""
    return hull((vector * vector).sum().sqrt())


def clouds(rng, d, unit=1.0):
    """Draw two clouds, a law and its perturbation, or two laws of nothing in common; lengths in a unit."""
    n = int(rng.integers(1, 7))
    mu = Measure.normalised(unit * rng.normal(size=(n, d)), rng.dirichlet(np.full(n, 0.4)) + 1e-12)
    if rng.uniform() < 0.5:
        step = unit * 10.0 ** rng.uniform(-4.0, 0.0) * rng.normal(size=(n, d))
        return mu, Measure(mu.points + step, mu.weights)
    return mu, Measure.normalised(unit * rng.normal(size=(4, d)), rng.dirichlet(np.full(4, 0.4)) + 1e-12)
