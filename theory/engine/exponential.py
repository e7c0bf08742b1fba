r"""The exponential that the kernels take: :math:`2^x`, written so that it runs in vector registers.

A softmax needs :math:`e^s = 2^{s \log_2 e}`, and :math:`\log_2 e` is folded into the scores before the first pair, so
that the range reduction has no rounding at all. With :math:`n` the integer nearest to :math:`x`,

.. math:: 2^x = 2^n \, 2^r, \qquad r = x - n \in [-\tfrac12, \tfrac12], \qquad
          2^r \approx 1 + \sum_{k=1}^{11} c_k r^k.

*Nearest integer.* For :math:`|x| < 2^{51}` the sum :math:`t = x + \tfrac32 2^{52}` rounds to
:math:`n + \tfrac32 2^{52}`: its last bit is worth one, and :math:`n` stands in its low bits. So
:math:`n = t - \tfrac32 2^{52}` is exact, and so is :math:`r`, a multiple of the last bit of :math:`x` no larger than
one half.

*Polynomial.* The :math:`c_k` are the Chebyshev interpolant on :math:`[-\tfrac12, \tfrac12]`, rounded, with
:math:`c_0 = 1`: relative error at most :math:`2.1 \cdot 10^{-17} < 0.19u` with :math:`u = 2^{-53}`. Even and odd
powers go apart, :math:`S = O(r^2)\,r + E(r^2)`, which halves the chain of dependent operations.

*Rounding*, whether or not products and sums are contracted. On :math:`|r| \le \tfrac12` all of :math:`O` but its first
coefficient is below :math:`0.015`, so :math:`O \le 0.7083` is off by at most :math:`(0.7083 + 4 \cdot 0.015)u`, and its
product with :math:`r` by :math:`\tfrac12 (0.7083 + 0.7083 + 0.06)u \le 0.74u`. :math:`E \le 0.0607` is off by at most
:math:`4 \cdot 0.0607u \le 0.25u`. Their sum adds :math:`|S|u \le 0.4143u`, and :math:`1 + S` half a unit in the last
place: :math:`u` where the result is at least one, :math:`u/2` below. Above one that is :math:`2.41u` of at least one;
below, :math:`|S| \le 0.2929`, and it is :math:`1.79u` of at least :math:`0.7071`, relatively :math:`2.53u`. With the
polynomial,

.. math:: |\mathrm{fl}(2^x) - 2^x| \le 2.75\,u\,2^x < 3.1 \cdot 10^{-16}\, 2^x.

*Exponent.* :math:`n` is added to the exponent bits, exactly while the result is normal. Arguments below -1021 are
taken for -1021: what such a term adds to a sum that is trusted is far below its rounding
(:mod:`theory.engine.passes`). The NaN of arithmetic stays NaN.

The single-precision version has degree 6, relative error :math:`1.95 \cdot 10^{-8} < 0.33u` with
:math:`u = 2^{-24}`, by the same count :math:`3u` in all, and ends at -125.

References
----------
N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, chapter 5.
"""

from __future__ import annotations

import numpy as np

from theory._jit import njit
from theory.engine.registers import as_float, as_float_single, bits, bits_single

LOG2E = 1.4426950408889634  # log2(e), rounded
LN2 = 0.6931471805599453  # log(2), rounded
LEAST = -1021.0  # derived: 2**-1021 times the least value of the polynomial is still normal
LEAST_SINGLE = -125.0

_NEAREST = 6755399441055744.0  # derived: 1.5 * 2**52, above which the last bit is worth one
_C1 = 0.6931471805599453
_C2 = 0.24022650695910158
_C3 = 0.055504108664821625
_C4 = 0.009618129107587256
_C5 = 0.001333355814640647
_C6 = 0.00015403530463724353
_C7 = 1.5252733841556773e-05
_C8 = 1.3215432535912375e-06
_C9 = 1.0178057087733941e-07
_C10 = 7.074194297288521e-09
_C11 = 4.4558179083360645e-10


ERROR = 2.75 * 2.0**-53  # derived above, relative


def _exp2(x: float) -> float:
    """Return two to the power ``max(x, LEAST)``, for ``x < 1023``."""
    x = LEAST if x < LEAST else x
    t = x + _NEAREST
    r = x - (t - _NEAREST)
    square = r * r
    odd = ((((_C11 * square + _C9) * square + _C7) * square + _C5) * square + _C3) * square + _C1
    even = ((((_C10 * square + _C8) * square + _C6) * square + _C4) * square + _C2) * square
    p = (odd * r + even) + 1.0
    return as_float(bits(p) + (bits(t) << 52))


_ONE = np.float32(1.0)
_FLOOR = np.float32(LEAST_SINGLE)
_NEAREST_SINGLE = np.float32(12582912.0)  # derived: 1.5 * 2**23
_S1 = np.float32(0.6931471824645996)
_S2 = np.float32(0.24022650718688965)
_S3 = np.float32(0.05550327152013779)
_S4 = np.float32(0.009618056938052177)
_S5 = np.float32(0.0013400427997112274)
_S6 = np.float32(0.00015461444854736328)


def _exp2_single(x: np.float32) -> np.float32:
    """Return two to the power ``max(x, LEAST_SINGLE)``, for ``x < 127``."""
    x = _FLOOR if x < _FLOOR else x
    t = x + _NEAREST_SINGLE
    r = x - (t - _NEAREST_SINGLE)
    square = r * r
    odd = (_S5 * square + _S3) * square + _S1
    even = ((_S6 * square + _S4) * square + _S2) * square
    p = (odd * r + even) + _ONE
    return as_float_single(bits_single(p) + (bits_single(t) << 23))


exp2 = njit(_exp2, inline=True)
exp2_single = njit(_exp2_single, inline=True)
