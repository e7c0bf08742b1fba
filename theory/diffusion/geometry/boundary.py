r"""Attention near the end of its tokens: on the half-line and on a segment.

At the distance :math:`s\sqrt\varepsilon` from a wall, the keys seen are :math:`\sqrt\varepsilon u` away with u standard
normal, conditioned on :math:`u > -s`. Of that, with :math:`R = \phi(s)/\Phi(s)`, the mean is R and the second moment
:math:`1 - sR`. So a layer pushes features inwards by :math:`\sqrt\varepsilon R`, against :math:`\varepsilon` elsewhere.

References
----------
S. Lafon, *Diffusion maps and geometric harmonics*, dissertation, Yale 2004, on the normal derivative at the boundary.
M. Belkin, Q. Que, Y. Wang and X. Zhou, Toward understanding complex spaces: graph Laplacians on manifolds with
singularities and boundaries, COLT 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_callable, as_count, as_positive, as_vector, frozen
from theory.attention import SquaredDistance, rounding
from theory.diffusion.layers.stacking import TokenLayer, apply_layers, count_layers
from theory.diffusion.limits.operators import half_inverse, propagate
from theory.evidence import Interval, estimated, exact
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_REACH = 12  # taken: deviations; beyond is less than exp(-72) of the mass
_COARSE, _FINE = 14, 18  # derived: Gauss nodes per deviation; 14 integrate exp(-u^2/2) over it within 1e-17
_DEEPEST = 2**16  # taken: of layers one after another
_NARROWEST = 1e-7  # taken: a thousand panels, and tokens that attend to all others
_PANEL = 2.5  # taken: deviations per panel of a segment


def gauss_tokens(ends: ArrayLike, nodes: int) -> tuple[Array, Array]:
    """Return Gauss-Legendre tokens and their masses on adjacent panels.

    Parameters
    ----------
    ends : array_like, shape (k + 1,)
        Rising.
    nodes : int
        Per panel.

    Returns
    -------
    tokens : ndarray, shape (k nodes, 1)
    masses : ndarray, shape (k nodes,)
        In the unit of the tokens; they sum to the total length.

    Raises
    ------
    ValueError
        If the ends do not rise or there is no panel.
    """
    marks = as_vector(ends, "ends")
    if marks.size < 2 or not np.diff(marks).min() > 0.0:
        raise ValueError("ends: expected at least two rising numbers, got others")
    places, weights = _rule(as_count(nodes, "nodes"))
    middles, halves = 0.5 * (marks[1:] + marks[:-1]), 0.5 * np.diff(marks)
    tokens = (middles[:, np.newaxis] + halves[:, np.newaxis] * places).ravel()
    return tokens[:, np.newaxis], (halves[:, np.newaxis] * weights).ravel()


@cache
def _rule(nodes: int) -> tuple[Array, Array]:
    places, weights = np.polynomial.legendre.leggauss(nodes)
    return frozen(places), frozen(weights)


def layer_rise(
    function: Callable[[Array], Array], density: Callable[[Array], Array], epsilon: float, place: float
) -> Interval:
    r"""Enclose :math:`P_\varepsilon h(x) - h(x)` on the half-line :math:`x \ge 0` at :math:`x = s\sqrt\varepsilon`.

    Parameters
    ----------
    function, density : callable
        h and p, from places (n,) to (n,), accurate to 8 u of their size.
    epsilon : float
        Positive.
    place : float
        s, from 0 to 1000.

    Returns
    -------
    Interval
        Of kind ``ESTIMATED``: by attention with squared distances over Gauss tokens of panels one deviation wide. Its
        width is what rounding may do, and twice what four more nodes per panel change.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    epsilon = as_positive(epsilon, "epsilon")
    place = as_between(place, "place", 0.0, 1000.0)
    unit = math.sqrt(epsilon)
    scale = half_inverse(epsilon)
    as_callable(function, "function")
    as_callable(density, "density")
    first = max(0.0, place - _REACH)
    last = place + _REACH
    ends = np.append(np.arange(first, last), last) * unit
    query = np.array([[place * unit]])
    start = function(query[0]).item()
    score = SquaredDistance(scale)
    found = []
    for nodes in (_COARSE, _FINE):
        tokens, weights = gauss_tokens(ends, nodes)
        values = function(tokens[:, 0]) - start
        masses = density(tokens[:, 0]) * weights
        found.append(propagate(query, tokens, values, epsilon, score=score, weights=masses).item())
    size = float(np.abs(values).max())
    width = rounding(query, tokens, values[:, np.newaxis], score=score, weights=masses) + 64.0 * U * size
    slip = 16.0 * U * (abs(start) + size)  # of h, here and there
    coarse, fine = found
    return estimated(fine, coarse, times=2.0) + Interval.within(0.0, width + slip)


def segment_stack(
    function: Callable[[Array], Array], epsilon: float, time: float, places: Sequence[float]
) -> list[Interval]:
    r"""Enclose :math:`P_\varepsilon^{2t/\varepsilon}h` for uniform tokens of :math:`[0, 1]`.

    Parameters
    ----------
    function : callable
        h, from places (n,) to (n,), smooth.
    epsilon, time : float
        Positive; ``2 time / epsilon`` is a number of layers.
    places : sequence of float
        Where the last layer is asked, from 0 to 1.

    Returns
    -------
    list of Interval
        Of kind ``ESTIMATED``; their width is what rounding may do, and twice what four more nodes per panel change.
    """
    asked = as_vector(places, "places")
    if asked.min() < 0.0 or asked.max() > 1.0:
        raise ValueError(f"places: expected numbers from 0 to 1, got {asked.min()} to {asked.max()}")
    epsilon = as_positive(epsilon, "epsilon")
    if not epsilon > _NARROWEST:
        raise ValueError(
            f"epsilon: expected more than {_NARROWEST:g}, since panels are as many as its root, got {epsilon}"
        )
    as_callable(function, "function")
    layers = count_layers(time, epsilon)
    if layers > _DEEPEST:
        raise ValueError(f"time: expected at most {_DEEPEST} layers, got {layers}")
    found = []
    panels = math.ceil(1.0 / (_PANEL * math.sqrt(epsilon)))
    for nodes in (_COARSE, _FINE):
        tokens, masses = gauss_tokens(np.linspace(0.0, 1.0, panels + 1), nodes)
        centred = tokens - 0.5  # distances are the same, and their bounds a fourth
        hidden = TokenLayer(centred, epsilon, weights=masses)
        values = function(tokens[:, 0])
        error = 0.0
        if layers > 1:
            (reached,) = apply_layers(hidden, exact(values), [layers - 1])
            values = reached.mid
            error = float(reached.radius.max())
        last = TokenLayer(centred, epsilon, weights=masses, queries=asked[:, np.newaxis] - 0.5)
        found.append(last(values).tolist())
    # tokens and queries are off by u, which moves scores by at most 4 u / (2 epsilon) in every layer
    slip = error + (last.error + 32.0 * U + layers * 8.0 * U / epsilon) * float(np.abs(function(tokens[:, 0])).max())
    off = Interval.within(0.0, slip)
    return [estimated(fine, coarse, times=2.0) + off for coarse, fine in zip(*found, strict=True)]
