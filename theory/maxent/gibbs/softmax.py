r"""Softmax on batches, with a prior, a temperature and masks: its value, its logarithm and its derivatives.

For a law :math:`p_0` and :math:`\tau > 0`,
:math:`\max_p \langle p, s\rangle - \tau\,\mathrm{KL}(p \,\|\, p_0) = \tau \log \sum_i p_{0,i} e^{s_i/\tau}`, attained
only at :math:`p_i \propto p_{0,i} e^{s_i/\tau}`: with :math:`\log p_i = \log p_{0,i} + s_i/\tau - \log Z` the objective
at any :math:`q` is :math:`\tau \log Z - \tau\,\mathrm{KL}(q \,\|\, p)`. Without a prior the penalty is the negative
Shannon entropy, i.e. :math:`p_0 = 1` everywhere, which is no law: the value is then :math:`\tau\,\mathrm{lse}(s/\tau)`.
A mask is a prior with zeros.

The derivative in the scores is :math:`J = (\mathrm{diag}(p) - pp^\top)/\tau`, whatever the prior. It is symmetric: one
function is the product with a cotangent and with a tangent. The diagonal :math:`p_i(1 - p_i)` is summed from the other
entries of its row, because :math:`1 - p_i` loses every digit beside a vertex; so the kernel holds the constants
exactly.

For one law with a bound on its rounding see :func:`theory.maxent.gibbs.gibbs_law`; for the conventions of batches and
of rows masked throughout, :mod:`theory.maxent.batch`. Without a prior the weights come from compiled rows
(:mod:`theory.maxent.kernels`), whose gaps are formed alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_real, as_scores
from theory.evidence import as_intervals, is_enclosed
from theory.evidence.intervals import weakest
from theory.maxent.batch import (
    Array,
    Layout,
    as_axis,
    as_laws,
    as_parameter,
    compiled_laws,
    flatten_rows,
    read_cotangent,
    read_gaps,
    validate_laws,
)
from theory.maxent.gibbs.enclosed import (
    enclose_jacobian,
    enclose_logarithms,
    enclose_values,
    enclose_vjp,
    enclose_weights,
    middle,
    relative_error,
)

# derived: e^700 is finite, e^-700 normal, and e^45, the most that the smallest prior leaves beyond, both
_SPLIT = 700.0
_RAISED = 1000  # derived: 2^1000 times a prior is finite
_KEPT = 900  # derived: a raised sum is 2^-75 or more, normal over 2^900


class _Gibbs(NamedTuple):
    """The laws of rows, their logarithms, the attained maxima, and where the rows came from."""

    weights: Array
    logs: Array
    value: Array
    layout: Layout


def _gibbs(scores: ArrayLike, prior: ArrayLike | None, tau: ArrayLike, axis: int) -> _Gibbs:
    s = as_scores(scores)
    axis = as_axis(axis)
    given = {"scores": s}
    if prior is not None:
        reference = as_laws(prior, "prior")
        if reference.ndim == 1 and s.ndim > 0 and -s.ndim <= axis < s.ndim and reference.size == s.shape[axis]:
            reference = np.moveaxis(np.broadcast_to(reference, np.moveaxis(s, axis, -1).shape), -1, axis)
        given["prior"] = reference
    layout, rows, (temperature,) = flatten_rows(given, axis, {"tau": as_parameter(tau, "tau")})
    present = rows[0] > -np.inf
    if prior is not None:
        validate_laws(rows[1], "prior")
        present &= rows[1] > 0.0
    read = read_gaps(rows[0], present, temperature, layout)
    if prior is None:
        logits = read.gaps
        masses = np.exp(read.gaps)
        best = np.zeros_like(read.peak)
        raised = np.zeros(best.shape, dtype=np.int64)
    else:
        logits = read.gaps + np.log(np.where(present, rows[1], 1.0))
        leader = np.argmax(np.where(present, logits, -np.inf), axis=1)[:, np.newaxis]
        best = np.take_along_axis(read.gaps, leader, axis=1)
        raised, masses = _weighted_masses(np.where(present, read.gaps - best, 0.0), rows[1], leader)
    masses = np.where(present, masses, 0.0)
    mass = masses.sum(axis=1, keepdims=True)
    lowered = np.minimum(raised, _KEPT)
    log_mass = np.log(np.ldexp(np.where(mass > 0.0, mass, 1.0), -lowered)) - (raised - lowered) * np.log(2.0)
    logs = np.where(present, logits - best - log_mass, -np.inf)
    with np.errstate(over="ignore"):  # the value exceeds the largest score, and may float64
        value = read.peak + temperature * (best + log_mass)
    return _Gibbs(masses / np.where(mass > 0.0, mass, 1.0), logs, value, layout)


def _weighted_masses(lead: Array, prior: Array, leader: NDArray[np.intp]) -> tuple[NDArray[np.int64], Array]:
    """Return exponents, (m, 1), and the products of a prior, raised by as many powers of two, with exponentials.

    A small prior of the leading entry is raised, lest the others underflow.
    """
    near = np.clip(lead, -_SPLIT, _SPLIT)
    raised = np.clip(-np.frexp(np.take_along_axis(prior, leader, axis=1))[1], 0, _RAISED).astype(np.int64)
    return raised, np.ldexp(prior, raised) * np.exp(near) * np.exp(lead - near)


def softmax(scores: ArrayLike, *, prior: ArrayLike | None = None, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return the maximiser of :math:`\langle p, s\rangle - \tau\,\mathrm{KL}(p \,\|\, p_0)` for every row.

    Asked with enclosures (of scores, prior or temperature) the functions of this module answer with enclosures.

    Parameters
    ----------
    scores : array_like or Intervals
        Real scores, dimensionless; :math:`-\infty` masks an entry of an array.
    prior : array_like, shape (n,) or that of ``scores``, optional
        A law along ``axis``, zeros allowed; the penalty is the negative entropy unless given.
    tau : array_like, default 1.0
        Positive temperature, broadcast against the rows.
    axis : int, default -1
        Along which the n scores of a row lie.

    Returns
    -------
    ndarray
        Laws along ``axis``; a row without an entry left is a row of zeros.

    Raises
    ------
    ValueError
        If a score is NaN or :math:`+\infty`, ``axis`` is empty, ``tau`` is not positive, the prior leaves the simplex
        or shapes do not fit.
    """
    if is_enclosed(scores, prior, tau):
        found = softmax(middle(scores), prior=middle(prior), tau=middle(tau), axis=axis)
        return enclose_weights(found, relative_error(scores, prior, tau, axis), weakest(scores, prior, tau))  # type: ignore[return-value]
    laws = compiled_laws("softmax_rows", scores, axis, tau=tau) if prior is None else None
    if laws is not None:
        return laws
    gibbs = _gibbs(scores, prior, tau, axis)
    return gibbs.layout.laws(gibbs.weights)


