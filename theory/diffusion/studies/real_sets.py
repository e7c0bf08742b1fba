r"""Sets of real tokens, and clouds that are like them in all but what is asked about.

``patches``: of the photograph, by a random projection to 16 dimensions, 1184. ``digits``: the images of scikit-learn,
64 pixels in [0, 1], 1797. ``faces``: what a network is told about the faces of three bodies, 10 numbers each, 1224.
``learned``: the features of these faces in the last layer of a trained stack of metric-attention, 64 each, whose own
bandwidth is 1/2. Both are data of this package, made by ``python -m theory.experiments.analysis.face_tokens``.

``gaussian``: as many normal tokens with the mean and the covariance of the digits. ``shuffled``: the digits, every
column in an order of its own. ``torus1``, ``torus2``, ``torus3``: products of circles of radius one in two, four and
six dimensions, every angle with the density :math:`(1 + \frac12\cos\theta)/2\pi`; new tokens at every call.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theory.attention import photograph
from theory.diffusion.limits.densities import CircleDensity
from theory.diffusion.limits.sampling import draw_angles
from theory.evidence import stream

Array = NDArray[np.float64]
FACES = Path(__file__).parent / "trained_faces.npz"
REAL_SETS = ("patches", "digits", "faces", "learned")
TRAINED_BANDWIDTH = 0.5
PROJECTED = 16  # dimensions of a patch, as many as a head of the photograph has
_TORUS = CircleDensity(np.array([0.5]), np.array([0.0]), logarithmic=False)


def real_set(name: str, *, root: int) -> Array:
    """Return the tokens of a set, one in a row; the projection of the patches is drawn."""
    if name == "patches":
        return photograph.tokens(PROJECTED, stream("diffusion.real-patches", 0, root=root))
    if name == "digits":
        return _digits().copy()
    with np.load(FACES, allow_pickle=False) as stored:
        return np.asarray(stored["described" if name == "faces" else "learned"], dtype=np.float64)


def draw_like(name: str, count: int, rng: np.random.Generator) -> Array:
    """Draw ``count`` tokens of ``gaussian`` or a torus, or all ``shuffled`` digits."""
    if name == "shuffled":
        return np.stack([rng.permutation(column) for column in _digits().T], axis=1)
    if name == "gaussian":
        digits = _digits()
        values, vectors = np.linalg.eigh(np.cov(digits.T))
        normal = rng.normal(size=(count, len(values))) * np.sqrt(np.maximum(values, 0.0))
        drawn: Array = digits.mean(axis=0) + normal @ vectors.T
        return drawn
    angles = np.stack([draw_angles(_TORUS, rng, count) for _ in range(int(name.removeprefix("torus")))], axis=1)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


@cache
def _digits() -> Array:
    loaded = import_module("sklearn.datasets").load_digits()
    return np.asarray(loaded.data, dtype=np.float64) / 16.0
