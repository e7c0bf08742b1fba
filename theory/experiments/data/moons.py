"""Two moons: points of the plane on two interleaved half circles, with noise, equal in law to scikit-learn's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_count, as_generator, as_number

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


def draw_two_moons(points: int, noise: float, rng: np.random.Generator) -> tuple[Array, Labels]:
    """Draw the two moons, equal in law to scikit-learn's ``make_moons``.

    Parameters
    ----------
    points : int
        At least 2; if odd, the second moon has one more.
    noise : float
        Standard deviation, not negative.
    rng : numpy.random.Generator

    Returns
    -------
    (ndarray, ndarray)
        Points (n, 2) and classes (n,).

    Raises
    ------
    ValueError, TypeError
        If a number is out of its range.
    """
    points = as_count(points, "points", least=2)
    noise = as_number(noise, "noise")
    upper = points // 2
    if noise < 0.0:
        raise ValueError(f"noise: expected a number that is not negative, got {noise}")
    s = np.linspace(0.0, np.pi, upper)
    t = np.linspace(0.0, np.pi, points - upper)
    x = np.concatenate([np.stack([np.cos(s), np.sin(s)], axis=1), np.stack([1.0 - np.cos(t), 0.5 - np.sin(t)], axis=1)])
    order = as_generator(rng).permutation(points)
    return x[order] + noise * rng.standard_normal((points, 2)), np.repeat([0, 1], [upper, points - upper])[order]
