r"""Isotropic kernels :math:`k(|x - y|/\sqrt\varepsilon)` on a flat torus, by their exact Fourier coefficients.

A kernel wrapped around the torus has the Fourier transform of the one on the plane at integer frequencies. Only the
ratio of its second moment in one direction to its mass enters the limit:

.. math:: \frac{P_\varepsilon h - h}\varepsilon \longrightarrow \frac{m_2}{2m_0}L_{g,p}h, \qquad
   m_0 = \int k, \quad m_2 = \int u_1^2k .

References
----------
R. Coifman and S. Lafon, Diffusion maps, *Applied and Computational Harmonic Analysis* 21 (2006), proposition 8.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_choice, as_positive

Array = NDArray[np.float64]
KERNELS = ("gaussian", "narrow", "exponential", "ball")


def kernel_multiplier(name: str, epsilon: float, dim: int) -> Callable[..., Array]:
    r"""Return the Fourier coefficients of a kernel of mass one, as a function of d arrays of integer frequencies.

    Parameters
    ----------
    name : {"gaussian", "narrow", "exponential", "ball"}
        :math:`k(r) = e^{-r^2/2}`, :math:`e^{-r^2}`, :math:`e^{-r}`, or 1 up to :math:`r = 1`.
    epsilon : float
        Positive.
    dim : {1, 2}

    Raises
    ------
    ValueError
        If the kernel or the dimension is not known, or ``epsilon`` is not positive.
    """
    as_choice(name, "name", KERNELS)
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim not in (1, 2):
        raise ValueError(f"dim: expected 1 or 2, got {dim!r}")
    dim = int(dim)
    epsilon = as_positive(epsilon, "epsilon")

    def factor(*k: Array) -> Array:
        if len(k) != dim:
            raise ValueError(f"k: expected {dim} arrays of frequencies, got {len(k)}")
        square = epsilon * np.asarray(sum(mode**2 for mode in k))  # of the frequency in units of the kernel's width
        if name in ("gaussian", "narrow"):
            return np.exp(-square / (2.0 if name == "gaussian" else 4.0))
        if name == "exponential":
            return np.asarray((1.0 + square) ** (-0.5 * (dim + 1)))
        return _ball(np.sqrt(square), dim)

    return factor


def _ball(s: Array, dim: int) -> Array:
    """Return the transform of the indicator of the unit ball, of mass one, at radial frequency ``s``."""
    if dim == 1:
        return np.asarray(np.sinc(s / np.pi))
    from scipy.special import j1  # noqa: PLC0415  slow to load

    small = s < 1e-4  # there 1 - s^2 / 8 is right to the last digit
    safe = np.where(small, 1.0, s)
    return np.asarray(np.where(small, 1.0 - s**2 / 8.0, 2.0 * j1(safe) / safe))
