r"""Attention with any score near its minimiser: Laplace's method in coordinates.

For a dissimilarity f of which :math:`f(x, \cdot)` has one minimiser :math:`y_*`, weights :math:`e^{-f/2\varepsilon}`
concentrate there with covariance :math:`2\varepsilon C`, :math:`C = (\partial_y^2f)^{-1}`. A layer is then a
relabelling :math:`x \mapsto y_*(x)` and a correction of first order in :math:`\varepsilon`: in any coordinates, for
tokens of density q with respect to them, with :math:`d = \partial_y^3f`,

.. math:: C^{kl}\partial_k\partial_lh + 2C^{kl}\,\partial_k\log q\,\partial_lh - d_{klm}C^{kl}C^{mi}\,\partial_ih .

:class:`GeneralScore` puts any f through the engine; :func:`average_at_peak` integrates it over a lattice about a point;
:func:`peak_correction` evaluates the operator from derivatives.

References
----------
T. Ruan and S. Zhang, Towards understanding how attention mechanism works in deep learning, arXiv:2412.18288, appendix
C, with the normalisation of proposition 1 corrected.
R. Wong, *Asymptotic Approximations of Integrals*, SIAM 2001, chapter IX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_bound, as_callable, as_instance, as_points, as_positive, as_real, as_vector
from theory.attention import rounding
from theory.attention.score import Constants
from theory.diffusion.limits.operators import propagate
from theory.engine import Form, Pairs
from theory.evidence import Interval, as_intervals, estimated, is_enclosed
from theory.evidence.roundoff import U
from theory.evidence.systems import inverse_of

Array = NDArray[np.float64]
REACH = 20.0  # taken: deviations; where a cubic term widens one side of the peak, half of them are enough
_MOST = 1e8  # taken: of tokens in a lattice
_FINE, _FINER = 2.0, 2.5  # derived: tokens per deviation; Poisson summation leaves exp(-2 pi^2 4) = 5e-35


@dataclass(frozen=True, slots=True, eq=False)
class GeneralScore:
    r"""The score :math:`-f(x, y)/2\varepsilon`.

    Parameters
    ----------
    dissimilarity : callable
        f, from queries (m, 1, d_x) and keys (1, n, d) to (m, n).
    epsilon : float
        Positive.
    error : float, default 0.0
        Bound on what float64 may be off in a value of f, in the unit of f.

    Raises
    ------
    ValueError
        If ``epsilon`` is not positive or ``error`` is negative.
    """

    dissimilarity: Callable[[Array, Array], Array]
    epsilon: float
    error: float = 0.0

    def __post_init__(self) -> None:
        as_callable(self.dissimilarity, "dissimilarity")
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "error", as_bound(self.error, "error"))

    def matrix(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the (m, n) scores."""
        queries, keys = as_points(x, "x"), as_points(y, "y")
        values = as_real(self.dissimilarity(queries[:, np.newaxis, :], keys[np.newaxis, :, :]), "dissimilarity")
        wanted = (queries.shape[0], keys.shape[0])
        if values.shape != wanted:
            raise ValueError(f"dissimilarity: expected shape {wanted}, got shape {values.shape}")
        with np.errstate(over="ignore"):
            scores: Array = values / (-2.0 * self.epsilon)
        if not np.isfinite(scores).all():
            raise ValueError("x, y: expected tokens whose scores float64 can hold, got an overflow")
        return scores

    def pairs(self, x: Array, y: Array) -> Pairs:
        """Return queries and keys for the kernels, which ask for the matrix in parts."""
        return Pairs(Form.GIVEN, x, y, np.empty(0), self.matrix)

    def bounds(self, x: Array, y: Array) -> tuple[float, float]:
        """Return the size of the scores of these tokens, and their rounding error."""
        size = float(np.abs(self.matrix(x, y)).max())
        error = self.error / (2.0 * self.epsilon) + 2.0 * U * size
        return size + error, error

    def constants(self, radius: float) -> Constants:
        """Refuse: of any function nothing is known on a ball."""
        raise ValueError(f"score: expected one with known constants, got any dissimilarity, on the ball of {radius}")


