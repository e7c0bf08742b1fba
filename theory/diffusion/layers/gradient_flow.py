r"""Derivatives of the velocities of attending tokens, in balls, through all potentials of the normalisation.

Tokens :math:`x_i` score each other by :math:`s_{ij} = x_i^\top A x_j` and move by :math:`F_i = V\sum_j p_{ij}x_j`, with

.. math:: p_{ij} = e^{f_i + s_{ij} + g_j}

and potentials from the normalisation: none (:math:`f = g = 0`, "unnormalised"), :math:`f` alone so that rows sum to one
("softmax"), both so that rows and columns do ("sinkhorn"), or as many sweeps of Sinkhorn's iteration from
:math:`g = 0` as are made, rows last. Along a motion of the tokens :math:`\dot p_{ij} = p_{ij}(\dot s_{ij} + \dot f_i +
\dot g_j)`, where sums that stay one give

.. math:: \dot f_i = -\sum_j p_{ij}(\dot s_{ij} + \dot g_j), \qquad
          \dot g_j = -\sum_i p_{ij}(\dot s_{ij} + \dot f_i) .

For "sinkhorn" the two are solved together; in the iteration they follow each other, the columns' with weights of their
own. A field is the gradient of a function if and only if its derivative is symmetric. For "sinkhorn" and symmetric
:math:`A = V` it is: that of :math:`-\frac n2 W` with

.. math:: W(x) = \min_{P \mathbf 1 = P^\top \mathbf 1 = \mathbf 1/n} -\sum_{ij}P_{ij}x_i^\top Ax_j
          + \mathrm{KL}(P \,\|\, \mathbf 1\mathbf 1^\top/n^2) = \log n + \frac1n\sum_i(f_i + g_i),

where p is n P.

*Enclosure.* Sinkhorn's map contracts Hilbert's metric by :math:`\tanh^2(\Delta/4)` (Birkhoff), so a scaling v whose
image is at a distance r is within :math:`r\cosh^2(\Delta/4)` of the limit. Linear systems are solved by an approximate
inverse R, with error at most :math:`\|R\,\mathrm{residual}\|/(1 - \|I - RM\|)` in the largest entry.

References
----------
M. E. Sander, P. Ablin, M. Blondel, G. Peyré, Sinkformers: transformers with doubly stochastic attention, AISTATS 2022.
G. Birkhoff, Extensions of Jentzsch's theorem, *Transactions of the American Mathematical Society* 85 (1957).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_choice, as_count, as_matrix, as_points
from theory.evidence import Interval, ball
from theory.evidence.enclosure import balls, exp, hull, log, precision

Balls = NDArray[np.object_]
NORMALISERS = ("unnormalised", "softmax", "sinkhorn")
_BITS = 192
_STILL = 2.0**-150  # taken: where sweeps stop; the precision above leaves some forty bits for their rounding
_SWEEPS = 5000  # taken: a scaling that needs more is refused


class Field(NamedTuple):
    """Velocities of n tokens in dimension d with their derivative, in balls.

    Parameters
    ----------
    velocity : ndarray of balls, shape (n, d)
    derivative : ndarray of balls, shape (n d, n d)
        Row (i, c), column (k, e): of velocity i in coordinate c by token k in coordinate e.
    weights : ndarray of balls, shape (n, n)
    slope : ndarray of balls, shape (n, d)
        Of the mean of f plus that of g: the derivative of the transport cost for "sinkhorn".
    residual : Interval
        The largest error of a column sum of the weights; rows are right unless "unnormalised".
    """

    velocity: Balls
    derivative: Balls
    weights: Balls
    slope: Balls
    residual: Interval


def velocity_field(
    tokens: ArrayLike, form: ArrayLike, value: ArrayLike | None = None, *, normaliser: str = "sinkhorn",
    sweeps: int | None = None,
) -> Field:  # fmt: skip
    """Enclose the velocities of attending tokens and their derivative.

    Parameters
    ----------
    tokens : array_like, shape (n, d)
    form, value : array_like, shape (d, d)
        A and V; V is A unless given.
    normaliser : {"unnormalised", "softmax", "sinkhorn"}
    sweeps : int, optional
        Of Sinkhorn's iteration, each one of columns and one of rows after the first rows; its limit unless given.

    Returns
    -------
    Field

    Raises
    ------
    ValueError
        If a shape does not fit, the normaliser is not known, or sweeps are given to another one than "sinkhorn".
    ArithmeticError
        If the scaling does not settle or a linear system is near singular.
    """
    x = as_points(tokens, "tokens")
    d = x.shape[1]
    a = as_matrix(form, "form", shape=(d, d))
    v = a if value is None else as_matrix(value, "value", shape=(d, d))
    as_choice(normaliser, "normaliser", NORMALISERS)
    if sweeps is not None and normaliser != "sinkhorn":
        raise ValueError(f"sweeps: expected none for {normaliser!r}, got {sweeps!r}")
    with precision(_BITS):
        return _enclosed(balls(x), balls(a), balls(v), normaliser, sweeps)


def asymmetry(derivative: Balls) -> Interval:
    r"""Enclose :math:`\|J - J^\top\|/\|J\|` in Frobenius' norm; unknown for a J that may vanish."""
    enclosed = isinstance(derivative, np.ndarray) and derivative.dtype == object and derivative.ndim == 2
    if not enclosed or any(not hasattr(ball, "is_finite") for ball in derivative.ravel()):
        raise TypeError(f"derivative: expected a matrix of balls, got {type(derivative).__name__}")
    with precision(_BITS):
        apart = derivative - derivative.T
        return _norm(apart) / _norm(derivative)


