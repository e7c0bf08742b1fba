r"""Exponential and logarithm of the whole range of float64, written so that they run in vector registers.

:mod:`theory.engine.exponential` is for sums, to which small terms add nothing; a map of scores to weights returns every
term, so here the exponential falls to the smallest number and to zero, and its argument is not multiplied before the
range is reduced.

*Exponential.* :math:`x = n\log 2 + r` with :math:`n` the integer nearest to :math:`x\log_2e`, found as there. The
upper part of :math:`\log 2` has 32 bits, so :math:`n` times it is exact, and so is the difference from :math:`x`, a
multiple of the last bit of :math:`x` below one half; the lower part costs :math:`10^{-6}u` and the rounding of
:math:`|r| \le 0.3467`, :math:`u/4` with :math:`u = 2^{-53}`. What a caller knows of the argument beyond its last digit
is added to the lower part. Then :math:`e^r \approx 1 + (r + r^2T(r))`, :math:`T` of degree 10 the Chebyshev interpolant
of :math:`(e^r - 1 - r)/r^2`: relative error below :math:`0.01u`.

*Rounding*, whether or not products and sums are contracted. :math:`|r^2T| \le 0.068` is off by at most four roundings,
:math:`0.28u`, and its sum with :math:`r`, at most :math:`0.4143`, rounds by :math:`u/4`. The rounding of :math:`r` is
multiplied by :math:`e^r`. Above one that is :math:`(0.25 \cdot 1.4143 + 0.28 + 0.25)u` and the last sum :math:`u`,
together :math:`1.89u` of at least one; below, :math:`(0.25 + 0.28 + 0.25 + 0.5)u = 1.28u` of at least :math:`0.7071`,
relatively :math:`1.81u`. With the polynomial

.. math:: |\mathrm{fl}(e^x) - e^x| \le 1.9\,u\,e^x,

less than one unit :math:`2u`, and where the result is subnormal :math:`2^{-1075}` more: :math:`2^n` is multiplied in
two parts, the first of which leaves a normal number. Below -760 the result is zero.

*Logarithm.* :math:`x = 2^km`, :math:`\sqrt{1/2} \le m < \sqrt2`, :math:`f = m - 1` exactly, :math:`s = f/(2 + f)`,
:math:`\log m = f - (\frac12f^2 - s(\frac12f^2 + R(s^2)))` with the polynomial of fdlibm, whose error is
:math:`0.02u` of :math:`\log m`. It is returned as a sum of two: the rounded one, and what rounding took. So what is
left are the errors of :math:`\frac12f^2 \le 0.0859`, :math:`u/16`, of the bracket, as much again, and of the product
with :math:`s`, below :math:`0.0183` and off by five roundings: :math:`0.22u`, beside :math:`|\log x| \ge 0.3465`
wherever :math:`k \ne 0` or :math:`f` is that large, and for smaller :math:`f` beside :math:`|\log x|` no more:

.. math:: |a + b - \log x| \le 0.7\,u\,|\log x|.

References
----------
N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, chapter 5; fdlibm, ``e_log.c``, Sun
Microsystems 1993.
"""

from __future__ import annotations

from theory._jit import njit
from theory.engine.exponential import LOG2E
from theory.engine.registers import as_float, bits

EXP_ERROR = 1.9 * 2.0**-53  # derived above, relative, where the exponential is normal
LOG_ERROR = 0.7 * 2.0**-53  # derived above, relative

_LEAST = -760.0  # derived: e**-746 is less than half of the smallest number
_MOST = 709.0  # derived: beyond, where no weight is, it is taken for this
_NEAREST = 6755399441055744.0  # derived: 1.5 * 2**52, above which the last bit is worth one
_DEEP = -1000.0  # derived: two to this times the least value of the polynomial is normal
_BIAS = 1023
_HIGH = 6.93147180369123816490e-01  # log(2), its first 32 bits
_LOW = 1.90821492927058770002e-10  # the rest of log(2)
_T0 = 0.5
_T1 = 0.1666666666666667
_T2 = 0.04166666666666667
_T3 = 0.008333333333326127
_T4 = 0.0013888888888883742
_T5 = 0.00019841269874850708
_T6 = 2.4801587325569223e-05
_T7 = 2.755725536205433e-06
_T8 = 2.7557273615865557e-07
_T9 = 2.510523288117511e-08
_T10 = 2.0914698305573583e-09

_ROOT = 0x3FE6A09E00000000  # the bits of the square root of one half, its upper half
_SHIFT = 0x3FF0000000000000 - _ROOT
_MANTISSA = 0x000FFFFFFFFFFFFF
_EXPONENT = 0x7FF
_INTEGER = 0x4330000000000000  # the bits of 2**52
_OFFSET = 4503599627370496.0 + 1023.0  # 2**52 and the bias
_L1 = 6.666666666666735130e-01
_L2 = 3.999999999940941908e-01
_L3 = 2.857142874366239149e-01
_L4 = 2.222219843214978396e-01
_L5 = 1.818357216161805012e-01
_L6 = 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01


def _exp(x: float, more: float) -> float:
    """Return ``e ** (x + more)``, where ``more`` is below the last digits of ``x``."""
    x = _LEAST if x < _LEAST else x
    x = _MOST if x > _MOST else x
    n = (x * LOG2E + _NEAREST) - _NEAREST
    r = (x - n * _HIGH) - (n * _LOW - more)
    square = r * r
    odd = (((_T9 * square + _T7) * square + _T5) * square + _T3) * square + _T1
    even = ((((_T10 * square + _T8) * square + _T6) * square + _T4) * square + _T2) * square + _T0
    p = (r + square * (odd * r + even)) + 1.0
    near = _DEEP if n < _DEEP else n
    scale = as_float((bits((n - near) + _NEAREST) + _BIAS) << 52)
    return as_float(bits(p) + (bits(near + _NEAREST) << 52)) * scale


def _log(x: float) -> tuple[float, float]:
    """Return the logarithm of a normal number as the sum of two, the second below the last digits of the first."""
    shifted = bits(x) + _SHIFT
    k = as_float(((shifted >> 52) & _EXPONENT) | _INTEGER) - _OFFSET
    f = as_float((shifted & _MANTISSA) + _ROOT) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    tail = w * (w * (_L6 * w + _L4) + _L2) + z * (w * (w * (_L7 * w + _L5) + _L3) + _L1)
    half = 0.5 * f * f
    rest = s * (half + tail) + k * _LOW
    large = k * _HIGH
    low = rest - half
    first = large + f  # of two floats neither of which hides the other: what rounding took is exact
    lost = (large - first) + f
    total = first + low
    return total, ((first - total) + low) + lost


exp = njit(_exp, inline=True)
log = njit(_log, inline=True)
