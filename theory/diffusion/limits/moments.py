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
from theory.evidence.interval import enclose

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
    for name, series in (("f", f), ("g", g)):
        _check(series, name, top + (3 if name == "f" else 1))
    if not f[2] > 0:
        raise ValueError(f"f: expected a positive second derivative, got {f[2]}")
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
    _check(above, "above", 1)
    _check(below, "below", len(above))
    if not abs(below[0]) > 0:
        raise ValueError(f"below: expected a first coefficient other than zero, got {below[0]}")
    found: list[Any] = []
    for k in range(len(above)):
        known = sum(found[j] * below[k - j] for j in range(k))
        found.append((above[k] - known) / below[0])
    return found


def _check(series: Any, name: str, least: int) -> None:
    """Raise unless a series has so many coefficients, numbers or balls."""
    if hasattr(series, "coeffs"):  # a power series of balls
        return
    if not isinstance(series, (list, tuple)):
        raise TypeError(f"{name}: expected a sequence of coefficients or a power series, got {type(series).__name__}")
    if len(series) < least:
        raise ValueError(f"{name}: expected at least {least} coefficients, got {len(series)}")
    for coefficient in series:
        if not hasattr(coefficient, "rad"):
            enclose(coefficient, name)


def _times(a: _Terms, b: _Terms, top: int, divisor: int) -> _Terms:
    """Return the product of two series up to a power of the root of the bandwidth, divided."""
    found: _Terms = {}
    for (s, m), left in a.items():
        for (r, n), right in b.items():
            if s + r <= top:
                found[s + r, m + n] = found.get((s + r, m + n), 0) + left * right / divisor
    return found
