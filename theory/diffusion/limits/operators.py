r"""One propagation step of attention as an operator on functions.

.. math:: P_\varepsilon h(x) = \frac{\int e^{-f(x,y)/2\varepsilon} h(y)\,p(y)\,dy}{\int e^{-f(x,y)/2\varepsilon}
   p(y)\,dy} .

Two routes that share no code. :func:`propagate` is attention itself, through the engine, on any weighted tokens: a
quadrature, quantile tokens, or a sample. :func:`convolve` is exact for a translation-invariant kernel on the torus,
whose Fourier coefficients are known (:func:`heat_multiplier`, :func:`chordal_multiplier`); on the sphere a zonal kernel
multiplies harmonics of degree l (:func:`sphere_multipliers`).

Plain attention, :math:`e^{-f}`, is :math:`\varepsilon = \frac12`; a layer advances the limiting equation by
:math:`\varepsilon/2`.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288.
R. Coifman and S. Lafon, Diffusion maps, *Applied and Computational Harmonic Analysis* 21 (2006).
D. Amos, Computation of modified Bessel functions and their ratios, *Mathematics of Computation* 28 (1974).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_between, as_count, as_having, as_instance, as_masses, as_points, as_positive, as_real
from theory.attention import Score, SquaredDistance, TorusDistance, attend
from theory.diffusion.limits.grid import PeriodicGrid
from theory.evidence import as_intervals, exact, is_enclosed

Array = NDArray[np.float64]
_DIGITS = 48.0  # derived: exp(-48) n / 2 is below rounding for the n <= 10^5 that are taken


def propagate(
    queries: ArrayLike, keys: ArrayLike, values: ArrayLike, epsilon: float, *, score: Score | None = None,
    weights: ArrayLike | None = None, method: str = "dense", accuracy: float = 1e-12,
) -> Array:  # fmt: skip
    r"""Apply :math:`P_\varepsilon` of weighted tokens to a function known on them.

    Parameters
    ----------
    queries : array_like, shape (m, d)
        Where the result is wanted.
    keys : array_like, shape (n, d)
        The tokens.
    values : array_like, shape (n,) or (n, k)
        The function, or k of them, on the tokens.
    epsilon : float
        Positive; not used if a score is given, which contains its own.
    score : Score, optional
        :math:`-f/2\varepsilon`; that of squared distances, :math:`-|x - y|^2/2\varepsilon`, unless given.
    weights : array_like, shape (n,), optional
        Of the tokens: density times quadrature weight; equal unless given.
    method, accuracy
        As in :func:`theory.attention.attend`.

    Returns
    -------
    ndarray, shape (m,) or (m, k)

    Raises
    ------
    ValueError
        As :func:`theory.attention.attend` says, and if ``epsilon`` is not positive.
    """
    tokens = as_points(keys, "keys")
    function = as_real(values, "values")
    if function.ndim not in (1, 2) or function.shape[0] != tokens.shape[0]:
        raise ValueError(f"values: expected shape ({tokens.shape[0]},) or ({tokens.shape[0]}, k), got {function.shape}")
    scale = half_inverse(epsilon)
    chosen = SquaredDistance(scale) if score is None else as_having(score, "score", "matrix")
    weights = None if weights is None else as_masses(weights, "weights", size=tokens.shape[0])
    columns = function if function.ndim == 2 else function[:, np.newaxis]
    found = attend(queries, tokens, columns, score=chosen, weights=weights, method=method, accuracy=accuracy)
    return found if function.ndim == 2 else found[:, 0]


def chordal(epsilon: float) -> TorusDistance:
    r"""Return the score :math:`-\sum_f|e^{ix_f} - e^{iy_f}|^2/2\varepsilon` of angles."""
    return TorusDistance(half_inverse(epsilon))


def half_inverse(epsilon: float) -> float:
    r"""Return :math:`1/2\varepsilon`, the scale of a score, or raise ``ValueError`` if it leaves float64."""
    width = as_positive(epsilon, "epsilon")
    if not 0.5 / width < math.inf:
        raise ValueError(f"epsilon: expected a number of which float64 holds the inverse, got {width}")
    return 0.5 / width


def convolve(grid: PeriodicGrid, density: ArrayLike, values: ArrayLike, multiplier: Callable[..., ArrayLike]) -> Array:
    r"""Return :math:`K(hp)/Kp` on the grid, for a kernel with these Fourier coefficients; enclosed if h or p is.

    Raises
    ------
    ValueError
        If ``density`` or ``values`` is not on the grid, or the smoothed density is not positive.
    """
    p, function = as_real(density, "density"), as_real(values, "values")
    if p.shape != as_instance(grid, "grid", PeriodicGrid).shape or function.shape != grid.shape:
        raise ValueError(f"density, values: expected shape {grid.shape}, got {p.shape} and {function.shape}")
    if is_enclosed(p, function):
        p, function = exact(p), exact(function)
    mass = grid.multiply(p, multiplier)
    least = (as_intervals(mass).lo if is_enclosed(mass) else mass).min()
    if not least > 0.0:
        raise ValueError(f"density: expected one that stays positive when smoothed, got {least}")
    with np.errstate(over="ignore"):
        weighed = function * p
    smoothed: Array = grid.multiply(weighed, multiplier) / mass
    return smoothed


def heat_multiplier(epsilon: float) -> Callable[..., Array]:
    r"""Return :math:`k \mapsto e^{-\varepsilon|k|^2/2}`, of the heat kernel (the wrapped Gaussian)."""
    epsilon = as_positive(epsilon, "epsilon")
    return lambda *k: np.exp(-0.5 * epsilon * sum(mode**2 for mode in k))


def chordal_multiplier(epsilon: float) -> Callable[..., Array]:
    r"""Return :math:`k \mapsto \prod_f I_{k_f}(1/\varepsilon)/I_0(1/\varepsilon)`, of :func:`chordal`.

    Frequencies are integers; the accuracy is that of :func:`bessel_quotients`.
    """
    b = 1.0 / as_positive(epsilon, "epsilon")

    def factor(*k: Array) -> Array:
        orders = [np.abs(mode).astype(np.int64) for mode in k]
        line = bessel_quotients(int(max(n.max() for n in orders)), b, 0.0)
        return np.asarray(math.prod(line[n] for n in orders))

    return factor


def sphere_multipliers(degrees: int, b: float) -> Array:
    r"""Return :math:`i_l(b)/i_0(b)` for l from 0 to ``degrees``.

    By so much :math:`e^{b\langle x,y\rangle}` multiplies harmonics on the unit sphere in three dimensions; :math:`i_l`
    are the modified spherical Bessel functions, as accurate as :func:`bessel_quotients`.

    Raises
    ------
    TypeError, ValueError
        If ``degrees`` is not an integer of at least 0 or ``b`` is not positive.
    """
    return bessel_quotients(as_count(degrees, "degrees", least=0), as_positive(b, "b"), 0.5)


def bessel_quotients(top: int, b: float, least: float) -> Array:
    r"""Return :math:`I_{k + c}(b)/I_c(b)` for k from 0 to ``top``; c is the ``least`` order, b positive.

    By the downward recurrence :math:`\rho_\nu = b/(2\nu + b\rho_{\nu+1})` of the ratios of neighbours, which is stable
    for every b. It forgets all but a share :math:`e^{-n^2/b}` of the first ratio in n steps. That one lies between two
    bounds (Amos 1974) whose gap is :math:`\nu/2b^2` of them, so that few steps are needed where b is large.

    *Rounding.* Where :math:`2\nu \ge b` a step halves at least what the ratio was off. Below, ratios are near one and
    an error would pass from step to step undamped; there the recurrence is in :math:`\lambda = 1 - \rho`,
    :math:`\lambda_\nu = (2\nu - b\lambda_{\nu+1})/(2\nu + b - b\lambda_{\nu+1})`, whose steps add :math:`5\nu u` to
    what :math:`b\lambda` is off and damp errors from above like :math:`e^{-\nu^2/b}`: a ratio near one is off by
    :math:`2.5u`, and every factor costs at most :math:`5u` where b is large (``proofs/limit.md``). Errors of both signs
    leave far less, within 2 (k + 1) roundings where ``limit.multipliers`` looks.
    """
    top = as_count(top, "top", least=0)
    b = as_positive(b, "b")
    least = as_between(least, "least", 0.0, 1e15)
    start = top + 40 + int(math.sqrt(b * max(0.0, _DIGITS - 2.0 * math.log(b))))
    nu = start + 1.0 + least
    ratio = b / (nu - 0.5 + math.hypot(nu + 0.5, b))
    ratios = np.ones(top + 1, dtype=np.float64)
    lost = 1.0 - ratio
    for k in range(start, 0, -1):
        twice = 2.0 * (k + least)
        if twice < b:
            lost = (twice - b * lost) / (twice + (b - b * lost))
            ratio = 1.0 - lost
        else:
            ratio = b / (twice + b * ratio)
            lost = 1.0 - ratio
        if k <= top:
            ratios[k] = ratio
    return np.asarray(np.cumprod(ratios), dtype=np.float64)