def log_softmax(scores: ArrayLike, *, prior: ArrayLike | None = None, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Return the logarithm of :func:`softmax` without its underflow; minus infinity where masked."""
    if is_enclosed(scores, prior, tau):
        found = log_softmax(middle(scores), prior=middle(prior), tau=middle(tau), axis=axis)
        return enclose_logarithms(found, relative_error(scores, prior, tau, axis), weakest(scores, prior, tau))  # type: ignore[return-value]
    gibbs = _gibbs(scores, prior, tau, axis)
    return gibbs.layout.laws(gibbs.logs)


def softmax_value(scores: ArrayLike, *, prior: ArrayLike | None = None, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return the attained maximum per row: :math:`\tau \log \sum_i p_{0,i} e^{s_i/\tau}`, in the unit of the scores.

    Parameters and errors as in :func:`softmax`; the value of a row masked throughout is minus infinity.
    """
    if is_enclosed(scores, prior, tau):
        found = softmax_value(middle(scores), prior=middle(prior), tau=middle(tau), axis=axis)
        relative = relative_error(scores, prior, tau, axis)
        return enclose_values(found, scores, prior, tau, relative)  # type: ignore[no-any-return]
    gibbs = _gibbs(scores, prior, tau, axis)
    return gibbs.layout.values(gibbs.value)


def softmax_vjp(weights: ArrayLike, cotangent: ArrayLike, *, tau: ArrayLike = 1.0, axis: int = -1) -> Array:
    r"""Return :math:`J c = p \odot (c - \langle p, c\rangle)/\tau` from the weights :func:`softmax` returned.

    :math:`J` is symmetric, so this is the product with a tangent as well.

    Parameters
    ----------
    weights, cotangent : array_like, equal shapes
        The laws, and what multiplies them.
    tau : array_like, default 1.0
    axis : int, default -1

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, a weight is negative or ``tau`` is not positive.
    """
    if is_enclosed(weights, tau):
        enclosed = as_intervals(weights)
        product = softmax_vjp(enclosed.mid, cotangent, axis=axis)
        return enclose_vjp(product, enclosed, np.asarray(cotangent), axis) / tau  # type: ignore[no-any-return]
    layout, p, c, temperature, _ = read_cotangent(weights, cotangent, axis, tau)
    with np.errstate(over="ignore", invalid="ignore"):
        return layout.derivative(p * (c - (p * c).sum(axis=1, keepdims=True)) / temperature)


def laplacian(q: Array) -> Array:
    r"""Return :math:`\mathrm{diag}(q) - qq^\top/\sum q` for rows of :math:`q \ge 0`, shape (..., n, n); 0 if q = 0."""
    total = q.sum(axis=-1, keepdims=True)
    matrix: Array = -q[..., :, np.newaxis] * (q / np.where(total > 0.0, total, 1.0))[..., np.newaxis, :]
    own = np.arange(q.shape[-1])
    matrix[..., own, own] = 0.0
    matrix[..., own, own] = -matrix.sum(axis=-1)
    return matrix


def softmax_jacobian(weights: ArrayLike, *, tau: ArrayLike = 1.0) -> Array:
    r"""Return :math:`(\mathrm{diag}(p) - pp^\top)/\tau` for laws along the last axis, shape (..., n, n)."""
    if is_enclosed(weights, tau):
        enclosed = as_intervals(weights)
        return enclose_jacobian(softmax_jacobian(enclosed.mid), enclosed) / tau  # type: ignore[no-any-return]
    weight = as_real(weights, "weights")
    layout, p, _, temperature, _ = read_cotangent(weight, weight, -1, tau)
    n = p.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        matrices = laplacian(p) / temperature[..., np.newaxis]
    layout.derivative(matrices.reshape(p.shape[0], n * n))  # refuses what overflows
    return matrices.reshape(*layout.shape, n, n)
