r"""Upper bounds of the norms of many small matrices, and of one that is large: nearly the norms, and cheap.

Of many small matrices the norms are bounded from above by powers: with :math:`A_{k+1} = \mathrm{fl}(A_k^\top A_k)`, of
m rows, :math:`\|A_k\|^2 \le \|A_{k+1}\| + \gamma_m\|A_k\|_F^2`, and in the end the norm is at most Frobenius'. After p
steps of matrices of rank r that is at most :math:`r^{2^{-p-1}}` times the norm.

The norm of one large matrix is at most the root of t if :math:`t - A^\top A` is positive semidefinite. If Cholesky's
algorithm, run on floats M of order n, comes to its end, no eigenvalue of M is below :math:`-\gamma_{n+2}/(1 -
\gamma_{n+2})` times its trace, in whatever order sums are taken (Rump 2006).

References
----------
S. M. Rump, Verification of positive definiteness, *BIT* 46 (2006), 433-452.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory.evidence.interval import Interval
from theory.evidence.intervals import Intervals, as_intervals, exact
from theory.evidence.outward import norm
from theory.evidence.roundoff import SUBNORMAL, gamma

Array = NDArray[np.float64]
_SWEEPS = 60  # taken: of a power iteration, which proposes what Cholesky's algorithm confirms
_MARGINS = (1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0)  # taken: by what it may propose too little, tried one after another
_POWERS = 5  # taken: with 64 columns what is too much is 64 to the power 1/64, seven per cent


def norm_bound(matrix: ArrayLike) -> float:
    """Bound the largest singular value of a large matrix of floats from above, nearly by itself where it stands apart.

    Parameters
    ----------
    matrix : array_like, shape (m, n)
        Floats, exactly as they are.

    Returns
    -------
    float
        Infinite if nothing can be said.

    Raises
    ------
    ValueError
        If ``matrix`` is not a matrix.

    Examples
    --------
    >>> norm_bound([[3.0, 0.0], [4.0, 0.0]])  # doctest: +ELLIPSIS
    5.0000...
    """
    a = np.asarray(matrix, dtype=np.float64)
    if a.ndim != 2 or not a.size:
        raise ValueError(f"matrix: expected shape (m, n), got shape {a.shape}")
    if not a.any():
        return 0.0
    unit = float(np.ldexp(1.0, int(np.frexp(abs(a).max())[1])))
    if not 0.0 < unit < np.inf:
        return np.inf
    a = a / unit  # exact, but for what underflows
    gram = a.T @ a
    whole = float(_squares(a[np.newaxis]).hi[0])
    vector = np.random.default_rng(0).normal(size=len(gram))
    for _ in range(_SWEEPS):
        vector = gram @ vector
        vector /= np.linalg.norm(vector)
    largest = float(vector @ gram @ vector)
    for margin in _MARGINS:
        level = largest * (1.0 + margin)
        rest = -gram
        rest[np.diag_indices_from(rest)] += level
        try:
            np.linalg.cholesky(rest)
        except np.linalg.LinAlgError:
            continue
        share = gamma(len(gram) + 2)
        trace = exact(np.maximum(np.diag(rest), 0.0)).sum()
        lost = trace * (share / (1.0 - share)) * (1.0 + gamma(8)) + gamma(len(a) + 2) * Interval.exactly(whole)
        lost = lost + 2.0**-50 * Interval.exactly(level) + 4.0 * (a.size + gram.size) * SUBNORMAL
        return float(((Interval.exactly(level) + lost).sqrt() * unit).hi)
    return np.inf


def norm_bounds(matrices: Any) -> Array:
    """Bound the largest singular values of many matrices from above, by at most a fourteenth too much at 64 columns.

    Parameters
    ----------
    matrices : Intervals or array_like, shape (n, a, b)
        Floats are exact.

    Returns
    -------
    numpy.ndarray, shape (n,)

    Raises
    ------
    ValueError
        If ``matrices`` are no matrices.

    Examples
    --------
    >>> float(norm_bounds([[[3.0, 0.0], [4.0, 0.0]]])[0])  # doctest: +ELLIPSIS
    5.000...
    """
    given = as_intervals(np.asarray(matrices, dtype=np.float64) if isinstance(matrices, (list, tuple)) else matrices)
    if given.ndim != 3 or not given.size:
        raise ValueError(f"matrices: expected shape (n, a, b), got shape {given.shape}")
    flat = given.reshape(len(given), -1)
    rest = norm(exact(flat.radius), axis=1)
    middle = given.mid if given.shape[1] >= given.shape[2] else given.mid.transpose(0, 2, 1)
    units, slack = [], []
    for _ in range(_POWERS):
        unit = np.frexp(abs(middle).max(axis=(1, 2)))[1]
        middle = np.ldexp(middle, -unit[:, np.newaxis, np.newaxis])  # exact, but for what underflows
        squares = _squares(middle)
        units.append(unit)
        slack.append(squares * gamma(middle.shape[1] + 2) + (squares.hi > 0.0) * (middle.size * SUBNORMAL))
        middle = middle.transpose(0, 2, 1) @ middle
    found = np.sqrt(_squares(middle))
    for unit, error in zip(reversed(units), reversed(slack), strict=True):
        found = np.sqrt(found + error) * exact(np.ldexp(1.0, unit))
    bound: Array = np.asarray((found + rest).hi)
    return bound


def _squares(matrices: Array) -> Intervals:
    """Enclose the sums of the squares of the entries of many matrices."""
    flat = exact(matrices.reshape(len(matrices), -1))
    found: Intervals = (flat * flat).sum(axis=1)
    return found
