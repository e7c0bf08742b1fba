r"""Attention on Gaussian laws: two moments that close, in three normalisations.

For :math:`\mu = N(m, \Sigma)` the velocity of a token is affine, :math:`\Gamma(x) = V(\bar m + G(x - m))`, so a
Gaussian stays one, with :math:`\dot m = V\bar m` and :math:`\dot\Sigma = VG\Sigma + \Sigma G^\top V^\top`:

* softmax of :math:`\langle Ax, y\rangle`: tilting moves the mean by :math:`\Sigma Ax`, so :math:`\bar m = m + \Sigma
  Am` and :math:`G = \Sigma A`. If :math:`V = I`, :math:`\Sigma(t)^{-1} = \Sigma_0^{-1} - t(A + A^\top)`;
* softmax of :math:`-|Qx - Ky|^2`: the posterior mean, with :math:`\Sigma_e = (\Sigma^{-1} + 2K^\top K)^{-1}`,
  :math:`\bar m = \Sigma_e(\Sigma^{-1}m + 2K^\top Qm)` and :math:`G = 2\Sigma_e K^\top Q`;
* Sinkhorn of :math:`\langle Ax, y\rangle`: the coupling of :math:`\mu` with itself whose precision has the block
  :math:`-A^\top` off the diagonal, so :math:`\bar m = m` and :math:`G = C^\top\Sigma^{-1}` with its covariance C of x
  and y.

References
----------
V. Castin, P. Ablin, J. A. Carrillo, G. Peyré, A unified perspective on the dynamics of deep transformers, 2025 (the
closed equations).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_having, as_matrix, frozen
from theory.attention.enclosed import known
from theory.evidence import is_enclosed, within
from theory.evidence.roundoff import U
from theory.evidence.systems import solve

Array = NDArray[np.float64]
_STRONG = 1e150  # derived: above, what the coupling takes of the covariance is all of it, to the last digit
_LAPACK = 64.0  # taken: times d u, many times the backward error of its decompositions of small matrices


class Closure(Protocol):
    """An affine velocity for every Gaussian."""

    def affine(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        r"""Return :math:`V\bar m`, shape (d,), and :math:`VG`, shape (d, d)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxClosure:
    r"""Softmax of :math:`\langle Ax, y\rangle`.

    Parameters
    ----------
    form : array_like, shape (d, d)
        :math:`A`.
    value : array_like, shape (d, d), optional
        :math:`V`; the identity unless given.
    """

    form: Array
    value: Array | None = None

    def __post_init__(self) -> None:
        _settle(self, "form")

    def affine(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        """Return velocity of the mean and slope."""
        slope = covariance @ self.form
        return _valued(self.value, mean + slope @ mean), _valued(self.value, slope)


@dataclass(frozen=True, slots=True, eq=False)
class DistanceClosure:
    r"""Softmax of :math:`-|Qx - Ky|^2`.

    Parameters
    ----------
    query, key : array_like, shape (k, d)
        :math:`Q` and :math:`K`.
    value : array_like, shape (d, d), optional
        :math:`V`; the identity unless given.
    """

    query: Array
    key: Array
    value: Array | None = None

    def __post_init__(self) -> None:
        query = as_matrix(self.query, "query")
        object.__setattr__(self, "query", frozen(query))
        object.__setattr__(self, "key", frozen(as_matrix(self.key, "key", shape=query.shape)))
        if self.value is not None:
            object.__setattr__(self, "value", frozen(as_matrix(self.value, "value", shape=(query.shape[1],) * 2)))

    def affine(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        """Return velocity of the mean and slope."""
        cross = 2.0 * self.key.T @ self.query
        system = np.eye(len(mean)) + 2.0 * covariance @ self.key.T @ self.key  # Sigma_e is its inverse times Sigma
        known = np.concatenate([(mean + covariance @ cross @ mean)[:, np.newaxis], covariance @ cross], axis=1)
        both = solve(system, known)
        return _valued(self.value, both[:, 0]), _valued(self.value, both[:, 1:])


@dataclass(frozen=True, slots=True, eq=False)
class SinkhornClosure:
    r"""Sinkhorn of :math:`\langle Ax, y\rangle`; parameters as for :class:`SoftmaxClosure`."""

    form: Array
    value: Array | None = None

    def __post_init__(self) -> None:
        _settle(self, "form")

    def affine(self, mean: Array, covariance: Array) -> tuple[Array, Array]:
        """Return velocity of the mean and slope."""
        coupling = sinkhorn_coupling(covariance, self.form)
        slope: Array = np.linalg.solve(covariance, coupling).astype(np.float64).T
        return _valued(self.value, mean), _valued(self.value, slope)


def moment_field(closure: Closure) -> Callable[[Array], Array]:
    r"""Return the velocity of the state :math:`(m \mid \Sigma)`, shape (d, d + 1)."""
    as_having(closure, "closure", "affine")

    def velocity(state: Array) -> Array:
        covariance = state[:, 1:]
        mean, slope = closure.affine(state[:, 0], covariance)
        grown = slope @ covariance
        return np.column_stack([mean, grown + grown.T])

    return velocity


def log_variance_field(closure: Closure) -> Callable[[Array], Array]:
    r"""Return the velocity of :math:`\log s` on the line, for a state without dimensions; it keeps its digits."""
    as_having(closure, "closure", "affine")

    def velocity(state: Array) -> Array:
        slope = closure.affine(np.zeros(1), np.array([[math.exp(float(state))]]))[1]
        return np.asarray(2.0 * slope[0, 0])

    return velocity


def sinkhorn_coupling(covariance: ArrayLike, form: ArrayLike) -> Array:
    r"""Return the covariance C of query and key under Sinkhorn's coupling of :math:`N(m, \Sigma)` with itself.

    Enclosed if a matrix is exact.

    :math:`C = \Sigma^{1/2}U\,\mathrm{diag}\big(\tfrac{2\sigma}{1 + \sqrt{1 + 4\sigma^2}}\big)W^\top\Sigma^{1/2}` with
    :math:`\Sigma^{1/2}A^\top\Sigma^{1/2} = U\,\mathrm{diag}(\sigma)W^\top`; the quotient keeps the digits of small
    scores.

    Raises
    ------
    ValueError
        If a shape does not fit or ``covariance`` is not positive definite.
    """
    if is_enclosed(covariance, form):
        given = [known(covariance, "covariance"), known(form, "form")]
        enclosed: Array = within(sinkhorn_coupling(*given), coupling_error(*given))
        return enclosed
    a, sigma = as_pair(form, covariance)
    root = _root(sigma)
    with np.errstate(over="ignore", invalid="ignore"):
        inner = root @ a.T @ root
    if not np.isfinite(inner).all():
        raise ValueError("covariance, form: expected ones whose products float64 can hold, got an overflow")
    left, size, right = np.linalg.svd(inner)
    with np.errstate(over="ignore"):
        share = 2.0 * size / (1.0 + np.sqrt(1.0 + 4.0 * size * size))
    share = np.where(size > _STRONG, 1.0, share)
    coupling: Array = root @ (left * share) @ right @ root
    if not np.isfinite(coupling).all():
        raise ValueError("covariance, form: expected ones whose products float64 can hold, got an overflow")
    return coupling


def coupling_error(covariance: ArrayLike, form: ArrayLike) -> float:
    r"""Bound the Frobenius norm of the error of :func:`sinkhorn_coupling`.

    A root moves by :math:`1/(2\sqrt{\lambda_{\min}})` of what its matrix moves, and :math:`U\phi(\sigma)W^\top` by no
    more than its matrix, since :math:`\phi` has Lipschitz constant one.
    """
    a, sigma = as_pair(form, covariance)
    unit = _LAPACK * sigma.shape[0] ** 1.5 * U
    values = np.linalg.eigvalsh(sigma)
    size = math.sqrt(float(values[-1]))
    steep = float(np.linalg.norm(a, 2))
    root = unit * float(values[-1]) / (2.0 * math.sqrt(float(values[0]))) + unit * size
    inner = 2.0 * root * size * steep + unit * size * size * steep
    return float(2.0 * (2.0 * root * size + size * size * (inner + unit)))


def _settle(closure: SoftmaxClosure | SinkhornClosure, name: str) -> None:
    form = as_matrix(closure.form, name)
    object.__setattr__(closure, "form", frozen(as_matrix(form, name, shape=(form.shape[0], form.shape[0]))))
    if closure.value is not None:
        object.__setattr__(closure, "value", frozen(as_matrix(closure.value, "value", shape=form.shape)))


def as_pair(form: ArrayLike, covariance: ArrayLike) -> tuple[Array, Array]:
    """Return a form and a positive definite covariance of its shape, or raise ``ValueError``."""
    sigma = as_matrix(covariance, "covariance")
    sigma = as_matrix(sigma, "covariance", shape=(sigma.shape[0], sigma.shape[0]))
    if not np.linalg.eigvalsh(sigma)[0] > 0.0:
        raise ValueError("covariance: expected a positive definite matrix, got another")
    return as_matrix(form, "form", shape=sigma.shape), sigma


def _root(sigma: Array) -> Array:
    values, vectors = np.linalg.eigh(sigma)
    root: Array = (vectors * np.sqrt(values)) @ vectors.T
    return root


def _valued(value: Array | None, velocity: Array) -> Array:
    return velocity if value is None else value @ velocity
