r"""Sums of a periodic kernel over scattered points, by a pair of non-uniform fast Fourier transforms.

With :math:`g(\theta) = \sum_k \hat g_k e^{ik\theta}`, real and even,

.. math:: \sum_j c_j\, g(y_j - x) = \sum_k \hat g_k e^{-ikx} \Bigl(\sum_j c_j e^{iky_j}\Bigr):

a transform of type 1 at the keys, a product, a transform of type 2 at the queries. As :math:`g` is real, the real and
the imaginary part of :math:`c` stay apart: each complex transform carries two real sums.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from theory.engine.pairs import Array
from theory.engine.spectrum import Series

_FORKED: list[bool] = []  # not empty in a forked child: the threads of its parent's OpenMP are gone, and waited for
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _FORKED.append(True))


def column(packed: NDArray[np.complex128], c: int) -> Array:
    """Return the place of column ``c`` of the values behind the mass: imaginary and real parts in turn."""
    row = packed[(c + 1) // 2]
    part: Array = row.real if c % 2 else row.imag
    return part


def strengths(masses: Array, relative: Array) -> NDArray[np.complex128]:
    """Return masses and masses times values, two real strengths in each complex one, shape (t, n)."""
    d_v, n = relative.shape
    packed = np.zeros(((d_v + 2) // 2, n), dtype=np.complex128)
    packed[0].real = masses
    for c in range(d_v):
        np.multiply(masses, relative[c], out=column(packed, c))
    return packed


def fields(
    series: Series, strengths: NDArray[np.complex128], eps: float, workers: int
) -> tuple[NDArray[np.complex128], float]:
    """Sum the kernel over the keys, at every query, for several strengths at once.

    Rounding depends on the number of threads, as theirs add in any order; nothing else does.

    Parameters
    ----------
    series : Series
        Kernel and clouds.
    strengths : ndarray of complex, shape (t, n)
        The real part of the first is not negative.
    eps : float
        Tolerance of the transform.
    workers : int
        Number of threads.

    Returns
    -------
    sums : ndarray of complex, shape (t, m)
    peak : float
        Largest real part of the first sum on the torus, from samples at 2K + 1 points per axis.
    """
    import finufft  # noqa: PLC0415  loads a shared library

    workers = 1 if _FORKED else workers
    modes = tuple(kernel.size for kernel in series.coefficients)
    options = {"eps": eps, "nthreads": workers, "upsampfac": 2.0}  # the noise was measured with this grid
    t = strengths.shape[0]
    gather = finufft.Plan(1, modes, t, **options)
    gather.setpts(*series.keys)
    waves = gather.execute(strengths).reshape(t, *modes)
    for axis, kernel in enumerate(series.coefficients):
        waves *= kernel.reshape([-1 if f == axis else 1 for f in range(len(modes))])
    peak = float(fft.fftn(fft.ifftshift(waves[0]), workers=workers).real.max())
    read = finufft.Plan(2, modes, t, **options)
    read.setpts(*series.queries)
    return read.execute(waves).reshape(t, -1), peak
