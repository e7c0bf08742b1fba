r"""Two tokens whose values are turned by one and the same noise: one cluster, or two opposite ones.

With :math:`y_i` what token i attends to and one matrix W of independent Brownian motions,
:math:`dx_i = P_{x_i}\,dW\,y_i - \tfrac{d-1}2|y_i|^2x_i\,dt`. The overlap r of two tokens, in the coordinate
:math:`w = \operatorname{artanh}r`, is a diffusion: with :math:`1/c = 2\cosh^2\tfrac{\beta(1-r)}2`,

.. math:: dw = \bigl((1 - c)r + (d - 2)c\bigr)dt + \sqrt{2(1 - c)}\,dB.

As :math:`c/(1 - c) = 1/\cosh\beta(1 - r)`, the density of its scale is
:math:`\frac1{\cosh w}\exp\bigl(-(d-2)\int_0^w\frac{dv}{\cosh\beta(1-\tanh v)}\bigr)`. Written over r it is
:math:`(1 - r)^{(d-3)/2}(1 + r)^{-(1 + (d-2)q)/2}e^{-(d-2)K(r)/2}` with :math:`q = 1/\cosh2\beta` and

.. math:: K(r) = \int_0^r\frac{\alpha(\rho) - 1}{1 - \rho} + \frac{\alpha(\rho) - q}{1 + \rho}\,d\rho,
          \qquad \alpha(\rho) = 1/\cosh\beta(1 - \rho),

which is analytic on the whole interval. It can be integrated up to -1 if and only if :math:`\cosh2\beta > d - 2`.

References
----------
L. Fedorov, M. E. Sander, R. Elie, P. Marion and M. Laurière, *Clustering in deep stochastic transformers*, 2026.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_count, as_positive, as_real
from theory.evidence import Interval, ball, hull, precision
from theory.evidence.enclosure import PRECISION, bits_in_force, coefficient, power_series
from theory.evidence.quadrature import integral_over

Array = NDArray[np.float64]
_LARGEST = 16.0  # taken: of an inverse temperature
_UNIT = 1e-9  # taken: by which the square of a length may differ from one
_ENOUGH = (PRECISION, 2400)  # bits; the second tells one from the hyperbolic cosine of the least positive float
_FAR = 0.125  # taken: a distance from an end that is divided by, which costs three bits
_LENGTH = 64  # taken: more coefficients than any power series of an integral has


def antipodal_threshold(dim: int) -> Interval:
    r"""Enclose the inverse temperature from which on opposite tokens attract: :math:`\cosh2\beta = d - 2`.

    Parameters
    ----------
    dim : int
        At least three; in three dimensions it is zero.

    Raises
    ------
    ValueError
        If there are less than three dimensions.
    """
    x = as_count(dim, "dim", least=3) - 2
    with precision():
        return hull((x + ball(x * x - 1).sqrt()).log() / 2)


def antipodal_probability(beta: float, dim: int, *, overlap: float = 0.0) -> Interval:
    """Enclose the probability that two tokens end opposite to each other and not in one place.

    Parameters
    ----------
    beta : float
        Inverse temperature, up to 16.
    dim : int
        At least three.
    overlap : float, default 0
        Of the tokens at the start, strictly between -1 and 1.

    Returns
    -------
    Interval
        Zero if the inverse temperature is not above :func:`antipodal_threshold`.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    inverse = as_positive(as_between(beta, "beta", 0.0, _LARGEST), "beta")
    d, start = as_count(dim, "dim", least=3), as_between(overlap, "overlap", -1.0, 1.0)
    if not -1.0 < start < 1.0:
        raise ValueError(f"overlap: expected less than one in size, got {overlap!r}")
    for bits in _ENOUGH:
        with precision(bits):
            b = ball(inverse)
            power = (d - 2) / _cosh(2 * b)
            if power >= 1:
                break
            if power < 1:
                low, high = -(1 + power) / 2, ball(d - 3) / 2  # exponents at both ends
                smooth = _smooth(b, d)
                upper = _pieces(smooth, low, high, ball(start), d)
                whole = _pieces(smooth, low, high, None, d)
                return hull(upper / whole)
    return Interval.exactly(0.0)


