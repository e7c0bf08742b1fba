r"""Means over the sphere of functions of the cosine with a pole, enclosed in balls.

With :math:`u = \langle x, e\rangle = \cos t` on :math:`S^{d-1}` and the uniform law :math:`\sigma`,

.. math:: \int f(u)\,d\sigma = \frac{\Gamma(d/2)}{\Gamma((d-1)/2)\sqrt\pi} \int_0^\pi f(\cos t)\sin^{d-2}t\,dt .

The Gegenbauer polynomials :math:`P_l` are scaled to :math:`P_l(1) = 1`; by the formula of Funk and Hecke a kernel
:math:`k(\langle x, y\rangle)` multiplies every harmonic of degree l by :math:`\langle kP_l\rangle`. All degrees share
the Taylor polynomials of the kernel on a panel, and every remainder is enclosed.

References
----------
F. Dai and Y. Xu, *Approximation Theory and Harmonic Analysis on Spheres and Balls*, Springer 2013, section 1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from theory._validate import as_callable, as_count
from theory.evidence.enclosure import ball, ball_matrix, bits_in_force, power_series, precision, variable

_ORDER = 40  # taken: even, so that the remainder has one sign
PANELS = 16  # taken: for kernels of a few tens; the remainder of a panel shrinks like its width to the order


def zonal_polynomials(u: Any, degree: int, dim: int) -> list[Any]:
    """Return the polynomials of degree zero to ``degree`` at ``u``: an array, a ball or a power series."""
    top = as_count(degree, "degree", least=0)
    d = as_count(dim, "dim", least=2)
    found = [u * 0 + 1, u]
    for k in range(1, top):
        found.append(((2 * k + d - 2) * (u * found[k]) - k * found[k - 1]) / (k + d - 2))
    return found[: top + 1]


def zonal_means(kernel: Callable[[Any], Any], degree: int, *, dim: int = 2, panels: int = PANELS) -> list[Any]:
    r"""Enclose :math:`\langle kP_l\rangle` for every degree up to ``degree``.

    Parameters
    ----------
    kernel : callable
        From the cosine, a power series of balls, to a power series of balls.
    degree : int
        Largest l.
    dim : int, default 2
        d of the sphere in d dimensions, at least two.
    panels : int, default 16
        Pieces of the half circle.

    Returns
    -------
    list of ball
        Wide where the kernel varies too much on a panel, never wrong.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    as_callable(kernel, "kernel")
    top = as_count(degree, "degree", least=0)
    d = as_count(dim, "dim", least=2)
    pieces = as_count(panels, "panels")
    weights = [[kernel(u) for u in pair] for pair in panel_cosines(d, pieces)]
    return integrate_weights(weights, top, dim=d)


def integrate_weights(weights: Sequence[Sequence[Any]], degree: int, *, dim: int) -> list[Any]:
    r"""Enclose :math:`\langle kP_l\rangle` for k known by its series at every pair of :func:`panel_cosines`; balls."""
    pieces = len(weights)
    pi = ball(0).pi()
    half = ball(dim) / 2
    last = (pi / (2 * pieces)) ** (_ORDER + 1) / (_ORDER + 1)
    found = [pi * 0] * (degree + 1)
    places = zip(weights, _places(dim, pieces, bits_in_force()), strict=True)
    functionals = _functionals(degree, dim, pieces, bits_in_force())
    for (pair, (_, densities)), (integral, remainder) in zip(places, functionals, strict=True):
        at, over = (w if density is None else w * density for w, density in zip(pair, densities, strict=True))
        values = (integral * _column(at, _ORDER)).entries()
        rests = (remainder * _column(over, _ORDER + 1)).entries()
        for ell, (value, rest) in enumerate(zip(values, rests, strict=True)):
            found[ell] = found[ell] + 2 * (value + rest * last)
    factor = half.gamma() / ((half - ball(0.5)).gamma() * pi.sqrt())
    return [factor * each for each in found]


def panel_cosines(dim: int, panels: int = PANELS) -> list[tuple[Any, Any]]:
    """Return the cosine about the middle of every panel of the half circle, and over the panel; power series."""
    return [cosines for cosines, _ in _places(dim, panels, bits_in_force())]


def expand_zonal(coefficients: Sequence[Any], *, dim: int = 2, panels: int = PANELS) -> list[list[Any]]:
    r"""Return :math:`\sum_{l\ge1}\kappa_lP_l` at every pair of :func:`panel_cosines`; power series."""
    row = ball_matrix([coefficients])
    tables = _tables(len(coefficients), dim, panels, bits_in_force())
    return [[power_series((row * table).entries()) for table in pair] for pair in tables]


@cache  # the kernels differ, the places and the polynomials there do not
def _places(dim: int, pieces: int, bits: int) -> list[tuple[tuple[Any, Any], tuple[Any, Any]]]:
    """Return cosines and densities about the middle of every panel, and over it, with ``bits`` bits."""
    found = []
    with precision(bits):
        t = variable(_ORDER + 1).item()
        radius = ball(0).pi() / (2 * pieces)
        for piece in range(pieces):
            start, centre = 2 * piece * radius, (2 * piece + 1) * radius
            about, over = centre + t, start.union(start + 2 * radius) + t
            densities = (about.sin() ** (dim - 2), over.sin() ** (dim - 2)) if dim > 2 else (None, None)
            found.append(((about.cos(), over.cos()), densities))
    return found


@cache
def _coefficients(degree: int, dim: int, pieces: int, bits: int) -> list[list[list[list[Any]]]]:
    """Return the coefficients of every polynomial at the places."""
    with precision(bits):
        return [
            [[_listed(p, _ORDER + 1) for p in zonal_polynomials(u, degree, dim)] for u in cosines]
            for cosines, _ in _places(dim, pieces, bits)
        ]


@cache
def _tables(degree: int, dim: int, pieces: int, bits: int) -> list[list[Any]]:
    """Return them from degree one on as matrices, a row for each polynomial."""
    return [[ball_matrix(rows[1:]) for rows in pair] for pair in _coefficients(degree, dim, pieces, bits)]


@cache
def _functionals(degree: int, dim: int, pieces: int, bits: int) -> list[tuple[Any, Any]]:
    r"""Return what takes the coefficients of k to those of :math:`kP_l` that count: their integral, and the last.

    The polynomial :math:`\sum_mt^m\sum_jk_jp_{m-j}` has half the integral
    :math:`\sum_jk_j\sum_{m\ge j}p_{m-j}r^{m+1}/(m+1)`, over even m, and the coefficient :math:`\sum_jk_jp_{N-j}` of
    :math:`t^N`.
    """
    with precision(bits):
        radius = ball(0).pi() / (2 * pieces)
        steps = {m: radius ** (m + 1) / (m + 1) for m in range(0, _ORDER, 2)}

        def integral(p: list[Any]) -> list[Any]:
            return [sum((p[m - j] * steps[m] for m in range(j + j % 2, _ORDER, 2)), ball(0)) for j in range(_ORDER)]

        return [
            (ball_matrix([integral(p) for p in at]), ball_matrix([p[::-1] for p in over]))
            for at, over in _coefficients(degree, dim, pieces, bits)
        ]


def _listed(series: Any, length: int) -> list[Any]:
    return [series[k] for k in range(length)]


def _column(series: Any, length: int) -> Any:
    return ball_matrix([[c] for c in _listed(series, length)])
