r"""The Jacobian of attention with respect to the positions of weighted atoms, block by block.

For atoms :math:`x_j` of weights :math:`w_j`, attention laws :math:`P_{ij} \propto w_j e^{a(x_i, x_j)}` with means
:math:`m_i = \sum_j P_{ij} x_j`, and outputs :math:`F_i = V m_i`,

.. math:: \frac{\partial F_i}{\partial x_j} = P_{ij} V \bigl(I + (x_j - m_i)\, \partial_y a(x_i, x_j)^\top\bigr)
          + \delta_{ij} \sum_k P_{ik} V (x_k - m_i)\, \partial_x a(x_i, x_k)^\top .

The last term is absent where the queries stand still. A causal mask lets token i see the tokens up to i. Heads add
up, each with the form :math:`W_Q^\top W_K` and the value matrix :math:`W_O W_V`. The same lines run on floats and on
balls: :func:`block_jacobian` measures, :func:`enclosed_jacobian` encloses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_count, as_flag, as_instance, as_matrix, as_points
from theory.attention import DotProduct, Measure, MultiHead, SquaredDistance
from theory.attention.measure import as_measure

Numbers: TypeAlias = NDArray[Any]  # floats, or balls in an object array
Lift: TypeAlias = Callable[[ArrayLike], Numbers]


def block_jacobian(
    mu: Measure,
    score: DotProduct | SquaredDistance,
    *,
    value: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    causal: bool = False,
) -> NDArray[np.float64]:
    """Return the blocks ``J[i, j]`` of the derivative of output i by the position of atom j.

    Parameters
    ----------
    mu : Measure
        n atoms in dimension d; all weights positive.
    score : DotProduct or SquaredDistance
        Of a query with a key.
    value : array_like, shape (d_out, d), optional
        V; the identity unless given.
    queries : array_like, shape (m, d), optional
        Queries that stand still while the atoms move; unless given, every atom is a query as well and moves.
    causal : bool, default False
        Whether token i sees the tokens up to i only; needs the atoms themselves as queries.

    Returns
    -------
    numpy.ndarray, shape (m, n, d_out, d)

    Raises
    ------
    ValueError
        If a weight is zero, shapes do not fit, or a mask is asked for with other queries.
    TypeError
        If ``mu`` is no measure or the score is neither of the two.
    """
    given = _problem(mu, score, value, queries, causal)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        blocks = np.asarray(_blocks(*given, _floats, _shifted), dtype=np.float64)
    if not np.isfinite(blocks).all():
        raise ValueError(
            f"mu: expected atoms whose derivatives float64 can hold, got {blocks[~np.isfinite(blocks)][0]}"
        )
    return blocks


def enclosed_jacobian(
    mu: Measure,
    score: DotProduct | SquaredDistance,
    *,
    value: ArrayLike | None = None,
    queries: ArrayLike | None = None,
    causal: bool = False,
) -> NDArray[np.object_]:
    """Return what :func:`block_jacobian` returns, in balls, for the floats given, the weights divided by their sum."""
    from theory.evidence.enclosure import balls, exp, precision  # noqa: PLC0415  balls load on first use

    given = _problem(mu, score, value, queries, causal)
    with precision():
        return _blocks(*given, balls, exp)


def multihead_jacobian(mu: Measure, heads: MultiHead, *, causal: bool = False) -> NDArray[np.float64]:
    """Return the blocks for multi-head self-attention with scaled dot products, shape (n, n, d_out, d)."""
    if not isinstance(heads, MultiHead):
        raise TypeError(f"heads: expected MultiHead, got {type(heads).__name__}")
    total: NDArray[np.float64] | None = None
    for head in heads.heads:
        if not isinstance(head.score, DotProduct):
            raise TypeError(f"heads: expected scores DotProduct, got {type(head.score).__name__}")
        inner = _form(head.score, head.w_query.shape[0], _floats)
        score = DotProduct(form=head.w_query.T @ inner @ head.w_key)
        blocks = block_jacobian(mu, score, value=head.w_out @ head.w_value, causal=causal)
        total = blocks if total is None else total + blocks
    if total is None:
        raise ValueError("heads: expected at least one, got none")
    return total


def _problem(
    mu: Measure, score: DotProduct | SquaredDistance, value: ArrayLike | None, queries: ArrayLike | None, causal: bool
) -> tuple[Measure, DotProduct | SquaredDistance, NDArray[np.float64], NDArray[np.float64], bool, bool]:
    """Check everything; return measure, score, queries, value matrix, whether queries move, and the mask."""
    d = as_measure(mu, "mu").dim
    masked = as_flag(causal, "causal")
    if not isinstance(score, (DotProduct, SquaredDistance)):
        raise TypeError(f"score: expected DotProduct or SquaredDistance, got {type(score).__name__}")
    if mu.weights.min() == 0.0:
        raise ValueError(f"mu: expected positive weights, got 0.0 at index {int(mu.weights.argmin())}")
    if queries is not None and masked:
        raise ValueError("queries: expected none with a causal mask, got an array")
    if isinstance(score, DotProduct) and score.form is not None:
        as_matrix(score.form, "score.form", shape=(d, d))  # of this dimension, and checked by the score already
    matrix = np.eye(d) if value is None else as_matrix(value, "value", shape=(None, d))
    x = mu.points if queries is None else as_points(queries, "queries", dim=d)
    return mu, score, x, matrix, queries is None, masked


def dot_form(score: DotProduct, dim: int) -> NDArray[np.float64]:
    """Return the matrix B of a dot product with its inverse temperature folded in, shape (dim, dim)."""
    given = as_instance(score, "score", DotProduct)
    size = as_count(dim, "dim")
    if given.form is not None and given.form.shape != (size, size):
        raise ValueError(f"dim: expected that of the form, {given.form.shape[0]}, got {size}")
    return np.asarray(_form(given, size, _floats), dtype=np.float64)


def _form(score: DotProduct, dim: int, lift: Lift) -> Numbers:
    """Return B with the inverse temperature folded in."""
    form = lift(np.eye(dim) if score.form is None else score.form)
    if score.scale is not None:
        return np.asarray(form * lift(score.scale).item())
    return form if score.form is not None else form * lift(dim).item() ** lift(-0.5).item()


def _blocks(
    mu: Measure,
    score: DotProduct | SquaredDistance,
    queries: NDArray[np.float64],
    value: NDArray[np.float64],
    moving: bool,
    causal: bool,
    lift: Lift,
    exponential: Callable[[Numbers], Numbers],
) -> Numbers:
    x, y, v = lift(queries), lift(mu.points), lift(value)
    if isinstance(score, DotProduct):
        form = _form(score, mu.dim, lift)
        scores = (x @ form) @ y.T
        by_query = np.broadcast_to((y @ form.T)[np.newaxis], (x.shape[0], *y.shape))
        by_key = np.broadcast_to((x @ form)[:, np.newaxis], (x.shape[0], *y.shape))
    else:
        apart = x[:, np.newaxis] - y[np.newaxis]
        beta = lift(score.scale).item()
        scores, by_key = -beta * (apart * apart).sum(axis=2), 2 * beta * apart
        by_query = -by_key
    seen = np.tril(np.ones(scores.shape, dtype=bool)) if causal else np.ones(scores.shape, dtype=bool)
    raw = exponential(scores) * lift(mu.weights)
    raw = np.where(seen, raw, 0 * raw)
    laws = raw / raw.sum(axis=1, keepdims=True)
    centred = y[np.newaxis] - (laws @ y)[:, np.newaxis]
    slope = centred[..., :, np.newaxis] * by_key[..., np.newaxis, :]  # (m, n, d, d)
    weighted = laws[..., np.newaxis, np.newaxis]
    blocks = weighted * (lift(np.eye(mu.dim)) + slope)
    if moving:
        by_own = (weighted * centred[..., :, np.newaxis] * by_query[..., np.newaxis, :]).sum(axis=1)
        at = np.arange(x.shape[0])
        blocks[at, at] = blocks[at, at] + by_own
    out: Numbers = np.moveaxis(np.tensordot(v, blocks, axes=([1], [2])), 0, 2)
    return out


def _floats(values: ArrayLike) -> Numbers:
    return np.asarray(values, dtype=np.float64)


def _shifted(scores: Numbers) -> Numbers:
    """Return exponentials of the scores less the largest of their row; a law does not see the shift."""
    return np.asarray(np.exp(scores - scores.max(axis=1, keepdims=True)))
