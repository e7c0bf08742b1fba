"""The density and the function on the circle of which most studies are."""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.diffusion.limits.densities import CircleDensity

WAVY_DENSITY = CircleDensity(np.array([0.8, 0.0]), np.array([0.0, 0.3]))


def wavy_function(x: Any) -> Any:
    """Return the function that is propagated, enclosed if the angles are."""
    return np.sin(x) + 0.5 * np.cos(2.0 * x)
