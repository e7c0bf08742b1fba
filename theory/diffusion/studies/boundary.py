r"""Attention near a wall: one layer on the half-line, and stacks on a segment.

``slope`` and ``flat`` are :func:`slope` and :func:`flat` on the half-line with the density :func:`density`, at places
in units of :math:`\sqrt\varepsilon`; ``stack`` is :math:`P_\varepsilon^{2t/\varepsilon}\cos\pi x` on :math:`[0, 1]`.
"""

from __future__ import annotations

import numpy as np

from theory.diffusion.geometry.boundary import layer_rise, segment_stack
from theory.evidence import Kind, Table

SEGMENT_TIME = 0.1  # of the stacks
LEVELS, DEEP = {"quick": 8, "paper": 9}, {"quick": 7, "paper": 8}
PLACES = {"quick": (0.0, 0.5, 1.0, 2.0, 3.5), "paper": tuple((np.arange(25) / 6.0).tolist())}
SPOTS = {"quick": 9, "paper": 33}
_START, _THICK = 0.02, 0.0025


def boundary(*, scale: str, root: int) -> Table:  # noqa: ARG001  nothing is drawn here
    r"""Return :math:`P_\varepsilon h - h` in the layer, and the values of the stacks."""
    rows = []
    for part, function in (("slope", slope), ("flat", flat)):
        for level in range(LEVELS[scale]):
            epsilon = _THICK * 0.25**level
            rows += [(part, epsilon, s, layer_rise(function, density, epsilon, s)) for s in PLACES[scale]]
    spots = np.linspace(0.0, 1.0, SPOTS[scale])
    for level in range(DEEP[scale]):
        epsilon = _START * 0.5**level
        values = segment_stack(segment_wave, epsilon, SEGMENT_TIME, spots.tolist())
        rows += [("stack", epsilon, x, value) for x, value in zip(spots.tolist(), values, strict=True)]
    parts, epsilons, places, found = zip(*rows, strict=True)
    units = {"part": "1", "epsilon": "1", "place": "1", "value": "1"}
    return Table(Kind.ESTIMATED, units, {"part": parts, "epsilon": epsilons, "place": places, "value": found})


def slope(x: np.ndarray) -> np.ndarray:
    """Return a function whose derivative at the wall is 1."""
    return np.asarray(np.sin(x) + 0.5 * np.cos(2.0 * x))


def flat(x: np.ndarray) -> np.ndarray:
    """Return a function whose derivatives at the wall are 0 and -1."""
    return np.asarray(np.cos(x))


def segment_wave(x: np.ndarray) -> np.ndarray:
    """Return the first mode of the segment."""
    return np.asarray(np.cos(np.pi * x))


def density(x: np.ndarray) -> np.ndarray:
    """Return the density on the half-line, up to a factor."""
    return np.asarray(np.exp(0.7 * np.sin(x)))
