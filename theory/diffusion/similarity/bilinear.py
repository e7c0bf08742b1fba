r"""Bilinear scores :math:`f(x, y) = -\langle x, Ay\rangle`: cold on spheres and ellipsoids, and hot on any tokens.

On the sphere weights :math:`e^{-f/2\varepsilon}` are those of von Mises and Fisher: direction :math:`y_* = A^\top x/r`
with :math:`r = |A^\top x|`, concentration :math:`b = r/2\varepsilon`. With :math:`A_n(b) = I_{n/2}(b)/I_{n/2-1}(b)`,

.. math:: \mathbb E\,y = A_n y_*, \qquad
   \mathbb E\,yy^\top = \tfrac{A_n}bI + \big(1 - \tfrac{nA_n}b\big)y_*y_*^\top ,

so that tokens of density proportional to :math:`1 + \langle a, y\rangle` propagate linear functions in closed form.

References
----------
K. Mardia and P. Jupp, *Directional Statistics*, Wiley 2000, section 9.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_flag, as_masses, as_matrix, as_points, as_positive, as_vector, frozen
from theory.attention import DotProduct
from theory.attention.enclosed import known
from theory.diffusion.limits.operators import bessel_quotients, chordal_multiplier, half_inverse
from theory.evidence import as_intervals, exact, is_enclosed, norm, within
from theory.evidence.roundoff import U
from theory.evidence.systems import inverse_of

Array = NDArray[np.float64]


def resultant(dim: int, b: Any) -> Any:
    r"""Return :math:`A_n(b) = I_{n/2}(b)/I_{n/2-1}(b)`, the length of the mean of a von Mises-Fisher law on n - 1 dims.

    Enclosed if b is; the quotient is within 130 roundings (:func:`~theory.diffusion.limits.bessel_quotients`).

    Raises
    ------
    TypeError, ValueError
        If ``dim`` is not an integer of at least 2 or ``b`` is not positive.
    """
    n = as_count(dim, "dim", least=2)
    if is_enclosed(b):
        given = as_intervals(b)
        quotient = resultant(n, float(given.mid))  # of slope 1 - A^2 - (n - 1) A / b, which is at most one half
        return within(quotient, 130.0 * U * quotient + 0.5 * float(given.radius))
    return float(bessel_quotients(1, as_positive(b, "b"), 0.5 * n - 1.0)[1])


@dataclass(frozen=True, slots=True, eq=False)
class Bilinear:
    r"""The score :math:`f(x, y) = -\langle x, Ay\rangle` on the unit sphere of keys.

    Parameters
    ----------
    form : array_like, shape (d_x, n)
        A.

    Raises
    ------
    ValueError
        If ``form`` is not a finite matrix with at least two columns.
    """

    form: Array

    def __post_init__(self) -> None:
        form = as_matrix(self.form, "form")
        if form.shape[1] < 2:
            raise ValueError(f"form: expected at least two columns, got {form.shape[1]}")
        object.__setattr__(self, "form", frozen(form))

    def score(self, epsilon: float) -> DotProduct:
        r"""Return :math:`-f/2\varepsilon`."""
        return DotProduct(half_inverse(epsilon), self.form)

    def strength(self, query: ArrayLike) -> Any:
        r"""Return :math:`r = |A^\top x|`, enclosed if the query is."""
        pull = as_vector(query, "query", size=self.form.shape[0]) @ self.form
        return norm(pull) if is_enclosed(pull) else math.hypot(*pull.tolist())

    def minimiser(self, query: ArrayLike, *, shape: ArrayLike | None = None) -> Any:
        r"""Return the key that minimises f on the sphere, or on the ellipsoid :math:`\langle y, My\rangle = 1`.

        Parameters
        ----------
        query : array_like, shape (d_x,)
        shape : array_like, shape (n, n), optional
            M, symmetric and positive definite; the identity unless given.

        Returns
        -------
        ndarray or Intervals, shape (n,)
            Enclosed if an argument is.

        Raises
        ------
        ValueError
            If the query scores all keys alike or M is not positive definite.
        """
        pull = as_vector(query, "query", size=self.form.shape[0]) @ self.form
        size = float(np.abs(as_intervals(pull).mid).max())
        if not size > 0.0:
            raise ValueError("query: expected one that tells keys apart, got A'x = 0")
        pull = pull / size  # so that no square leaves the range
        if shape is None:
            return pull / np.linalg.norm(pull)
        n = pull.size
        matrix = as_matrix(shape, "shape", shape=(n, n))
        middle = as_intervals(matrix).mid
        if not np.linalg.eigvalsh(0.5 * (middle + middle.T)).min() > 0.0:
            raise ValueError("shape: expected a positive definite matrix, got one that is not")
        if is_enclosed(pull, matrix):
            point = inverse_of(as_intervals(matrix)) @ as_intervals(pull)
        else:
            point = np.linalg.solve(matrix, pull)
        return point / np.sqrt(point @ pull)

    def average_linear(self, query: ArrayLike, function: ArrayLike, tilt: ArrayLike, epsilon: float) -> Any:
        r"""Return :math:`P_\varepsilon h(x)` of a linear function, for tokens of a density that is linear.

        Enclosed if the query is.

        Parameters
        ----------
        query : array_like, shape (d_x,)
        function, tilt : array_like, shape (n,)
            w and a of :math:`h = \langle w, y\rangle`, :math:`p \propto 1 + \langle a, y\rangle`; a below length one.
        epsilon : float
            Positive.

        Raises
        ------
        ValueError
            If a shape does not fit or the density is not positive.
        """
        n = self.form.shape[1]
        w = as_vector(function, "function", size=n)
        a = as_vector(tilt, "tilt", size=n)
        length = float(np.linalg.norm(as_intervals(a).mid))
        if not length < 1.0:
            raise ValueError(f"tilt: expected a vector shorter than one, got length {length}")
        half_inverse(epsilon)  # refused by its name
        u = self.minimiser(query)
        b = 0.5 * self.strength(query) / as_positive(epsilon, "epsilon")
        first = resultant(n, b)
        crossed = first / b * (a @ w) + (1.0 - n * first / b) * (a @ u) * (w @ u)
        found = (first * (w @ u) + crossed) / (1.0 + first * (a @ u))
        return found if is_enclosed(found) else float(found)


def sphere_tokens(polar: int, around: int, *, enclosed: bool = False) -> tuple[Any, Any]:
    """Return tokens of the unit sphere in three dimensions, shape (n, 3), and the areas that they stand for.

    Gauss's rule in the height times the trapezoidal rule around: exact for polynomials of degree below ``2 polar`` and
    ``around``.

    Parameters
    ----------
    polar, around : int
    enclosed : bool, default False
        Whether tokens and areas are enclosed: Newton's method leaves 8 u of a height, which moves
        a ring by as much over its radius, and of its area 16 u per degree.
    """
    heights, weights = np.polynomial.legendre.leggauss(as_count(polar, "polar"))
    m = as_count(around, "around")
    z = np.repeat(heights, m)
    theta = np.tile(2.0 * math.pi * np.arange(m) / m, heights.size)
    ring = np.sqrt(1.0 - z**2)
    points = np.stack([ring * np.cos(theta), ring * np.sin(theta), z], axis=1)
    areas = np.repeat(weights, m) * 2.0 * math.pi / m
    if not as_flag(enclosed, "enclosed"):
        return points, areas
    return within(points, 16.0 * U / ring[:, np.newaxis]), within(areas, 16.0 * U * heights.size * areas)


def radial_multiplier(radius: float, epsilon: float) -> Callable[..., Array]:
    r"""Return :math:`k \mapsto I_k(r/\varepsilon)/I_0(r/\varepsilon)`, enclosed for enclosed orders.

    So attention with :math:`-|x - y|^2/2\varepsilon` of a query at distance r from the centre multiplies the waves on
    the unit circle of keys. The rounding is that of :func:`~theory.diffusion.limits.operators.bessel_quotients`, and of
    the quotient :math:`r/\varepsilon`.
    """
    b = as_positive(radius, "radius") / as_positive(epsilon, "epsilon")
    multiplier = chordal_multiplier(1.0 / b)

    def factor(k: Array) -> Array:
        if not is_enclosed(k):
            return multiplier(k)
        orders = known(k, "k")
        values = multiplier(orders)
        ratio = (6.0 + 2.5 * max(0.0, 48.0 - 2.0 * math.log(b))) * U  # of neighbours, relatively
        quotient = 8.0 * U * (1.0 + b)
        enclosed: Array = within(values, values * ((orders + 1.0) * ratio + quotient))
        return enclosed

    return factor


def hot_expansion(keys: ArrayLike, values: ArrayLike, pull: ArrayLike, weights: ArrayLike | None = None) -> Array:
    r"""Return the first coefficients in :math:`\beta` of averages under weights :math:`e^{\beta\langle u, y\rangle}`.

    Parameters
    ----------
    keys, values : array_like, shape (n, d) and (n, d_v)
    pull : array_like, shape (d,)
        u, which for a bilinear score is :math:`A^\top x`.
    weights : array_like, shape (n,), optional
        Of the keys; equal unless given.

    Returns
    -------
    ndarray, shape (3, d_v)
        The mean of the values; their covariance with :math:`s = \langle u, y\rangle`; half the mean of the values,
        centred, times the square of s, centred.
    """
    y = as_points(keys, "keys")
    v = as_points(values, "values", size=y.shape[0])
    if is_enclosed(y, v, pull):
        y, v = as_intervals(y), as_intervals(v)  # type: ignore[assignment]
    w = np.ones(y.shape[0]) if weights is None else as_masses(weights, "weights", size=y.shape[0])
    w = (exact(w) if is_enclosed(y) else w) / w.sum()
    u = as_vector(pull, "pull", size=y.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        s = y @ u
        s, centre = s - w @ s, w @ v
        found = np.stack([centre, (w * s) @ (v - centre), 0.5 * (w * s * s) @ (v - centre)])
    if not np.isfinite(as_intervals(found).hi if is_enclosed(found) else found).all():
        raise ValueError("keys, values, pull: expected ones whose moments float64 can hold, got an overflow")
    return found
