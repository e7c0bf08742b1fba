r"""The bandwidth at which a layer over N independent tokens is nearest to its limit.

Of :math:`A_\varepsilon = (\hat P_\varepsilon h - h)/\varepsilon` as an estimate of :math:`\frac12Lh`, the mean square
error by the delta method is the square of the bias, which falls with :math:`\varepsilon`, plus the variance, which
grows. With one extrapolation the estimate is :math:`2A_{\varepsilon/2} - A_\varepsilon` over the same tokens, so that
the two are correlated.

For the chordal kernel, :math:`K_aK_b = K_{ab/(a + b)}`, all expectations are convolutions. To lose no digits,
:math:`A_\varepsilon` is summed from the deficits :math:`(1 - I_k(b)/I_0(b))/\varepsilon`, :math:`b = 1/\varepsilon`, of
the multipliers, which are means of :math:`2\sin^2(kv/2)/\varepsilon` and need no difference.

References
----------
A. Singer, From graph to manifold Laplacian: the convergence rate, *Applied and Computational Harmonic Analysis* 21
(2006).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_callable, as_flag, as_index, as_instance, as_positive, as_real, frozen
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.operators import chordal_multiplier
from theory.evidence import Interval
from theory.evidence.roundoff import gamma

Array = NDArray[np.float64]
_NOISE = gamma(1024)  # derived: of a transform of a thousand numbers at most, and the few operations around it
_RANGE = (1e-5, 0.5)  # taken: of bandwidths that are searched
_NARROWEST = 1e-9  # taken: a million nodes
_FINE = 1e-6  # taken: the step of the logarithm at which the search stops


class Optimum(NamedTuple):
    """Where a function of one positive variable is least."""

    place: Interval
    value: Interval


@dataclass(frozen=True, eq=False)
class StepError:
    """Bias and variance of one step at every node of a torus, for a density and a function the grid resolves.

    Parameters
    ----------
    grid : PeriodicGrid
        Small: it must resolve the square of the function times the density, not the kernel.
    density, values : array_like
        p, of total mass one, and h on the grid.

    Raises
    ------
    ValueError
        If a shape does not fit or the density is not positive.
    """

    grid: PeriodicGrid
    density: Array
    values: Array

    def __post_init__(self) -> None:
        as_instance(self.grid, "grid", PeriodicGrid)
        for name in ("density", "values"):
            array = as_real(getattr(self, name), name)
            if array.shape != self.grid.shape:
                raise ValueError(f"{name}: expected shape {self.grid.shape}, got shape {array.shape}")
            object.__setattr__(self, name, frozen(array))
        if not self.density.min() > 0.0:
            raise ValueError(f"density: expected positive numbers, got {self.density.min()}")

    def limit(self) -> Array:
        r"""Return :math:`\frac12Lh = (\Delta(hp) - h\Delta p)/2p`."""
        p, h = self.density, self.values
        found: Array = (self.grid.laplacian(h * p) - h * self.grid.laplacian(p)) / (2.0 * p)
        return found

    def step(self, epsilon: float) -> Array:
        r"""Return :math:`(P_\varepsilon h - h)/\varepsilon` over infinitely many tokens."""
        e = _bandwidth(epsilon)
        p = self.density
        h = self.values
        deficits = [_deficits(n, e) for n in self.grid.shape]

        def lost(*k: Array) -> Array:
            total = np.zeros((1,) * len(k))
            for mode, d in zip(k, deficits, strict=True):  # 1 - (1 - ea)(1 - eb) = e (a + b - eab)
                own = d[np.abs(mode).astype(int)]
                total = total + own - e * total * own
            return total

        mass = self.grid.multiply(p, chordal_multiplier(e))
        found: Array = (h * self.grid.multiply(p, lost) - self.grid.multiply(h * p, lost)) / mass
        return found

    def variance(self, epsilon: float, *, extrapolated: bool = False) -> Array:
        r"""Return N times the variance of :math:`A_\varepsilon`, or of its extrapolation, by the delta method."""
        e = _bandwidth(epsilon)
        p = self.density
        h = self.values
        terms = [(e, -1.0 / e), (0.5 * e, 4.0 / e)] if as_flag(extrapolated, "extrapolated") else [(e, 1.0 / e)]
        centres = {a: h + a * self.step(a) for a, _ in terms}
        masses = {a: self._mean(p, a) for a, _ in terms}
        total = np.zeros(self.grid.shape)
        for (a, weight), (b, other) in itertools.product(terms, terms):
            c = a * b / (a + b)
            square = self._mean(h * h * p, c) - (centres[a] + centres[b]) * self._mean(h * p, c)
            square += centres[a] * centres[b] * self._mean(p, c)
            total += weight * other * square / (masses[a] * masses[b])
        return total

    def best(self, node: tuple[int, ...], n: float, *, extrapolated: bool = False) -> Optimum:
        """Enclose the bandwidth at which the error at one node is least, and the root mean square error there."""
        count = as_positive(n, "n")
        extrapolated = as_flag(extrapolated, "extrapolated")
        node = tuple(as_index(k, "node", size=size) for k, size in zip(_places(node), self.grid.shape, strict=True))
        target = float(self.limit()[node])
        size, p = float(np.abs(self.values).max()), float(self.density[node])

        def square(epsilon: float) -> tuple[float, float]:
            bias = self.step(epsilon)
            if extrapolated:
                bias = 2.0 * self.step(0.5 * epsilon) - bias
            off = float(bias[node]) - target
            spread = float(self.variance(epsilon, extrapolated=extrapolated)[node]) / count
            # what the variance is the rest of: sixteen terms of this size with one extrapolation, else one
            terms = (
                (64.0 if extrapolated else 4.0)
                * size**2
                / (epsilon**2 * p * (4.0 * math.pi * epsilon) ** (0.5 * self.grid.dim))
            )
            return off**2 + spread, _NOISE * (2.0 * abs(off) * (abs(target) + size) + terms / count)

        found = least(square, *_RANGE)
        return Optimum(found.place, found.value.sqrt())

    def _mean(self, values: Array, epsilon: float) -> Array:
        from scipy.special import ive  # noqa: PLC0415  slow to load

        found: Array = self.grid.multiply(values, chordal_multiplier(epsilon))
        return found * float(2.0 * math.pi * ive(0, 1.0 / epsilon)) ** self.grid.dim


def least(function: Callable[[float], tuple[float, float]], low: float, high: float) -> Optimum:
    """Enclose the least value on ``[low, high]`` of a positive function that falls and then rises, and its place.

    Parameters
    ----------
    function : callable
        Returns a value and what rounding may have done to it.
    low, high : float
        Positive ends; the search is in the logarithm, by Brent's method.

    Returns
    -------
    Optimum
        The place is as wide as it takes for both ends to be above the least value in spite of rounding, unknown if the
        function does not rise within the range.

    Raises
    ------
    ValueError
        If ``low`` is not below ``high``.
    """
    from scipy.optimize import minimize_scalar  # noqa: PLC0415  slow to load

    as_callable(function, "function")
    low, high = as_positive(low, "low"), as_positive(high, "high")
    if not low < high:
        raise ValueError(f"high: expected more than {low}, got {high}")
    ends = (math.log(low), math.log(high))
    search = minimize_scalar(
        lambda x: function(math.exp(x))[0], bounds=ends, method="bounded", options={"xatol": _FINE}
    )
    place = math.exp(float(search.x))
    value, error = function(place)
    width = _FINE
    while low < place * math.exp(-width) and place * math.exp(width) < high:
        near = [function(place * math.exp(shift)) for shift in (-width, width)]
        if all(other - rough > value + error for other, rough in near):
            inside = Interval.within(place, place * math.expm1(width))
            return Optimum(inside, Interval(max(value - error - max(o - value for o, _ in near), 0.0), value + error))
        width *= 2.0
    return Optimum(Interval.unknown(), Interval(0.0, value + error))


def _bandwidth(epsilon: float) -> float:
    width = as_positive(epsilon, "epsilon")
    if not width > _NARROWEST:
        raise ValueError(
            f"epsilon: expected more than {_NARROWEST:g}, since nodes are as many as its root, got {width}"
        )
    return width


def _places(node: tuple[int, ...]) -> tuple[int, ...]:
    if not isinstance(node, tuple):
        raise TypeError(f"node: expected a tuple of integers, got {type(node).__name__}")
    return node


def _deficits(n: int, epsilon: float) -> Array:
    """Return the mean of 2 sin^2(k v / 2) / epsilon under the kernel, for k up to n / 2."""
    nodes = 64 + n + math.ceil(16.0 / math.sqrt(epsilon))
    v = 2.0 * math.pi * np.arange(nodes) / nodes
    weights = np.exp(-2.0 * np.sin(0.5 * v) ** 2 / epsilon)
    k = np.arange(n // 2 + 1)
    return np.asarray((2.0 * np.sin(0.5 * np.multiply.outer(k, v)) ** 2) @ weights / (epsilon * weights.sum()))
