r"""Stacks of layers with a score that is not least on the diagonal: what is carried, and how far it is spread.

If :math:`f(x, \cdot)` is least at :math:`\varphi(x)`, a layer of weights :math:`e^{-f/2\varepsilon}` carries a function
along :math:`\varphi`, and spreads it by :math:`\varepsilon`. Weights of kept tokens are computed once
(:func:`score_layer`); tokens that move have theirs computed again in every layer (:func:`orbit_tokens`).

*Rounding.* Angles :math:`2\pi j/n` are off by at most :math:`6\pi u` each, of query and key, which moves a
dissimilarity by its slope times :math:`12\pi u`; a density that is off by 64 u of itself moves an average of values of
size one by no more (:mod:`theory.diffusion.layers.torus_stack`).

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288, appendix
C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_bound, as_callable, as_count, as_matrix, as_points, as_positive, as_vector
from theory.attention import DotProduct, attend
from theory.diffusion.layers.stacking import TokenLayer
from theory.diffusion.limits.grid import PeriodicGrid
from theory.diffusion.limits.laplace import GeneralScore
from theory.diffusion.limits.operators import half_inverse
from theory.evidence import as_intervals, is_enclosed, norm
from theory.evidence.roundoff import U

Array = NDArray[np.float64]
_POSITION = 12.0 * math.pi * U  # derived above
_DENSITY = 65.0 * U


def score_layer(
    dissimilarity: Callable[[Array, Array], Array], density: Callable[[Array], ArrayLike], epsilon: float, *,
    count: int, slope: float, error: float = 0.0,
) -> tuple[Array, TokenLayer]:  # fmt: skip
    r"""Return equidistant angles, and the layer in which tokens there weigh their density, for any score.

    Parameters
    ----------
    dissimilarity : callable
        f of angles, from queries (m, 1, 1) and keys (1, n, 1) to (m, n), periodic.
    density : callable
        From angles, shape (n,), to positive masses of any total, accurate to 64 u.
    epsilon : float
        Positive.
    count : int
        Of tokens.
    slope : float
        Bound on the slope of f in either angle.
    error : float, default 0.0
        Bound on what float64 may be off in a value of f.

    Returns
    -------
    angles : ndarray, shape (count,)
    layer : TokenLayer
    """
    as_callable(dissimilarity, "dissimilarity")
    as_callable(density, "density")
    width = as_positive(epsilon, "epsilon")
    off = as_bound(error, "error") + as_bound(slope, "slope") * _POSITION
    grid = PeriodicGrid((as_count(count, "count", least=3),))
    masses = as_vector(density(grid.axes[0]), "density", size=grid.size)
    layer = TokenLayer(grid.nodes, width, score=GeneralScore(dissimilarity, width, off), weights=masses)
    layer.error += _DENSITY
    return grid.axes[0], layer


def orbit_tokens(tokens: ArrayLike, form: ArrayLike, epsilon: float, layers: int) -> list[Any]:
    r"""Return tokens of the unit sphere before and after each layer of self-attention with a bilinear score.

    Scores are :math:`\langle x, Ay\rangle/2\varepsilon`; weights are computed from the tokens as they are, outputs take
    the place of the tokens and are divided by their lengths.

    Parameters
    ----------
    tokens : array_like or Intervals, shape (n, d)
        Enclosed ones give enclosures.
    form : array_like, shape (d, d)
        A; without symmetry tokens go around.
    epsilon : float
        Positive.
    layers : int

    Returns
    -------
    list of ndarray or of Intervals, each of shape (n, d)

    Raises
    ------
    ValueError
        If a shape does not fit, ``epsilon`` is not positive, or an average has no direction.
    """
    x: Any = as_points(tokens, "tokens")
    d = x.shape[1]
    score = DotProduct(half_inverse(epsilon), as_matrix(form, "form", shape=(d, d)))
    clouds = [x]
    for _ in range(as_count(layers, "layers", least=0)):
        moved = attend(x, x, x, score=score)
        lengths = norm(moved, axis=1) if is_enclosed(moved) else np.linalg.norm(moved, axis=1)
        least = float(as_intervals(lengths).lo.min())
        if not least > 0.0:
            raise ValueError(f"tokens: expected ones whose averages have a direction, got the length {least}")
        x = moved / lengths[:, np.newaxis]
        clouds.append(x)
    return clouds
