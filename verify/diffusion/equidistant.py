"""Attention among equidistant tokens of the circle that weigh their density, and its kernel's exact multipliers."""

import math

from theory.diffusion import PeriodicGrid, TokenLayer, chordal
from theory.evidence import ball


def around(epsilon, values, *, n=None):
    """Angles, masses and the layer, for a density given by its values; enough tokens for the bandwidth unless given."""
    grid = PeriodicGrid((max(48, 8 * math.ceil(1.5 / math.sqrt(epsilon))) if n is None else n,))
    p = values(grid.axes[0])
    layer = TokenLayer(grid.nodes, epsilon, score=chordal(epsilon), weights=p / p.sum())
    return grid.axes[0], p / p.sum(), layer


def bessel(epsilon):
    """Multipliers of the chordal kernel, in balls."""
    b = 1 / ball(epsilon)
    base = b.bessel_i(0, scaled=True)
    return lambda k: b.bessel_i(k, scaled=True) / base