def _norm(matrix: Balls) -> Interval:
    squares = sum((abs(entry) * abs(entry) for entry in matrix.ravel()), ball(0))
    return hull(squares).sqrt()


def _enclosed(x: Balls, a: Balls, v: Balls, normaliser: str, sweeps: int | None) -> Field:
    n, d = x.shape
    scores = x @ a @ x.T
    ds = _score_slopes(x, a)
    df, dg = balls(np.zeros((n, n * d))), balls(np.zeros((n, n * d)))
    kernel = exp(scores)
    if normaliser == "unnormalised":
        p = kernel
    elif normaliser == "softmax" or sweeps is not None:
        p, df, dg = _swept(kernel, ds, 0 if sweeps is None else as_count(sweeps, "sweeps", least=0))
    else:
        p = _scaled(kernel, scores)
        df, dg = _responses(p, ds)
    dp = p[:, :, np.newaxis] * (ds + df[:, np.newaxis, :] + dg[np.newaxis, :, :])
    moved = np.einsum("ijt,jc->ict", dp, x)  # of sum_j p_ij x_j in coordinate c, along t = (k, e)
    moved = moved + np.einsum("ij,ce->icje", p, balls(np.eye(d))).reshape(n, d, n * d)
    derivative = np.einsum("bc,ict->ibt", v, moved).reshape(n * d, n * d)
    slope = ((df.sum(axis=0) + dg.sum(axis=0)) / n).reshape(n, d)
    residual = Interval.largest([abs(hull(total - 1)) for total in p.sum(axis=0)])
    return Field(p @ x @ v.T, derivative, p, slope, residual)


def _score_slopes(x: Balls, a: Balls) -> Balls:
    """Return the derivatives of the scores, shape (n, n, n d)."""
    n, d = x.shape
    slopes = balls(np.zeros((n, n, n, d)))
    as_query, as_key = x @ a.T, x @ a  # of x_i by the key x_j, and of x_j by the query x_i
    for i in range(n):
        slopes[i, :, i] += as_query
        slopes[:, i, i] += as_key
    return slopes.reshape(n, n, n * d)


