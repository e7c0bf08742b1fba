"""Metrics of the features that stacks of metric-attention learn, volumes, densities and starts, by hand, in floats."""

import numpy as np


def ellipse(x):
    """The metric of (cos x, 0.7 sin x)."""
    return [[np.sin(x) ** 2 + 0.49 * np.cos(x) ** 2]]


def bent(x):
    """The metric of (cos x, 0.8 sin x, 0.4 sin 2x)."""
    return [[np.sin(x) ** 2 + 0.64 * np.cos(x) ** 2 + 0.64 * np.cos(2 * x) ** 2]]


def round_curve(x):
    """The metric of the angle itself."""
    return [[1.0 + 0.0 * x]]


def torus(u, v):
    """The metric of the twisted torus, whose second angle is v + 0.4 sin u."""
    twist = 0.4 * np.cos(u)
    reach = 2.0 + np.cos(v + 0.4 * np.sin(u))
    return [[reach**2 + twist**2, twist], [twist, 1.0]]


def straight(u, v):
    """The same without the entry off the diagonal."""
    (a, _), (_, b) = torus(u, v)
    return [[a, 0.0], [0.0, b]]


def cube(*_):
    """The flat metric of three angles."""
    return np.eye(3).tolist()


def volume(metric, axes):
    """The root of the determinant, of one or two dimensions or of the flat metric."""
    g = metric(*axes)
    if len(g) == 3:
        return 1.0
    return np.sqrt(g[0][0] if len(g) == 1 else g[0][0] * g[1][1] - g[0][1] * g[1][0])


def line_density(x):
    """Masses on a curve, with respect to the angle."""
    return np.exp(0.8 * np.cos(x) + 0.3 * np.sin(2 * x))


def torus_density(u, v):
    """Masses on the torus, with respect to both angles."""
    return np.exp(0.5 * np.cos(u) + 0.4 * np.sin(v) + 0.3 * np.cos(u - v))


def cube_density(x, y, z):
    """Masses on the torus of three dimensions."""
    a, b, c = np.cos(x), np.cos(y), np.cos(z)
    return np.exp(0.3 * (a + b + c) + 0.2 * (a * b + b * c + c * a))


def line_start(x):
    """What is propagated on a curve."""
    return np.sin(x) + 0.5 * np.cos(2 * x)


def torus_start(u, v):
    """What is propagated on the torus."""
    return np.sin(v) + 0.5 * np.cos(u + v)


def cube_start(x, y, z):
    """What is propagated in three dimensions."""
    a, b, c = np.cos(x), np.cos(y), np.cos(z)
    return a + b + c - 0.5 * (a * b + b * c + c * a)


METRICS = {"ellipse": ellipse, "bent": bent, "torus": torus, "cube": cube, "round": round_curve, "straight": straight}
DENSITIES = {1: line_density, 2: torus_density, 3: cube_density}
STARTS = {1: line_start, 2: torus_start, 3: cube_start}
NODES = {"ellipse": (47,), "bent": (79,), "torus": (37, 33), "cube": (17, 17, 17)}


def relative_density(metric, axes, power=1.0):
    """The density with respect to the volume of a metric, or to a power of it."""
    return DENSITIES[len(axes)](*axes) / volume(metric, axes) ** power
