r"""One number of a score matrix bounds how much softmax rows differ and how fast Sinkhorn's sweeps contract.

For a real matrix :math:`S` let :math:`\Delta(S) = \max_{i,k,j,l}(s_{ij} - s_{kj} - s_{il} + s_{kl})`.

* Rows of :math:`\mathrm{softmax}(S)` have total variations of at most :math:`\tanh(\Delta/4)`: the log-ratio of two
  rows oscillates by at most :math:`\Delta`, and of all such pairs two laws on two atoms, a step of :math:`\Delta` apart
  in their logit and symmetric, differ most. Derived; attained.
* A sweep, which normalises the columns of :math:`e^S` and then its rows, contracts Hilbert's metric, the oscillation of
  the difference of two potentials, by :math:`\tanh^2(\Delta/4)` at least (Birkhoff), and for a square matrix in the
  end by :math:`\sigma_2(P^\star)^2` each time, with :math:`\sigma_2` the second singular value of its doubly
  stochastic limit, unless the start has no part along its singular vector, as where it shares a symmetry.

References
----------
G. Birkhoff, Extensions of Jentzsch's theorem, *Transactions of the American Mathematical Society* 85 (1957), 219-227.
J. Franklin and J. Lorenz, On the scaling of multidimensional matrices, *Linear Algebra and its Applications* 114/115
(1989), 717-735.
R. Dobrushin, Central limit theorem for nonstationary Markov chains, *Theory of Probability and its Applications* 1
(1956).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_matrix, as_real
from theory.evidence.enclosure import balls, exp, log
from theory.lipschitz._numbers import finite, nonnegative, tanh


def crossed_spread(scores: ArrayLike) -> float:
    r"""Return :math:`\Delta(S)` of a matrix of shape (m, n), in its unit."""
    s = as_matrix(scores, "scores")
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = s[:, np.newaxis] - s[np.newaxis]
        return finite(np.ptp(gaps, axis=2).max(), "scores")


def rows_bound(spread: float) -> float:
    r"""Return :math:`\tanh(\Delta/4)`, the largest total variation of two softmax rows of a matrix with this spread."""
    return tanh(nonnegative(spread, "spread") / 4.0)  # type: ignore[no-any-return]


def sinkhorn_sweep_bound(spread: float) -> float:
    r"""Return :math:`\tanh^2(\Delta/4)`, the largest factor of Hilbert's metric in one sweep."""
    return rows_bound(spread) ** 2


def sinkhorn_sweep(scores: ArrayLike, potential: Any) -> NDArray[np.object_]:
    r"""Return the row potential after one sweep of Sinkhorn's iteration, in balls.

    Parameters
    ----------
    scores : array_like, shape (m, n)
    potential : array_like, shape (m,)
        The row potential :math:`f` before, in floats or balls.

    Returns
    -------
    ndarray of balls, shape (m,)
        :math:`f'_i = -\log\sum_j e^{s_{ij} + g_j}` with :math:`g_j = -\log\sum_i e^{s_{ij} + f_i}`.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    s, f = _enclosed(scores, potential)
    columns = -log(exp(s + f[:, np.newaxis]).sum(axis=0))
    after: NDArray[np.object_] = -log(exp(s + columns).sum(axis=1))
    return after


def sinkhorn_plan(scores: ArrayLike, potential: Any) -> NDArray[np.object_]:
    """Return the matrix that a row potential and the column potential it brings about make of ``exp(scores)``.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    s, f = _enclosed(scores, potential)
    tilted = exp(s + f[:, np.newaxis])
    return np.asarray(tilted / tilted.sum(axis=0))


def _enclosed(scores: ArrayLike, potential: Any) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    s = balls(as_matrix(scores, "scores"))
    enclosed = isinstance(potential, np.ndarray) and potential.dtype == object and potential.size
    if enclosed and any(not hasattr(ball, "is_finite") for ball in potential.ravel()):
        raise TypeError("potential: expected balls or numbers, got other objects")
    f = potential if enclosed else balls(as_real(potential, "potential"))
    if f.shape != s.shape[:1]:
        raise ValueError(f"potential: expected shape ({s.shape[0]},), got shape {f.shape}")
    return s, f
