r"""How far the limit of Sinkhorn's iteration is, from the residual of what was computed.

Let :math:`g` be a potential of the keys, :math:`p_i \propto b_j e^{s_{ij} + g_j}` its rows, :math:`\tilde b = \sum_i
a_i p_i` its column sums, :math:`g^\star = g + h` the limit, and :math:`\psi(t) = \sum_i a_i \mathrm{Var}_{p_i(t)}(h)`
along :math:`g + th`. The concave dual has the gradient :math:`b - \tilde b`, so :math:`\langle b - \tilde b, h\rangle =
\int_0^1 \psi`. Since :math:`|\psi'| \le R\psi` with :math:`R = \mathrm{osc}(h)`, and :math:`\psi(0) \ge (1 -
\sigma_2^2)\mathrm{Var}_{\tilde b}(h)` with the second singular value of :math:`(\sqrt{a_i/\tilde b_j}\,p_{ij})`,

.. math:: \int_0^1 \psi \le \chi^2\,\frac{1 + R}{1 - \sigma_2^2}, \qquad
   \chi^2 = \sum_j (b_j - \tilde b_j)^2 / \tilde b_j,

and an average of values of oscillation :math:`w` moves by :math:`\frac w2 (\int\psi)^{1/2}` at most, in the root mean
square over the queries. Here :math:`R \le \mathrm{osc}(g) + \max_i \mathrm{osc}_j s_{ij}`, because :math:`g^\star` is a
soft minimum of :math:`-s`. The bound is linear in the residual and asks little of the scores. Where their spread
:math:`\Delta` is small, Birkhoff's theorem bounds every potential at once: a sweep contracts Hilbert's metric by
:math:`\tanh^2(\Delta/4)`, hence :math:`\mathrm{osc}(h) \le \mathrm{osc}(g' - g)/(1 - \tanh^2(\Delta/4))` with
:math:`g'` one sweep further. Both are derived here; the rounding of the residual is added to it.

References
----------
J. Franklin, J. Lorenz, On the scaling of multidimensional matrices, *Linear Algebra and its Applications* 114/115
(1989), 717-735 (Birkhoff's contraction).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from theory._validate import as_instance, as_points
from theory.attention.masses import logs_of
from theory.attention.output import partition_error, weight_error
from theory.attention.score import Array, BoundedScore, bounded
from theory.attention.sinkhorn.iteration import Sinkhorn
from theory.evidence.roundoff import U, gamma

_WIDEST = 350.0  # derived: the square of its hyperbolic cosine is near the end of float64
_SVD = 64 * U  # taken: per unit of dimension, many times what LAPACK's singular values are off


def potential_error(found: Sinkhorn) -> float:
    """Bound the oscillation of the limit's potential of the keys less ``found.g``, by Birkhoff's contraction.

    Returns
    -------
    float
        Over the keys of positive mass, in units of the score; infinite if it did not converge, or if the scores
        spread so widely that nothing is known. The attention weights of every query are within ``tanh(error / 4)`` of
        the limit's, in total variation.
    """
    if not as_instance(found, "found", Sinkhorn).converged:
        return math.inf
    rounding = _rounding(found)
    if not found.residual + rounding < 0.5:
        return math.inf
    moved = -2.0 * math.log1p(-found.residual - rounding)  # bounds the oscillation of g' - g
    quarter = _spread(found) / 4.0
    if quarter > _WIDEST:
        return math.inf
    return math.nextafter(moved * math.cosh(quarter) ** 2 * (1.0 + gamma(16)), math.inf)  # 1 - tanh^2 = 1 / cosh^2


def sinkhorn_error(found: Sinkhorn, values: ArrayLike) -> float:
    """Bound how far ``found.output(values)`` is from the limit's, in the root mean square over the queries.

    Parameters
    ----------
    found : Sinkhorn
        With a score that bounds its rounding and the method ``dense``.
    values : array_like, shape (n, d_v)

    Returns
    -------
    float
        Of every coordinate, under the masses of the queries, in the unit of the values, without the rounding of the
        outputs themselves; infinite if it did not converge or nothing is known. Takes a singular value decomposition
        of an (m, n) matrix.
    """
    as_instance(found, "found", Sinkhorn)
    v = as_points(values, "values", size=found.keys.shape[0])[found.key_weights > 0.0]
    oscillation = float(np.ptp(v, axis=0).max()) * (1.0 + gamma(2))
    return math.nextafter(0.5 * oscillation * _root_energy(found) * (1.0 + gamma(16)), math.inf)


def _root_energy(found: Sinkhorn) -> float:
    """Bound the root of the integral of psi."""
    moving, seen = found.query_weights > 0.0, found.key_weights > 0.0
    y = found.keys[seen]
    score = _score(found)
    relative = 2.0 * weight_error(found.queries, y, score, found.log_weights) + gamma(found.g.size)
    if not found.converged or not relative < 0.1:
        return math.inf
    law = found.rows()[np.ix_(moving, seen)] * found.query_weights[moving, np.newaxis]
    columns = law.sum(axis=0)
    if not columns.min() > 0.0:  # all weights of a key underflow
        return math.inf
    off = np.abs(found.key_weights[seen] - columns) + 2.0 * (relative + gamma(law.shape[0] + 4)) * columns
    chi = math.sqrt(float((off * off / columns).sum()) * (1.0 + gamma(law.shape[1] + 8)) / (1.0 - 2.0 * relative))
    unit = law / np.sqrt(np.outer(found.query_weights[moving], columns))
    second = float(np.linalg.svd(unit, compute_uv=False)[1]) if min(unit.shape) > 1 else 0.0
    second += 2.0 * relative + _SVD * sum(unit.shape)  # entries off by a share move a norm of one by no more
    if not second < 1.0:
        return math.inf
    reach = float(np.ptp(found.g[seen])) + max(float(np.ptp(row)) for row in _scores(found))
    reach += 2.0 * score.bounds(found.queries, y)[1]
    return chi * math.sqrt((1.0 + reach * (1.0 + gamma(8))) / ((1.0 - second) * (1.0 + second)))


def _score(found: Sinkhorn) -> BoundedScore:
    if found.method != "dense":
        raise ValueError(f"method: expected dense, of which the rounding is bounded, got {found.method!r}")
    return bounded(found.score)


def _rounding(found: Sinkhorn) -> float:
    """Bound the error of the logarithm of a column sum relative to its mass."""
    moving, seen = found.query_weights > 0.0, found.key_weights > 0.0
    x, y = found.queries[moving], found.keys[seen]
    score = _score(found)
    log_a = logs_of(found.query_weights[moving]) + found.f[moving]
    off = partition_error(x, y, score, found.log_weights) + partition_error(x, y, score, log_a)  # bounds are symmetric
    size = max(float(np.abs(part).max()) for part in (found.f, found.g, found.log_weights, log_a))
    return 1.25 * (off + gamma(8) * (1.0 + size)) if off < 0.1 else math.inf  # expm1(t) <= 1.25 t there


def _scores(found: Sinkhorn) -> Array:
    moving, seen = found.query_weights > 0.0, found.key_weights > 0.0
    return found.score.matrix(found.queries[moving], found.keys[seen])


def _spread(found: Sinkhorn) -> float:
    """Bound the largest crossed difference of the scores, through those with the first query."""
    scores = _scores(found)
    error = _score(found).bounds(found.queries, found.keys)[1]
    return 2.0 * float(np.ptp(scores - scores[0], axis=1).max()) + 8.0 * error