def lattice(centre: ArrayLike, widths: ArrayLike, *, reach: float = REACH, per_width: float = _FINER) -> Array:
    """Return a product lattice about a point, shape (n, d).

    Parameters
    ----------
    centre : array_like, shape (d,)
    widths : array_like, shape (d,)
        Positive: the unit of length in every direction.
    reach : float, default 20.0
        How far it goes, in widths.
    per_width : float, default 2.5
        Points per width.
    """
    middle = as_vector(centre, "centre")
    units = as_vector(widths, "widths", size=middle.size)
    if not units.min() > 0.0:
        raise ValueError(f"widths: expected positive numbers, got {units.min()}")
    fine = as_positive(per_width, "per_width")
    across = as_positive(reach, "reach") * fine
    if not middle.size * math.log1p(2.0 * across) < math.log(_MOST):
        raise ValueError(f"reach, per_width: expected fewer than {_MOST:g} tokens, got {across:g} to a side")
    last = math.floor(across)
    steps = np.arange(-last, last + 1) / fine
    grid = np.meshgrid(*(m + w * steps for m, w in zip(middle, units, strict=True)), indexing="ij")
    return np.stack([part.ravel() for part in grid], axis=1)


def average_at_peak(
    score: GeneralScore, query: ArrayLike, centre: ArrayLike, widths: ArrayLike, function: Callable[[Array], Array],
    density: Callable[[Array], Array], *, reach: float = REACH,
) -> Interval:  # fmt: skip
    r"""Enclose :math:`P_\varepsilon h(x)` for weights that are concentrated about a point, through the engine.

    Parameters
    ----------
    score : GeneralScore
    query : array_like, shape (d_x,)
    centre, widths : array_like, shape (d,)
        Where the weights are, and their standard deviations, about.
    function, density : callable
        h and q, from keys (n, d) to (n,), accurate to 64 u of their size.
    reach : float, default 20.0
        How far the tokens go, in widths; beyond, weights should be negligible.

    Returns
    -------
    Interval
        Of kind ``ESTIMATED``: the average over a lattice. Its width is what rounding may do, and twice what a fourth
        more tokens per direction change.
    """
    x = as_vector(query, "query")[np.newaxis, :]
    as_instance(score, "score", GeneralScore)
    as_callable(function, "function")
    as_callable(density, "density")
    found = []
    for per_width in (_FINE, _FINER):
        keys = lattice(centre, widths, reach=reach, per_width=per_width)
        values = function(keys)
        masses = density(keys)
        found.append(float(propagate(x, keys, values, score.epsilon, score=score, weights=masses)[0]))
    size = float(np.abs(values).max())
    error = rounding(x, keys, values[:, np.newaxis], score=score, weights=masses)
    # places are off by 8 u of their size, which ten deviations from the middle changes a weight by ten times that
    moved = 80.0 * U * float((np.abs(keys).max(axis=0) / as_vector(widths, "widths")).sum())
    coarse, fine = found
    return estimated(fine, coarse, times=2.0) + Interval.within(0.0, error + size * (2.0 * moved + 256.0 * U))


def peak_correction(
    hessian: ArrayLike, third: ArrayLike, log_slope: ArrayLike, gradient: ArrayLike, second: ArrayLike
) -> Any:
    r"""Return the coefficient of :math:`\varepsilon` in :math:`P_\varepsilon h(x)`, enclosed if an argument is.

    Parameters
    ----------
    hessian : array_like, shape (d, d)
        Of f in the key at the minimiser; positive definite.
    third : array_like, shape (d, d, d)
        Third derivatives of f there.
    log_slope : array_like, shape (d,)
        Gradient of :math:`\log q`, the density with respect to the same coordinates.
    gradient, second : array_like, shape (d,) and (d, d)
        Of h.

    Raises
    ------
    ValueError
        If a shape does not fit or the Hessian is not positive definite.
    """
    slope = as_vector(gradient, "gradient")
    d = slope.size
    c = as_points(hessian, "hessian", dim=d, size=d)
    cubic = as_real(third, "third")
    if cubic.shape != (d, d, d):
        raise ValueError(f"third: expected shape ({d}, {d}, {d}), got shape {cubic.shape}")
    middle = as_intervals(c).mid
    if not np.linalg.eigvalsh(0.5 * (middle + middle.T)).min() > 0.0:
        raise ValueError("hessian: expected a positive definite matrix, got one that is not")
    s = as_vector(log_slope, "log_slope", size=d)
    h = as_points(second, "second", dim=d, size=d)
    if is_enclosed(c, cubic, s, slope, h):
        c, cubic, s, slope, h = (as_intervals(part) for part in (c, cubic, s, slope, h))  # type: ignore[assignment]
    with np.errstate(over="ignore", invalid="ignore"):
        inverse = inverse_of(c)
        drift = 2.0 * inverse @ s - inverse @ (cubic * inverse[:, :, np.newaxis]).sum(axis=(0, 1))
        found = (inverse * h).sum() + drift @ slope
    if is_enclosed(found):
        return found
    if not math.isfinite(found):
        raise ValueError(
            f"hessian, third, log_slope, gradient, second: expected a sum that float64 can hold, got {found}"
        )
    return float(found)
