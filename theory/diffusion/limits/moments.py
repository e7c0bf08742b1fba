r"""Laplace's method about a minimiser, term by term: the moments of the Gaussian of the leading term.

With :math:`v = \sqrt\varepsilon w`, the integral of :math:`g(v)e^{-f(v)/2\varepsilon}` over :math:`\sqrt\varepsilon`
is that of a Gaussian of precision :math:`f_2` in w times a series in :math:`\sqrt\varepsilon`, whose odd powers have no
moment. Coefficients may be numbers or balls.

References
----------
R. Wong, *Asymptotic Approximations of Integrals*, SIAM 2001, chapter II.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from theory._validate import as_count

_Terms = dict[tuple[int, int], Any]  # from powers of the root of the bandwidth and of w to coefficients


def laplace_series(f: Any, g: Any, terms: int) -> list[Any]:
    r"""Return the coefficients in :math:`\varepsilon` of :math:`\int ge^{-f/2\varepsilon}`, up to a common factor.

    Parameters
    ----------
    f, g : sequence or power series
        Taylor coefficients about the minimiser, of f from the square on, at least ``2 terms + 1`` of them.
    terms : int
        How many coefficients.
    """
    top = 2 * as_count(terms, "terms") - 2
    rest: _Terms = {(j - 2, j): -f[j] / 2 for j in range(3, top + 3)}
    power: _Terms = {(j, j): g[j] for j in range(top + 1)}
    product = power
    for k in range(1, top + 1):
        power = _times(power, rest, top, k)
        product = {key: product.get(key, 0) + power.get(key, 0) for key in product.keys() | power.keys()}
    moment = {m: math.prod(range(m - 1, 0, -2)) * f[2] ** (-m // 2) for m in range(0, 4 * top + 1, 2)}
    return [sum(c * moment[m] for (s, m), c in product.items() if s == 2 * k) for k in range(terms)]


def divide_series(above: Sequence[Any], below: Sequence[Any]) -> list[Any]:
    """Return the coefficients of the quotient of two power series."""
    found: list[Any] = []
    for k in range(len(above)):
        known = sum(found[j] * below[k - j] for j in range(k))
        found.append((above[k] - known) / below[0])
    return found


def _times(a: _Terms, b: _Terms, top: int, divisor: int) -> _Terms:
    """Return the product of two series up to a power of the root of the bandwidth, divided."""
    found: _Terms = {}
    for (s, m), left in a.items():
        for (r, n), right in b.items():
            if s + r <= top:
                found[s + r, m + n] = found.get((s + r, m + n), 0) + left * right / divisor
    return found
