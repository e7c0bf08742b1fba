r"""Linear systems that are known up to an error, and inverses.

LAPACK proposes an inverse :math:`R`, and nothing it says is believed: with :math:`E = I - RM` the solution of
:math:`Mx = b` is off from any :math:`y` by :math:`x - y = (I - E)^{-1}R(b - My)`, so that no entry of a column is off
by more than :math:`\|R(b - My)\|_\infty/(1 - \|E\|_\infty)`, for every :math:`M` and :math:`b` in their enclosures.

References
----------
S. M. Rump, Verification methods: rigorous results using floating-point arithmetic, *Acta Numerica* 19 (2010), section
10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theory.evidence.intervals import as_intervals, is_enclosed, weakest, within


def solve(system: Any, known: Any) -> Any:
    r"""Return :math:`M^{-1}B`, enclosed if a matrix is.

    Parameters
    ----------
    system : Intervals or array_like, shape (n, n)
        :math:`M`.
    known : Intervals or array_like, shape (n, k)
        :math:`B`.

    Returns
    -------
    ndarray or Intervals, shape (n, k)

    Raises
    ------
    ValueError
        If an enclosed system may have no inverse.
    LinAlgError
        If a system of floats has none.
    """
    if not is_enclosed(system, known):
        return np.linalg.solve(system, known).astype(np.float64)
    m, b = as_intervals(system), as_intervals(known)
    inverse = np.linalg.inv(m.mid)
    near = inverse @ b.mid
    defect = abs(np.eye(len(inverse)) - inverse @ m).sum(axis=1).max()
    if not defect.hi < 1.0:
        raise ValueError("system: expected one that certainly has an inverse, got one that may not")
    residual = abs(inverse @ (b - m @ near)).max(axis=0)
    return within(near, (residual / (1.0 - defect)).hi, weakest(m, b))


def inverse_of(matrix: Any) -> Any:
    """Return the inverse of a matrix, shape (n, n), enclosed if it is; raises as :func:`solve` does."""
    return solve(matrix, np.eye(len(matrix))) if is_enclosed(matrix) else np.linalg.inv(matrix)
