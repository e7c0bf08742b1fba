r"""Linear spectra of tokens on the sphere, enclosed in ball arithmetic.

For :math:`\dot x_i = P^\perp_{x_i} V\sum_j W_{ij}x_j` with :math:`W_{ij} = A_{ij}e^{s_{ij}}`, divided by its row sums
if it is normalised, and scores :math:`s_{ij} = \beta\langle x_i, Bx_j\rangle`, the velocity of
:math:`u_i = E_i^\top\delta x_i` is linear with blocks

.. math:: E_i^\top V\bigl(W_{ij} + W_{ij}(x_j - c_i)(\beta B^\top x_i)^\top\bigr)E_j, \qquad
   E_i^\top\Bigl(V\sum_l W_{il}(x_l - c_i)(\beta Bx_l)^\top - \langle x_i, y_i\rangle\Bigr)E_i,

the second on the diagonal in addition. :math:`E_i` is a frame of :math:`x_i^\perp`, :math:`y_i` the sum that is
projected and :math:`c_i` the mean of the tokens under row i, or zero without normalisation. :func:`spectrum` finds all
eigenvalues by an approximate diagonalisation and Gershgorin's discs.

References
----------
S. Gerschgorin, Über die Abgrenzung der Eigenwerte einer Matrix, *Izvestija Akademii Nauk SSSR* (1931).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theory._validate import as_flag, as_matrix, as_number, as_points
from theory.evidence import Interval, Kind, ball
from theory.evidence.enclosure import balls, ends, exp, hull

Balls = NDArray[np.object_]
_NEAR = 1e-6  # taken: eigenvalues so near, beside the largest, are treated as one


def sphere_jacobian(
    tokens: ArrayLike | Balls, *, beta: float = 1.0, form: ArrayLike | None = None, value: ArrayLike | None = None,
    normalised: bool = True, causal: bool = False, adjacency: ArrayLike | None = None,
) -> Balls:  # fmt: skip
    """Return the derivative of the velocities of unit tokens in tangent frames.

    Parameters
    ----------
    tokens : array_like, shape (n, d)
        Directions, floats or balls; they are normalised in balls.
    beta : float, default 1.0
        Any finite inverse temperature.
    form, value : array_like, shape (d, d), optional
        B and V; the identity unless given.
    normalised : bool, default True
        Whether rows are divided by their sums.
    causal : bool, default False
        Token i sees the tokens up to and including the i-th.
    adjacency : array_like, shape (n, n), optional
        A; all ones unless given, divided by n if not ``normalised``.

    Returns
    -------
    ndarray of balls, shape (n (d - 1), n (d - 1))
        Token by token.

    Raises
    ------
    ValueError
        If the shapes do not fit, d < 2, a token is the origin, or a normalised row is empty.
    """
    normalised, causal = as_flag(normalised, "normalised"), as_flag(causal, "causal")
    x = _directions(tokens)
    n, d = x.shape
    b = ball(as_number(beta, "beta")) * _square(form, "form", d)
    v = _square(value, "value", d)
    weights = _graph(adjacency, n, normalised=normalised, causal=causal) * exp(x @ b @ x.T)
    if normalised:
        weights = weights / weights.sum(axis=1)[:, np.newaxis]
    sums = weights @ x
    centres = sums if normalised else 0 * sums
    frames = [_frame(token) for token in x]
    out = np.empty((n, d - 1, n, d - 1), dtype=object)
    for i in range(n):
        apart, left = x - centres[i], frames[i].T @ v
        for j in range(n):
            turned = weights[i, j] * (np.outer(apart[j], x[i] @ b) + balls(np.eye(d)))
            if i == j:
                own = (weights[i][:, np.newaxis] * apart).T @ (x @ b.T)
                turned = turned + own
            out[i, :, j, :] = left @ turned @ frames[j]
        out[i, :, i, :] -= balls(np.eye(d - 1)) * (x[i] @ v @ sums[i])
    return out.reshape(n * (d - 1), n * (d - 1))


def spectrum(matrix: Balls) -> list[Interval]:
    """Enclose the real parts of all eigenvalues of a real matrix of balls.

    Parameters
    ----------
    matrix : ndarray of balls, shape (k, k)
        With nearly real, nearly semisimple eigenvalues; otherwise the intervals are wide.

    Returns
    -------
    list of k Interval
        In increasing order, kind ``CERTIFIED``: each connected union of m discs holds m eigenvalues, and is listed m
        times. The imaginary part of an eigenvalue is at most half the width of its interval.

    Raises
    ------
    ValueError
        If the matrix is not square.
    ArithmeticError
        If no real approximate diagonalisation is found.
    """
    if not _enclosed(matrix):
        raise TypeError(f"matrix: expected an array of balls, got {type(matrix).__name__}")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"matrix: expected a square one, got shape {matrix.shape}")
    k = matrix.shape[0]
    vectors = _eigenvectors(ends(matrix)[0])
    try:
        inverse = np.linalg.inv(vectors)
    except np.linalg.LinAlgError as error:
        raise ArithmeticError("matrix: expected independent eigenvectors, got dependent ones") from error
    t, r = balls(vectors), balls(inverse)
    near, defect = r @ matrix @ t, r @ t - balls(np.eye(k))
    off = _size(defect)  # T^-1 M T = (R T)^-1 R M T
    if not off < 0.5:
        raise ArithmeticError("matrix: expected independent eigenvectors, got nearly dependent ones")
    rest = off / (1.0 - off) * _size(near) * (1.0 + 1e-12)
    discs = [_disc(near[i], i, rest) for i in range(k)]
    return _components(sorted(discs, key=lambda disc: disc.lo))


def _eigenvectors(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return approximate eigenvectors as columns, independent also where an eigenvalue is multiple and semisimple."""
    values = np.linalg.eigvals(matrix)
    size = max(float(np.abs(values).max()), 1e-300)
    if np.abs(values.imag).max() > _NEAR * size:
        raise ArithmeticError("matrix: expected real eigenvalues, got complex ones")
    spaces: list[NDArray[np.float64]] = []
    reals = np.sort(values.real)
    for cluster in np.split(reals, np.flatnonzero(np.diff(reals) > _NEAR * size) + 1):
        *_, right = np.linalg.svd(matrix - cluster.mean() * np.eye(reals.size))
        spaces.append(right[reals.size - cluster.size :].T)
    return np.concatenate(spaces, axis=1)


