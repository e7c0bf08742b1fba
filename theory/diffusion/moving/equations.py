r"""Equations of densities on the circle, solved by the method of lines.

It shares nothing with the layers that are compared with it: no kernel, no attention and no Fourier transform. The
density :math:`u = 2\pi\rho` is known at equidistant places, derivatives are the matrix of trigonometric interpolation,
:math:`D_{jk} = \frac12(-1)^{j-k}\cot\frac{x_j - x_k}2`, and SciPy advances in time. Only its end point is asked: what
its solvers interpolate in between is of lower order.

References
----------
L. N. Trefethen, *Spectral Methods in MATLAB*, SIAM (2000), chapter 3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theory._validate import as_callable, as_count, as_positive, as_vector
from theory.evidence import Interval, Intervals, as_intervals, estimated

Array = NDArray[np.float64]
Change = Callable[[Array, Callable[[Array], Array], Array], Array]
_LONGEST = 1e4  # taken: of a time
_MOST = 256  # taken: matrices of a thousand nodes
# nodes per place, method, tolerance: the finer first
_RUNS: tuple[tuple[int, Any, float], ...] = ((3, "LSODA", 1e-12), (2, "Radau", 1e-7))


def solve_density(change: Change, start: Callable[[Array], Any], time: float, *, places: int = 16) -> Intervals:
    r"""Enclose :math:`u(t, \cdot)` at equidistant places, for :math:`\partial_tu` equal to ``change(u, d, x)``.

    Two runs with other nodes, another method and another tolerance; what is reported is the finer one, and its width
    is twice the largest distance to the other, since errors may cross at a place.

    Parameters
    ----------
    change : callable
        From the values of u at nodes, the operator of the derivative and the nodes to values of :math:`\partial_tu`.
    start : callable
        From nodes to values at time zero.
    time : float
        Positive.
    places : int, default 16
        Even, from zero on; nodes are three and two times as many.

    Returns
    -------
    Intervals, shape (places,)
        Of kind ``ESTIMATED``.

    Raises
    ------
    ArithmeticError
        If a solver gives up, as where the equation has no solution for so long.
    """
    as_callable(change, "change")
    as_callable(start, "start")
    t = as_positive(time, "time")
    count = as_count(places, "places", least=4)
    if not 1.0 / _LONGEST <= t <= _LONGEST:
        raise ValueError(f"time: expected a number from {1.0 / _LONGEST:g} to {_LONGEST:g}, got {t}")
    if count > _MOST or count % 2:
        raise ValueError(f"places: expected an even number of at most {_MOST}, got {count}")
    fine, coarse = (_run(change, start, t, count * per, method, tolerance)[::per] for per, method, tolerance in _RUNS)
    gap = float(np.abs(fine - coarse).max())
    found: list[Interval] = [estimated(value, value + gap, times=2.0) for value in fine.tolist()]
    return as_intervals(found)


def _run(
    change: Change, start: Callable[[Array], Any], time: float, nodes: int, method: Any, tolerance: float
) -> Array:
    from scipy.integrate import solve_ivp  # noqa: PLC0415  slow to load

    x = 2.0 * np.pi * np.arange(nodes) / nodes
    matrix = _derivative(nodes)

    def derivative(values: Array) -> Array:
        found: Array = matrix @ values
        return found

    def slope(_: float, u: Array) -> Array:
        return as_vector(change(u, derivative, x), "change", size=nodes)

    first = as_vector(start(x), "start", size=nodes)
    try:
        with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LSODA says by a warning, too, that it gives up
            solved = solve_ivp(slope, (0.0, time), first, method=method, rtol=tolerance, atol=tolerance)
    except FloatingPointError as error:
        raise ArithmeticError(f"time: expected one that {method} reaches, got {time}: {error}") from error
    end: Array = solved.y[:, -1]
    if not solved.success:
        raise ArithmeticError(f"time: expected one that {method} reaches, got {time}: {solved.message}")
    return end


def _derivative(nodes: int) -> Array:
    """Return the matrix of the derivative of the trigonometric interpolant at an even number of nodes."""
    apart = np.subtract.outer(np.arange(nodes), np.arange(nodes))
    half = np.where(apart == 0, 0.5 * np.pi, np.pi * apart / nodes)  # of which the cotangent vanishes
    matrix: Array = np.where(apart == 0, 0.0, 0.5 * (-1.0) ** np.abs(apart) / np.tan(half))
    return matrix
