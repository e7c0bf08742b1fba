r"""Features that are not injective: a layer averages over all tokens that have the same features.

Attention with the score of squared distances of features g sees tokens through g only. For tokens of density p on the
line, with :math:`g(x) = z` at the points :math:`x_k`, its limit for :math:`\varepsilon \to 0` is therefore no
function's own value but the conditional mean

.. math:: \mathbb E[h(Y) \mid g(Y) = z] = \frac{\sum_k h(x_k)\,p(x_k)/|g'(x_k)|}{\sum_k p(x_k)/|g'(x_k)|} .

It exists away from folds, where :math:`g' = 0`. For a fibre that is a submanifold the weight is
:math:`p/\sqrt{\det JJ^\top}` (the coarea formula).

References
----------
H. Federer, *Geometric Measure Theory*, Springer 1969, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from theory._validate import as_callable, as_count, as_instance, as_number, as_vector
from theory.evidence import Interval, as_intervals, exact, within
from theory.metric.features import ResidualFeatures

Array = NDArray[np.float64]
_CELLS = 4096  # taken: far more than the folds of a few hidden units
_NEAR = 1e-12  # taken: how near to a point of the fibre a float is found, for the step that encloses it
_STEEP = 1e-6  # taken: below that slope a point is too near to a fold for its weight to mean something


def find_fibre(
    features: ResidualFeatures, x: float | Interval, span: tuple[float, float], *, cells: int = _CELLS
) -> Array:
    """Return the points of an interval with the same feature as x, in increasing order; enclosed if x is.

    Parameters
    ----------
    features : ResidualFeatures
        Of dimension one.
    x : float or Interval
        A point of the interval.
    span : tuple of two float
        The interval.
    cells : int, default 4096
        Where the feature passes the value of x twice in a cell, the cell is too wide and both points are missed.

    Returns
    -------
    ndarray, shape (k,)

    Raises
    ------
    ValueError
        If the features have more than one dimension, x is not in the interval, or a point is on a fold.
    """
    here = x.mid if isinstance(x, Interval) else as_number(x, "x")
    lo, hi = as_vector(span, "span", size=2).tolist()
    if as_instance(features, "features", ResidualFeatures).dim != 1:
        raise ValueError(f"features: expected dimension 1, got {features.dim}")
    if not lo <= here <= hi:
        raise ValueError(f"x: expected a point of [{lo}, {hi}], got {here}")
    value = features([[here]]).item()
    edges = np.linspace(lo, hi, as_count(cells, "cells") + 1)
    above = features(edges[:, np.newaxis])[:, 0] > value

    def excess(y: float) -> float:
        return float(features([[y]]).item()) - value

    crossed = np.flatnonzero(above[1:] != above[:-1])
    points = np.array([brentq(excess, edges[k], edges[k + 1], xtol=1e-15, rtol=1e-15) for k in crossed])
    if not points.size or np.abs(points - here).min() > 1e-9 * (1.0 + abs(here)):
        points = np.sort(np.append(points, here))  # an end of the interval, or a point that the edges surround
    steepness = np.abs(features.jacobian(points[:, np.newaxis])[:, 0, 0])
    if steepness.min() < _STEEP:
        raise ValueError(f"x: expected a fibre away from folds, got a slope of {steepness.min():.1e} at a point of it")
    return _enclose_fibre(features, points, x) if isinstance(x, Interval) else points


def _enclose_fibre(features: ResidualFeatures, points: Array, x: Interval) -> Any:
    """Enclose the points of a fibre by one step of Newton on intervals, each of which then holds one such point."""
    wide = within(points, _NEAR * (1.0 + np.abs(points)))
    slopes = features.jacobian(wide[:, np.newaxis])[:, 0, 0]
    excess = features(exact(points)[:, np.newaxis])[:, 0] - features(as_intervals(x).reshape(1, 1))[0, 0]
    found = points - excess / slopes
    if not ((wide.lo < found.lo) & (found.hi < wide.hi)).all():
        raise ValueError(f"x: expected a fibre away from folds, got slopes of {slopes!r} at its points")
    return found


def fibre_mean(
    features: ResidualFeatures, x: float | Interval, function: Callable[[Array], ArrayLike],
    density: Callable[[Array], ArrayLike], span: tuple[float, float],
) -> Any:  # fmt: skip
    r"""Return :math:`\mathbb E[h(Y) \mid g(Y) = g(x)]`, enclosed if x is.

    Parameters
    ----------
    features, x, span
        As in :func:`find_fibre`.
    function, density : callable
        h and p, from points (k,) to (k,); p of any total mass, positive somewhere on the fibre.

    Raises
    ------
    ValueError
        As in :func:`find_fibre`, or if the density vanishes on the fibre.
    """
    as_callable(function, "function")
    as_callable(density, "density")
    points = find_fibre(features, x, span)
    steepness = np.abs(features.jacobian(points[:, np.newaxis])[:, 0, 0])
    density_there = as_vector(density(points), "density", size=points.size)
    values = as_vector(function(points), "function", size=points.size)
    known = as_intervals(density_there)
    if known.lo.min() < 0.0 or not known.lo.max() > 0.0:
        raise ValueError(f"density: expected non-negative numbers, some positive, got {density_there}")
    weights = density_there / steepness
    mean = weights @ values / weights.sum()
    return mean if isinstance(mean, Interval) else float(mean)