def _swept(kernel: Balls, ds: Balls, sweeps: int) -> tuple[Balls, Balls, Balls]:
    """Return the weights after some sweeps from g = 0, rows last, with the derivatives of both potentials."""
    n = kernel.shape[0]
    right, dg = balls(np.ones(n)), balls(np.zeros((n, ds.shape[2])))
    left, df = _rows(kernel, ds, right, dg)
    for _ in range(sweeps):
        right, dg = _rows(kernel.T, ds.transpose(1, 0, 2), left, df)
        left, df = _rows(kernel, ds, right, dg)
    return kernel * np.outer(left, right), df, dg


def _rows(kernel: Balls, ds: Balls, right: Balls, dg: Balls) -> tuple[Balls, Balls]:
    """Return the factors that make the rows sum to one, and the derivatives of their logarithms."""
    left = 1 / (kernel @ right)
    p = kernel * np.outer(left, right)
    return left, -np.einsum("ij,ijt->it", p, ds + dg[np.newaxis, :, :])


def _scaled(kernel: Balls, scores: Balls) -> Balls:
    """Enclose the doubly stochastic scaling."""
    middle = np.frompyfunc(lambda ball: ball.mid(), 1, 1)
    rough = middle(kernel)
    right = balls(np.ones(len(kernel)))
    for _ in range(_SWEEPS):
        after = middle(1 / (rough.T @ middle(1 / (rough @ right))))
        still = max(float(abs(b / a - 1).upper()) for a, b in zip(right, after, strict=True)) <= _STILL
        right = after
        if still:
            break
    else:
        raise ArithmeticError(f"tokens: expected a scaling that settles in {_SWEEPS} sweeps")
    image = 1 / (kernel.T @ (1 / (kernel @ right)))
    moved = log(image / right)
    apart = _largest(moved) - _least(moved)
    crossed = scores - scores[0]  # twice the largest range of differences with the first row bounds them all
    quarter = _largest(np.array([_largest(row) - _least(row) for row in crossed])) / 2
    reach = (apart * (quarter.exp() + (-quarter).exp()) ** 2 / 4).upper()
    right = right * exp(balls(np.zeros(len(right))) + ball(0).union(reach))
    scaled: Balls = kernel * np.outer(1 / (kernel @ right), right)
    return scaled


def _largest(values: Balls) -> Any:
    return functools.reduce(lambda a, b: a.max(b), values)


def _least(values: Balls) -> Any:
    return functools.reduce(lambda a, b: a.min(b), values)


def _responses(p: Balls, ds: Balls) -> tuple[Balls, Balls]:
    """Return the derivatives of the potentials of a doubly stochastic scaling, those of g with mean zero."""
    n = p.shape[0]
    by_row, by_column = np.einsum("ij,ijt->it", p, ds), np.einsum("ij,ijt->jt", p, ds)
    matrix = balls(np.eye(n)) - p.T @ p + ball(1) / n
    dg = _solved(matrix, p.T @ by_row - by_column)
    return -by_row - p @ dg, dg


def _solved(matrix: Balls, right: Balls) -> Balls:
    """Enclose the solution of a linear system with many right-hand sides."""
    middles = np.array([[float(ball.mid()) for ball in row] for row in matrix])
    singular = not np.isfinite(middles).all() or np.linalg.cond(middles) > 1e14
    inverse = balls(np.eye(len(matrix)) if singular else np.linalg.inv(middles))
    found = balls(np.zeros(right.shape))
    error = balls(np.eye(len(matrix))) - inverse @ matrix
    contraction = _largest(np.array([abs(row).sum() for row in error]))
    if not contraction < ball(0.5):
        raise ArithmeticError("tokens: expected potentials that the motion determines, got a near singular system")
    middle = np.frompyfunc(lambda ball: ball.mid(), 1, 1)
    for _ in range(5):
        found = middle(found + inverse @ (right - matrix @ found))
    left = abs(inverse @ (right - matrix @ found))
    radius = (_largest(left.ravel()) / (1 - contraction)).upper()
    enclosed: Balls = found + (-radius).union(radius)
    return enclosed