def common_noise_step(tokens: ArrayLike, beta: float, step: float, noise: ArrayLike) -> Array:
    """Move pairs of tokens by one step of Euler and Maruyama, and back to the sphere.

    Parameters
    ----------
    tokens : array_like, shape (m, 2, d)
        Unit vectors, in independent pairs.
    beta : float
        Inverse temperature.
    step : float
        Of time.
    noise : array_like, shape (m, d, d)
        What the noise of each pair has done in the meantime: independent entries of variance ``step``.

    Returns
    -------
    ndarray, shape (m, 2, d)

    Raises
    ------
    ValueError
        If tokens do not come in pairs or are not unit vectors, or the noise has another shape.
    """
    x = as_real(tokens, "tokens")
    if x.ndim != 3 or x.shape[1] != 2 or not x.size:
        raise ValueError(f"tokens: expected shape (m, 2, d), got {x.shape}")
    if not (np.abs(x) <= 1.0 + _UNIT).all() or not (np.abs(_inner(x, x) - 1.0) <= _UNIT).all():
        raise ValueError("tokens: expected unit vectors, got others")
    inverse, time = as_between(beta, "beta", 0.0, _LARGEST), as_positive(step, "step")
    turns = as_real(noise, "noise")
    if turns.shape != (len(x), x.shape[2], x.shape[2]):
        raise ValueError(f"noise: expected shape {(len(x), x.shape[2], x.shape[2])}, got {turns.shape}")
    other = (1.0 / (1.0 + np.exp(inverse * (1.0 - _inner(x[:, 0], x[:, 1])))))[:, np.newaxis, np.newaxis]
    seen = (1.0 - other) * x + other * x[:, ::-1]
    moved = seen @ turns.transpose(0, 2, 1)
    kept = 1.0 - _inner(moved, x) - 0.5 * (x.shape[2] - 1) * time * _inner(seen, seen)
    ahead = moved + kept[:, :, np.newaxis] * x
    found: Array = ahead / np.sqrt(_inner(ahead, ahead))[:, :, np.newaxis]
    return found


def _inner(one: Array, other: Array) -> Array:
    """Return inner products over the last axis."""
    found: Array = np.einsum("...k,...k->...", one, other)
    return found


def _pieces(smooth: Callable[[Any], Any], low: Any, high: Any, start: Any, dim: int) -> Any:
    """Return the integral of the density of the scale from an overlap, or from -1, up to 1."""

    def falling(u: Any) -> Any:  # over u = 1 - r
        return (2 - u) ** low * smooth(1 - u)

    def rising(v: Any) -> Any:  # over v = 1 + r
        return ((2 - v) ** high if dim > 3 else 1) * smooth(v - 1)

    zero, one = ball(0), ball(1)
    if start is None:
        return integral_over(rising, zero, one, exponent=low) + integral_over(falling, zero, one, exponent=high)
    if start >= 0:
        return integral_over(falling, zero, 1 - start, exponent=high)
    middle = integral_over(lambda v: v**low * rising(v), 1 + start, one)
    return middle + integral_over(falling, zero, one, exponent=high)


def _smooth(b: Any, dim: int) -> Callable[[Any], Any]:
    """Return the analytic factor of the density of the scale, on power series."""
    slope, up_to = _logarithm(b, bits_in_force())

    def factor(r: Any) -> Any:
        integral = (slope(r) * r.derivative()).integral() + up_to(coefficient(r, 0))
        return (-(dim - 2) * integral / 2).exp()

    return factor


@lru_cache(maxsize=32)
def _logarithm(b: Any, bits: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:  # noqa: ARG001  a key
    """Return the derivative of K and K itself, which know no dimension; values of K are kept."""
    done: dict[tuple[Any, ...], Any] = {}
    q = 1 / _cosh(2 * b)

    def slope(r: Any) -> Any:
        one, other = 1 - r, 1 + r
        x, y = b * one, b * other
        across = 1 / _cosh(x)
        first = (across - 1) / one if _far(one) else -b * _sinhc(x / 2) * _sinh(x / 2) * across
        return first + ((across - q) / other if _far(other) else b * _sinhc(y / 2) * _sinh(2 * b - y / 2) * across * q)

    def up_to(r: Any) -> Any:
        """Return the integral from zero, for any ball."""
        middle = r.mid()
        key = middle.man_exp()
        if key not in done:
            if middle > 0:
                done[key] = integral_over(slope, ball(0), middle)
            else:
                done[key] = -integral_over(slope, middle, ball(0)) if middle < 0 else ball(0)
        apart = r - middle
        return done[key] if apart == 0 else done[key] + apart * slope(r)  # zero for certain, or a ball around it

    return slope, up_to


def _far(distance: Any) -> bool:
    """Return whether to divide by a distance from an end, a ball or power series: it is not nearly zero."""
    return bool((coefficient(distance, 0) if hasattr(distance, "length") else distance) > _FAR)


def _cosh(x: Any) -> Any:
    return (x.exp() + (-x).exp()) / 2


def _sinh(x: Any) -> Any:
    return (x.exp() - (-x).exp()) / 2


def _sinhc(z: Any) -> Any:
    """Return sinh(z)/z, of a ball or power series, whose first term may be zero.

    In the terms of its own series that are left out no coefficient exceeds, in size, what they sum to at the sum of the
    sizes of those of z: less than twice the first of them.
    """
    series = hasattr(z, "length")
    size = sum((abs(coefficient(z, k)).upper() for k in range(z.length())), ball(0)) if series else abs(z).upper()
    terms = 20 + 4 * int(float(size.upper()))
    square, total = z * z, ball(0)
    for k in range(terms, 0, -1):
        total = (1 + total) * square / (2 * k * (2 * k + 1))
    left = 2 * size ** (2 * terms + 2) / ball(2 * terms + 3).fac()  # as much again is less than all later terms
    rest = (-left).union(left)
    return 1 + total + (power_series([rest] * _LENGTH) if series else rest)
