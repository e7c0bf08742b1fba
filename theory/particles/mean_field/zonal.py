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

from collections.abc import Callable
from functools import cache
from typing import Any

from theory._validate import as_callable, as_count
from theory.evidence.enclosure import ball, bits_in_force, precision, variable

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
    pi = ball(0).pi()
    half = ball(d) / 2
    radius = pi / (2 * pieces)
    steps = [radius ** (k + 1) / (k + 1) for k in range(_ORDER + 1)]
    found = [pi * 0] * (top + 1)
    for panel in _panels(top, d, pieces, bits_in_force()):
        at, over = (_products(kernel, *place) for place in panel)
        for ell in range(top + 1):
            value = sum((at[ell][k] * steps[k] for k in range(2, _ORDER, 2)), at[ell][0] * radius)
            found[ell] = found[ell] + 2 * (value + over[ell][_ORDER] * steps[_ORDER])
    factor = half.gamma() / ((half - ball(0.5)).gamma() * pi.sqrt())
    return [factor * each for each in found]


@cache  # the kernels differ, the places and the polynomials there do not
def _panels(degree: int, dim: int, pieces: int, bits: int) -> list[list[tuple[Any, Any, list[Any]]]]:
    """Return cosine, density and polynomials about the middle of every panel, and over it, with ``bits`` bits."""
    found = []
    with precision(bits):
        t = variable(_ORDER + 1).item()
        radius = ball(0).pi() / (2 * pieces)
        for piece in range(pieces):
            start, centre = 2 * piece * radius, (2 * piece + 1) * radius
            angles = [x + t for x in (centre, start.union(start + 2 * radius))]
            cosines = [angle.cos() for angle in angles]
            densities = [angle.sin() ** (dim - 2) if dim > 2 else None for angle in angles]
            each = [zonal_polynomials(u, degree, dim) for u in cosines]
            found.append(list(zip(cosines, densities, each, strict=True)))
    return found


def _products(kernel: Callable[[Any], Any], u: Any, density: Any, harmonics: list[Any]) -> list[Any]:
    weight = kernel(u) if density is None else kernel(u) * density
    return [weight * p for p in harmonics]
