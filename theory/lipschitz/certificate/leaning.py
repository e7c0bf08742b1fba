"""Pairs of atoms that a layer with a query bias stretches: the search of worst clouds knows no bias.

The bias leans every query one way. At one end of a diameter of the ball sits most of the mass, whose queries lean to
the other end, where a light atom is moved. Diameters are tried along the bias, the key that the form answers to most,
and between them; shares of the light atom on a grid; what is best by floats is returned, to be certified.
"""

from __future__ import annotations

import math

import numpy as np

from theory.lipschitz.certificate.ascent import float_stretch, improve_displacement
from theory.lipschitz.certificate.weights import Array, AttentionWeights

_IMPROVED = 3  # taken: of the pairs, the best whose displacement is improved
_SHARES = tuple(10.0 ** (-k / 2.0) for k in range(1, 25))  # taken: of the light atom, down to that of a search


def leaning_pair(
    layer: AttentionWeights, head: int, plane: Array, reach: float, p: float, masses: Array | None
) -> tuple[Array, Array, Array]:
    """Return atoms at the ends of a diameter, their displacement and masses: the first atom against all others."""
    lean = layer.shift(head)
    key = plane[:, -1]
    size = float(np.linalg.norm(lean))
    own = lean / size if size > 0.0 else key
    ways = [own, key, own + key, own - key]
    laws = [np.array([share, 1.0 - share]) for share in _SHARES] if masses is None else [masses]
    tried: list[tuple[float, Array, Array]] = []
    for way in (side * way / np.linalg.norm(way) for way in ways if np.linalg.norm(way) > 1e-6 for side in (1.0, -1.0)):
        for law in laws:
            ends = np.where(np.arange(law.size) == 0, -1.0, 1.0)[:, np.newaxis]
            moves = (ends if p == math.inf else np.minimum(ends, 0.0)) * way
            found = float_stretch(layer, reach * ends * way, moves, law, p)
            tried.append((found if math.isfinite(found) else 0.0, reach * ends * way, law))
    tried.sort(key=lambda case: -case[0])
    best = [(points, improve_displacement(layer, points, law, p, plane), law) for _, points, law in tried[:_IMPROVED]]
    return max(best, key=lambda case: float_stretch(layer, case[0], case[1], case[2], p))
