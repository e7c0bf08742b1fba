r"""Softmax attention on Gaussians and their mixtures, solved.

If the value matrix is one, the inverse of the covariance moves at constant speed, :math:`\frac{d}{dt}\Sigma^{-1} =
-\Sigma^{-1}(\Sigma A\Sigma + \Sigma A^\top\Sigma)\Sigma^{-1} = -(A + A^\top)`. So the covariance blows up when the
largest eigenvalue of :math:`\Sigma_0^{1/2}(A + A^\top)\Sigma_0^{1/2}`, if positive, reaches 1/t, and collapses like 1/t
if :math:`A + A^\top` is negative definite. Derived here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_masses, as_matrix, as_number, as_points
from theory.attention.enclosed import known
from theory.evidence import Interval, exact, is_enclosed, within
from theory.evidence.roundoff import gamma
from theory.evidence.systems import solve
from theory.particles.mean_field.gaussian import as_pair

Array = NDArray[np.float64]
_ROUNDING = 1e3 * gamma(64)  # taken: many times what the decompositions of small matrices round, per unit of their size


def softmax_covariance(form: ArrayLike, covariance: ArrayLike, time: float) -> Array:
    r"""Return :math:`(\Sigma_0^{-1} - t(A + A^\top))^{-1}`, for the value matrix one; enclosed if a matrix is exact.

    Raises
    ------
    ValueError
        If a shape does not fit, ``covariance`` is not positive definite or ``time`` is not before the blow-up.
    """
    a, sigma = _as_pair(form, covariance)
    t = as_number(time, "time")
    last = _inverse(_fastest(a, sigma)[0])
    if not t < last:
        raise ValueError(f"time: expected one before the blow-up, {last}, got {time!r}")
    with np.errstate(over="ignore", invalid="ignore"):
        if is_enclosed(form, covariance):
            first = exact(sigma)
            enclosed: Array = solve(np.eye(sigma.shape[0]) - t * first @ (exact(a) + a.T), first)
            return enclosed
        system = np.eye(sigma.shape[0]) - t * sigma @ _doubled(a)
        found: Array = solve(system, sigma)
    if not (np.isfinite(system).all() and np.isfinite(found).all()):
        raise ValueError("time, covariance: expected ones of which float64 holds the covariance, got an overflow")
    return found


def blow_up_time(form: Any, covariance: Any) -> Any:
    r"""Return :math:`1/\lambda_{\max}(\Sigma_0^{1/2}(A + A^\top)\Sigma_0^{1/2})`, infinite unless that is positive.

    Enclosed if a matrix is exact.

    Raises
    ------
    ValueError
        If a shape does not fit or ``covariance`` is not positive definite.
    """
    a, sigma = _as_pair(form, covariance)
    top, error = _fastest(a, sigma)
    if is_enclosed(form, covariance):
        time: Interval = 1.0 / within(top, error)
        return time
    return _inverse(top)


def _inverse(top: float) -> float:
    return 1.0 / top if top > 0.0 else math.inf


def _as_pair(form: Any, covariance: Any) -> tuple[Array, Array]:
    """Return a form and a positive definite covariance of its shape, of enclosures what they are known to be."""
    read = [known(part, "form, covariance") if is_enclosed(part) else part for part in (form, covariance)]
    return as_pair(*read)


def _fastest(form: Array, covariance: Array) -> tuple[float, float]:
    """Return the largest eigenvalue of which the inverse is the time of the blow-up, and a bound of its error."""
    lower = np.linalg.cholesky(covariance)
    with np.errstate(over="ignore", invalid="ignore"):
        inner = lower.T @ _doubled(form) @ lower
    if not np.isfinite(inner).all():
        raise ValueError("form, covariance: expected ones whose products float64 can hold, got an overflow")
    return float(np.linalg.eigvalsh(inner)[-1]), _ROUNDING * float(np.abs(inner).max())


def collapse_shape(form: ArrayLike) -> Array:
    r"""Return the limit of :math:`t\,\Sigma(t)`, which is :math:`-(A + A^\top)^{-1}`, for the value matrix one.

    Enclosed if the form is exact.

    Raises
    ------
    ValueError
        If ``form`` is not square or :math:`A + A^\top` is not negative definite.
    """
    a = known(as_matrix(form, "form"), "form")
    a = as_matrix(a, "form", shape=(a.shape[0], a.shape[0]))
    both = _doubled(a)
    if not np.linalg.eigvalsh(both)[-1] < 0.0:
        raise ValueError("form: expected a negative definite symmetric part, got another")
    if is_enclosed(form):
        enclosed: Array = -solve(exact(a) + a.T, np.eye(len(a)))
        return enclosed
    shape: Array = -np.linalg.inv(both).astype(np.float64)
    if not np.isfinite(shape).all():
        raise ValueError("form: expected one of which float64 holds the inverse, got an overflow")
    return shape


def _doubled(form: Array) -> Array:
    """Return the form and its transpose added."""
    with np.errstate(over="ignore"):
        both: Array = form + form.T
    if not np.isfinite(both).all():
        raise ValueError(f"form: expected one that float64 can double, got sizes up to {np.abs(form).max()}")
    return both


def mixture_field(
    form: ArrayLike, weights: ArrayLike, means: ArrayLike, covariances: Sequence[ArrayLike],
    value: ArrayLike | None = None,
) -> Callable[[ArrayLike], Array]:  # fmt: skip
    r"""Return softmax attention under a mixture of Gaussians, exactly: :math:`V\sum_k \pi_k(x)(m_k + \Sigma_k Ax)`.

    Up to a constant, :math:`\log\pi_k = \log w_k + \langle Ax, m_k\rangle + \tfrac12\langle Ax, \Sigma_k Ax\rangle`.

    Parameters
    ----------
    form : array_like, shape (d, d)
    weights : array_like, shape (k,)
        Positive, of any total.
    means : array_like, shape (k, d)
    covariances : sequence of array_like, each of shape (d, d)
    value : array_like, shape (d, d), optional

    Returns
    -------
    callable
        From queries, shape (m, d), to outputs, shape (m, d); enclosed if the queries are.
    """
    centres = as_points(means, "means")
    k, d = centres.shape
    if not isinstance(covariances, (list, tuple, np.ndarray)):
        raise TypeError(f"covariances: expected a sequence of matrices, got {type(covariances).__name__}")
    masses = as_masses(weights, "weights", size=k)
    a = as_matrix(form, "form", shape=(d, d))
    if not masses.min() > 0.0 or len(covariances) != k:
        raise ValueError(f"weights, covariances: expected {k} positive masses and as many matrices, got others")
    spreads = np.stack([as_matrix(part, "covariances", shape=(d, d)) for part in covariances])
    v = None if value is None else as_matrix(value, "value", shape=(d, d))

    def enclosed(tilt: Any) -> Array:
        moved = np.stack([tilt @ spread.T for spread in spreads], axis=1)
        logits = np.log(exact(masses)) + tilt @ centres.T + 0.5 * (tilt[:, np.newaxis] * moved).sum(axis=2)
        law = np.exp(logits - logits.max(axis=1, keepdims=True))
        law = law / law.sum(axis=1, keepdims=True)
        output: Array = (law[:, :, np.newaxis] * (centres + moved)).sum(axis=1)
        return output if v is None else output @ v.T

    def field(x: ArrayLike) -> Array:
        tilt = as_points(x, "x", dim=d) @ a.T
        if is_enclosed(tilt):
            return enclosed(tilt)
        moved = np.einsum("kij,mj->mki", spreads, tilt)
        logits = np.log(masses) + tilt @ centres.T + 0.5 * np.einsum("mi,mki->mk", tilt, moved)
        law = np.exp(logits - logits.max(axis=1, keepdims=True))
        law /= law.sum(axis=1, keepdims=True)
        output: Array = np.einsum("mk,mki->mi", law, centres + moved)
        return output if v is None else output @ v.T

    return field
