"""Masses of keys as the engine takes them, by their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np


def logs_of(masses: Any) -> Any:
    """Return the logarithms of masses, shape (n,), to the same last bit wherever they lie in memory.

    Of a lone number that is no neighbour of the next one NumPy takes another loop, which rounds otherwise: such arrays
    are copied. Enclosed if the masses are.
    """
    if type(masses) is np.ndarray and masses.strides != (masses.itemsize,):
        masses = masses.copy()
    return np.log(masses)
