r"""Scores that are linear in a few parameters: attention weights as an exponential family.

With a basis :math:`B \in \mathbb R^{n \times k}`, one row per location, parameters :math:`w \in \mathbb R^k` (a summary
of the data), a temperature :math:`\tau` and a law :math:`p_0`,

.. math:: p = \mathrm{softmax}(Bw/\tau + \log p_0), \qquad A(w) = \tau \log \sum_i p_{0,i}\, e^{(Bw)_i/\tau},

where no prior means :math:`p_0 = 1`. The statistics are the columns of :math:`B`: :math:`\nabla A = B^\top p`,
:math:`\nabla^2 A = B^\top(\mathrm{diag}(p) - pp^\top)B/\tau`, and :math:`\log(p/p_0)` lies in the span of :math:`B` and
of the constants. Two parameters give one law iff their difference is sent to a constant, so :math:`w` is identified by
the weights iff :math:`[B, \mathbf 1]` has rank :math:`k + 1`.

References
----------
M. J. Wainwright and M. I. Jordan, *Graphical models, exponential families, and variational inference*, Foundations and
Trends in Machine Learning 1 (2008), section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_matrix, as_positive, as_simplex, as_vector, frozen
from theory.attention.enclosed import known
from theory.evidence import is_enclosed, within
from theory.evidence.roundoff import EXP_ULPS, TINY, U, gamma, softmax_error
from theory.maxent.batch import Array
from theory.maxent.gibbs.softmax import log_softmax, softmax, softmax_value


@dataclass(frozen=True, slots=True, eq=False)
class LinearScores:
    """The laws whose scores are a basis times parameters.

    Parameters
    ----------
    basis : array_like, shape (n, k)
        Values of k functions at n locations, dimensionless.
    prior : array_like, shape (n,), optional
        A positive law: the weights at parameters zero. Uniform weights unless given.
    tau : float, default 1.0
        Temperature, positive.

    Raises
    ------
    ValueError
        If the basis is no finite matrix, the prior is no law of positive masses on its rows, or ``tau <= 0``.
    """

    basis: Array
    prior: Array | None = None
    tau: float = 1.0

    def __post_init__(self) -> None:
        basis = as_matrix(self.basis, "basis")
        object.__setattr__(self, "basis", frozen(basis))
        object.__setattr__(self, "tau", as_positive(self.tau, "tau"))
        if self.prior is not None:
            prior = as_simplex(self.prior, "prior", size=basis.shape[0])
            if not prior.min() > 0.0:
                raise ValueError(f"prior: expected positive masses, got {prior.min()} at index {int(prior.argmin())}")
            object.__setattr__(self, "prior", frozen(prior))

    def scores(self, parameters: ArrayLike) -> Array:
        """Return the scores of the locations, shape (n,), for ``parameters`` of shape (k,)."""
        scores: Array = self.basis @ as_vector(parameters, "parameters", size=self.basis.shape[1])
        return scores

    def weights(self, parameters: ArrayLike) -> Array:
        """Return the law at ``parameters``, shape (n,), enclosed if they are."""
        if is_enclosed(parameters):
            at = known(parameters, "parameters")
            law = self.weights(at)
            return within(law, self.error(at) * law + TINY)  # type: ignore[no-any-return]
        return softmax(self.scores(parameters), prior=self.prior, tau=self.tau)

    def log_weights(self, parameters: ArrayLike) -> Array:
        """Return the logarithms of the weights, shape (n,), which do not underflow; enclosed if the parameters are."""
        if is_enclosed(parameters):
            at = known(parameters, "parameters")
            return within(self.log_weights(at), 2.0 * self.error(at))  # type: ignore[no-any-return]
        return log_softmax(self.scores(parameters), prior=self.prior, tau=self.tau)

    def value(self, parameters: ArrayLike) -> Any:
        """Return the log-partition A, in the unit of the scores, enclosed if the parameters are."""
        if is_enclosed(parameters):
            at = known(parameters, "parameters")
            size = float((np.abs(self.basis) @ np.abs(at)).max()) + self.tau * math.log(len(self.basis))
            added = 0.0 if self.prior is None else self.tau * float(-np.log(self.prior.min()))
            return within(self.value(at), self.tau * self.error(at) + gamma(2 * EXP_ULPS + 8) * (size + added))
        return float(softmax_value(self.scores(parameters), prior=self.prior, tau=self.tau))

    def gradient(self, parameters: ArrayLike) -> Array:
        """Return the mean of the basis under the weights, shape (k,): the gradient of :meth:`value`."""
        mean: Array = self.weights(parameters) @ self.basis
        return mean

    def hessian(self, parameters: ArrayLike) -> Array:
        """Return the covariance of the basis over the temperature, shape (k, k): the Hessian of :meth:`value`."""
        law = self.weights(parameters)
        centred = self.basis - law @ self.basis  # before it is squared, or the digits of a narrow law would cancel
        covariance: Array = centred.T @ (law[:, np.newaxis] * centred) / self.tau
        return covariance

    def is_identified(self) -> bool:
        """Tell whether different parameters give different laws: the basis and the constants are independent.

        The unit of a column does not matter: each is divided by its largest entry. Singular values below
        ``max(n, k + 1)`` units of rounding of the largest then count as zero.
        """
        n, k = self.basis.shape
        size = np.abs(self.basis).max(axis=0)
        scaled = self.basis / np.where(size > 0.0, size, 1.0)
        return bool(np.linalg.matrix_rank(np.column_stack([scaled, np.ones(n)])) == k + 1)

    def error(self, parameters: ArrayLike) -> float:
        """Bound the relative error of every weight that is at least 1e-300."""
        w = np.abs(as_vector(parameters, "parameters", size=self.basis.shape[1]))
        size = float((np.abs(self.basis) @ w).max()) / self.tau
        added = 0.0 if self.prior is None else float(-np.log(self.prior.min()))
        score_error = gamma(self.basis.shape[1] + 4) * size + (2 * EXP_ULPS + 4) * U * (size + added)
        return softmax_error(score_error, 2.0 * (size + added), self.basis.shape[0])