def _disc(row: Balls, i: int, rest: float) -> Interval:
    radius = math.fsum(max(abs(hull(b).lo), abs(hull(b).hi)) for j, b in enumerate(row) if j != i)
    return hull(row[i]) + Interval.within(0.0, (radius + rest) * (1.0 + 1e-12), Kind.CERTIFIED)


def _components(discs: list[Interval]) -> list[Interval]:
    """Merge intervals that meet, and list every union as often as it has members."""
    out: list[Interval] = []
    members: list[Interval] = []
    for disc in [*discs, None]:
        if members and (disc is None or disc.lo > max(m.hi for m in members)):
            union = Interval(members[0].lo, max(m.hi for m in members), Kind.CERTIFIED)
            out += [union] * len(members)
            members = []
        if disc is not None:
            members.append(disc)
    return out


def _size(matrix: Balls) -> float:
    """Return an upper bound of the largest row sum of absolute values."""
    return max(math.fsum(max(abs(hull(b).lo), abs(hull(b).hi)) for b in row) * (1.0 + 1e-12) for row in matrix)


def _directions(tokens: Any) -> Balls:
    given = tokens if _enclosed(tokens) else balls(as_points(tokens, "tokens"))
    if given.ndim != 2 or given.shape[1] < 2:
        raise ValueError(f"tokens: expected shape (n, d >= 2), got shape {given.shape}")
    squares = (given * given).sum(axis=1)
    if not all(square > 0 for square in squares):
        raise ValueError("tokens: expected directions, got the origin")
    unit: Balls = given / np.frompyfunc(lambda s: s.sqrt(), 1, 1)(squares)[:, np.newaxis]
    return unit


def _enclosed(values: Any) -> bool:
    """Tell whether values are an array of balls."""
    objects = isinstance(values, np.ndarray) and values.dtype == object and values.size > 0
    return objects and all(hasattr(ball, "is_finite") for ball in values.flat)


def _frame(x: Balls) -> Balls:
    """Return an orthonormal frame of the space orthogonal to a unit vector, (d, d - 1), by one reflection."""
    mirror = x.copy()
    mirror[0] += 1 if float(x[0].mid()) >= 0.0 else -1
    frame: Balls = (balls(np.eye(x.size)) - np.outer(mirror, mirror) * 2 / (mirror * mirror).sum())[:, 1:]
    return frame


def _square(matrix: ArrayLike | None, name: str, d: int) -> Balls:
    return balls(np.eye(d) if matrix is None else as_matrix(matrix, name, shape=(d, d)))


def _graph(adjacency: ArrayLike | None, n: int, *, normalised: bool, causal: bool) -> Balls:
    if adjacency is None:
        found: Balls = balls(np.ones((n, n))) / (1 if normalised else n)
    else:
        found = balls(as_matrix(adjacency, "adjacency", shape=(n, n)))
    if causal:
        found = found * balls(np.tri(n))
    if normalised and not all(row.sum() > 0 for row in found):
        raise ValueError("adjacency: expected a neighbour of every token, got an empty row")
    return found
