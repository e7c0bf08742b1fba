r"""Attention with a whole manifold of minimisers: averages along it, and the first correction.

If :math:`f(x, \cdot)` is least on a closed curve or hypersurface :math:`A_x` of codimension one, with derivatives
c, d, e of second to fourth order across it, :math:`C = 1/c`, :math:`m_0 \propto c^{-1/2}`, and volume
:math:`(1 + \mathcal V v^2 + O(v^3))\,dv\,dA` at distance v, then :math:`P_\varepsilon h = N_0/D_0 +
\varepsilon(N_1/D_0 - N_0D_1/D_0^2) + O(\varepsilon^2)` with :math:`N_0 = \int m_0hp`,

.. math:: N_1 = \int m_0\big[C(hp)'' - dC^2(hp)' + E\,hp\big], \qquad
   E = -\tfrac14eC^2 + \tfrac5{12}d^2C^3 + 2C\mathcal V ,

and the same for D with :math:`h = 1`. The volume is that of Fermi coordinates: for a totally geodesic :math:`A_x` it is
:math:`1 - \frac12\sum_\mathrm{tan}R(e, v, e, v) - \frac16\sum_\mathrm{nor}R(e, v, e, v)`.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288, theorem 6
and lemmas 1 and 2, with volume and normalisation corrected.
A. Gray, *Tubes*, second edition, Birkhauser 2004, chapter 9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_callable, as_count, as_instance, as_number, as_positive, as_real, as_vector, frozen
from theory.attention import rounding
from theory.diffusion.limits.laplace import REACH, GeneralScore, lattice
from theory.diffusion.limits.operators import propagate
from theory.evidence import Interval, as_intervals, estimated, is_enclosed
from theory.evidence.roundoff import U

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    r"""What a score is like across its minimisers, at n places along them.

    Parameters
    ----------
    second, third, fourth : array_like, shape (n,)
        Derivatives c, d, e of f across; c positive.
    volume : array_like, shape (n,), or float, default 0.0
        :math:`\mathcal V`, the coefficient of :math:`v^2` in the volume.

    Raises
    ------
    ValueError
        If a shape does not fit or c is not positive.
    """

    second: Array
    third: Array
    fourth: Array
    volume: Any = 0.0

    def __post_init__(self) -> None:
        c = as_vector(self.second, "second")
        least = float(as_intervals(c).lo.min())
        if not least > 0.0:
            raise ValueError(f"second: expected positive derivatives, got {least}")
        object.__setattr__(self, "second", _kept(c))
        for name in ("third", "fourth"):
            object.__setattr__(self, name, _kept(as_vector(getattr(self, name), name, size=c.size)))
        volume = as_real(self.volume, "volume")
        if volume.shape not in ((), c.shape):
            raise ValueError(f"volume: expected a number or shape {c.shape}, got shape {volume.shape}")
        object.__setattr__(self, "volume", _kept(np.broadcast_to(volume, c.shape)))

    @property
    def weight(self) -> Array:
        r"""The mass :math:`c^{-1/2}` of the peak, shape (n,), in units of its Gaussian factor."""
        return self.second**-0.5

    def correction(self, value: ArrayLike, slope: ArrayLike, curvature: ArrayLike) -> Array:
        """Return the coefficient of the bandwidth of a function with these derivatives across, shape (n,)."""
        n = self.second.size
        inverse = 1.0 / self.second
        v, s, k = (
            as_vector(part, name, size=n)
            for part, name in ((value, "value"), (slope, "slope"), (curvature, "curvature"))
        )
        even = -self.fourth * inverse**2 / 4.0 + 5.0 / 12.0 * self.third**2 * inverse**3
        even = even + 2.0 * inverse * self.volume
        corrected: Array = inverse * k - self.third * inverse**2 * s + even * v
        return corrected


def _kept(values: Array) -> Array:
    """Return a read-only copy; enclosures have no ends that are written."""
    return values if is_enclosed(values) else frozen(values)


def expand_along(profile: Profile, density: ArrayLike, product: ArrayLike) -> tuple[Any, Any]:
    r"""Return the limit of :math:`P_\varepsilon h` and its coefficient of :math:`\varepsilon`, enclosed if asked so.

    Parameters
    ----------
    profile : Profile
        At n places that are equally far apart along a closed curve.
    density, product : array_like, shape (3, n)
        Value, slope and second derivative across, of p and of h p.

    Raises
    ------
    ValueError
        If a shape does not fit or the density is not positive.
    """
    n = as_instance(profile, "profile", Profile).second.size
    p, hp = (as_real(part, name) for part, name in ((density, "density"), (product, "product")))
    for name, part in (("density", p), ("product", hp)):
        if part.shape != (3, n):
            raise ValueError(f"{name}: expected shape (3, {n}), got shape {part.shape}")
    least = float(as_intervals(p[0]).lo.min())
    if not least > 0.0:
        raise ValueError(f"density: expected positive numbers, got {least}")
    weight = profile.weight
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        below, above = weight @ p[0], weight @ hp[0]
        first = weight @ profile.correction(*hp)
        second = weight @ profile.correction(*p)
        limit, slope = above / below, first / below - above * second / below**2
    if is_enclosed(limit):
        return limit, slope
    limit, slope = float(limit), float(slope)
    if not (np.isfinite(limit) and np.isfinite(slope)):
        raise ValueError(f"density, product: expected ones of which float64 holds the quotients, got {limit}, {slope}")
    return limit, slope


def average_along(
    score: GeneralScore, query: ArrayLike, centre: float, width: float, function: Callable[[Array], Array],
    density: Callable[[Array], Array], *, nodes: int,
) -> Interval:  # fmt: skip
    r"""Enclose :math:`P_\varepsilon h(x)` on a torus, for a score that is least where the first angle is ``centre``.

    Parameters
    ----------
    score : GeneralScore
    query : array_like, shape (d_x,)
    centre, width : float
        Where the weights are in the first angle, and their standard deviation, about.
    function, density : callable
        h and the density, from keys (n, 2) to (n,), accurate to 64 u of their size.
    nodes : int
        Tokens around the second angle.

    Returns
    -------
    Interval
        Of kind ``ESTIMATED``: the average over tokens that are a lattice in the first angle. Its width is what rounding
        may do, and twice what a fourth more tokens per direction change.
    """
    x = as_vector(query, "query")[np.newaxis, :]
    n = as_count(nodes, "nodes", least=4)
    centre = as_number(centre, "centre")
    width = as_positive(width, "width")
    as_instance(score, "score", GeneralScore)
    as_callable(function, "function")
    as_callable(density, "density")
    found = []
    for per_width, around in ((2.0, n), (2.5, n + n // 4)):
        across = lattice([centre], [width], reach=min(REACH, np.pi / width), per_width=per_width)[:, 0]
        turn = 2.0 * np.pi * np.arange(around) / around
        keys = np.stack([np.repeat(across, around), np.tile(turn, across.size)], axis=1)
        values = function(keys)
        masses = density(keys)
        found.append(float(propagate(x, keys, values, score.epsilon, score=score, weights=masses)[0]))
    size = float(np.abs(values).max())
    error = rounding(x, keys, values[:, np.newaxis], score=score, weights=masses)
    # places are off by 8 u of their size, which ten deviations from the middle, where a score is 50, changes a weight
    # by ten times that in widths, or 50 times that in angles around
    moved = 8.0 * U * (10.0 * float(np.abs(across).max()) / width + 50.0 * 2.0 * np.pi)
    coarse, fine = found
    return estimated(fine, coarse, times=2.0) + Interval.within(0.0, error + size * (2.0 * moved + 256.0 * U))
